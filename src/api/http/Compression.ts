import { Effect } from "effect"
import { HttpBody, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { Buffer } from "node:buffer"
import { createGzip, gzipSync } from "node:zlib"
import { letOthersRun } from "../../runtime/letOthersRun.ts"
import { acceptsGzip } from "./StaticDocument.ts"

// Compression of pages of the console and of JSON of the management API, see docs/decisions/0101.

/** Minimum size of a compressed body, because shorter bodies fit into one packet. Unit: bytes. */
const leastCompressed = 1024

/**
 * Level 2 of gzip produces a third fewer bytes than level 1 in 1.5 times the time. Level 3 saves another 3 % and needs
 * several times as long.
 */
const level = 2

/**
 * Size of the part that is compressed in one turn of the event loop, in about half a millisecond. Deno compresses on
 * the main thread, even in functions of `node:zlib` with a callback. Unit: bytes.
 */
const atOnce = 65_536

/**
 * Size up to which a body is compressed in a single turn, because a second turn would take longer than compressing the
 * remainder. Unit: bytes.
 */
const mostAtOnce = 2 * atOnce

/**
 * Whether another site may have caused the request with the person's cookie. Such a site could choose input and guess
 * the content from the length of compressed responses (BREACH). Over HTTPS, browsers send `Sec-Fetch-Site`. A request
 * without a cookie carries its credentials in a header, which other sites cannot set.
 */
const isOfAnotherSite = ({ headers }: HttpServerRequest.HttpServerRequest): boolean => {
  const site = headers["sec-fetch-site"]
  return site === undefined ? headers["cookie"] !== undefined : site !== "same-origin" && site !== "none"
}

/** Compresses a long body in parts, and lets other requests run between the parts. */
const gzipInParts = (body: Uint8Array): Effect.Effect<Uint8Array> =>
  Effect.gen(function* () {
    const gzip = createGzip({ level })
    const parts: Array<Uint8Array> = []
    gzip.on("data", (part: Uint8Array) => void parts.push(part))
    for (let at = 0; at < body.length; at += atOnce) {
      yield* Effect.callback<void>((resume) =>
        void gzip.write(body.subarray(at, at + atOnce), () => resume(Effect.void))
      )
      yield* letOthersRun
    }
    yield* Effect.callback<void>((resume) => void gzip.once("end", () => resume(Effect.void)).end())
    return Buffer.concat(parts)
  })

/**
 * Compresses the body of a response with gzip if the client accepts gzip and the body has at least 1,024 bytes. Streams
 * stay uncompressed. Responses to methods other than GET stay uncompressed, because they may contain a new secret, as
 * do responses to requests that another site may have caused.
 */
export const compressed = (
  request: HttpServerRequest.HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse,
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const { body } = response
  if (
    request.method !== "GET" || body._tag !== "Uint8Array" || body.body.length < leastCompressed ||
    response.headers["content-encoding"] !== undefined
  ) return Effect.succeed(response)
  const varying = HttpServerResponse.setHeader(response, "vary", "accept-encoding")
  if (!acceptsGzip(request.headers["accept-encoding"]) || isOfAnotherSite(request)) return Effect.succeed(varying)
  const { body: bytes, contentType } = body
  const zipped = bytes.length <= mostAtOnce ? Effect.sync(() => gzipSync(bytes, { level })) : gzipInParts(bytes)
  return Effect.map(zipped, (bytes) =>
    HttpServerResponse.setBody(
      HttpServerResponse.setHeader(varying, "content-encoding", "gzip"),
      HttpBody.uint8Array(bytes, contentType),
    ))
}
