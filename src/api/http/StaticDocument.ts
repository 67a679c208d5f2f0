import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { Buffer } from "node:buffer"
import { hash } from "node:crypto"
import { constants, gzipSync } from "node:zlib"

/** Minimum size of a compressed document, because shorter documents fit into two packets. Unit: bytes. */
const leastCompressed = 2048

/** Whether an `Accept-Encoding` header allows gzip, by name or with `*`. */
export const acceptsGzip = (header: string | undefined): boolean => {
  let any = false
  for (const part of (header ?? "").toLowerCase().split(",")) {
    const [name, ...parameters] = part.split(";").map((text) => text.trim())
    const isTaken = !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
    if (name === "gzip" || name === "x-gzip") return isTaken
    if (name === "*") any = isTaken
  }
  return any
}

/** Whether an `If-None-Match` names this entity tag; tags are compared without their `W/`. */
export const matchesTag = (header: string | undefined, tag: string): boolean =>
  header !== undefined &&
  header.split(",").some((part) => part.trim() === "*" || part.trim().replace(/^W\//, "") === tag.replace(/^W\//, ""))

/** The entity tag of a document. Weak: one tag for both encodings. */
export const entityTag = (plain: Uint8Array): string => `W/"${hash("sha256", plain, "hex").slice(0, 32)}"`

/**
 * Prepares a document that is identical for all clients. The document is encoded and compressed once, and sent from
 * shared bytes, so that slow readers hold no copies. The returned function responds with 304 if the client has the
 * document, and with gzip if the client accepts gzip. `headers` must include `cache-control`.
 */
export const staticDocument = (
  text: string,
  contentType: string,
  headers: Readonly<Record<string, string>>,
): (request: HttpServerRequest.HttpServerRequest) => HttpServerResponse.HttpServerResponse => {
  const plain = Buffer.from(text)
  const etag = entityTag(plain)
  const all = { ...headers, etag, vary: "accept-encoding" }
  const respond = (body: Buffer, more: Record<string, string> = {}) =>
    HttpServerResponse.uint8Array(body, { contentType, headers: { ...all, ...more } })
  const identity = respond(plain)
  const compressed = plain.length < leastCompressed
    ? identity
    : respond(gzipSync(plain, { level: constants.Z_BEST_COMPRESSION }), { "content-encoding": "gzip" })
  const unchanged = HttpServerResponse.empty({ status: 304, headers: all })
  return ({ headers }) =>
    matchesTag(headers["if-none-match"], etag)
      ? unchanged
      : acceptsGzip(headers["accept-encoding"])
      ? compressed
      : identity
}
