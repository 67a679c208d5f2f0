import type { Sender } from "./webhookLoad.ts"

// Webhook bodies of senders of e-mail, by number.

const secret = "a-secret-of-the-benchmark-0123456789"
const iso = (at: number) => new Date(at).toISOString()
const shop = (n: number) => `https://shop.example/collections/winter?utm_source=mail&utm_campaign=c-51&item=${n % 97}`
const agent =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148"

export const mailSenders: ReadonlyArray<Sender> = [
  {
    segment: "postmark",
    name: "Postmark",
    secret,
    perBody: 1,
    sign: () => ({ authorization: `Basic ${btoa(`parlance:${secret}`)}` }),
    body: ([item]) => item,
    item: ({ at, email, kind, message, n, tracking, user }) => ({
      RecordType: kind === "send" ? "Delivery" : kind === "open" ? "Open" : "Click",
      ServerID: 23,
      MessageStream: "outbound",
      MessageID: `883953f4-6105-42a2-a16a-${String(message).padStart(12, "0")}`,
      Recipient: email,
      Tag: "winter",
      Metadata: { tracking_id: tracking, user_id: user },
      ...(kind === "send"
        ? { DeliveredAt: iso(at), Details: "smtp;250 2.0.0 OK" }
        : { ReceivedAt: iso(at), UserAgent: agent, Platform: "Mobile", Geo: { CountryISOCode: "NO", City: "Oslo" } }),
      ...(kind === "click" ? { OriginalLink: shop(n), ClickLocation: "HTML" } : {}),
    }),
  },
]
