import { Buffer } from "node:buffer"
import { createHash, createHmac } from "node:crypto"
import { read } from "./MimeReader.ts"
import { type Arrived, isText, lacking, type Options, type PlatformServer, start } from "./PlatformServer.ts"

// E-mail services with an API. Their behaviour is from docs/integrations/facts/email-services.md.

export const sesKey = { access_key_id: "AKIDEXAMPLE0SES", secret_access_key: "ses+secret/key-41" }

export const sesRegion = "eu-west-1"

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest()

/** Whether the request has the AWS Signature Version 4 of `sesKey`. */
export const isSigned = ({ headers, method, path, text }: Pick<Arrived, "headers" | "method" | "path" | "text">) => {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/ses\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
      .exec(headers.authorization ?? "")
  if (match === null) return false
  const [, id, day, region, names, signature] = match as unknown as ReadonlyArray<string>
  const signed = names!.split(";")
  if (id !== sesKey.access_key_id || region !== sesRegion || !signed.includes("host")) return false
  const canonical = [
    method,
    path,
    "",
    ...signed.map((name) => `${name}:${String(headers[name]).trim()}`),
    "",
    names,
    sha256(text),
  ].join("\n")
  const scope = `${day}/${region}/ses/aws4_request`
  const toSign = `AWS4-HMAC-SHA256\n${String(headers["x-amz-date"])}\n${scope}\n${sha256(canonical)}`
  const key = hmac(hmac(hmac(hmac(`AWS4${sesKey.secret_access_key}`, day!), region!), "ses"), "aws4_request")
  return hmac(key, toSign).toString("hex") === signature
}

/** Amazon SES, API version 2: `SendEmail` with raw content, and `GetAccount`. */
export const startSes = (
  { account = { SendingEnabled: true, ProductionAccessEnabled: true }, ...options }: Options & {
    readonly account?: object
  } = {},
): Promise<PlatformServer> => {
  let sent = 0
  return start((request) => {
    const { json, method, path } = request
    if (!isSigned(request)) {
      return {
        status: 403,
        body: { message: "The request signature we calculated does not match the signature you provided." },
        isSend: method === "POST",
      }
    }
    if (method === "GET" && path === "/v2/email/account") {
      return { status: 200, body: account, isSend: false }
    }
    if (path !== "/v2/email/outbound-emails") return { status: 404, body: { message: "Not found" } }
    const raw = Buffer.from(json?.Content?.Raw?.Data ?? "", "base64").toString("latin1")
    const tag = json?.EmailTags?.[0]
    const isValid = isText(json?.Destination?.ToAddresses?.[0]) && read(raw).headers.has("subject") &&
      tag?.Name === "tracking_id" && /^[\w-]{1,256}$/.test(tag.Value)
    return isValid
      ? { status: 200, body: { MessageId: `0100-${++sent}-000000` }, id: tag.Value }
      : { status: 400, body: { message: "BadRequestException" } }
  }, options)
}

export const resendKey = "re_5f1c0a77-key"

/** Resend: each `Idempotency-Key` is accepted once. The key may only send. */
export const startResend = (options: Options = {}): Promise<PlatformServer> => {
  const sent = new Map<string, string>()
  const problem = (statusCode: number, name: string, message: string) => ({
    status: statusCode,
    body: { statusCode, name, message },
  })
  return start(({ headers, json, method, path, text }) => {
    if (headers.authorization !== `Bearer ${resendKey}`) {
      return { ...problem(403, "invalid_api_key", "API key is invalid"), isSend: method === "POST" }
    }
    if (method === "GET") {
      return { ...problem(401, "restricted_api_key", "This API key is restricted to only send emails"), isSend: false }
    }
    if (path !== "/emails") return problem(404, "not_found", "The requested endpoint does not exist")
    const missing = lacking(json, "from", "subject", "text")
    if (missing.length > 0 || !isText(json?.to?.[0])) return problem(422, "missing_required_field", missing.join())
    const key = String(headers["idempotency-key"])
    const earlier = sent.get(key)
    if (earlier !== undefined && earlier !== text) {
      return problem(409, "invalid_idempotent_request", "Same idempotency key used with a different request payload")
    }
    sent.set(key, text)
    const body = { id: `5f0c1d5e-${key.length}-${key}` }
    const id = json.tags?.find((tag: { name: string }) => tag.name === "tracking_id")?.value
    return { status: 200, body, ...(earlier === undefined ? { id } : {}) }
  }, options)
}

export const postmarkToken = "postmark-server-token-9b2e"

export const startPostmark = (options: Options = {}): Promise<PlatformServer> => {
  let sent = 0
  return start(({ headers, json, method, path }) => {
    if (headers["x-postmark-server-token"] !== postmarkToken) {
      const body = { ErrorCode: 10, Message: "The Server Token you provided was not found" }
      return { status: 401, body, isSend: method === "POST" }
    }
    if (method === "GET" && path === "/server") return { status: 200, body: { ID: 1, Name: "shop" }, isSend: false }
    if (path !== "/email") return { status: 404, body: { ErrorCode: 701, Message: "Not found" } }
    const missing = lacking(json, "From", "To", "Subject", "TextBody")
    return missing.length > 0 || !isText(json?.Metadata?.tracking_id)
      ? { status: 422, body: { ErrorCode: 300, Message: `Missing ${missing.join(", ")}` } }
      : {
        status: 200,
        body: { To: json.To, MessageID: `pm-${++sent}`, ErrorCode: 0, Message: "OK" },
        id: json.Metadata.tracking_id,
      }
  }, options)
}
