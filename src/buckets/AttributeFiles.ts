import { Result } from "effect"
import { isStorable } from "../domain/Attributes.ts"
import * as Json from "../json/Json.ts"
import { csvRows, separatorOf } from "../text/CsvRows.ts"

// Files with attributes of people: CSV with a header, or an object of JSON in each line. Pure.

/** A line of a file: the attributes of a person, or why they cannot be read. */
export type AttributeLine = {
  /** Number of the line, from 1. */
  readonly line: number
  readonly user: string
  readonly email: string | undefined
  /** By name. Null removes an attribute. */
  readonly attributes: Readonly<Record<string, unknown>>
} | { readonly line: number; readonly fault: string }

/** Lines of a file that were read together. */
interface Slice {
  readonly text: string
  /** Number of its first line. */
  readonly line: number
}

/** Size of a slice of a file. Unit: UTF-16 code units. */
const sliceLength = 131_072

/** Number of attributes that a profile keeps. */
const maxAttributes = 200

/** Maximum length of a name or a text of an attribute. Unit: UTF-16 code units. */
const maxText = 1_000

const lines = /\r\n|\r|\n/g

/**
 * Cuts a text at ends of lines, where no value in quotation marks is open, so that each slice is read in a short turn. A
 * slice is longer than 131,072 characters only if a line is.
 */
export function* slicesOf(text: string, isCsv: boolean): Generator<Slice> {
  let line = 1
  for (let start = 0; start < text.length;) {
    let end = Math.min(start + sliceLength, text.length)
    let quotes = isCsv ? text.slice(start, end).split('"').length - 1 : 0
    for (; end < text.length; end++) {
      if (isCsv && text[end] === '"') quotes++
      else if (text[end] === "\n" && quotes % 2 === 0) break
    }
    end = Math.min(end + 1, text.length)
    const slice = text.slice(start, end)
    yield { text: slice, line }
    line += slice.match(lines)?.length ?? 0
    start = end
  }
}

/** Whether a file has an object of JSON in each line. Otherwise it is CSV. */
export const isJsonLines = (text: string): boolean => /^\s*\{/.test(text)

/** Returns why a value is not an attribute, or undefined. */
const faultOf = (name: string, value: unknown): string | undefined => {
  if (name.trim() === "" || name.length > maxText || !isStorable(name)) {
    return `the name ${JSON.stringify(name.slice(0, 50))} of an attribute must be 1 to ${maxText} characters`
  }
  const quoted = JSON.stringify(name.slice(0, 50))
  const values: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
  if (values.some((one) => typeof one === "object" && one !== null)) {
    return `${quoted} must be a text, a number, true or false, or a list of them`
  }
  if (values.some((one) => typeof one === "number" && !Number.isFinite(one))) {
    return `${quoted} has a number that is too large`
  }
  return values.some((one) => typeof one === "string" && (one.length > maxText || !isStorable(one)))
    ? `${quoted} must have at most ${maxText} characters, without NUL`
    : undefined
}

const lineOf = (line: number, members: Readonly<Record<string, unknown>>): AttributeLine => {
  const { email, user_id: user, ...attributes } = members
  const names = Object.keys(attributes)
  const fault = typeof user !== "string" && typeof user !== "number" || String(user).trim() === ""
    ? "has no user_id"
    : email !== undefined && email !== null && typeof email !== "string"
    ? "email must be a text"
    : names.length === 0
    ? "has no attributes"
    : names.length > maxAttributes
    ? `has ${names.length} attributes; at most ${maxAttributes} are read`
    : Object.entries(attributes).map(([name, value]) => faultOf(name, value)).find((one) => one !== undefined)
  if (fault !== undefined) return { line, fault }
  const address = typeof email === "string" && email.trim() !== "" ? email.trim() : undefined
  return { line, user: String(user).trim(), email: address, attributes }
}

const readJsonLine = (text: string, line: number): AttributeLine => {
  try {
    const json = Json.parse(text)
    return typeof json === "object" && json !== null && !Array.isArray(json)
      ? lineOf(line, json as Readonly<Record<string, unknown>>)
      : { line, fault: "must be an object of JSON" }
  } catch {
    return { line, fault: "is not valid JSON" }
  }
}

const lettersOf = (name: string) => name.toLowerCase().replace(/[^a-z]/g, "")

/** The columns of a file. */
export interface Columns {
  readonly names: ReadonlyArray<string>
  readonly separator: string
}

/**
 * Reads the header of CSV. Fails with the fault: it must have one column `user_id`, and no name twice. The case of
 * `user_id` and `email` does not matter, because warehouses write capitals.
 */
export const columnsOf = (text: string): Result.Result<Columns, string> => {
  const header = text.slice(0, sliceLength).split(lines, 1)[0] ?? ""
  const first = Result.getOrElse(csvRows(header), () => [])[0]
  if (first === undefined) return Result.fail("The file is empty")
  const known = first.values.map((name) => {
    const letters = lettersOf(name)
    return letters === "userid" ? "user_id" : letters === "email" ? "email" : name.trim()
  })
  const twice = known.find((name, at) => name !== "" && known.indexOf(name) < at)
  if (known.length > maxAttributes + 2) {
    return Result.fail(`The header has ${known.length} columns; at most ${maxAttributes} attributes are read`)
  }
  if (!known.includes("user_id")) {
    return Result.fail("The header has no column user_id. Commas, semicolons or tabs separate columns")
  }
  return twice === undefined
    ? Result.succeed({ names: known, separator: separatorOf(header) })
    : Result.fail(`The header has the column ${JSON.stringify(twice.slice(0, 50))} twice`)
}

/** The value of a column of CSV. Null if it is empty, or `\N`, which Snowflake, Redshift and Hive write for null. */
const valueOf = (text: string): string | null => {
  const value = text.trim()
  return value === "" || value === "\\N" ? null : value
}

/** The members of a row of CSV. Empty values of columns without a name are left out: tables may have separators at their ends. */
const membersOf = (names: ReadonlyArray<string>, values: ReadonlyArray<string>) =>
  Object.fromEntries(
    values.map((value, column) => [names[column]!, valueOf(value)] as const)
      .filter(([name, value]) => name !== "" || value !== null),
  )

/** Reads the lines of a slice of CSV. The first slice begins with the header. An empty value removes an attribute. */
const readCsv = ({ names, separator }: Columns, { line: from, text }: Slice): ReadonlyArray<AttributeLine> => {
  const rows = csvRows(text, separator)
  if (Result.isFailure(rows)) {
    return [{ line: from + rows.failure - 1, fault: "has a quotation mark that is not closed" }]
  }
  return rows.success.filter(({ line }) => from + line > 2).map(({ line, values }) => {
    const at = from + line - 1
    return values.length === names.length
      ? lineOf(at, membersOf(names, values))
      : { line: at, fault: `has ${values.length} values, and the header ${names.length} columns` }
  })
}

/** Reads the lines of a slice. `columns` are the columns of the header; undefined for lines of JSON. */
export const readSlice = (columns: Columns | undefined, slice: Slice): ReadonlyArray<AttributeLine> =>
  columns !== undefined
    ? readCsv(columns, slice)
    : slice.text.split(lines).flatMap((text, at) => text.trim() === "" ? [] : [readJsonLine(text, slice.line + at)])
