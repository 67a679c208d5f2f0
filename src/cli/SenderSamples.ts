import type { Platform } from "../domain/Source.ts"
import { each, link, type Sender, tokenHeader, type Unsigned } from "./SampleSender.ts"

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

/** The senders of e-mail among the platforms. */
export const senders = {
  postmark,
} as const satisfies { readonly [platform in Platform]?: Sender }
