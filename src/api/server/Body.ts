import { toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { Buffer } from "node:buffer"
import { IncomingMessage, type ServerResponse } from "node:http"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { controlFault } from "../../domain/ControlNames.ts"
import * as Json from "../../domain/Json.ts"
import { textOfUtf8 } from "../../domain/Utf8.ts"
import type { DirectRequest } from "./DirectRoutes.ts"
import { codingOf, codings, inflate, type InflateFailure, isGzip } from "./Inflate.ts"
import { InvalidRequest, PayloadTooLarge, Unavailable, UnsupportedMediaType } from "../Problems.ts"

/** Bytes of a body at most: 1 MiB. */
export const maxBodyBytes = 1024 * 1024

/** Bytes of a webhook's body at most: 8 MiB. */
export const maxWebhookBytes = 8 * 1024 * 1024

const isJson = (contentType: string): boolean => {
  const [type = "", ...parameters] = contentType.toLowerCase().split(";").map((part) => part.trim())
  return (type === "application/json" || /^application\/[\w.-]+\+json$/.test(type)) &&
    parameters.every((parameter) => !parameter.startsWith("charset=") || /^charset="?utf-8"?$/.test(parameter))
}

const invalid = (detail: string) => new InvalidRequest({ detail, errors: [{ pointer: "", detail }] })

/** The problem of a body for which the parser threw `error`. */
const notParsed = (error: unknown): InvalidRequest => {
  const detail = `The body ${Json.explain(error)}`
  return error instanceof Json.ControlNames
    ? new InvalidRequest({
      detail,
      errors: error.pointers.map((pointer) => ({ pointer, detail: controlFault })),
    })
    : invalid(detail)
}

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
const askForBody = (source: IncomingMessage, response: ServerResponse): void => {
  if (
    source.complete || source.httpVersion !== "1.1" || !/(?:^|\W)100-continue(?:$|\W)/i.test(source.headers.expect!)
  ) return
  if (!response.headersSent) response.writeContinue()
}

/** The bytes of a body, or why it was refused. */
export type Arrived = Uint8Array | InvalidRequest | PayloadTooLarge | Unavailable

interface Read {
  /** The body of a request that was read before its route, or why it was refused. */
  [arrived]?: Arrived
}

const arrived = Symbol("arrived")

/** Keeps the body of a request that has been read before its route, which finds it here. */
export const keep = (source: DirectRequest & Read, body: Arrived): void => void (source[arrived] = body)

/** The body of a request that is kept; undefined where it has not been read. */
export const keptOf = (source: DirectRequest & Read): Arrived | undefined => source[arrived]

/** Request headers by lowercase name. */
export type RequestHeaders = Readonly<Record<string, string | undefined>>

/** Whether a request declares a body that needs no room and is JSON without an encoding, which it sends unasked. */
export const isPlain = (headers: RequestHeaders): boolean =>
  Number(headers["content-length"]) <= smallBytes && headers["expect"] === undefined &&
  headers["transfer-encoding"] === undefined && refusal({ headers }, smallBytes) === undefined

/** Memory for a body of at most `limit` bytes. */
const reservation = (limit: number) => {
  let counted = 0
  return {
    /** Reserves memory for so many bytes in all; false if other bodies use it. */
    makesRoom: (bytes: number): boolean => {
      if (bytes <= smallBytes) return true
      const after = held - counted + bytes
      if (after > (limit > maxBodyBytes ? webhookRoomBytes : roomBytes)) return false
      held = after
      counted = bytes
      return true
    },
    release: (): void => {
      held -= counted
      counted = 0
    },
  }
}

/**
 * Reads the body of a request of at most `limit` bytes, and calls `done` with it or with the reason why it was refused: past
 * the limit, and where there is no room for it beside the others that are on their way. Calls `done` never if the client
 * disconnects. Returns a function that stops reading.
 *
 * Reads Node's stream by its events: the general way through a pipeline costs a fifth of a whole Generate call (measured),
 * and nearly every body is a single chunk.
 */
export const read = (
  source: IncomingMessage,
  response: ServerResponse,
  limit: number,
  done: (body: Arrived) => void,
): () => void => {
  const announced = Number(source.headers["content-length"] ?? 0)
  // Size up to which the body can grow without another reservation.
  let room = 0
  const memory = reservation(limit)
  const makesRoom = (bytes: number): boolean => {
    if (!memory.makesRoom(bytes)) return false
    room = bytes
    return true
  }
  const { release } = memory
  let bytes: Uint8Array = noBytes
  let size = 0
  let chunks = 0
  // Removes the listeners, which lead to the response and all that belongs to it: V8 frees a request of Node's much later
  // than a response, and would take 6 kB to the old generation with each (measured).
  const detach = () => {
    release()
    source.off("data", add)
    source.off("end", end)
    source.off("error", release)
  }
  const stop = () => {
    detach()
    bytes = noBytes
    // The rest of the body is read and discarded, so that a client that is still sending can receive the response.
    source.resume()
  }
  const refuse = (problem: PayloadTooLarge | Unavailable) => {
    stop()
    done(problem)
  }
  const add = (chunk: Buffer) => {
    const before = size
    size += chunk.length
    if (size > limit) return refuse(tooLarge(limit))
    if (++chunks > manyChunks && size < chunks * leastChunkBytes) {
      // Reading on to find the next request would cost the same.
      response.shouldKeepAlive = false
      detach()
      source.pause()
      return done(tinyChunks)
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

  const end = () => {
    detach()
    done(size === bytes.length ? bytes : bytes.subarray(0, size))
  }

  if (!makesRoom(announced)) {
    done(noRoom)
    return stop
  }
  if (source.headers.expect !== undefined) askForBody(source, response)
  source.on("data", add)
  source.on("end", end)
  source.on("error", release)
  return stop
}

/**
 * The bytes of the body; fails past the limit, and where there is no room for it beside the others that are on their way.
 */
const bytesOf = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
): Effect.Effect<Uint8Array, InvalidRequest | PayloadTooLarge | Unavailable> => {
  const source: object & Read = request.source
  const before = source[arrived]
  if (before !== undefined) return before instanceof Uint8Array ? Effect.succeed(before) : Effect.fail(before)
  if (!(source instanceof IncomingMessage)) {
    return Effect.matchEffect(request.arrayBuffer, {
      onFailure: () => tooLarge(limit),
      onSuccess: (bytes) => bytes.byteLength > limit ? tooLarge(limit) : Effect.succeed(new Uint8Array(bytes)),
    })
  }
  return Effect.callback((resume) => {
    const stop = read(
      source,
      // Only HTTP/1.1 is served.
      toServerResponse(request) as ServerResponse,
      limit,
      (body) => resume(body instanceof Uint8Array ? Effect.succeed(body) : Effect.fail(body)),
    )
    // The client has disconnected; the server interrupts its request.
    source.on("error", () => resume(tooLarge(limit)))
    return Number(source.headers["content-length"] ?? 0) > smallBytes ||
        source.headers["transfer-encoding"] !== undefined
      ? Effect.sync(stop)
      : undefined
  })
}

/** The problem of a body that is declared to be anything but JSON in UTF-8. */
const refusalOfType = (contentType: string | undefined): UnsupportedMediaType | undefined =>
  contentType === undefined || contentType === "application/json" || isJson(contentType)
    ? undefined
    : new UnsupportedMediaType({
      detail: `The body is declared as ${JSON.stringify(contentType.slice(0, 100))}. Send JSON with Content-Type: ` +
        "application/json",
    })

const refusedCoding = (encoding: string | undefined, instead: string) =>
  new UnsupportedMediaType({
    detail: `The body has the Content-Encoding ${JSON.stringify((encoding ?? "").slice(0, 100))}. ${instead}`,
  })

/** The problem of a body that can be refused before it is read, by its type, encoding or declared size. */
const refusal = (
  { headers }: { readonly headers: RequestHeaders },
  limit: number,
): PayloadTooLarge | UnsupportedMediaType | undefined => {
  const type = refusalOfType(headers["content-type"])
  if (type !== undefined) return type
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && codingOf(encoding) !== "none") {
    return refusedCoding(encoding, "Send it without an encoding")
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
    const text = textOfUtf8(bytes)
    if (text === undefined) return invalid("The body is not valid UTF-8")
    try {
      return Effect.succeed<RawJson>({ bytes, json: Json.parseRequest(text) })
    } catch (error) {
      return notParsed(error)
    }
  })
}

/** The bytes of a body as JSON. Undefined for bytes that `rawJson` refuses. */
export const parse = (bytes: Uint8Array): unknown => {
  const text = textOfUtf8(bytes)
  if (text === undefined) return undefined
  try {
    return Json.parseRequest(text)
  } catch {
    return undefined
  }
}

/** A webhook's body. */
export interface WebhookBody {
  /** The bytes without their coding. */
  readonly bytes: Uint8Array
  /** The bytes as they came. */
  readonly received: Uint8Array
}

/**
 * Reads the body of a webhook, at most 8 MiB before and after decoding: in one of the codings of `Inflate`, or none. With
 * `ofJson`, the body must not be declared as another type. Other codings fail with `UnsupportedMediaType` before the body
 * is read, and faulty ones with `InvalidRequest`. Gzip that is not declared is decoded as well: acknowledged as it is, its events
 * would be lost.
 */
export const ofWebhook = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  { ofJson }: { readonly ofJson: boolean },
): Effect.fn.Return<WebhookBody, InvalidRequest | PayloadTooLarge | Unavailable | UnsupportedMediaType> {
  const encoding = request.headers["content-encoding"]
  const declared = codingOf(encoding)
  if (declared === "unsupported") return yield* refusedCoding(encoding, `Send ${codings}, or no encoding`)
  const type = ofJson ? refusalOfType(request.headers["content-type"]) : undefined
  if (type !== undefined) return yield* type
  const received = yield* raw(request, maxWebhookBytes)
  const coding = declared === "none" && isGzip(received) ? "gzip" : declared
  if (coding === "none" || received.length === 0) return { bytes: received, received }
  const memory = reservation(maxWebhookBytes)
  const inflated = yield* Effect.callback<Uint8Array | InflateFailure>((resume) => {
    const stop = inflate(
      received,
      coding,
      maxWebhookBytes,
      memory.makesRoom,
      (result) => resume(Effect.succeed(result)),
    )
    return Effect.sync(stop)
  }).pipe(Effect.ensuring(Effect.sync(memory.release)))
  if (inflated === "invalid") return yield* invalid(`The body is not valid ${coding}`)
  if (inflated === "too large") {
    return yield* new PayloadTooLarge({
      detail: `The body is larger than ${maxWebhookBytes} bytes without its encoding, or grows too much`,
    })
  }
  return inflated === "no room" ? yield* noRoom : { bytes: inflated, received }
})

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
