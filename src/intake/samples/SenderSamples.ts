import { Buffer } from "node:buffer"
import { createPrivateKey, randomBytes, sign } from "node:crypto"
import * as Json from "../../json/Json.ts"
import type { Platform } from "../../domain/Source.ts"
import { each, hmac, link, seconds, type Sender, standardHeaders, tokenHeader, type Unsigned } from "./SampleSender.ts"

// Webhook bodies as senders of e-mail send and sign them.

/** Authenticates by a password, like senders that do not sign. */
const password = ({ secret, settings }: Unsigned) => {
  const header = tokenHeader(settings)
  return { [header]: header === "authorization" ? `Bearer ${secret}` : secret }
}

const iso = (at: number) => new Date(at).toISOString()

const postmark: Sender = {
  startsWithSend: false,
  sign: password,
  names: {
    delivered: "Delivery",
    open: "Open",
    click: "Click",
    bounce: "HardBounce",
    soft_bounce: "SoftBounce",
    failed: "Blocked",
    unsubscribe: "SubscriptionChange",
    spam: "SpamComplaint",
  },
  bodies: each,
  item: (event, name, { at, email, messageId, trackingId, user }) => ({
    MessageID: messageId,
    MessageStream: "outbound",
    Metadata: { tracking_id: trackingId, user_id: user },
    Tag: "parlance-trial",
    ...(event === "delivered"
      ? { RecordType: name, Recipient: email, DeliveredAt: iso(at), Details: "250 2.0.0 OK" }
      : event === "open"
      ? { RecordType: name, Recipient: email, ReceivedAt: iso(at), FirstOpen: true }
      : event === "click"
      ? { RecordType: name, Recipient: email, ReceivedAt: iso(at), OriginalLink: link, ClickLocation: "HTML" }
      : event === "unsubscribe"
      ? {
        RecordType: name,
        Recipient: email,
        ChangedAt: iso(at),
        Origin: "Recipient",
        SuppressSending: true,
        SuppressionReason: "ManualSuppression",
      }
      : { RecordType: event === "spam" ? name : "Bounce", Type: name, Email: email, BouncedAt: iso(at) }),
  }),
}

/** Events of EventBridge, because only Amazon can sign messages of a topic. */
const ses: Sender = {
  startsWithSend: false,
  sign: password,
  names: {
    sent: "Send",
    delivered: "Delivery",
    open: "Open",
    click: "Click",
    bounce: "Bounce",
    soft_bounce: "Bounce",
    failed: "Reject",
    unsubscribe: "Subscription",
    spam: "Complaint",
  },
  bodies: each,
  item: (event, name, { at, email, messageId, trackingId, user }) => {
    const timestamp = iso(at)
    const person = { emailAddress: email }
    const details: Readonly<Record<string, unknown>> = {
      Delivery: { timestamp, recipients: [email], smtpResponse: "250 ok" },
      Open: { timestamp, ipAddress: "198.51.100.7", userAgent: "Mail" },
      Click: { timestamp, ipAddress: "198.51.100.7", link },
      Bounce: {
        timestamp,
        bounceType: event === "bounce" ? "Permanent" : "Transient",
        bounceSubType: "General",
        bouncedRecipients: [person],
        feedbackId: `${messageId}-${event}`,
      },
      Reject: { reason: "Bad content" },
      Subscription: { timestamp, contactList: "all", newTopicPreferences: { unsubscribeAll: true } },
      Complaint: { timestamp, complainedRecipients: [person], feedbackId: `${messageId}-${event}` },
      Send: {},
    }
    return {
      version: "0",
      id: `${messageId}-${event}`,
      "detail-type": `Email ${name}`,
      source: "aws.ses",
      account: "123456789012",
      time: timestamp,
      region: "eu-west-1",
      detail: {
        eventType: name,
        mail: {
          timestamp,
          messageId,
          destination: [email],
          tags: { tracking_id: [trackingId], user_id: [user] },
        },
        [name.toLowerCase()]: details[name],
      },
    }
  },
}

const sendgrid: Sender = {
  startsWithSend: false,
  sign: ({ body, now, secret }) => {
    const timestamp = String(seconds(now))
    const key = createPrivateKey({ key: Buffer.from(secret, "base64"), format: "der", type: "pkcs8" })
    return {
      "x-twilio-email-event-webhook-timestamp": timestamp,
      "x-twilio-email-event-webhook-signature": sign("sha256", Buffer.from(timestamp + body), key).toString("base64"),
    }
  },
  names: {
    sent: "processed",
    delivered: "delivered",
    open: "open",
    click: "click",
    bounce: "bounce",
    soft_bounce: "bounce",
    failed: "dropped",
    unsubscribe: "unsubscribe",
    spam: "spamreport",
  },
  bodies: (items) => [items],
  item: (event, name, { at, email, messageId, trackingId, user }) => ({
    email,
    timestamp: seconds(at),
    event: name,
    sg_event_id: `${messageId}-${event}`,
    sg_message_id: `${messageId}.filter0001.1.2-0`,
    tracking_id: trackingId,
    user_id: user,
    ...(event === "click" ? { url: link } : {}),
    ...(event === "open" ? { sg_machine_open: false } : {}),
    ...(event === "bounce" ? { type: "bounce", status: "5.1.1", reason: "550 5.1.1 user unknown" } : {}),
    ...(event === "soft_bounce" ? { type: "bounce", status: "5.2.2", reason: "552 5.2.2 mailbox full" } : {}),
    ...(event === "failed" ? { reason: "Bounced Address" } : {}),
  }),
}

const mailgun: Sender = {
  startsWithSend: false,
  sign: () => ({}),
  signBody: ({ body, now, secret }) => {
    const timestamp = String(seconds(now))
    const token = randomBytes(25).toString("hex")
    return JSON.stringify({
      signature: { timestamp, token, signature: hmac("sha256", secret, timestamp + token).digest("hex") },
      ...(Json.parse(body) as object),
    })
  },
  names: {
    sent: "accepted",
    delivered: "delivered",
    open: "opened",
    click: "clicked",
    bounce: "failed",
    soft_bounce: "failed",
    failed: "rejected",
    unsubscribe: "unsubscribed",
    spam: "complained",
  },
  bodies: each,
  item: (event, name, { at, email, messageId, trackingId, user }) => ({
    "event-data": {
      event: name,
      id: `${messageId}-${event}`,
      timestamp: at / 1000,
      recipient: email,
      message: { headers: { "message-id": `${messageId}@shop.example.com`, to: email } },
      "user-variables": { tracking_id: trackingId, user_id: user },
      ...(event === "click" ? { url: link } : {}),
      ...(event === "bounce"
        ? { severity: "permanent", reason: "bounce", "delivery-status": { code: 550, message: "5.1.1 user unknown" } }
        : event === "soft_bounce"
        ? { severity: "permanent", reason: "bounce", "delivery-status": { code: 552, message: "5.2.2 mailbox full" } }
        : {}),
    },
  }),
}

const sparkpost: Sender = {
  startsWithSend: false,
  sign: password,
  names: {
    sent: "injection",
    delivered: "delivery",
    open: "open",
    click: "click",
    bounce: "bounce",
    soft_bounce: "bounce",
    failed: "policy_rejection",
    unsubscribe: "list_unsubscribe",
    spam: "spam_complaint",
  },
  bodies: (items) => [items],
  item: (event, name, { at, email, messageId, trackingId, user }) => ({
    msys: {
      [event === "open" || event === "click" ? "track_event" : "message_event"]: {
        type: name,
        event_id: `${messageId}-${event}`,
        timestamp: String(seconds(at)),
        transmission_id: messageId,
        rcpt_to: email,
        rcpt_meta: { tracking_id: trackingId, user_id: user },
        ...(event === "click" ? { target_link_url: link } : {}),
        ...(event === "bounce" ? { bounce_class: "10", raw_reason: "550 5.1.1 user unknown" } : {}),
        ...(event === "soft_bounce" ? { bounce_class: "22", raw_reason: "552 5.2.2 mailbox full" } : {}),
      },
    },
  }),
}

const resend: Sender = {
  startsWithSend: false,
  sign: (request) => standardHeaders("svix", request),
  names: {
    sent: "email.sent",
    delivered: "email.delivered",
    open: "email.opened",
    click: "email.clicked",
    bounce: "email.bounced",
    soft_bounce: "email.bounced",
    failed: "email.failed",
    spam: "email.complained",
  },
  bodies: each,
  item: (event, name, { at, email, messageId, trackingId, user }) => ({
    type: name,
    created_at: iso(at),
    data: {
      created_at: iso(at),
      email_id: messageId,
      from: "news@shop.example",
      to: [email],
      subject: "Trial",
      tags: { tracking_id: trackingId, user_id: user },
      ...(event === "click" ? { click: { link, timestamp: iso(at), ipAddress: "192.0.2.1" } } : {}),
      ...(event === "bounce" ? { bounce: { type: "Permanent", subType: "General", message: "unknown" } } : {}),
      ...(event === "soft_bounce" ? { bounce: { type: "Transient", subType: "MailboxFull", message: "full" } } : {}),
    },
  }),
}

const brevo: Sender = {
  startsWithSend: false,
  sign: password,
  names: {
    sent: "request",
    delivered: "delivered",
    open: "unique_opened",
    click: "click",
    bounce: "hard_bounce",
    soft_bounce: "soft_bounce",
    failed: "blocked",
    spam: "spam",
    unsubscribe: "unsubscribed",
  },
  bodies: each,
  item: (event, name, { at, email, messageId, trackingId, user }) => ({
    event: name,
    email,
    id: 1,
    "message-id": `<${messageId}@smtp-relay.example>`,
    ts_epoch: at,
    tags: ["parlance-trial"],
    "X-Mailin-custom": JSON.stringify({ tracking_id: trackingId, user_id: user }),
    ...(event === "click" ? { link } : {}),
  }),
}

const klaviyo: Sender = {
  startsWithSend: false,
  sign: ({ body, now, secret }) => ({
    "klaviyo-timestamp": iso(now),
    "klaviyo-signature": hmac("sha256", secret, `${body}${iso(now)}`).digest("hex"),
  }),
  names: {
    delivered: "received_email",
    open: "opened_email",
    click: "clicked_email",
    bounce: "bounced_email",
    soft_bounce: "bounced_email",
    failed: "dropped_email",
    spam: "marked_email_as_spam",
    unsubscribe: "unsubscribed_from_email_marketing",
  },
  bodies: (items) => items.map((item) => ({ meta: { version: "1" }, data: [item] })),
  item: (event, name, { at, email, messageId, trackingId, user }) => ({
    topic: `event:klaviyo.${name}`,
    external_id: `${messageId}-${event}`,
    payload: {
      data: {
        type: "event",
        attributes: {
          datetime: iso(at),
          event_properties: {
            tracking_id: trackingId,
            user_id: user,
            email_address: email,
            $message: messageId,
            ...(event === "click" ? { URL: link } : {}),
            ...(event === "bounce" ? { "Bounce Type": "Hard" } : {}),
            ...(event === "soft_bounce" ? { "Bounce Type": "Soft" } : {}),
          },
        },
        relationships: { profile: { data: { type: "profile", id: `profile-${user}` } } },
      },
    },
  }),
}

/** The senders of e-mail among the platforms. */
export const senders = {
  ses,
  sendgrid,
  postmark,
  mailgun,
  sparkpost,
  resend,
  brevo,
  klaviyo,
} as const satisfies { readonly [platform in Platform]?: Sender }
