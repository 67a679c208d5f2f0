import type { Platform } from "../../../domain/Source.ts"

/** What a person chooses at a platform to connect it, and how the platform sends a first event. */
interface SetupSteps {
  /** Where webhooks are set up, in the words of the platform. */
  readonly place: string
  /** The events to tick. */
  readonly tick: string
  /** How a test event is sent. */
  readonly test: string
}

const realMessage = "Send yourself a message with a tracking id, open it and click a link."

/** The steps at each platform. Platforms without an entry show only their address. */
const steps: Readonly<Record<string, SetupSteps>> = {
  braze: {
    place: "Partner Integrations → Currents → Custom HTTP Export",
    tick:
      "Message engagement events of your channels and conversion events; custom events and purchases if they are goals",
    test: `${realMessage} The connector's test of its credentials sends no events.`,
  },
  iterable: {
    place: "Integrations → System Webhooks",
    tick: "Send, open, click, bounce, complaint and unsubscribe of your channels",
    test: realMessage,
  },
  customerio: {
    place: "Data & Integrations → Integrations → Reporting Webhooks",
    tick: "All metrics of the channels that you use, and converted",
    test: "Use Send test in the settings of the webhook, or send yourself a message.",
  },
  segment: {
    place: "Connections → Destinations → Webhooks",
    tick: "Track and identify calls, in the filters of the destination",
    test: "Use the Event Tester of the destination.",
  },
  sfmc: {
    place: "Setup → Event Notification Service",
    tick: "Sends, opens, clicks, bounces and unsubscribes, of e-mails that the service supports",
    test: realMessage,
  },
  events: {
    place: "Your own code or tool",
    tick: "Opens, clicks, bounces, opt-outs and the actions that are your goals",
    test: "Post an event with the tracking id of a send: the guide to custom events has a request to copy.",
  },
  postmark: {
    place: "Servers → your server → a message stream → Webhooks",
    tick: "Delivery, bounce, spam complaint, open, link click and subscription change",
    test: "Postmark sends a sample of each event when the webhook is saved. Samples name no message of yours.",
  },
  ses: {
    place:
      "Configuration sets → Event destinations → Amazon SNS, and an HTTPS subscription of the topic without raw delivery",
    tick: "Sends, deliveries, opens, clicks, hard bounces, complaints, rejects, rendering failures and subscriptions",
    test: "Amazon asks to confirm the subscription at once. Then send a message with the configuration set.",
  },
  sendgrid: {
    place: "Settings → Mail Settings → Event Webhooks",
    tick: "All engagement and deliverability data, and Signed Event Webhook",
    test: "Use Test your integration. Its samples name no message of yours.",
  },
  mailgun: {
    place: "Send → Sending → Webhooks, for each domain",
    tick: "Accepted, delivered, opened, clicked, permanent failure, spam complaints and unsubscribes",
    test: "Use Test webhook. Its sample names no message of yours.",
  },
  resend: {
    place: "Webhooks → Add webhook",
    tick: "All events of the type email",
    test: realMessage,
  },
  brevo: {
    place: "Transactional → Settings → Webhook",
    tick:
      "Sent, delivered, opened, clicked, hard and soft bounce, blocked, invalid address, complaint and unsubscribed",
    test: realMessage,
  },
  klaviyo: {
    place: "Integrations → Webhooks",
    tick: "Received, opened, clicked, bounced, marked as spam and unsubscribed e-mail",
    test: realMessage,
  },
  sparkpost: {
    place: "Configuration → Webhooks",
    tick: "All message, engagement and unsubscribe events",
    test: "Use Test in the settings of the webhook. Its samples name no message of yours.",
  },
}

/** Returns the steps at a platform; undefined if they are not known. */
export const setupStepsOf = (platform: Platform): SetupSteps | undefined => steps[platform]
