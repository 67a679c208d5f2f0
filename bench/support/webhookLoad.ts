// Webhook bodies of the platforms, by number, and a load generator that sends them: an open loop over keep-alive
// connections in the way of bench/support/load.ts, with a different body and signature each time. Prints one JSON line.
//
//   deno run -A bench/support/webhookLoad.ts '{"url": "...", "segment": "provider_a", "seconds": 5, "rate": 1000, …}'
import { createHmac } from "node:crypto"
import { postMessage } from "./Connection.ts"
import { mailSenders } from "./mailSenders.ts"
import { loop, type Looped, type LoopOptions } from "./Loop.ts"

/**
 * One event of the stream. The ratio of sends, opens and clicks is 5 to 4 to 1. Some platforms report the tracking id
 * only in sends.
 */
export interface StreamedEvent {
  readonly kind: "send" | "open" | "click"
  /** Number of the event, and of its message. */
  readonly n: number
  readonly message: number
  readonly tracking: string
  readonly user: string
  readonly email: string
  /** Unix milliseconds. */
  readonly at: number
}

/** Returns event `n`. Messages are opened and clicked while other messages are sent. */
const streamedEvent = (n: number, decisions: number, base: number): StreamedEvent => {
  const round = n % 10
  const message = 5 * Math.floor(n / 10) + round % 5
  const decision = message % decisions
  return {
    kind: round < 5 ? "send" : round < 9 ? "open" : "click",
    n,
    message,
    tracking: `d-${decision}`,
    user: `c-${decision}`,
    email: `person.${decision}@example.com`,
    at: base + Math.floor(n / 10),
  }
}

const shop = (n: number) => `https://shop.example/collections/winter?utm_source=mail&utm_campaign=c-51&item=${n % 97}`
const seconds = (at: number) => Math.floor(at / 1000)
const agent =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148"

/** The format in which a platform sends. */
export interface Sender {
  readonly segment: string
  readonly name: string
  readonly secret: string
  /** Number of events in a body: the number that the platform sends, at most 10. */
  readonly perBody: number
  readonly item: (event: StreamedEvent) => unknown
  readonly body: (items: ReadonlyArray<unknown>) => unknown
  readonly sign: (body: string, now: number) => Readonly<Record<string, string>>
}

const secret = "a-secret-of-the-benchmark-0123456789"
const hmac = (algorithm: string, text: string) => createHmac(algorithm, secret).update(text)
const single = (items: ReadonlyArray<unknown>) => items[0]

export const senders: ReadonlyArray<Sender> = [
  {
    segment: "provider_a",
    name: "Braze",
    secret,
    perBody: 10,
    sign: () => ({ authorization: `Bearer ${secret}`, "braze-currents-version": "1" }),
    body: (events) => ({ events }),
    item: ({ at, email, kind, message, n, tracking, user }) => ({
      event_type: `users.messages.email.${kind === "send" ? "Send" : kind === "open" ? "Open" : "Click"}`,
      id: `a1b2c3d4-5e6f-7a8b-9c0d-${String(n).padStart(12, "0")}`,
      time: seconds(at),
      user: { user_id: `5f0a${user}`, external_user_id: user, timezone: "Europe/Berlin" },
      properties: {
        app_group_id: "6a1b2c3d4e5f",
        campaign_id: "11ab22cd-33ef-4455-6677-8899aabbccdd",
        campaign_name: "Winter collection",
        message_variation_id: "99ff88ee-77dd-66cc-55bb-44aa33221100",
        dispatch_id: `disp-${message}`,
        send_id: `send-${Math.floor(message / 1000)}`,
        email_address: email,
        ...(kind === "send"
          ? { message_extras: JSON.stringify({ tracking_id: tracking }), ip_pool: "marketing" }
          : { user_agent: agent, esp: "sparkpost", from_domain: "news.example.com" }),
        ...(kind === "click" ? { url: shop(n), link_alias: "hero", is_suspected_bot_click: false } : {}),
      },
    }),
  },
  {
    segment: "provider_b",
    name: "Iterable",
    secret,
    perBody: 1,
    sign: () => ({ authorization: `OAuth2 ${secret}` }),
    body: single,
    item: ({ at, email, kind, message, n, tracking, user }) => ({
      email,
      userId: user,
      eventName: kind === "send" ? "emailSend" : kind === "open" ? "emailOpen" : "emailClick",
      dataFields: {
        createdAt: new Date(at).toISOString().replace("T", " ").replace(/\..*/, " +00:00"),
        campaignId: 51,
        campaignName: "Winter collection",
        templateId: 71,
        templateName: "Winter",
        channelId: 3,
        messageTypeId: 9,
        messageId: `9f7b${message}`,
        emailId: `c51:t71:${email}`,
        workflowId: null,
        ...(kind === "send"
          ? {
            emailSubject: "{{subject}}",
            transactionalData: { tracking_id: tracking, subject: "Hi Ann, boots for you" },
          }
          : { userAgent: agent, userAgentDevice: "iPhone", ip: "198.51.100.7" }),
        ...(kind === "click" ? { url: shop(n), linkId: "9021", linkUrl: shop(n), hrefIndex: 2 } : {}),
      },
    }),
  },
  {
    segment: "provider_c",
    name: "Customer.io",
    secret,
    perBody: 1,
    sign: (body, now) => ({
      "x-cio-timestamp": String(seconds(now)),
      "x-cio-signature": hmac("sha256", `v0:${seconds(now)}:${body}`).digest("hex"),
    }),
    body: single,
    item: ({ at, email, kind, message, n, tracking, user }) => ({
      event_id: `01J0AB${String(n).padStart(20, "0")}`,
      object_type: "email",
      metric: kind === "send" ? "sent" : kind === "open" ? "opened" : "clicked",
      timestamp: seconds(at),
      data: {
        identifiers: { id: user, email, cio_id: `cio-${user}` },
        customer_id: user,
        delivery_id: `RPIL${message}`,
        campaign_id: 51,
        action_id: 12,
        journey_id: "01HZJOURNEY",
        recipient: email,
        subject: "Olá, boots for you",
        ...(kind === "send" ? { headers: { "X-Tracking-Id": [tracking] } } : {}),
        ...(kind === "open" ? { proxied: false, prefetched: false } : {}),
        ...(kind === "click" ? { href: shop(n), link_id: 7, machine: false } : {}),
      },
    }),
  },
  {
    segment: "provider_d",
    name: "Segment",
    secret,
    perBody: 10,
    // A signature covers only the first item of a batch, so customers with batches use a token.
    sign: () => ({ authorization: `Bearer ${secret}` }),
    body: (items) => items,
    item: ({ at, email, kind, message, n, tracking, user }) => ({
      type: "track",
      event: kind === "send" ? "Email Sent" : kind === "open" ? "Email Opened" : "Email Link Clicked",
      userId: user,
      anonymousId: null,
      messageId: `seg-5e6f7a8b9c0d-${n}`,
      timestamp: new Date(at).toISOString(),
      originalTimestamp: new Date(at).toISOString(),
      sentAt: new Date(at + 900).toISOString(),
      receivedAt: new Date(at + 1200).toISOString(),
      context: {
        traits: { email },
        library: { name: "mailer", version: "2.1.0" },
        integration: { name: "mailer", version: "1.0.0" },
        userAgent: agent,
      },
      integrations: {},
      properties: {
        email_id: `em-${message}`,
        email_subject: "Hi Ann, boots for you",
        campaign_id: "51",
        campaign_name: "Winter collection",
        ...(kind === "send" ? { tracking_id: tracking } : {}),
        ...(kind === "click" ? { link_id: "7", link_url: shop(n) } : {}),
      },
    }),
  },
  {
    segment: "provider_e",
    name: "SFMC",
    secret,
    perBody: 10,
    sign: (body) => ({ "x-sfmc-ens-signature": hmac("sha256", body).digest("base64") }),
    body: (items) => items,
    item: ({ at, email, kind, message, n, tracking, user }) => ({
      eventCategoryType: kind === "send"
        ? "TransactionalSendEvents.EmailSent"
        : `EngagementEvents.Email${kind === "open" ? "Open" : "Click"}`,
      timestampUTC: at,
      compositeId: `777.41.44.${message}`,
      composite: { jobId: "777", batchId: "41", listId: "44", subscriberId: String(message), emailId: "12" },
      definitionKey: kind === "send" ? "managed-send" : "NA",
      definitionId: kind === "send" ? "8d1f0c2e-0000-4000-8000-000000000001" : "NA",
      mid: 500,
      eid: 501,
      info: kind === "send"
        ? { to: email, subscriberKey: user, messageKey: tracking, status: "Sent", renderedSubject: "Hi Ann" }
        : {
          ipAddress: "198.51.100.7",
          userAgent: agent,
          location: { country: "NO", city: "Oslo" },
          ...(kind === "click" ? { jobUrlId: "74", contentLink: shop(n), impressionRegion: "hero" } : {}),
        },
    }),
  },
  ...mailSenders,
]

/** Returns the text of the body with event `n` and the following events. */
export const bodyOf = ({ body, item, perBody }: Sender, n: number, decisions: number, base: number): string =>
  JSON.stringify(body(Array.from({ length: perBody }, (_, i) => item(streamedEvent(n + i, decisions, base)))))

interface Options extends LoopOptions {
  readonly segment: string
  readonly first: number
  readonly decisions: number
  readonly base: number
  /** Whether responses contain the number of events. */
  readonly counted: boolean
}

/** Result of the load. */
export interface Sent extends Looped {
  readonly next: number
  /** Number of responses whose number of events differs from the sent number. */
  readonly wrong: number
}

const load = async (options: Options): Promise<Sent> => {
  const { base, counted, decisions } = options
  const sender = senders.find(({ segment }) => segment === options.segment)!
  const url = new URL(options.url)
  let next = options.first
  let wrong = 0
  const looped = await loop(options, () => {
    const text = bodyOf(sender, next, decisions, base)
    next += sender.perBody
    return async (connection, answered) => {
      const message = postMessage(url, sender.sign(text, Date.now()), text)
      const { body, status } = await connection.send(message, counted)
      answered(status)
      if (counted && status === "200" && JSON.parse(body).received !== sender.perBody) wrong++
    }
  })
  return { ...looped, next, wrong }
}

if (import.meta.main) console.log(JSON.stringify(await load(JSON.parse(Deno.args[0]!))))
