import { Result } from "effect"
import type { Fault } from "../domain/Errors.ts"
import { localeFault } from "../domain/Locale.ts"
import { csvLine, excelLength, spreadsheetText, textOfSpreadsheet } from "../text/Csv.ts"
import { csvRows } from "../text/CsvRows.ts"
import { atLine, type ReadTranslation, stampOf, type TranslationFile } from "./TranslationUnits.ts"

// Strings as CSV: a row for each text, and a column for each locale.

/** The last column: what each translation was when the file was exported, such as `de:x7Fb2Qk1 fr:-`. */
const stamps = "exported"

/** Writes strings for a spreadsheet: texts that would run as a formula begin with an apostrophe. */
export const writeTranslationCsv = ({ defaultLocale, locales, units }: TranslationFile): string =>
  csvLine(["variant", "variable", defaultLocale, ...locales, stamps]) +
  units.map(({ source, targets, variable, variant }) =>
    csvLine([
      ...[variant, variable, source, ...locales.map((tag) => targets.get(tag) ?? "")].map(spreadsheetText),
      locales.map((tag) => `${tag}:${stampOf(targets.get(tag))}`).join(" "),
    ])
  ).join("")

/** Whether a column has no translations. */
const isFixed = (name: string, defaultLocale: string): boolean =>
  ["", "variant", "variable", stamps, defaultLocale].includes(name)

/** Reads the columns of the header, or returns its faults. */
const columnsOf = (header: ReadonlyArray<string>, line: number, defaultLocale: string) => {
  const names = header.map((name) => name.trim())
  const faults: Array<Fault> = []
  for (const required of ["variant", "variable", defaultLocale]) {
    if (!names.includes(required)) {
      faults.push(atLine(line, `the header has no column ${required}: keep the columns of the export`))
    }
  }
  names.forEach((name, at) => {
    if (name === "" && header.slice(at).every((rest) => rest.trim() === "")) return
    if (names.indexOf(name) < at) faults.push(atLine(line, `the column ${JSON.stringify(name)} occurs twice`))
    if (isFixed(name, defaultLocale)) return
    const fault = localeFault(name)
    if (fault !== undefined) faults.push(atLine(line, `the column ${JSON.stringify(name)} ${fault}`))
  })
  return { names, faults }
}

/** Reads strings from CSV. Returns every fault. */
export const readTranslationCsv = (
  text: string,
  defaultLocale: string,
): Result.Result<ReadonlyArray<ReadTranslation>, ReadonlyArray<Fault>> => {
  const rows = csvRows(text)
  if (Result.isFailure(rows)) {
    return Result.fail([
      atLine(rows.failure, 'begins a value with a quotation mark that is not closed: add the closing "'),
    ])
  }
  const [header, ...others] = rows.success
  if (header === undefined) return Result.fail([atLine(1, "the file is empty: export the strings again")])
  const { faults, names } = columnsOf(header.values, header.line, defaultLocale)
  if (faults.length > 0) return Result.fail(faults)
  const valueOf = (values: ReadonlyArray<string>, name: string) => textOfSpreadsheet(values[names.indexOf(name)] ?? "")
  const read = others.flatMap(({ line, values }) => {
    const cut = values.findIndex((value) => value.length === excelLength)
    if (cut >= 0) {
      faults.push(
        atLine(line, `the column ${names[cut]} has ${excelLength} characters, where Excel cuts a cell: use XLIFF`),
      )
    }
    const exported = new Map(valueOf(values, stamps).split(" ").map((one) => one.split(":") as [string, string]))
    return names.filter((name) => !isFixed(name, defaultLocale))
      .map((locale) => ({
        stamp: exported.get(locale),
        line,
        locale,
        variant: valueOf(values, "variant").trim(),
        variable: valueOf(values, "variable"),
        source: valueOf(values, defaultLocale),
        target: valueOf(values, locale),
      }))
  })
  return faults.length > 0 ? Result.fail(faults) : Result.succeed(read)
}
