import { Context, Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { performance } from "node:perf_hooks"
import { controlFault } from "../../json/ControlNames.ts"
import * as Json from "../../json/Json.ts"
import { SlotSet, type Slotted } from "../../domain/ShortLived.ts"
import { bodyEncodingFault } from "../../text/Encodings.ts"
import { textOfUtf8 } from "../../text/Utf8.ts"
import { CurrentArrival, type RequestArrival } from "./RequestArrival.ts"
import { codingOf, codings, inflate, type InflateFailure, isGzip } from "./Inflate.ts"
import { InvalidRequest, PayloadTooLarge, RequestTimeout, Unavailable, UnsupportedMediaType } from "../Problems.ts"
import { unref } from "../../runtime/unref.ts"

/** Maximum size of a body: 1 MiB. Unit: bytes. */
export const maxBodyBytes = 1024 * 1024

/** Maximum size of the body of a webhook, and of a body with the content of templates: 8 MiB. Unit: bytes. */
export const maxLargeBytes = 8 * 1024 * 1024

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
 * Memory limit for all bodies that are still arriving: 48 MiB. Sockets and garbage use up to half as much in addition
 * (measured). Unit: bytes.
 */
const roomBytes = 48 * 1024 * 1024
/**
 * Memory limit for bodies that may have up to 8 MiB, counted with all other bodies: 32 MiB. Platforms repeat refused
 * webhooks, and imports can wait, so a third of the memory stays free for other requests. Unit: bytes.
 */
const largeRoomBytes = 32 * 1024 * 1024

/**
 * Size up to which a body needs no reservation, because its request uses about as much memory without it. Small API
 * calls are therefore accepted even if large bodies occupy the whole memory. Unit: bytes.
 */
const smallBytes = 16 * 1024

let held = 0

/** Memory in use by bodies that are still arriving. Unit: bytes. */
export const heldBytes = (): number => held

/**
 * Number of chunks above which a body needs chunks of at least `leastChunkBytes` on average. A chunk costs as much
 * processor time as a kilobyte of body, so 1 MiB in chunks of one byte would occupy the service for most of a second.
 */
const manyChunks = 4096
/** Minimum average size of the chunks of a body with more than `manyChunks` chunks. Unit: bytes. */
const leastChunkBytes = 32

const tinyChunks = invalid(
  "The body arrives in chunks of a few bytes. Send larger chunks, or a Content-Length",
)

/** The body of a request without one. */
const noBytes = new Uint8Array(0)

/** Problems of a body that was refused or did not arrive completely. */
type Refused = InvalidRequest | PayloadTooLarge | Unavailable

/** The bytes of a body, or the problem that prevented reading it. */
type Arrived = Uint8Array | Refused | RequestTimeout

/** Reserves memory for one body of at most `limit` bytes. */
const reservation = (limit: number) => {
  let counted = 0
  let isReleased = false
  return {
    /** Raises the reservation to `bytes` in total. Returns false if other bodies use the memory, or after `release`. */
    makesRoom: (bytes: number): boolean => {
      if (isReleased) return false
      if (bytes <= smallBytes) return true
      const after = held - counted + bytes
      if (after > (limit > maxBodyBytes ? largeRoomBytes : roomBytes)) return false
      held = after
      counted = bytes
      return true
    },
    release: (): void => {
      isReleased = true
      held -= counted
      counted = 0
    },
  }
}

const cut = invalid("The body did not arrive to its end")

const endedMeanwhile = new Unavailable({ detail: "The service ended before the body had arrived" })

const badLength = invalid("The Content-Length is not valid")

const tooSlow = new RequestTimeout({ detail: "The request did not arrive within the time limit" })

/** A body that is still arriving. */
class ArrivingBody implements Slotted {
  slot = -1

  /** Called when the body has arrived, was refused, or its request was interrupted. */
  onEnd: (() => void) | undefined

  /** `done` is called once, with the body or with the problem of a refusal. `release` returns the reserved memory. */
  constructor(
    readonly arrival: RequestArrival,
    readonly done: (body: Arrived) => void,
    readonly release: () => void,
  ) {
    arrival.isArriving = true
    arriving.add(this)
    refuseOverdue()
  }

  /**
   * Ends the reading. Undefined: the request was interrupted, and `done` is not called. Only the first call has an
   * effect.
   */
  finish(body: Arrived | undefined): void {
    if (!arriving.delete(this)) return
    this.arrival.isArriving = false
    this.release()
    if (body !== undefined) this.done(body)
    this.onEnd?.()
  }

  /** Ends the reading of a body that arrived in part, because the client or the server closed the connection. */
  cut(): void {
    this.finish(this.arrival.isEnding() ? endedMeanwhile : cut)
  }
}

const arriving = new SlotSet<ArrivingBody>()

/** Interval of the search for bodies that missed their deadline. Unit: milliseconds. */
const checkMillis = 100

let isScheduled = false

/** Refuses bodies that missed their deadline. Runs while any body is arriving. */
const refuseOverdue = (): void => {
  if (isScheduled || arriving.size === 0) return
  isScheduled = true
  const timer: unknown = setTimeout(() => {
    const now = performance.now()
    for (const body of arriving.values()) if (body.arrival.deadline <= now) body.finish(tooSlow)
    isScheduled = false
    refuseOverdue()
  }, checkMillis)
  unref(timer)
}

/** Collects the chunks of a body. `makesRoom` reserves memory for a total number of bytes. */
const collector = (limit: number, announced: number, makesRoom: (bytes: number) => boolean) => {
  // Size up to which the body can grow without another reservation.
  let room = announced
  let bytes: Uint8Array = noBytes
  let size = 0
  let chunks = 0
  return {
    /** Adds a chunk. Returns a problem if the body must be refused. */
    add: (chunk: Uint8Array): Refused | undefined => {
      const before = size
      size += chunk.length
      if (size > limit) return tooLarge(limit)
      if (++chunks > manyChunks && size < chunks * leastChunkBytes) return tinyChunks
      if (size > room) {
        // Without a Content-Length, each reservation at least doubles the previous one.
        room = Math.min(limit, Math.max(size, 2 * room))
        if (!makesRoom(room)) return noRoom
      }
      if (before === 0 && size === room) {
        bytes = chunk
        return undefined
      }
      // Copies the chunk instead of keeping it: an array for each chunk of one byte would use many times the body's
      // size.
      if (size > bytes.length) {
        const larger = new Uint8Array(Math.max(room, size))
        larger.set(bytes.subarray(0, before))
        bytes = larger
      }
      bytes.set(chunk, before)
      return undefined
    },
    whole: (): Uint8Array => size === bytes.length ? bytes : bytes.subarray(0, size),
  }
}

/** Resolves once the bodies that are arriving now at one server have arrived or were refused. */
export const arrivedOf = (isOfServer: (arrival: RequestArrival) => boolean): Promise<unknown> =>
  Promise.all(
    arriving.values().filter(({ arrival }) => isOfServer(arrival)).map((body) =>
      new Promise<void>((resolve) => body.onEnd = resolve)
    ),
  )

/**
 * Returns the `Content-Length` of a request: undefined without the header, or NaN if it is not valid. Several equal
 * values count as one (RFC 9110, 8.6).
 */
const lengthOf = (
  { headers }: { readonly headers: Readonly<Record<string, string | undefined>> },
): number | undefined => {
  const text = headers["content-length"]
  if (text === undefined) return undefined
  const [first = "", ...others] = text.split(",").map((part) => part.trim())
  return /^\d{1,15}$/.test(first) && others.every((other) => other === first) ? Number(first) : NaN
}

/** Reads the chunks of a stream until `add` refuses one. */
const readChunks = async (
  reader: ReadableStreamDefaultReader<Uint8Array>,
  add: (chunk: Uint8Array) => Refused | undefined,
): Promise<Refused | undefined> => {
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return undefined
    const refused = add(value)
    if (refused !== undefined) return refused
  }
}

/**
 * Reads the body of a request, and calls `done` once with the body or with the problem of a refusal: a body over
 * `limit` bytes, a body that misses the deadline, or a body for which other bodies leave no memory. Returns undefined
 * if `done` was called already.
 */
const read = (arrival: RequestArrival, limit: number, done: (body: Arrived) => void): ArrivingBody | undefined => {
  const { request } = arrival
  const length = lengthOf(arrival)
  if (Number.isNaN(length)) {
    done(badLength)
    return undefined
  }
  if (length !== undefined && length > 0 && length <= smallBytes) {
    const waiting = new ArrivingBody(arrival, done, () => {})
    request.bytes().then((bytes) => waiting.finish(bytes), () => waiting.cut())
    return waiting
  }
  // HTTP/2 allows a body without Content-Length and Transfer-Encoding, so only a missing body shows that a request has
  // none.
  if (length === 0 || request.body === null) {
    done(noBytes)
    return undefined
  }
  const announced = length ?? 0
  const { makesRoom, release } = reservation(limit)
  if (!makesRoom(announced)) {
    done(noRoom)
    return undefined
  }
  const waiting = new ArrivingBody(arrival, done, release)
  const { add, whole } = collector(limit, announced, makesRoom)
  const reader = request.body.getReader()
  arrival.unread = reader
  readChunks(reader, add).then((refused) => {
    if (refused === undefined) arrival.unread = undefined
    waiting.finish(refused ?? whole())
  }, () => waiting.cut())
  return waiting
}

/**
 * Reads the bytes of the body. Fails if the body has more than `limit` bytes or does not arrive completely, or if other
 * bodies use the memory. Dies with `RequestTimeout` after the deadline.
 */
const bytesOf = (limit: number): Effect.Effect<Uint8Array, Refused> =>
  Effect.withFiber((fiber) => {
    const arrival = Context.getUnsafe(fiber.context, CurrentArrival)
    return Effect.callback((resume) => {
      const waiting = read(arrival, limit, (body) => {
        if (body instanceof Uint8Array) return resume(Effect.succeed(body))
        // Every route that reads a body can time out. As a defect, the timeout needs no declaration in the contracts.
        resume(body instanceof RequestTimeout ? Effect.die(body) : Effect.fail(body))
      })
      return Effect.sync(() => waiting?.finish(undefined))
    })
  })

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
  request: { readonly headers: Readonly<Record<string, string | undefined>> },
  limit: number,
): PayloadTooLarge | UnsupportedMediaType | undefined => {
  const { headers } = request
  const type = refusalOfType(headers["content-type"])
  if (type !== undefined) return type
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && codingOf(encoding) !== "none") {
    return refusedCoding(encoding, "Send it without an encoding")
  }
  return (lengthOf(request) ?? 0) > limit ? tooLarge(limit) : undefined
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

/** The value for a request without a body. */
export const none: RawJson = { bytes: noBytes, json: undefined }

const parsed = (bytes: Uint8Array): RawJson | InvalidRequest => {
  const text = textOfUtf8(bytes)
  if (text === undefined) return invalid(bodyEncodingFault(bytes)!)
  try {
    return { bytes, json: Json.parseRequest(text) }
  } catch (error) {
    // UTF-16 of ASCII text is valid UTF-8.
    const encoding = bodyEncodingFault(bytes)
    return encoding === undefined ? notParsed(error) : invalid(encoding)
  }
}

/**
 * Reads a body as `rawJson` does, but without a fiber. Resolves to the body or to a problem, which is `RequestTimeout`
 * after the deadline.
 */
export const arrivedJson = (
  arrival: RequestArrival,
  limit: number,
): Promise<RawJson | Refused | UnsupportedMediaType | RequestTimeout> =>
  new Promise((resolve) => {
    const refused = refusal(arrival, limit)
    if (refused !== undefined) return resolve(refused)
    read(arrival, limit, (body) => resolve(body instanceof Uint8Array ? parsed(body) : body))
  })

/**
 * Reads the request's body as bytes and as JSON. Fails if the body has more than `limit` bytes, is declared as anything
 * other than JSON in UTF-8 without an encoding, or does not parse, or if other bodies use the memory. A missing
 * Content-Type means JSON.
 */
export const rawJson = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
): Effect.Effect<RawJson, InvalidRequest | PayloadTooLarge | Unavailable | UnsupportedMediaType> => {
  const refused = refusal(request, limit)
  if (refused !== undefined) return Effect.fail(refused)
  return Effect.flatMap(bytesOf(limit), (bytes) => {
    const body = parsed(bytes)
    return body instanceof InvalidRequest ? Effect.fail(body) : Effect.succeed(body)
  })
}

/** A webhook's body. */
export interface WebhookBody {
  /** The bytes after decoding. */
  readonly bytes: Uint8Array
  /** The bytes as received. */
  readonly received: Uint8Array
}

/**
 * Reads the body of a webhook, at most 8 MiB before and after decoding. The body may use one of the codings of
 * `Inflate`. With `ofJson`, it must not be declared as another type than JSON. Fails with `UnsupportedMediaType` before
 * the body is read if the coding or the type is not supported, and with `InvalidRequest` if decoding fails. Undeclared
 * gzip is decoded as well: without decoding, the service would acknowledge the body but lose its events.
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
  const received = yield* raw(request, maxLargeBytes)
  const coding = declared === "none" && isGzip(received) ? "gzip" : declared
  if (coding === "none" || received.length === 0) return { bytes: received, received }
  const memory = reservation(maxLargeBytes)
  const inflated = yield* Effect.callback<Uint8Array | InflateFailure>((resume) => {
    const stop = inflate(
      received,
      coding,
      maxLargeBytes,
      memory.makesRoom,
      (result) => resume(Effect.succeed(result)),
    )
    return Effect.sync(stop)
  }).pipe(Effect.ensuring(Effect.sync(memory.release)))
  if (inflated === "invalid") return yield* invalid(`The body is not valid ${coding}`)
  if (inflated === "too large") {
    return yield* new PayloadTooLarge({
      detail: `The body is larger than ${maxLargeBytes} bytes without its encoding, or grows too much`,
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
  (lengthOf(request) ?? 0) > limit ? tooLarge(limit) : bytesOf(limit)

/**
 * Reads the request's body as text of at most 1 MiB in UTF-8, without a byte order mark. Fails as `raw` does, and with
 * `InvalidRequest` for another encoding.
 */
export const text = (
  request: HttpServerRequest.HttpServerRequest,
): Effect.Effect<string, InvalidRequest | PayloadTooLarge | Unavailable> =>
  Effect.flatMap(raw(request, maxBodyBytes), (bytes) => {
    const fault = bodyEncodingFault(bytes)
    return fault === undefined ? Effect.succeed(textOfUtf8(bytes)!) : invalid(fault)
  })

/** Reads the request's body as JSON of at most `limit` bytes, without keeping the bytes. Fails as `rawJson` does. */
export const json = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
): Effect.Effect<unknown, InvalidRequest | PayloadTooLarge | Unavailable | UnsupportedMediaType> =>
  Effect.map(rawJson(request, limit), ({ json }) => json)
