import type { Platform } from "../../../domain/Source.ts"
import { english } from "../../../languages/Language.ts"

/** What a person chooses at a platform to connect it, and how the platform sends a first event. */
interface SetupSteps {
  /** Where webhooks are set up, in the words of the platform. */
  readonly place: string
  /** The events to tick. */
  readonly tick: string
  /** How a test event is sent. */
  readonly test: string
}

const realMessage = english("Send yourself a message with a tracking id, open it and click a link.")

/** The steps at each platform. Platforms without an entry show only their address. */
const steps: Readonly<Record<string, SetupSteps>> = {
  braze: {
    place: english("Partner Integrations → Currents → Custom HTTP Export"),
    tick: english(
      "Message engagement events of your channels and conversion events; custom events and purchases if they are goals",
    ),
    test: english(
      "Send yourself a message with a tracking id, open it and click a link. The connector's test of its credentials sends no events.",
    ),
  },
  iterable: {
    place: english("Integrations → System Webhooks"),
    tick: english("Send, open, click, bounce, complaint and unsubscribe of your channels"),
    test: realMessage,
  },
  customerio: {
    place: english("Data & Integrations → Integrations → Reporting Webhooks"),
    tick: english("All metrics of the channels that you use, and converted"),
    test: english("Use Send test in the settings of the webhook, or send yourself a message."),
  },
  segment: {
    place: english("Connections → Destinations → Webhooks"),
    tick: english("Track and identify calls, in the filters of the destination"),
    test: english("Use the Event Tester of the destination."),
  },
  sfmc: {
    place: english("Setup → Event Notification Service"),
    tick: english("Sends, opens, clicks, bounces and unsubscribes, of e-mails that the service supports"),
    test: realMessage,
  },
  events: {
    place: english("Your own code or tool"),
    tick: english("Opens, clicks, bounces, opt-outs and the actions that are your goals"),
    test: english("Post an event with the tracking id of a send: the guide to custom events has a request to copy."),
  },
  postmark: {
    place: english("Servers → your server → a message stream → Webhooks"),
    tick: english("Delivery, bounce, spam complaint, open, link click and subscription change"),
    test: english("Postmark sends a sample of each event when the webhook is saved. Samples name no message of yours."),
  },
  ses: {
    place: english(
      "Configuration sets → Event destinations → Amazon SNS, and an HTTPS subscription of the topic without raw delivery",
    ),
    tick: english(
      "Sends, deliveries, opens, clicks, hard bounces, complaints, rejects, rendering failures and subscriptions",
    ),
    test: english("Amazon asks to confirm the subscription at once. Then send a message with the configuration set."),
  },
  sendgrid: {
    place: english("Settings → Mail Settings → Event Webhooks"),
    tick: english("All engagement and deliverability data, and Signed Event Webhook"),
    test: english("Use Test your integration. Its samples name no message of yours."),
  },
  mailgun: {
    place: english("Send → Sending → Webhooks, for each domain"),
    tick: english("Accepted, delivered, opened, clicked, permanent failure, spam complaints and unsubscribes"),
    test: english("Use Test webhook. Its sample names no message of yours."),
  },
  resend: {
    place: english("Webhooks → Add webhook"),
    tick: english("All events of the type email"),
    test: realMessage,
  },
  brevo: {
    place: english("Transactional → Settings → Webhook"),
    tick: english(
      "Sent, delivered, opened, clicked, hard and soft bounce, blocked, invalid address, complaint and unsubscribed",
    ),
    test: realMessage,
  },
  klaviyo: {
    place: english("Integrations → Webhooks"),
    tick: english("Received, opened, clicked, bounced, marked as spam and unsubscribed e-mail"),
    test: realMessage,
  },
  sparkpost: {
    place: english("Configuration → Webhooks"),
    tick: english("All message, engagement and unsubscribe events"),
    test: english("Use Test in the settings of the webhook. Its samples name no message of yours."),
  },
}

/** Returns the steps at a platform; undefined if they are not known. */
export const setupStepsOf = (platform: Platform): SetupSteps | undefined => steps[platform]
