import { Result } from "effect"

// Reads CSV as Excel, Numbers and other spreadsheets write it.

/** A row of CSV, and the number of its first line. */
export interface CsvRow {
  readonly line: number
  /** As spreadsheets number rows. Empty rows count, and lines within a value do not. */
  readonly row: number
  readonly values: ReadonlyArray<string>
}

const separators = [",", ";", "\t"] as const

/**
 * Returns the separator that is most frequent outside of quotation marks, in the first of three lines that has one. The
 * lines before may be titles. Default: a comma.
 */
export const separatorOf = (text: string): string => {
  const lines = text.replace(/"(?:[^"]|"")*"?/g, "").split(/[\r\n]+/).filter((line) => line !== "").slice(0, 3)
  for (const line of lines) {
    const counts = separators.map((one) => line.split(one).length)
    const most = Math.max(...counts)
    if (most > 1) return separators[counts.indexOf(most)]!
  }
  return ","
}

/** Number of characters that are searched for the separator. */
const headLength = 10_000

const linesIn = (text: string): number => text.match(/\r\n|\r|\n/g)?.length ?? 0

/** The end of a value in quotation marks that begins at `at`, and the value. Undefined if the marks are not closed. */
const quotedAt = (text: string, at: number): { readonly value: string; readonly end: number } | undefined => {
  let value = ""
  for (let begin = at + 1;;) {
    const next = text.indexOf('"', begin)
    if (next < 0) return undefined
    value += text.slice(begin, next)
    if (text[next + 1] !== '"') return { value, end: next + 1 }
    value += '"'
    begin = next + 2
  }
}

/**
 * Returns the rows of CSV that have a value, or the line of an unclosed quotation mark. The separator is a comma, a
 * semicolon or a tab: the one that the first line names (`sep=;`), or the most frequent one in it. Lines end with a line
 * feed, a carriage return or both. Skips a byte order mark. `given` is a known separator, for a part of a file.
 */
export const csvRows = (text: string, given?: string): Result.Result<ReadonlyArray<CsvRow>, number> => {
  const rows: Array<CsvRow> = []
  let values: Array<string> = []
  const begin = text.startsWith("\ufeff") ? 1 : 0
  const named = /^"?sep=(.)"?[ \t;,]*(?:\r\n|\r|\n|$)/i.exec(text.slice(begin, begin + 20))
  let at = begin + (named?.[0].length ?? 0)
  let line = named === null ? 1 : 2
  let began = line
  let row = 0
  const end = (value: string) => {
    values.push(value)
    row++
    if (values.some((value) => value.trim() !== "")) rows.push({ line: began, row, values })
    values = []
    began = ++line
  }
  const separator = named?.[1] ?? given ?? separatorOf(text.slice(at, at + headLength))
  const plain = new RegExp(`[${separator.replace(/[\\\]^-]/, "\\$&")}\\r\\n]`, "g")
  while (at < text.length) {
    let value = ""
    if (text[at] === '"') {
      const quoted = quotedAt(text, at)
      if (quoted === undefined) return Result.fail(line)
      value = quoted.value
      line += linesIn(value)
      at = quoted.end
    }
    plain.lastIndex = at
    const stop = plain.exec(text)?.index ?? text.length
    value += text.slice(at, stop)
    at = stop + 1
    if (text[stop] === separator) {
      values.push(value)
      if (at >= text.length) end("")
      continue
    }
    if (text[stop] === "\r" && text[at] === "\n") at++
    end(value)
  }
  return Result.succeed(rows)
}
