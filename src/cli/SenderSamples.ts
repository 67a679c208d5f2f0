import type { Platform } from "../domain/Source.ts"
import { each, hmac, link, type Sender, standardHeaders, tokenHeader, type Unsigned } from "./SampleSender.ts"

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
  postmark,
  resend,
  brevo,
  klaviyo,
} as const satisfies { readonly [platform in Platform]?: Sender }
