/** Rows under their headings, in columns as wide as they need; a number column stands to the right. */
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

// Code points rather than UTF-16 units; wide scripts are not told apart.
const width = (text: string): number => [...text].length
