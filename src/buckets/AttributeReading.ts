import { Effect, Result } from "effect"
import { promisify } from "node:util"
import { gunzip } from "node:zlib"
import { bucketSource } from "../domain/Source.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { ownNormalize } from "../intake/Sources.ts"
import type { ArrivedBody } from "../journal/inbox/Inbox.ts"
import { letOthersRun } from "../runtime/letOthersRun.ts"
import { type AttributeLine, columnsOf, isJsonLines, readSlice, slicesOf } from "./AttributeFiles.ts"
import type { Listed } from "./ObjectStore.ts"

// From a file with attributes to bodies of the inbox. A body has identify calls in the form of Segment, so that one reader
// and one writer serve attributes of every origin.

/** Maximum size of a file as it is stored, and without compression. Unit: bytes. */
export const fileLimits = { stored: 33_554_432, read: 67_108_864 }

/** Number of faults of a file that are kept. */
const shownFaults = 20

/** A file as it was read. */
export interface ReadAttributes {
  readonly bodies: ReadonlyArray<ArrivedBody>
  /** Number of lines that are in the bodies. */
  readonly people: number
  /** Number of lines that are not. */
  readonly faulty: number
  /** The fault of the file, or the faults of the first such lines. */
  readonly faults: ReadonlyArray<string>
}

/** Returns a file of which no line was read. */
export const refused = (fault: string): ReadAttributes => ({ bodies: [], people: 0, faulty: 0, faults: [fault] })

/** Whether a file begins with letters that mark its format. */
const hasMagic = (bytes: Uint8Array, letters: string): boolean =>
  letters.split("").every((letter, at) => bytes[at] === letter.charCodeAt(0))

const megabytes = (bytes: number) => `${bytes / 1_048_576} MiB`

/** Returns the text of a file, or its fault. */
const textOf = Effect.fnUntraced(function* (bytes: Uint8Array): Effect.fn.Return<Result.Result<string, string>> {
  const isCompressed = bytes[0] === 0x1f && bytes[1] === 0x8b
  const unpacked = yield* isCompressed
    ? Effect.promise(() =>
      promisify(gunzip)(bytes, { maxOutputLength: fileLimits.read }).catch((error: NodeJS.ErrnoException) =>
        error.code === "ERR_BUFFER_TOO_LARGE"
          ? `The file has more than ${megabytes(fileLimits.read)} without compression. Split it`
          : "The file is not valid gzip"
      )
    )
    : Effect.succeed(bytes)
  if (typeof unpacked === "string") return Result.fail(unpacked)
  try {
    return Result.succeed(new TextDecoder("utf-8", { fatal: true }).decode(unpacked))
  } catch {
    return Result.fail("The file is not text in UTF-8")
  }
})

const callOf = ({ attributes, email, user }: Extract<AttributeLine, { user: string }>, at: string) => ({
  type: "identify",
  userId: user,
  ...(email === undefined ? {} : { context: { traits: { email } } }),
  traits: attributes,
  timestamp: at,
})

/** Reads the lines of a slice to a body. A line that the reader of bodies would skip is a fault. */
const bodyOf = (lines: ReadonlyArray<AttributeLine>, at: string) => {
  const readable = lines.flatMap((line) => "fault" in line ? [] : [line])
  const calls = readable.map((line) => callOf(line, at))
  const encode = (some: typeof calls) => new TextEncoder().encode(JSON.stringify(some))
  const read = ownNormalize({ source: bucketSource, headers: {} })!(encode(calls), {}, Date.parse(at))
  const skipped = new Map(
    read instanceof Promise || !("skipped" in read)
      ? []
      : read.skipped.map(({ pointer, reason }) => [Number(/^\/(\d+)/.exec(pointer)?.[1]), reason]),
  )
  return {
    body: encode(calls.filter((_, place) => !skipped.has(place))),
    people: calls.length - skipped.size,
    faults: [
      ...lines.flatMap((one) => "fault" in one ? [{ line: one.line, fault: one.fault }] : []),
      ...readable.flatMap(({ line }, place) => skipped.has(place) ? [{ line, fault: skipped.get(place)! }] : []),
    ].sort((a, b) => a.line - b.line),
  }
}

/**
 * Reads a file. Attributes have the time when the file was written, so that an older file never replaces newer attributes.
 * `now` is in Unix milliseconds.
 */
export const readFile = Effect.fnUntraced(function* (
  org: OrgSlug,
  { modifiedAt, size }: Pick<Listed, "modifiedAt" | "size">,
  bytes: Uint8Array,
  now: number,
): Effect.fn.Return<ReadAttributes> {
  if (size > fileLimits.stored) return refused(`The file has more than ${megabytes(fileLimits.stored)}. Split it`)
  if (hasMagic(bytes, "PAR1")) return refused("The file is Parquet. Write CSV or NDJSON")
  const text = yield* textOf(bytes)
  if (Result.isFailure(text)) return refused(text.failure)
  const content = text.success.replace(/^\ufeff/, "")
  if (/^\s*\[/.test(content)) return refused("The file is a list of JSON. Write each object in a line of its own")
  const columns = isJsonLines(content) ? undefined : columnsOf(content)
  if (columns !== undefined && Result.isFailure(columns)) return refused(columns.failure)
  const at = new Date(modifiedAt).toISOString()
  const bodies: Array<ArrivedBody> = []
  const faults: Array<string> = []
  let [people, faulty] = [0, 0]
  for (const slice of slicesOf(content, columns !== undefined)) {
    const read = bodyOf(readSlice(columns?.success, slice), at)
    people += read.people
    faulty += read.faults.length
    for (const { fault, line } of read.faults.slice(0, shownFaults - faults.length)) {
      faults.push(`Line ${line} ${fault}`)
    }
    if (read.people > 0) bodies.push({ org, source: bucketSource, headers: {}, body: read.body, receivedAt: now })
    yield* letOthersRun
  }
  return { bodies, people, faulty, faults }
})
