import { Result } from "effect"
import type { CopyRow, ReadCopy } from "../checking/Checks.ts"
import type { Fault } from "../domain/Errors.ts"
import { excelLength, textOfSpreadsheet } from "../text/Csv.ts"
import { type CsvRow, csvRows } from "../text/CsvRows.ts"
import { readLocale } from "../text/Locales.ts"

// Reads copy as marketers keep it in spreadsheets: a row for each variant, and a column for each variable.

/** Maximum numbers of rows, and of reported faults and warnings. */
const maxRows = 2_000
const maxFaults = 1_000

/** Names of columns in lower case without spaces and signs, by meaning. */
const names: Readonly<Record<string, ReadonlyArray<string>>> = {
  template: ["template", "templateid", "templatename", "vorlage", "modele", "plantilla"],
  variant: ["variant", "variantid", "variantname", "version", "variation", "variante", "copyid"],
  locale: ["locale", "lang", "language", "sprache", "langue", "idioma"],
  subject: ["subject", "subjectline", "betreff", "objet", "asunto"],
  preheader: ["preheader", "previewtext", "preview", "vorschautext"],
  body: ["body", "html", "bodyhtml", "htmlbody", "content", "copy", "text", "inhalt"],
}

const meanings = new Map(Object.entries(names).flatMap(([meaning, all]) => all.map((name) => [name, meaning] as const)))

/** Returns what a column or variable means, such as `subject` for `Subject line`. Undefined for other names. */
export const meaningOf = (name: string): string | undefined =>
  /^vars\.\w/i.test(name.trim())
    ? name.trim().slice(5)
    : meanings.get(name.normalize("NFKD").toLowerCase().replace(/[^a-z]/g, ""))

/** A cell with this text makes a variable empty. An empty cell leaves it as it is. */
const emptyWord = "(empty)"

/** Returns the letters of a column: `A`, `Z`, `AA`. */
const letterOf = (index: number): string =>
  index < 26 ? String.fromCharCode(65 + index) : letterOf(Math.floor(index / 26) - 1) + letterOf(index % 26)

/** Rows before the header, such as the title of a table. */
const maxTitles = 5

const isHeader = ({ values }: CsvRow): boolean => {
  const known = values.map((value) => meaningOf(value))
  return known.includes("template") && known.includes("variant")
}

/** Whether a text is CSV of copy: one of its first rows names the columns `template` and `variant`. */
export const isCopyCsv = (text: string): boolean => {
  const head = text.slice(0, 5_000)
  // The end of the head may be within quotation marks.
  const rows = [head, `${head}"`].map((one) => csvRows(one)).find(Result.isSuccess)
  return rows?.success.slice(0, maxTitles + 1).some(isHeader) ?? false
}

/** Texts that spreadsheets write in place of a value. */
const broken = /^(?:#+|#(?:NAME|REF|VALUE|N\/A|DIV\/0|NULL|NUM)[!?]?|\d(?:[.,]\d+)?E[+-]\d+)$/i

/** Makes quotation marks and spaces within Liquid plain, as Word and Excel change them. */
const withPlainLiquid = (text: string): string =>
  text.replace(
    /\{\{[^{}]*\}\}|\{%[^{}]*%\}/g,
    (liquid) => liquid.replace(/[“”„]/g, '"').replace(/[‘’‚]/g, "'").replace(/[\u00a0\u202f]/g, " "),
  )

class Reader {
  readonly faults: Array<Fault> = []
  readonly warnings: Array<Fault> = []
  readonly #columns: ReadonlyArray<{ readonly meaning: string | undefined; readonly place: string }>

  constructor(header: CsvRow) {
    const seen = new Set<string>()
    const ignored: Array<string> = []
    this.#columns = header.values.map((value, at) => {
      const title = value.trim()
      const place = `column ${letterOf(at)} (${title.slice(0, 40)})`
      const meaning = meaningOf(title)
      if (meaning === undefined && title !== "") ignored.push(title.slice(0, 40))
      if (meaning !== undefined && seen.has(meaning)) {
        this.#note(this.faults, `row ${header.row}, ${place}`, `is a second column for ${meaning}: remove one of them`)
      }
      if (meaning !== undefined) seen.add(meaning)
      return { meaning, place }
    })
    if (ignored.length > 0) {
      this.#note(
        this.warnings,
        `row ${header.row}`,
        `not imported: ${
          ignored.slice(0, 20).join(", ")
        }. For a variable of this name, write vars. before it, as in vars.${
          ignored[0]!.replace(/\W+/g, "_").toLowerCase()
        }`,
      )
    }
  }

  #note(list: Array<Fault>, place: string, detail: string): void {
    if (list.length < maxFaults) list.push({ pointer: "/csv", detail: `${place}: ${detail}` })
  }

  read({ row, values }: CsvRow): CopyRow | undefined {
    const keys: Record<string, string> = {}
    const vars: Record<string, string> = {}
    const places: Record<string, string> = {}
    for (const [at, { meaning, place }] of this.#columns.entries()) {
      const text = textOfSpreadsheet(values[at] ?? "")
      if (meaning === undefined || text.trim() === "") continue
      const where = `row ${row}, ${place}`
      if (meaning === "locale") {
        const read = readLocale(text)
        if ("wrong" in read) this.#note(this.faults, where, `${JSON.stringify(text.trim().slice(0, 20))} ${read.wrong}`)
        else keys["locale"] = new Intl.Locale(read.value).baseName
      } else if (meaning === "template" || meaning === "variant") keys[meaning] = text.trim()
      else {
        vars[meaning] = this.#text(meaning, text, where)
        places[meaning] = place
      }
    }
    for (const [at, { meaning, place }] of this.#columns.entries()) {
      if ((meaning === "template" || meaning === "variant") && (values[at] ?? "").trim() === "") {
        this.#note(this.faults, `row ${row}, ${place}`, `is empty: write the id or the name of the ${meaning}`)
      }
    }
    if (keys["template"] === undefined || keys["variant"] === undefined) return undefined
    if (Object.keys(vars).length === 0) {
      this.#note(this.warnings, `row ${row}`, "has no copy, so it changes nothing")
      return undefined
    }
    const { locale, template, variant } = keys
    return { row, template: template!, variant: variant!, ...(locale === undefined ? {} : { locale }), vars, places }
  }

  /** Returns the text of a variable, and notes what a spreadsheet has changed in it. */
  #text(meaning: string, cell: string, where: string): string {
    const text = meaning === "body" ? cell : cell.trim()
    if (text.trim() === emptyWord) return ""
    if (text !== cell) this.#note(this.warnings, where, "spaces around the text were removed")
    if (broken.test(text.trim())) {
      this.#note(this.warnings, where, `${JSON.stringify(text.trim())} looks like a value that the spreadsheet changed`)
    }
    if (cell.length === excelLength) {
      this.#note(this.warnings, where, `has ${excelLength} characters, at which Excel cuts a cell: compare its end`)
    }
    const plain = withPlainLiquid(text)
    if (plain !== text) {
      this.#note(this.warnings, where, "curly quotation marks or special spaces in Liquid were made plain")
    }
    return plain
  }
}

const refused = (detail: string): ReadCopy => ({ rows: [], faults: [{ pointer: "/csv", detail }], warnings: [] })

/**
 * Reads CSV with the columns `template` and `variant`, and with `subject`, `preheader`, `body` or `vars.NAME`, in any
 * order and under the usual names. Rows before the header are titles. At most 2,000 rows.
 */
export const readCopy = (text: string): ReadCopy => {
  const parsed = csvRows(text)
  if (Result.isFailure(parsed)) return refused(`line ${parsed.failure}: has a quotation mark that is never closed`)
  const begin = parsed.success.slice(0, maxTitles + 1).findIndex(isHeader)
  const header = parsed.success[begin]
  if (header === undefined) {
    return refused(
      "has no header: name the columns template, variant and one of subject, preheader and body in the first row",
    )
  }
  const lines = parsed.success.slice(begin + 1)
  if (lines.length > maxRows) {
    return refused(`has ${lines.length} rows. One import has at most ${maxRows}: split the file`)
  }
  const reader = new Reader(header)
  const rows = lines.flatMap((line) => reader.read(line) ?? [])
  return { rows, faults: reader.faults, warnings: reader.warnings }
}
