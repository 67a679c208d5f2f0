import { csvLine } from "../text/Csv.ts"
import type { ExportedRow } from "./Exports.ts"

// Rows of exports as text.

const csvValue = (value: unknown): string =>
  value === null || value === undefined
    ? ""
    : value instanceof Date
    ? value.toISOString()
    : typeof value === "object"
    ? JSON.stringify(value)
    : String(value)

/** Returns a row as a line of NDJSON. Times are in ISO 8601. */
export const ndjsonRow = (row: ExportedRow): string => `${JSON.stringify(row)}\n`

/** Returns the header of CSV. */
export const csvHeader = (columns: ReadonlyArray<string>): string => csvLine(columns)

/** Returns a row as a line of CSV. Null becomes an empty value, an object becomes JSON. */
export const csvRow = (columns: ReadonlyArray<string>, row: ExportedRow): string =>
  csvLine(columns.map((column) => csvValue(row[column])))
