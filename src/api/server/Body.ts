import { toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { Buffer } from "node:buffer"
import { IncomingMessage } from "node:http"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as Json from "../../domain/Json.ts"
import { InvalidRequest, PayloadTooLarge, Unavailable, UnsupportedMediaType } from "../Problems.ts"

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
 * Memory that all bodies on their way may take together; webhooks, which are sent again, leave a third to the others. As much
 * as half of it comes on top, in sockets and garbage (measured).
 */
const roomBytes = 48 * 1024 * 1024
const webhookRoomBytes = 32 * 1024 * 1024

/**
 * A body up to this size needs no room: its request takes as much memory without it, and calls of the API are to be
 * answered however much of large bodies is on its way.
 */
const smallBytes = 16 * 1024

let held = 0

/** Memory in use by bodies that are still arriving. Unit: bytes. */
export const heldBytes = (): number => held

/**
 * A body in more chunks than this, of fewer bytes each on average, is refused: each chunk costs as much as a kilobyte of body,
 * so that 1 MiB in chunks of one byte would keep the service busy for most of a second.
 */
const manyChunks = 4096
const leastChunkBytes = 32

const tinyChunks = invalid(
  "The body arrives in chunks of a few bytes. Send larger chunks, or a Content-Length",
)

const noBytes = Buffer.alloc(0)

/** Answers `Expect: 100-continue`, which Node leaves to Effect, and Effect to its own ways of reading a body. */
const askForBody = (request: HttpServerRequest.HttpServerRequest, source: IncomingMessage): void => {
  if (
    source.complete || source.httpVersion !== "1.1" || !/(?:^|\W)100-continue(?:$|\W)/i.test(source.headers.expect!)
  ) return
  const response = toServerResponse(request)
  if (!response.headersSent) response.writeContinue()
}

/**
 * The bytes of the body; fails past the limit, and where there is no room for it beside the others that are on their way.
 * Reads Node's stream by its events: the general way through a pipeline costs a fifth of a whole Generate call (measured),
 * and nearly every body is a single chunk.
 */
const bytesOf = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
): Effect.Effect<Uint8Array, InvalidRequest | PayloadTooLarge | Unavailable> => {
  const { source } = request
  if (!(source instanceof IncomingMessage)) {
    return Effect.matchEffect(request.arrayBuffer, {
      onFailure: () => tooLarge(limit),
      onSuccess: (bytes) => bytes.byteLength > limit ? tooLarge(limit) : Effect.succeed(new Uint8Array(bytes)),
    })
  }
  return Effect.callback((resume) => {
    const announced = Number(source.headers["content-length"] ?? 0)
    // Size up to which the body can grow without another reservation, and the memory reserved for it.
    let room = 0
    let counted = 0
    const makesRoom = (bytes: number): boolean => {
      if (bytes > smallBytes) {
        const after = held - counted + bytes
        if (after > (limit > maxBodyBytes ? webhookRoomBytes : roomBytes)) return false
        held = after
        counted = bytes
      }
      room = bytes
      return true
    }
    const release = () => {
      held -= counted
      counted = 0
    }

    if (!makesRoom(announced)) return resume(noRoom)
    let bytes: Uint8Array = noBytes
    let size = 0
    let chunks = 0
    const add = (chunk: Buffer) => {
      const before = size
      size += chunk.length
      if (size > limit) return refuse(tooLarge(limit))
      if (++chunks > manyChunks && size < chunks * leastChunkBytes) {
        // Reading on to find the next request would cost the same.
        const response = toServerResponse(request)
        if ("shouldKeepAlive" in response) response.shouldKeepAlive = false
        source.off("data", add).pause()
        release()
        return resume(tinyChunks)
      }
      // Without a length: twice as much each time.
      if (size > room && !makesRoom(Math.min(limit, Math.max(size, 2 * room)))) return refuse(noRoom)
      if (before === 0) {
        bytes = chunk
        return
      }
      // Copied rather than kept: a client may send each byte as a chunk, which takes many times its size.
      if (size > bytes.length) {
        const larger = Buffer.allocUnsafe(room)
        larger.set(bytes.subarray(0, before))
        bytes = larger
      }
      bytes.set(chunk, before)
    }
    const stop = () => {
      release()
      source.off("data", add)
      bytes = noBytes
      // The rest of the body is read and discarded, so that a client that is still sending can receive the response.
      source.resume()
    }
    const refuse = (problem: PayloadTooLarge | Unavailable) => {
      stop()
      resume(problem)
    }
    if (source.headers.expect !== undefined) askForBody(request, source)
    source.on("data", add)
    source.on("end", () => {
      release()
      resume(Effect.succeed(size === bytes.length ? bytes : bytes.subarray(0, size)))
    })
    // The client has disconnected; the server interrupts its request.
    source.on("error", () => {
      release()
      resume(tooLarge(limit))
    })
    return announced > smallBytes || source.headers["transfer-encoding"] !== undefined ? Effect.sync(stop) : undefined
  })
}

/** The problem of a body that can be refused before it is read, by its type, encoding or declared size. */
const refusal = (
  { headers }: HttpServerRequest.HttpServerRequest,
  limit: number,
): PayloadTooLarge | UnsupportedMediaType | undefined => {
  const contentType = headers["content-type"]
  if (contentType !== undefined && contentType !== "application/json" && !isJson(contentType)) {
    return new UnsupportedMediaType({
      detail: `The body is declared as ${JSON.stringify(contentType.slice(0, 100))}. Send JSON with Content-Type: ` +
        "application/json",
    })
  }
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding !== "identity") {
    return new UnsupportedMediaType({
      detail: `The body has the Content-Encoding ${
        JSON.stringify(encoding.slice(0, 100))
      }. Send it without an encoding`,
    })
  }
  return Number(headers["content-length"] ?? 0) > limit ? tooLarge(limit) : undefined
}

const tooLarge = (limit: number) => new PayloadTooLarge({ detail: `The body is larger than ${limit} bytes` })

const noRoom = new Unavailable({
  detail: "The memory for request bodies is in use by other requests, and this request was not processed",
})

/** A body as bytes and as parsed JSON. */
export interface RawJson {
  readonly bytes: Uint8Array
  readonly json: unknown
}

/**
 * The request's body, raw and as JSON. Fails for a body over `limit` bytes, one that is declared to be anything but JSON
 * in UTF-8 (a missing Content-Type is taken for JSON), one that does not parse, and one there is no room for.
 */
export const rawJson = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
): Effect.Effect<RawJson, InvalidRequest | PayloadTooLarge | Unavailable | UnsupportedMediaType> => {
  const refused = refusal(request, limit)
  if (refused !== undefined) return Effect.fail(refused)
  return Effect.flatMap(bytesOf(request, limit), (bytes) => {
    let text: string
    try {
      text = utf8.decode(bytes)
    } catch {
      return invalid("The body is not valid UTF-8")
    }
    try {
      return Effect.succeed<RawJson>({ bytes, json: Json.parse(text) })
    } catch (error) {
      return invalid(`The body ${Json.explain(error)}`)
    }
  })
}

/** The bytes of a body that may be JSON, of which only the type is checked. Fails as `rawJson` does before it parses. */
export const rawOfJson = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
): Effect.Effect<Uint8Array, InvalidRequest | PayloadTooLarge | Unavailable | UnsupportedMediaType> => {
  const refused = refusal(request, limit)
  return refused === undefined ? bytesOf(request, limit) : Effect.fail(refused)
}

/**
 * Reads the request's body of any type. Fails with `PayloadTooLarge` past `limit` bytes, and with `Unavailable` if the
 * memory for bodies is in use.
 */
export const raw = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
): Effect.Effect<Uint8Array, InvalidRequest | PayloadTooLarge | Unavailable> =>
  Number(request.headers["content-length"] ?? 0) > limit ? tooLarge(limit) : bytesOf(request, limit)

/** Reads the request's body as JSON of at most 1 MiB, without keeping the bytes. Fails as `rawJson` does. */
export const json = (
  request: HttpServerRequest.HttpServerRequest,
): Effect.Effect<unknown, InvalidRequest | PayloadTooLarge | Unavailable | UnsupportedMediaType> =>
  Effect.map(rawJson(request, maxBodyBytes), ({ json }) => json)
