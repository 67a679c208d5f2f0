/** Maximum difference between the timestamp of a signature and the current time. Unit: seconds. */
const toleranceSeconds = 300

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

type HeadersLike = Headers | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

/** Returns the value of one header. Empty if the header is missing or repeated. */
const headerOf = (headers: HeadersLike, name: string): string => {
  // Frameworks have their own classes of headers, so `instanceof` does not suffice.
  if (typeof headers["get"] === "function") return (headers as Headers).get(name) ?? ""
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? []
  return typeof value === "string" ? value : ""
}

/**
 * Whether Parlance signed a request with one of the secrets within the last 5 minutes (Standard Webhooks 1.0.0). `body`
 * is the received body, before it is parsed. A message may arrive more than once: compare `webhook-id` with the ids of
 * handled messages.
 */
export const verifyWebhook = async (request: {
  /** `whsec_` and Base64. While a secret is being replaced, both secrets. */
  readonly secrets: string | ReadonlyArray<string>
  /** Headers of `Request` or of `node:http`, with names in any case. */
  readonly headers: HeadersLike
  readonly body: string | Uint8Array
  /** Current time. Default: now. Unit: Unix milliseconds. */
  readonly now?: number
}): Promise<boolean> => {
  const { body, headers, now = Date.now(), secrets } = request
  const header = (name: string) => headerOf(headers, name)
  const id = header("webhook-id")
  const timestamp = header("webhook-timestamp")
  if (id === "" || !/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds) return false
  const encoder = new TextEncoder()
  const head = encoder.encode(`${id}.${timestamp}.`)
  const content = typeof body === "string" ? encoder.encode(body) : body
  const signed = new Uint8Array(head.length + content.length)
  signed.set(head)
  signed.set(content, head.length)
  const signatures = header("webhook-signature").split(" ").slice(0, 10).flatMap((part) => {
    const bytes = part.startsWith("v1,") ? bytesOf(part.slice(3)) : undefined
    return bytes === undefined ? [] : [bytes]
  })
  for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
    const bytes = bytesOf(secret.replace(/^whsec_/, ""))
    if (bytes === undefined || bytes.length === 0) continue
    const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"])
    // `verify` needs the same time for every wrong signature.
    for (const signature of signatures) if (await crypto.subtle.verify("HMAC", key, signature, signed)) return true
  }
  return false
}

/** The body of a request with events that come in batches. OpenAPI has the members of each type under `webhooks`. */
export interface WebhookBatch {
  readonly type: "delivery.sent" | "message.opened" | "message.clicked" | "message.bounced" | "decision.made"
  /** Time of the batch, ISO 8601. */
  readonly timestamp: string
  readonly data: {
    readonly org: string
    /** At most 1,000. An event that a later batch repeats has the same `id`. */
    readonly events: ReadonlyArray<{ readonly id: string; readonly [member: string]: unknown }>
  }
}
