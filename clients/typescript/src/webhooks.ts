import { ParlanceWebhookError } from "./errors.ts"
import { isObject } from "./http.ts"

/** Maximum difference between the timestamp of a signature and the current time. Unit: seconds. */
const toleranceSeconds = 300

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

type HeadersLike =
  | Headers
  | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

/** Returns the value of one header. Empty if the header is missing or repeated. */
const headerOf = (headers: HeadersLike, name: string): string => {
  // Frameworks have their own classes of headers, so `instanceof` does not suffice.
  if (typeof headers["get"] === "function") return (headers as Headers).get(name) ?? ""
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? []
  return typeof value === "string" ? value : ""
}

/**
 * Returns the event of a webhook request that Parlance signed with one of the secrets within the last 5 minutes (Standard
 * Webhooks 1.0.0). Fails with `ParlanceWebhookError` for any other request. A message may arrive more than once: compare
 * the header `webhook-id` with the ids of handled messages.
 */
export const verifyWebhook = async (request: {
  /** `whsec_` and Base64. While a secret is being replaced, both secrets. */
  readonly secrets: string | ReadonlyArray<string>
  /** Headers of `Request` or of `node:http`, with names in any case. */
  readonly headers: HeadersLike
  /** The received body, before it is parsed. */
  readonly body: string | Uint8Array
  /** Current time. Default: now. Unit: Unix milliseconds. */
  readonly now?: number
}): Promise<WebhookEvent> => {
  const { body, headers, now = Date.now(), secrets } = request
  const header = (name: string) => headerOf(headers, name)
  const id = header("webhook-id")
  const timestamp = header("webhook-timestamp")
  if (id === "" || !/^\d{1,12}$/.test(timestamp)) {
    throw new ParlanceWebhookError(
      "headers",
      "The request has no webhook-id or no webhook-timestamp: pass all of its headers",
    )
  }
  const seconds = Math.round(now / 1000 - Number(timestamp))
  if (Math.abs(seconds) > toleranceSeconds) {
    const when = seconds > 0 ? `${seconds} s ago` : `${-seconds} s in the future`
    throw new ParlanceWebhookError(
      "timestamp",
      `The request was signed ${when}, more than ${toleranceSeconds} s: check the clock`,
    )
  }
  const content = typeof body === "string" ? new TextEncoder().encode(body) : body
  const keys = (typeof secrets === "string" ? [secrets] : secrets).flatMap(
    (secret) => {
      const bytes = bytesOf(secret.replace(/^whsec_/, ""))
      return bytes === undefined || bytes.length === 0 ? [] : [bytes]
    },
  )
  if (keys.length === 0) {
    throw new ParlanceWebhookError("secret", "No secret is whsec_ and Base64, as the console shows it")
  }
  if (!await isSigned(keys, `${id}.${timestamp}.`, content, header("webhook-signature"))) {
    throw new ParlanceWebhookError(
      "signature",
      "No secret made the signature: check the secret, and pass the body exactly as received",
    )
  }
  return eventIn(content)
}

const isSigned = async (
  keys: ReadonlyArray<Uint8Array<ArrayBuffer>>,
  prefix: string,
  content: Uint8Array,
  header: string,
): Promise<boolean> => {
  const head = new TextEncoder().encode(prefix)
  const signed = new Uint8Array(head.length + content.length)
  signed.set(head)
  signed.set(content, head.length)
  const signatures = header.split(" ").slice(0, 10).flatMap((part) => {
    const bytes = part.startsWith("v1,") ? bytesOf(part.slice(3)) : undefined
    return bytes === undefined ? [] : [bytes]
  })
  for (const bytes of keys) {
    const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"])
    // `verify` needs the same time for every wrong signature.
    for (const signature of signatures) if (await crypto.subtle.verify("HMAC", key, signature, signed)) return true
  }
  return false
}

const eventIn = (content: Uint8Array): WebhookEvent => {
  try {
    const event: unknown = JSON.parse(new TextDecoder().decode(content))
    if (isObject(event) && typeof event["type"] === "string") {
      return event as unknown as WebhookEvent
    }
  } catch {
    // Refused below.
  }
  throw new ParlanceWebhookError("body", "The body is signed and has no event")
}

/** The body of a request with events that come in batches. OpenAPI has the members of each type under `webhooks`. */
export interface WebhookBatch {
  readonly type:
    | "delivery.sent"
    | "message.opened"
    | "message.clicked"
    | "message.bounced"
    | "decision.made"
  /** Time of the batch, ISO 8601. */
  readonly timestamp: string
  readonly data: {
    readonly org: string
    /** At most 1,000. An event that a later batch repeats has the same `id`. */
    readonly events: ReadonlyArray<{ readonly id: string; readonly [member: string]: unknown }>
  }
}

/** The body of a request with one event. OpenAPI has the members of each type under `webhooks`. */
export interface WebhookSingle {
  readonly type:
    | "comment.added"
    | "connection.broken"
    | "connection.refusing"
    | "deliveries.failing"
    | "delivery.failed"
    | "message.send"
    | "person.unsubscribed"
    | "ping"
    | "review.approved"
    | "review.rejected"
    | "review.requested"
    | "source.silent"
    | "suppression.added"
    | "variant.failing"
    | "winner.found"
  /** Time of the event, ISO 8601. */
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
}

/** The body of a webhook request. */
export type WebhookEvent = WebhookBatch | WebhookSingle
