import { createHmac } from "node:crypto"

export type Headers = Readonly<Record<string, string>>

/** One message of a platform: the platform's id, and the tracking id and user of the service. */
export interface Message {
  readonly tracking: string
  readonly user: string
  readonly name: string
  /** Unix milliseconds. */
  readonly at: number
}

export type Kind = "send" | "open" | "click" | "conversion" | "unsubscribe"

/** A platform as it sends. */
export interface Platform {
  readonly segment: string
  readonly alias: string
  readonly secret: (letter: string) => string
  readonly sign: (secret: string, body: string, at?: number) => Headers
  /** Events as the platform sends them: only a send has our tracking id. Undefined where it has no such event. */
  readonly item: (kind: Kind, message: Message) => unknown
  /** Bodies in which it sends them. */
  readonly bodies: (items: ReadonlyArray<unknown>) => ReadonlyArray<unknown>
  /** Whether the signature is over the body. */
  readonly coversBody: boolean
}

/** Unix seconds of Unix milliseconds. */
export const seconds = (at: number) => Math.floor(at / 1000)
export const hmac = (algorithm: string, key: string | Uint8Array, text: string) =>
  createHmac(algorithm, key).update(text)
const each = (items: ReadonlyArray<unknown>) => items

export const braze: Platform = {
  segment: "provider_a",
  alias: "braze",
  coversBody: false,
  secret: (letter) => letter.repeat(32),
  sign: (secret) => ({ authorization: `Bearer ${secret}`, "braze-currents-version": "1" }),
  bodies: (items) => [{ events: items }],
  item: (kind, { at, name, tracking, user }) => {
    const type = {
      send: "users.messages.email.Send",
      open: "users.messages.email.Open",
      click: "users.messages.email.Click",
      conversion: "users.campaigns.Conversion",
      unsubscribe: "users.messages.email.Unsubscribe",
    }[kind]
    return {
      event_type: type,
      id: `${name}-${user}-${kind}`,
      time: seconds(at),
      user: { user_id: `bz-${user}`, external_user_id: user, timezone: "Europe/Berlin" },
      properties: {
        campaign_id: "c-1",
        dispatch_id: name,
        email_address: `${user}@example.com`,
        ...(kind === "send" ? { message_extras: JSON.stringify({ tracking_id: tracking }) } : {}),
        ...(kind === "click" ? { url: "https://shop.example/?utm_source=mail", is_suspected_bot_click: false } : {}),
      },
    }
  },
}

export const iterable: Platform = {
  segment: "provider_b",
  alias: "iterable",
  coversBody: false,
  secret: (letter) => letter.repeat(32),
  sign: (secret) => ({ authorization: `OAuth2 ${secret}` }),
  bodies: each,
  item: (kind, { at, name, tracking, user }) => {
    const event = { send: "emailSend", open: "emailOpen", click: "emailClick", unsubscribe: "emailUnSubscribe" }
    if (kind === "conversion") return undefined
    return {
      email: `${user}@example.com`,
      ...(kind === "send" ? { userId: user } : {}),
      eventName: event[kind],
      dataFields: {
        createdAt: new Date(at).toISOString().slice(0, 19).replace("T", " ") + " +00:00",
        campaignId: 51,
        templateId: 71,
        messageId: name,
        workflowId: null,
        ...(kind === "send" ? { transactionalData: { tracking_id: tracking, subject: "Hi" } } : {}),
        ...(kind === "click" ? { url: "https://shop.example/", linkId: "9021" } : {}),
      },
    }
  },
}

export const customerio: Platform = {
  segment: "provider_c",
  alias: "customerio",
  coversBody: true,
  secret: (letter) => letter.repeat(32),
  sign: (secret, body, at = Date.now()) => ({
    "x-cio-timestamp": String(seconds(at)),
    "x-cio-signature": hmac("sha256", secret, `v0:${seconds(at)}:${body}`).digest("hex"),
  }),
  bodies: each,
  item: (kind, { at, name, tracking, user }) => ({
    event_id: `01J-${name}-${kind}`,
    object_type: "email",
    metric: { send: "sent", open: "opened", click: "clicked", conversion: "converted", unsubscribe: "unsubscribed" }[
      kind
    ],
    timestamp: seconds(at),
    data: {
      identifiers: { id: user, email: `${user}@example.com`, cio_id: `cio-${user}` },
      customer_id: user,
      delivery_id: name,
      campaign_id: 5,
      recipient: `${user}@example.com`,
      subject: "Olá",
      ...(kind === "send" ? { content: "<p>…</p>", headers: { "X-Tracking-Id": [tracking] } } : {}),
      ...(kind === "click" ? { href: "https://shop.example/", link_id: 7, machine: false } : {}),
      ...(kind === "open" ? { prefetched: false, proxied: false } : {}),
    },
  }),
}

export const segment: Platform = {
  segment: "provider_d",
  alias: "segment",
  coversBody: true,
  secret: (letter) => letter.repeat(32),
  sign: (secret, body) => ({ "x-signature": hmac("sha1", secret, body).digest("hex") }),
  bodies: each,
  item: (kind, { at, name, tracking, user }) => ({
    type: "track",
    event: {
      send: "Email Sent",
      open: "Email Opened",
      click: "Email Link Clicked",
      conversion: "Order Completed",
      unsubscribe: "Unsubscribed",
    }[kind],
    userId: user,
    messageId: `${name}-${kind}`,
    timestamp: new Date(at).toISOString(),
    context: { traits: { email: `${user}@example.com` } },
    properties: kind === "conversion" ? { order_id: "o-1", revenue: 12.5 } : {
      email_id: name,
      ...(kind === "send" ? { tracking_id: tracking } : {}),
      ...(kind === "click" ? { link_url: "https://shop.example" } : {}),
    },
  }),
}

export const sfmc: Platform = {
  segment: "provider_e",
  alias: "sfmc",
  coversBody: true,
  secret: (letter) => letter.repeat(32),
  sign: (secret, body) => ({ "x-sfmc-ens-signature": hmac("sha256", secret, body).digest("base64") }),
  bodies: (items) => [items],
  item: (kind, { at, name, tracking, user }) => {
    if (kind === "conversion") return undefined
    const type = {
      send: "TransactionalSendEvents.EmailSent",
      open: "EngagementEvents.EmailOpen",
      click: "EngagementEvents.EmailClick",
      unsubscribe: "EngagementEvents.EmailUnsubscribe",
    }[kind]
    return {
      eventCategoryType: type,
      timestampUTC: at,
      composite: { jobId: "777", batchId: "41", listId: "44", subscriberId: name },
      definitionKey: kind === "send" ? "managed-send" : "NA",
      mid: 500,
      eid: 501,
      info: {
        send: { to: `${user}@example.com`, subscriberKey: user, messageKey: tracking, status: "Sent" },
        open: { ipAddress: "198.51.100.7", userAgent: "Mail" },
        click: { contentLink: "https://shop.example/", jobUrlId: "74", ipAddress: "198.51.100.7" },
        unsubscribe: { to: `${user}@example.com`, domain: "example.com", unsubscribeDate: at },
      }[kind],
    }
  },
}

/** The five platforms, as they send and sign. */
export const platforms = [braze, iterable, customerio, segment, sfmc]

/** A secret of Standard Webhooks. */
export const whsec = (letter: string) => `whsec_${btoa(letter.repeat(32))}`
export const signStandard = (secret: string, body: string, id = "msg_1", at = Date.now()): Headers => {
  const key = Uint8Array.from(atob(secret.slice(6)), (char) => char.charCodeAt(0))
  const signature = hmac("sha256", key, `${id}.${seconds(at)}.${body}`).digest("base64")
  return { "webhook-id": id, "webhook-timestamp": String(seconds(at)), "webhook-signature": `v1,${signature}` }
}
