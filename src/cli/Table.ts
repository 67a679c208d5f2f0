/** Formats a table. Each column is as wide as its longest text, and numbers are aligned on the right. */
export const table = (
  headings: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string | number | boolean | null>>,
): string => {
  const cells = rows.map((row) =>
    row.map((value) => value === null ? "–" : typeof value === "boolean" ? yes(value) : String(value))
  )
  const widths = headings.map((heading, column) =>
    Math.max(width(heading), ...cells.map((row) => width(row[column] ?? "")))
  )
  const isNumber = headings.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === "number"))
  const line = (values: ReadonlyArray<string>) =>
    values.map((value, column) => {
      const gap = " ".repeat(widths[column]! - width(value))
      return isNumber[column] ? gap + value : value + gap
    }).join("  ").trimEnd()
  return [line(headings), line(widths.map((size) => "─".repeat(size))), ...cells.map(line)].join("\n")
}

const yes = (value: boolean) => value ? "yes" : "no"

// Counts code points. A wide character, such as a Chinese one, counts as one column.
const width = (text: string): number => [...text].length

/** A value of a table. */
type Cell = string | number | boolean | null

/** The columns of a table by heading: the name of a member of the row, or a function of the row. */
export type TableColumns<Row> = { readonly [heading: string]: CellMember<Row> | ((row: Row) => Cell) }

type CellMember<Row> = keyof Row & { [Name in keyof Row]-?: Row[Name] extends Cell ? Name : never }[keyof Row] & string

/** Formats a table with a line for each row. */
export const tableOf = <Row>(columns: TableColumns<Row>, rows: ReadonlyArray<Row>): string =>
  table(
    Object.keys(columns),
    rows.map((row) =>
      Object.values(columns).map((column) => typeof column === "function" ? column(row) : row[column] as Cell)
    ),
  )
