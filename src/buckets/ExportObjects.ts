import { Effect } from "effect"
import { Buffer } from "node:buffer"
import { hash } from "node:crypto"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { type Cursor, encode } from "../exports/Cursor.ts"
import { ndjsonRow } from "../exports/ExportText.ts"
import type { ExportedRow } from "../exports/Exports.ts"
import { letOthersRun } from "../runtime/letOthersRun.ts"

// Objects of an export: their names and their bytes.

/** An object ends after this number of rows, or of bytes before compression. */
export const objectLimits = { rows: 50_000, bytes: 33_554_432 }

/** Number of rows that are encoded in one turn of the event loop. */
const rowsAtOnce = 500

const pathOf = (folder: string, path: string): string => folder === "" ? path : `${folder}/${path}`

/**
 * Returns the key of the object that begins at a cursor: `decisions/loaded=2026-11-30/20261130T010203Z-0f3a….ndjson.gz`.
 * The key depends on the cursor alone, so an export that is repeated after a crash replaces its object. The time is about the time
 * of the export before.
 */
export const keyOf = (folder: string, cursor: Cursor): string => {
  const day = cursor.late.at.slice(0, 10)
  const time = cursor.late.at.slice(0, 19).replace(/[:-]/g, "")
  const digest = hash("sha256", encode(cursor), "hex").slice(0, 16)
  return pathOf(folder, `${cursor.stream}/loaded=${day}/${time}Z-${digest}.ndjson.gz`)
}

/** Returns the key of the watermark. */
export const watermarkKey = (folder: string): string => pathOf(folder, "_watermark.json")

/** Returns rows as lines of JSON. Other work runs in between. */
export const linesOf = Effect.fnUntraced(function* (rows: ReadonlyArray<ExportedRow>) {
  const parts: Array<Buffer> = []
  for (let at = 0; at < rows.length; at += rowsAtOnce) {
    if (at > 0) yield* letOthersRun
    parts.push(Buffer.from(rows.slice(at, at + rowsAtOnce).map(ndjsonRow).join(""), "utf8"))
  }
  return Buffer.concat(parts)
})

/** Compresses the parts of an object in another thread. */
export const compressed = (parts: ReadonlyArray<Buffer>): Effect.Effect<Uint8Array> =>
  Effect.promise(() => promisify(gzip)(Buffer.concat(parts)))

/** A page of an export, with the rows read so far for one object. */
export interface Gathered {
  readonly parts: ReadonlyArray<Buffer>
  readonly rows: number
  readonly bytes: number
}

/** No rows yet. */
export const nothing: Gathered = { parts: [], rows: 0, bytes: 0 }

/** Adds the lines of a page. */
export const withLines = ({ bytes, parts, rows }: Gathered, lines: Buffer, count: number): Gathered => ({
  parts: lines.length === 0 ? parts : [...parts, lines],
  rows: rows + count,
  bytes: bytes + lines.length,
})

/** Whether an object is full. */
export const isFull = ({ bytes, rows }: Gathered): boolean => rows >= objectLimits.rows || bytes >= objectLimits.bytes
