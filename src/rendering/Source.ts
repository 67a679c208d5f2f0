import { LiquidError } from "liquidjs"
import type { RenderedFormat } from "../domain/Template.ts"
import { read } from "./Grammar.ts"
import * as Limits from "./Limits.ts"
import { eachLiquid, placesOf } from "./Places.ts"
import { Refused } from "./Refused.ts"
import { filterRemedy } from "./Remedies.ts"
import { compile, type Render } from "./Tags.ts"

/** A fault of a source with its position. Line and column count from 1, columns in UTF-16 code units. */
export interface LiquidFault {
  readonly message: string
  readonly line: number
  readonly column: number
}

/** A parsed source. Immutable: it may be cached, and used by any number of renders. */
export interface Parsed {
  readonly source: string
  /** The source itself if it contains no Liquid. */
  readonly render: Render | string
  /** Number of characters that are Liquid. */
  readonly liquidLength: number
}

/** The line and column, from 1, of an offset in a source. */
export const placeOf = (source: string, begin: number): { readonly line: number; readonly column: number } => {
  const before = source.slice(0, begin)
  return { line: before.split("\n").length, column: begin - before.lastIndexOf("\n") }
}

const unknown = /^(?:undefined filter: (?<filter>.+)|tag "(?<tag>.+)" not found)$/s

/** Returns the message of liquidjs without its position, shortened to a readable length. */
const reword = (message: string): string => {
  const plain = message.replace(/, line:\d+, col:\d+$/, "")
  const { filter, tag } = unknown.exec(plain)?.groups ?? {}
  if (filter !== undefined) return `there is no filter "${filter.slice(0, 100)}"${filterRemedy(filter)}`
  if (tag !== undefined) return `there is no tag "${tag.slice(0, 100)}"`
  return plain.length > 200 ? `${plain.slice(0, 200)}…` : plain
}

/** Texts in quotes, which are skipped, and filters. */
const quotedOrFilter = /"[^"]*"|'[^']*'|\|\s*(?<filter>[^\s|:,}%"']+)/g

/** The offset within a tag or output of the filter or tag name in the message of liquidjs. 0 for other messages. */
const offsetWithin = (text: string, message: string): number => {
  const { filter, tag } = unknown.exec(message.replace(/, line:\d+, col:\d+$/, ""))?.groups ?? {}
  if (tag !== undefined) return Math.max(0, text.indexOf(tag))
  if (filter === undefined) return 0
  const found = [...text.matchAll(quotedOrFilter)].find(({ groups }) => groups?.["filter"] === filter)
  return found === undefined ? 0 : found.index + found[0].length - filter.length
}

const faultOf = (source: string, error: unknown): LiquidFault => {
  if (error instanceof Refused) return { message: error.message, ...placeOf(source, error.begin) }
  if (LiquidError.is(error)) {
    const { originalError } = error
    if (originalError instanceof Refused) return faultOf(source, originalError)
    const message = originalError?.message ?? error.message
    const { begin, end } = error.token
    return { message: reword(message), ...placeOf(source, begin + offsetWithin(source.slice(begin, end), message)) }
  }
  return { message: reword(error instanceof Error ? error.message : String(error)), line: 1, column: 1 }
}

/** The fault of the variable whose tags and outputs exceed `Limits.liquidLength` for the variant. */
export const tooMuchLiquid: LiquidFault = {
  message: `brings the tags and outputs of the variant above ${Limits.liquidLength} characters: ` +
    "remove some, or make several variants of it",
  line: 1,
  column: 1,
}

/** Whether parsing finished with a template to render. */
export const isParsed = (parsed: Parsed | LiquidFault): parsed is Parsed => "render" in parsed

/** Whether a source contains Liquid. Without Liquid, it is rendered unchanged. */
export const hasLiquid = (source: string): boolean => source.includes("{{") || source.includes("{%")

/** Number of characters of a source within tags and outputs. */
export const liquidLengthOf = (source: string): number => {
  let length = 0
  eachLiquid(source, (from, to) => length += to - from)
  return length
}

/**
 * Parses one variable. Faults are returned: a source longer than 524,288 code units, malformed Liquid, unknown filters
 * and tags, tags that would read other templates (`include`, `layout`, `block`), and more Liquid than `maxLiquid`
 * characters. Needs up to about 100 ms for the most Liquid, so input of people is parsed in `SourceCheck`
 * first.
 */
export const parse = (
  source: string,
  format: RenderedFormat,
  maxLiquid = Limits.liquidLength,
): Parsed | LiquidFault => {
  if (source.length > Limits.sourceLength) {
    return { message: `is longer than ${Limits.sourceLength} characters`, line: 1, column: 1 }
  }
  if (!hasLiquid(source)) return { source, render: source, liquidLength: 0 }
  const liquidLength = liquidLengthOf(source)
  if (liquidLength > maxLiquid) return tooMuchLiquid
  try {
    return { source, render: compile(read(source), format === "html" && placesOf(source)), liquidLength }
  } catch (error) {
    return faultOf(source, error)
  }
}
