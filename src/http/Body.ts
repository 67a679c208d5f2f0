import { Buffer } from "node:buffer"
import { IncomingMessage } from "node:http"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { InvalidRequest, PayloadTooLarge, UnsupportedMediaType } from "./Problems.ts"

/** Bytes of a body at most: 1 MiB. */
export const maxBodyBytes = 1024 * 1024

/** Bytes of a webhook's body at most: 8 MiB. */
export const maxWebhookBytes = 8 * 1024 * 1024

const utf8 = new TextDecoder("utf-8", { fatal: true })

const isJson = (contentType: string): boolean => {
  const [type = "", ...parameters] = contentType.toLowerCase().split(";").map((part) => part.trim())
  return (type === "application/json" || /^application\/[\w.-]+\+json$/.test(type)) &&
    parameters.every((parameter) => !parameter.startsWith("charset=") || /^charset="?utf-8"?$/.test(parameter))
}

const invalid = (detail: string) => new InvalidRequest({ detail, errors: [{ pointer: "", detail }] })

/**
 * The bytes of the body; fails past the limit. Reads Node's stream by its events: the general way through a pipeline costs
 * a fifth of a whole Generate call (measured), and nearly every body is a single chunk.
 */
const bytesOf = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
): Effect.Effect<ArrayBuffer | Uint8Array, unknown> => {
  const { source } = request
  if (!(source instanceof IncomingMessage)) {
    return Effect.flatMap(
      request.arrayBuffer,
      (bytes) => bytes.byteLength > limit ? Effect.fail("too large") : Effect.succeed(bytes),
    )
  }
  return Effect.callback((resume) => {
    const chunks: Array<Buffer> = []
    let size = 0
    source.on("data", (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) {
        source.removeAllListeners("data")
        // What is still coming is read and dropped, so that the answer reaches a client that is still sending.
        source.resume()
        resume(Effect.fail("too large"))
      } else {
        chunks.push(chunk)
      }
    })
    source.on("end", () => resume(Effect.succeed(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))))
    // A client that went away is answered by nobody; the server interrupts its request.
    source.on("error", (error) => resume(Effect.fail(error)))
  })
}

/** What is wrong with a body before it is read: its type, its encoding, its size. */
const refusal = (
  { headers }: HttpServerRequest.HttpServerRequest,
  limit: number,
): PayloadTooLarge | UnsupportedMediaType | undefined => {
  const contentType = headers["content-type"]
  if (contentType !== undefined && contentType !== "application/json" && !isJson(contentType)) {
    return new UnsupportedMediaType({ detail: `The body is declared as ${JSON.stringify(contentType.slice(0, 100))}` })
  }
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding !== "identity") {
    return new UnsupportedMediaType({ detail: `The body is encoded with ${JSON.stringify(encoding.slice(0, 100))}` })
  }
  return Number(headers["content-length"] ?? 0) > limit ? tooLarge(limit) : undefined
}

const tooLarge = (limit: number) => new PayloadTooLarge({ detail: `The body is larger than ${limit} bytes` })

/** A body's bytes as they came, and what they are as JSON. */
export interface RawJson {
  readonly bytes: Uint8Array
  readonly json: unknown
}

/**
 * The request's body, raw and as JSON. Fails for a body over `limit` bytes, one that is declared to be anything but JSON
 * in UTF-8 (a missing Content-Type is taken for JSON), and one that does not parse.
 */
export const rawJson = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
): Effect.Effect<RawJson, InvalidRequest | PayloadTooLarge | UnsupportedMediaType> => {
  const refused = refusal(request, limit)
  if (refused !== undefined) return Effect.fail(refused)
  return Effect.matchEffect(bytesOf(request, limit), {
    onFailure: () => tooLarge(limit),
    onSuccess: (read) => {
      const bytes = read instanceof Uint8Array ? read : new Uint8Array(read)
      let text: string
      try {
        text = utf8.decode(bytes)
      } catch {
        return invalid("The body is not valid UTF-8")
      }
      try {
        return Effect.succeed<RawJson>({ bytes, json: JSON.parse(text) })
      } catch (error) {
        return invalid(`The body is not valid JSON: ${error instanceof Error ? error.message : String(error)}`)
      }
    },
  })
}

/** The request's body as it came, of whatever type. Fails past `limit` bytes. */
export const raw = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
): Effect.Effect<Uint8Array, PayloadTooLarge> =>
  Number(request.headers["content-length"] ?? 0) > limit
    ? tooLarge(limit)
    : Effect.matchEffect(bytesOf(request, limit), {
      onFailure: () => tooLarge(limit),
      onSuccess: (read) => Effect.succeed(read instanceof Uint8Array ? read : new Uint8Array(read)),
    })

/** The request's body as JSON, of at most 1 MiB, for what is read once and forgotten. Fails as `rawJson` does. */
export const json = (
  request: HttpServerRequest.HttpServerRequest,
): Effect.Effect<unknown, InvalidRequest | PayloadTooLarge | UnsupportedMediaType> =>
  Effect.map(rawJson(request, maxBodyBytes), ({ json }) => json)
