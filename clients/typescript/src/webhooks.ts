/** Signatures are accepted this long before and after they were made. Unit: seconds. */
const toleranceSeconds = 300

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

/**
 * Whether a request was signed by Parlance, as Standard Webhooks 1.0.0 describes: by one of the secrets, and within 5 minutes.
 * `body` is the body as it came in, before it is parsed. Compare `webhook-id` with those that were handled before: a
 * message may arrive more than once.
 */
export const verifyWebhook = async (request: {
  /** `whsec_` and Base64; several while a secret is being replaced. */
  readonly secrets: ReadonlyArray<string>
  readonly headers: Headers | Readonly<Record<string, string | undefined>>
  readonly body: string
  /** Unix milliseconds. Default: now. */
  readonly now?: number
}): Promise<boolean> => {
  const { body, headers, now = Date.now(), secrets } = request
  const header = (name: string) => (headers instanceof Headers ? headers.get(name) : headers[name]) ?? ""
  const id = header("webhook-id")
  const timestamp = header("webhook-timestamp")
  if (id === "" || !/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds) return false
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`)
  const signatures = header("webhook-signature").split(" ").slice(0, 10).flatMap((part) => {
    const bytes = part.startsWith("v1,") ? bytesOf(part.slice(3)) : undefined
    return bytes === undefined ? [] : [bytes]
  })
  for (const secret of secrets) {
    const bytes = bytesOf(secret.replace(/^whsec_/, ""))
    if (bytes === undefined || bytes.length === 0) continue
    const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"])
    // `verify` takes the same time for every wrong signature.
    for (const signature of signatures) if (await crypto.subtle.verify("HMAC", key, signature, signed)) return true
  }
  return false
}
