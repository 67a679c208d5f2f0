import { Buffer } from "node:buffer"
import { EventName, isSuppressing } from "../../domain/EventKinds.ts"
import type { Platform } from "../../domain/Source.ts"
import {
  each,
  hmac,
  link,
  type SampleMessage,
  seconds,
  type Sender,
  standardHeaders,
  tokenHeader,
  type Unsigned,
} from "./SampleSender.ts"
import * as SenderSamples from "./SenderSamples.ts"

// Webhook bodies as the platforms send and sign them, for `parlance webhook trigger`.

const braze: Sender = {
  startsWithSend: true,
  sign: ({ secret, settings }) => ({ [tokenHeader(settings)]: `Bearer ${secret}`, "braze-currents-version": "1" }),
  names: {
    sent: "users.messages.email.Send",
    delivered: "users.messages.email.Delivery",
    open: "users.messages.email.Open",
    click: "users.messages.email.Click",
    other: "users.messages.contentcard.Dismiss",
    conversion: "users.campaigns.Conversion",
    bounce: "users.messages.email.Bounce",
    soft_bounce: "users.messages.email.SoftBounce",
    failed: "users.messages.email.Abort",
    unsubscribe: "users.messages.email.Unsubscribe",
    spam: "users.messages.email.MarkAsSpam",
  },
  bodies: (items) => [{ events: items }],
  item: (event, name, { at, email, messageId, trackingId, user }) => ({
    event_type: name,
    id: `${messageId}-${event}`,
    time: seconds(at),
    user: { user_id: `bz-${user}`, external_user_id: user, timezone: "Europe/Berlin" },
    properties: {
      campaign_id: "5e6f3a1c-8d40-4a4e-9f0e-1f2a3b4c5d6e",
      campaign_name: "Parlance trial",
      dispatch_id: messageId,
      email_address: email,
      ...(event === "sent" ? { message_extras: JSON.stringify({ tracking_id: trackingId }) } : {}),
      ...(event === "open" ? { machine_open: "false" } : {}),
      ...(event === "click" ? { url: link, is_suspected_bot_click: false } : {}),
      ...(event === "bounce" || event === "soft_bounce" ? { bounce_reason: "550 5.1.1 user unknown" } : {}),
    },
  }),
}

const iterable: Sender = {
  startsWithSend: true,
  sign: ({ secret, settings }) => ({ [tokenHeader(settings)]: secret }),
  names: {
    sent: "emailSend",
    open: "emailOpen",
    click: "emailClick",
    other: "hostedUnsubscribeClick",
    bounce: "emailBounce",
    soft_bounce: "emailBounce",
    failed: "emailSendSkip",
    unsubscribe: "emailUnSubscribe",
    spam: "emailComplaint",
  },
  bodies: each,
  item: (event, name, { at, email, messageId, trackingId, user }) => ({
    email,
    userId: user,
    eventName: name,
    dataFields: {
      createdAt: `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} +00:00`,
      campaignId: 51,
      templateId: 71,
      messageId,
      ...(event === "sent" ? { transactionalData: { tracking_id: trackingId } } : {}),
      ...(event === "click" ? { url: link, linkId: "9021" } : {}),
      ...(event === "bounce" ? { recipientState: "HardBounce" } : {}),
      ...(event === "soft_bounce" ? { recipientState: "SoftBounce" } : {}),
    },
  }),
}

const customerio: Sender = {
  startsWithSend: true,
  sign: ({ body, now, secret }) => ({
    "x-cio-timestamp": String(seconds(now)),
    "x-cio-signature": hmac("sha256", secret, `v0:${seconds(now)}:${body}`).digest("hex"),
  }),
  names: {
    sent: "sent",
    delivered: "delivered",
    open: "opened",
    click: "clicked",
    conversion: "converted",
    bounce: "bounced",
    failed: "failed",
    unsubscribe: "unsubscribed",
    spam: "spammed",
  },
  bodies: each,
  item: (event, name, { at, email, messageId, trackingId, user }) => ({
    event_id: `${messageId}-${event}`,
    object_type: "email",
    metric: name,
    timestamp: seconds(at),
    data: {
      identifiers: { id: user, email, cio_id: `cio-${user}` },
      customer_id: user,
      delivery_id: messageId,
      campaign_id: 5,
      recipient: email,
      subject: "Parlance trial",
      ...(event === "sent" ? { headers: { "X-Tracking-Id": [trackingId] } } : {}),
      ...(event === "click" ? { href: link, link_id: 7, machine: false } : {}),
      ...(event === "open" ? { prefetched: false, proxied: false } : {}),
      ...(event === "bounce" || event === "failed" ? { failure_message: "550 5.1.1 user unknown" } : {}),
    },
  }),
}

const segment: Sender = {
  startsWithSend: false,
  sign: ({ body, secret, settings }) =>
    settings["scheme"] === "token"
      ? { [tokenHeader(settings)]: `Bearer ${secret}` }
      : { "x-signature": hmac("sha1", secret, body).digest("hex") },
  names: {
    sent: "Email Sent",
    delivered: "Email Delivered",
    open: "Email Opened",
    click: "Email Link Clicked",
    conversion: "Order Completed",
    bounce: "Email Bounced",
    soft_bounce: "Email Soft Bounced",
    failed: "Email Dropped",
    unsubscribe: "Unsubscribed",
    spam: "Email Marked as Spam",
  },
  bodies: each,
  item: (event, name, { at, email, messageId, trackingId, user }) => ({
    type: "track",
    event: name,
    userId: user,
    messageId: `${messageId}-${event}`,
    timestamp: new Date(at).toISOString(),
    context: { traits: { email }, library: { name: "analytics.js", version: "2.11.1" } },
    properties: {
      tracking_id: trackingId,
      ...(event === "conversion" ? { order_id: messageId, revenue: 49.9, currency: "EUR" } : { email_id: messageId }),
      ...(event === "click" ? { link_url: link } : {}),
    },
  }),
}

const sfmc: Sender = {
  startsWithSend: true,
  sign: ({ body, secret, settings }) => {
    const key = settings["key_encoding"] === "base64" ? Buffer.from(secret, "base64") : secret
    return { "x-sfmc-ens-signature": hmac("sha256", key, body).digest("base64") }
  },
  names: {
    sent: "TransactionalSendEvents.EmailSent",
    open: "EngagementEvents.EmailOpen",
    click: "EngagementEvents.EmailClick",
    bounce: "TransactionalSendEvents.EmailBounced",
    soft_bounce: "TransactionalSendEvents.EmailBounced",
    failed: "TransactionalSendEvents.EmailNotSent",
    unsubscribe: "EngagementEvents.EmailUnsubscribe",
  },
  bodies: (items) => [items],
  item: (event, name, { at, email, messageId, trackingId, user }) => ({
    eventCategoryType: name,
    timestampUTC: at,
    composite: { jobId: "777", batchId: "41", listId: "44", subscriberId: messageId },
    definitionKey: "parlance-trial",
    mid: 500,
    eid: 501,
    info: {
      ...(name.startsWith("TransactionalSendEvents.")
        ? { to: email, subscriberKey: user, messageKey: trackingId }
        : {}),
      ...(event === "sent" ? { status: "Sent" } : {}),
      ...(event === "click" ? { contentLink: link, jobUrlId: "74" } : {}),
      ...(event === "bounce" ? { bounceCode: "HARD", bounceType: "Hard bounce" } : {}),
      ...(event === "soft_bounce" ? { bounceCode: "SOFT", bounceType: "Soft bounce" } : {}),
      ...(event === "unsubscribe" ? { to: email, domain: email.slice(email.lastIndexOf("@") + 1) } : {}),
    },
  }),
}

const ownCode: Sender = {
  startsWithSend: false,
  sign: (request) =>
    request.secret.startsWith("whsec_") ? standardHeaders("webhook", request) : { "x-api-key": request.secret },
  names: Object.fromEntries(EventName.literals.map((name) => [name, name])),
  bodies: each,
  item: (event, name, { at, email, messageId, trackingId, user }) => ({
    event: name,
    event_id: `${messageId}-${event}`,
    tracking_id: trackingId,
    user_id: user,
    occurred_at: new Date(at).toISOString(),
    ...(isSuppressing(event) ? { email } : {}),
    ...(event === "click" ? { link } : {}),
    ...(event === "conversion" || event === "refund" ? { value: 49.9, currency: "EUR" } : {}),
  }),
}

const senders: { readonly [platform in Platform]: Sender } = {
  braze,
  iterable,
  customerio,
  segment,
  sfmc,
  events: ownCode,
  ...SenderSamples.senders,
}

/** The events that a platform reports. */
export const reportedEvents = (platform: Platform): ReadonlyArray<EventName> =>
  Object.keys(senders[platform].names) as ReadonlyArray<EventName>

/** Time from the send of a sample message to its other events. Unit: milliseconds. */
const sentBeforeMillis = 60_000

/**
 * The bodies, one for each request, in which a platform reports an event of a message. If only its report of the send
 * has the tracking id, that report is among them. Undefined for an event that the platform does not report.
 */
export const sampleBodies = (
  platform: Platform,
  event: EventName,
  message: SampleMessage,
): ReadonlyArray<string> | undefined => {
  const { bodies, item, names, startsWithSend } = senders[platform]
  const name = names[event]
  if (name === undefined) return undefined
  const own = item(event, name, message)
  // Long enough before, because a click soon after the send would count as a link scanner's.
  const send = item("sent", names.sent!, event === "sent" ? message : { ...message, at: message.at - sentBeforeMillis })
  return bodies(event === "sent" || !startsWithSend ? [own] : [send, own]).map((body) => JSON.stringify(body))
}

/** The headers that authenticate a body by the secret and the settings of its source. `now`: Unix milliseconds. */
export const signedHeaders = (
  platform: Platform,
  secret: string,
  settings: Unsigned["settings"],
  body: string,
  now: number,
): Readonly<Record<string, string>> => senders[platform].sign({ secret, settings, body, now })

/** The body as it is sent: with its signature, if the platform signs in the body. `now`: Unix milliseconds. */
export const signedBody = (platform: Platform, secret: string, body: string, now: number): string =>
  senders[platform].signBody?.({ secret, settings: {}, body, now }) ?? body
