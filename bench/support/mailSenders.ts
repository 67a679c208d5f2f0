import { createHmac, generateKeyPairSync, randomUUID, sign } from "node:crypto"
import type { Sender } from "./webhookLoad.ts"

// Webhook bodies of senders of e-mail, by number.

const secret = "a-secret-of-the-benchmark-0123456789"
const iso = (at: number) => new Date(at).toISOString()
const shop = (n: number) => `https://shop.example/collections/winter?utm_source=mail&utm_campaign=c-51&item=${n % 97}`
const agent =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148"

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const sha256 = (key: string, text: string) => createHmac("sha256", key).update(text).digest("hex")
const seconds = (at: number) => Math.floor(at / 1000)
const token = { authorization: `Basic ${btoa(`parlance:${secret}`)}` }

export const mailSenders: ReadonlyArray<Sender> = [
  {
    segment: "postmark",
    name: "Postmark",
    secret,
    perBody: 1,
    // The id of the call, which Postmark sends with each record.
    sign: () => ({ ...token, "x-pm-webhook-trace-id": randomUUID() }),
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
  {
    segment: "ses",
    name: "Amazon SES",
    secret,
    perBody: 1,
    sign: () => token,
    body: ([item]) => item,
    item: ({ at, email, kind, message, n, tracking, user }) => ({
      version: "0",
      id: `17793124-05d4-b198-2fde-${String(n).padStart(12, "0")}`,
      "detail-type": kind === "send" ? "Email Sent" : kind === "open" ? "Email Opened" : "Email Clicked",
      source: "aws.ses",
      time: iso(at),
      region: "eu-west-1",
      resources: ["arn:aws:ses:eu-west-1:123456789012:configuration-set/main"],
      detail: {
        eventType: kind === "send" ? "Send" : kind === "open" ? "Open" : "Click",
        mail: {
          timestamp: iso(at),
          messageId: `0100017f-33322211-${message}-000000`,
          source: "news@shop.example",
          destination: [email],
          headersTruncated: false,
          headers: [{ name: "From", value: "news@shop.example" }, { name: "To", value: email }, {
            name: "Subject",
            value: "Hi Ann, boots for you",
          }],
          commonHeaders: { from: ["news@shop.example"], to: [email], subject: "Hi Ann, boots for you" },
          tags: { "ses:configuration-set": ["main"], tracking_id: [tracking], user_id: [user] },
        },
        ...(kind === "open" ? { open: { timestamp: iso(at), ipAddress: "192.0.2.1", userAgent: agent } } : {}),
        ...(kind === "click" ? { click: { timestamp: iso(at), ipAddress: "192.0.2.1", link: shop(n) } } : {}),
      },
    }),
  },
  {
    segment: "sendgrid",
    name: "SendGrid",
    secret: publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    perBody: 10,
    sign: (body, now) => ({
      "x-twilio-email-event-webhook-timestamp": String(seconds(now)),
      "x-twilio-email-event-webhook-signature": sign(
        "sha256",
        new TextEncoder().encode(`${seconds(now)}${body}`),
        privateKey,
      )
        .toString("base64"),
    }),
    body: (items) => items,
    item: ({ at, email, kind, message, n, tracking, user }) => ({
      email,
      timestamp: seconds(at),
      event: kind === "send" ? "processed" : kind,
      "smtp-id": `<14c5d75ce93.dfd.${message}@ismtpd-555>`,
      category: ["winter"],
      sg_event_id: `ZyjAM5rnQmuI1KFInHQ${n}`,
      sg_message_id: `14c5d75ce93-${message}.filter0001.16648.5515E0B88.0`,
      tracking_id: tracking,
      user_id: user,
      ...(kind === "send" ? {} : { useragent: agent, ip: "198.51.100.7" }),
      ...(kind === "open" ? { sg_machine_open: false } : {}),
      ...(kind === "click" ? { url: shop(n), url_offset: { index: 0, type: "html" } } : {}),
    }),
  },
  {
    segment: "mailgun",
    name: "Mailgun",
    secret,
    perBody: 1,
    sign: () => ({}),
    body: ([item]) => item,
    item: ({ at, email, kind, message, n, tracking, user }) => {
      const timestamp = String(seconds(at))
      const once = String(n).padStart(50, "0")
      return {
        signature: { timestamp, token: once, signature: sha256(secret, timestamp + once) },
        "event-data": {
          event: kind === "send" ? "accepted" : kind === "open" ? "opened" : "clicked",
          id: `hTWCTD81RtiDN-${n}`,
          timestamp: at / 1000,
          "log-level": "info",
          recipient: email,
          "recipient-domain": "example.com",
          tags: ["winter"],
          campaigns: [],
          message: { headers: { to: email, "message-id": `20180812211713.1.${message}@mg.shop.example` }, size: 809 },
          "user-variables": { tracking_id: tracking, user_id: user },
          ...(kind === "send"
            ? {}
            : { "client-info": { "client-type": "mobile browser", "user-agent": agent, bot: "" }, ip: "198.51.100.7" }),
          ...(kind === "click" ? { url: shop(n) } : {}),
        },
      }
    },
  },
  {
    segment: "sparkpost",
    name: "SparkPost",
    secret,
    perBody: 10,
    sign: () => token,
    body: (items) => items,
    item: ({ at, email, kind, message, n, tracking, user }) => ({
      msys: {
        [kind === "send" ? "message_event" : "track_event"]: {
          type: kind === "send" ? "injection" : kind,
          event_id: String(92_356_927_693_813_856n + BigInt(n)),
          timestamp: String(seconds(at)),
          transmission_id: String(65_832_150_921_904_138n + BigInt(message)),
          rcpt_to: email,
          rcpt_meta: { tracking_id: tracking, user_id: user },
          rcpt_tags: ["winter"],
          template_id: "winter",
          ...(kind === "send" ? {} : { user_agent: agent, ip_address: "198.51.100.7" }),
          ...(kind === "click" ? { target_link_url: shop(n), target_link_name: "boots" } : {}),
        },
      },
    }),
  },
]
