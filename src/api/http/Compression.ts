import { Effect } from "effect"
import { HttpBody, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { Buffer } from "node:buffer"
import { createGzip, gzipSync } from "node:zlib"
import { letOthersRun } from "../../runtime/letOthersRun.ts"
import { acceptsGzip } from "./StaticDocument.ts"

// Compression of pages of the console and of JSON of the management API, see docs/decisions/0101.

/** Shorter bodies fit into a packet. Unit: bytes. */
const leastCompressed = 1024

/** Level 2 is a third smaller than level 1 for half as much time again. Level 3 takes several times as long for 3 % more. */
const level = 2

/**
 * What is compressed in one turn of the event loop, about half a millisecond. Deno compresses on the main thread, also in the
 * functions of `node:zlib` that take a callback. Unit: bytes.
 */
const atOnce = 65_536

/** Bodies up to this size are compressed at once, because another turn takes longer than the rest. Unit: bytes. */
const mostAtOnce = 2 * atOnce

/**
 * Whether another site could have caused the request with the cookie of the person, to guess the content from the length of
 * responses to chosen input (BREACH). Browsers say where a request comes from, over HTTPS. Requests without a cookie carry their
 * credentials in a header, which other sites cannot set.
 */
const isOfAnotherSite = ({ headers }: HttpServerRequest.HttpServerRequest): boolean => {
  const site = headers["sec-fetch-site"]
  return site === undefined ? headers["cookie"] !== undefined : site !== "same-origin" && site !== "none"
}

/** Compresses a long body, and lets others run between its parts. */
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
 * The response with its body compressed by gzip, if the client accepts that and the body has 1,024 bytes or more. Responses to
 * other methods than GET stay as they are: they may show a new secret. Streams stay as they are.
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
