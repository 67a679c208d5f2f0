import { Buffer } from "node:buffer"
import * as Json from "../json/Json.ts"

// The cursor of an export. An export has two positions: in the rows by time, and in the rows that were stored or
// changed late, which are listed again.

/** The tables that are exported. */
export type Stream = "decisions" | "events" | "deliveries"

/** A position between rows. Clients treat its text as opaque. */
export interface Cursor {
  readonly stream: Stream
  /** The key of the last row, beginning with its time. For deliveries, only the id. */
  readonly main: ReadonlyArray<string>
  /** Time and number of the last late row. */
  readonly late: { readonly at: string; readonly id: string }
  /**
   * The interval that the next query reads, so that busy and quiet organizations have pages of similar cost. Unit:
   * milliseconds.
   */
  readonly stepMillis: number
}

/** The number of texts in `main`. */
const keyLength: Readonly<Record<Stream, number>> = { decisions: 3, events: 4, deliveries: 1 }

const version = 1

/** Encodes a cursor as text for URLs. */
export const encode = ({ late, main, stepMillis, stream }: Cursor): string =>
  Buffer.from(JSON.stringify([version, stream, main, late.at, late.id, stepMillis]), "utf8").toString("base64url")

const isTime = (text: unknown): text is string =>
  typeof text === "string" && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/.test(text) &&
  !Number.isNaN(Date.parse(text))

const isText = (text: unknown): text is string =>
  typeof text === "string" && !text.includes("\0") && text.isWellFormed()

/** Decodes a cursor of an export. Undefined for any other text, and for cursors of other exports. */
export const decode = (text: string, stream: Stream): Cursor | undefined => {
  if (!/^[\w-]{1,6000}$/.test(text)) return undefined
  let parts: unknown
  try {
    parts = Json.parse(Buffer.from(text, "base64url").toString("utf8"))
  } catch {
    return undefined
  }
  if (!Array.isArray(parts) || parts.length !== 6) return undefined
  const [given, of, main, at, id, stepMillis]: ReadonlyArray<unknown> = parts
  if (given !== version || of !== stream || !Array.isArray(main) || main.length !== keyLength[stream]) return undefined
  const isValid = main.every(isText) && (stream === "deliveries" || isTime(main[0])) && isTime(at) &&
    typeof id === "string" && /^\d{1,18}$/.test(id) && Number.isInteger(stepMillis) && Number(stepMillis) > 0
  return isValid ? { stream, main, late: { at, id }, stepMillis: Number(stepMillis) } : undefined
}
