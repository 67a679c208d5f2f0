import { type ColumnEvent, columnEvents, eventKinds } from "../../../domain/EventKinds.ts"
import { english } from "../../../languages/Language.ts"

// The columns of the table of variants, and which of them a reader has chosen. Pure.

/** Columns of the table of variants, with their headings. */
export const columnNames = {
  rate: english("Rate"),
  interval: english("95 % interval"),
  best: english("Chance to be best"),
  risk: english("Risk if shipped"),
  traffic: english("Current traffic"),
  decisions: english("Sends"),
  ...Object.fromEntries(columnEvents.map((event) => [event, eventKinds[event].words.column!])) as Record<
    ColumnEvent,
    string
  >,
  negative: english("Negative"),
  revenue: english("Revenue"),
  raw: english("Raw rate"),
  machines: english("By machines"),
} as const
/** A column of the table of variants. */
export type Column = keyof typeof columnNames

/** All columns, in the order of the table. */
export const allColumns = Object.keys(columnNames) as ReadonlyArray<Column>

/** Columns that fit next to each other on a laptop. */
const defaultColumns: ReadonlySet<Column> = new Set([
  "rate",
  "interval",
  "best",
  "traffic",
  "decisions",
  "open",
  "click",
  "conversion",
  "revenue",
])

/** The name of the cookie that keeps the choice. */
export const columnsCookie = "parlance_columns"

/** The columns of a choice such as `rate.open.click`, in the order of the table. The default ones without a choice. */
export const chosenColumns = (choice: string | undefined): ReadonlyArray<Column> => {
  if (choice === undefined) return allColumns.filter((column) => defaultColumns.has(column))
  const names = new Set(choice.split("."))
  return allColumns.filter((column) => names.has(column))
}

/** The choice as text, of what a form sent: names separated by line breaks. Undefined: the default columns. */
export const choiceOf = (sent: string | undefined): string | undefined => {
  const names = new Set((sent ?? "").split("\n"))
  const known = allColumns.filter((column) => names.has(column))
  return known.length === 0 ? undefined : known.join(".")
}
