import type { ErasureRequest, NormalizedEvent, ProfileUpdate, SkippedItem } from "../domain/Event.ts"
import { extendRefusals } from "../domain/refusals/Refusals.ts"
import type { RefusalFact } from "../domain/refusals/RefusalTable.ts"
import { LruMap } from "../json/LruMap.ts"
import { SeededMap } from "../json/SeededMap.ts"
import { sourceIdOf } from "../domain/Source.ts"
import { isKept } from "../journal/events/Claim.ts"
import type { Normalize, NormalizeMail } from "./Normalize.ts"
import { normalizer, ownNormalize, type Reading } from "./Sources.ts"

// Reads bodies in the reading process, and defines its messages to and from the service. No I/O.

/** A stored body, and how to read it. */
export interface BodyToRead {
  readonly id: number
  readonly source: string
  /** Unit: Unix milliseconds. */
  readonly receivedAt: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Key of the organization's settings for this source; undefined for the default settings. */
  readonly reading: string | undefined
}

/** A request of the service to the reading process. */
export type ReadRequest =
  /**
   * Reads bodies and returns the first slice. `readings` contains the settings that the process reported as missing.
   */
  | {
    readonly type: "read"
    readonly bodies: ReadonlyArray<BodyToRead>
    readonly readings: ReadonlyMap<string, Reading>
    readonly sliceWeight: number
    /** Facts of the operator about refusals; mostly none. */
    readonly refusals: ReadonlyArray<RefusalFact>
  }
  /** Returns the next slice of the bodies read last. */
  | { readonly type: "next" }

/** An answer of the reading process: a slice, or the keys of missing settings. */
export type ReadAnswer =
  | { readonly type: "slice"; readonly chunks: ReadonlyArray<BodyChunk>; readonly isLast: boolean }
  | { readonly type: "missing"; readonly readings: ReadonlyArray<string> }

/** An item or member that was not understood, with its JSON pointer and the reason. */
export type ItemFault = Omit<SkippedItem, "expected">

/** A reason why items of a body were ignored, the number of these items, and the JSON pointer of the first. */
export interface Unused {
  readonly reason: string
  readonly count: number
  readonly pointer: string
}

/** A part of a body's content. The parts of one slice fit into one transaction. */
export interface BodyChunk {
  readonly id: number
  readonly events: ReadonlyArray<NormalizedEvent>
  readonly profiles: ReadonlyArray<ProfileUpdate>
  readonly erasures: ReadonlyArray<ErasureRequest>
  /** Number of items without effect. Set only in the last part of a body. */
  readonly ignored: number
  /** Why they were ignored: at most 20 reasons. Set only in the last part of a body. */
  readonly unused: ReadonlyArray<Unused>
  /** Items and members that were not understood: at most 100. Set only in the last part of a body. */
  readonly faults: ReadonlyArray<ItemFault>
  /** Whether this is the last part of the body. */
  readonly isLast: boolean
}

/** Maximum number of faults of one body, so that a hostile body does not produce many times its size. */
const maxFaults = 100

/** Maximum number of reasons for ignored items. */
export const maxUnused = 20

/** Returns the whole content of a body as one part. */
export const readBody = async (
  body: BodyToRead,
  normalize: Normalize | NormalizeMail | undefined,
): Promise<BodyChunk> => {
  const normalized = normalize === undefined
    ? { reason: `This release knows no source ${JSON.stringify(body.source)}` }
    : await normalize(body.body, body.headers, body.receivedAt)
  const nothing = { id: body.id, events: [], profiles: [], erasures: [], ignored: 0, unused: [], isLast: true }
  if ("reason" in normalized) return { ...nothing, faults: [{ pointer: "", reason: normalized.reason }] }
  const faults: Array<ItemFault> = []
  const unused = new SeededMap<string, Unused>()
  let ignored = 0
  const ignore = (reason: string, pointer: string) => {
    ignored++
    const { count, pointer: first } = unused.get(reason) ?? { count: 0, pointer }
    if (count > 0 || unused.size < maxUnused) unused.set(reason, { reason, count: count + 1, pointer: first })
  }
  for (const { expected, pointer, reason } of normalized.skipped) {
    if (expected) ignore(reason, pointer)
    else if (faults.length < maxFaults) faults.push({ pointer, reason })
  }
  for (const { pointer, reason } of normalized.incomplete ?? []) {
    if (faults.length < maxFaults) faults.push({ pointer, reason })
  }
  const events = normalized.events.filter(isKept)
  return {
    ...nothing,
    events,
    profiles: normalized.profiles ?? [],
    erasures: normalized.erasures ?? [],
    ignored: ignored + normalized.events.length - events.length,
    unused: [...unused.values()],
    faults,
  }
}

// Cost of storing an item, relative to an event.
const eventWeight = 1
const profileWeight = 10
// Storing an erasure request is cheap, because it is carried out later.
const erasureWeight = 1

/**
 * Splits the content of bodies into slices of about `most` events each, in order. Within a body, erasure requests come
 * last.
 */
export const slicesOf = (bodies: ReadonlyArray<BodyChunk>, most: number): ReadonlyArray<ReadonlyArray<BodyChunk>> => {
  const slices: Array<Array<BodyChunk>> = []
  let slice: Array<BodyChunk> = []
  let weight = 0
  const cut = () => {
    if (slice.length > 0) slices.push(slice)
    slice = []
    weight = 0
  }
  for (const body of bodies) {
    let profileAt = 0
    let eventAt = 0
    let erasureAt = 0
    for (let isDone = false; !isDone;) {
      if (weight >= most) cut()
      const profiles = body.profiles.slice(profileAt, profileAt + Math.ceil((most - weight) / profileWeight))
      profileAt += profiles.length
      weight += profiles.length * profileWeight
      const events = body.events.slice(eventAt, eventAt + Math.max(0, Math.ceil((most - weight) / eventWeight)))
      eventAt += events.length
      weight += events.length * eventWeight
      const areRead = profileAt === body.profiles.length && eventAt === body.events.length
      const room = areRead ? Math.max(0, Math.ceil((most - weight) / erasureWeight)) : 0
      const erasures = body.erasures.slice(erasureAt, erasureAt + room)
      erasureAt += erasures.length
      weight += erasures.length * erasureWeight
      isDone = areRead && erasureAt === body.erasures.length
      slice.push({
        id: body.id,
        profiles,
        events,
        erasures,
        ignored: isDone ? body.ignored : 0,
        unused: isDone ? body.unused : [],
        faults: isDone ? body.faults : [],
        isLast: isDone,
      })
    }
  }
  cut()
  return slices
}

/** Maximum number of compiled settings that are kept, so that a mapping is not compiled for every batch. */
const maxCompiled = 1_000

/** Answers the requests of the service one after another. Calls `note` with the id of the body being read. */
export const bodyReader = () => {
  const compiled = new LruMap<Normalize>(maxCompiled)
  let slices: ReadonlyArray<ReadonlyArray<BodyChunk>> = []
  let next = 0

  const keyOf = ({ reading = "", source }: BodyToRead) => `${source}/${reading}`

  const normalizeOf = (
    body: BodyToRead,
    readings: ReadonlyMap<string, Reading>,
  ): Normalize | NormalizeMail | undefined | "missing" => {
    const own = ownNormalize(body)
    if (own !== undefined) return own
    const source = sourceIdOf(body.source)
    if (source === undefined) return undefined
    const known = compiled.get(keyOf(body))
    if (known !== undefined) return known
    const reading = body.reading === undefined ? undefined : readings.get(body.reading)
    if (body.reading !== undefined && reading === undefined) return "missing"
    const normalize = normalizer(source, reading)
    compiled.set(keyOf(body), normalize)
    return normalize
  }

  const slice = (): ReadAnswer => {
    const chunks = slices[next++] ?? []
    const isLast = next >= slices.length
    if (isLast) slices = []
    return { type: "slice", chunks, isLast }
  }

  return async (request: ReadRequest, note: (id: number) => void): Promise<ReadAnswer> => {
    if (request.type === "next") return slice()
    extendRefusals(request.refusals)
    const normalizers = request.bodies.map((body) => normalizeOf(body, request.readings))
    const missing = request.bodies.flatMap(({ reading }, i) =>
      normalizers[i] === "missing" && reading !== undefined ? [reading] : []
    )
    if (missing.length > 0) return { type: "missing", readings: [...new Set(missing)] }
    const chunks: Array<BodyChunk> = []
    for (const [i, body] of request.bodies.entries()) {
      note(body.id)
      chunks.push(await readBody(body, normalizers[i] as Normalize | NormalizeMail | undefined))
    }
    slices = slicesOf(chunks, request.sliceWeight)
    next = 0
    return slice()
  }
}
