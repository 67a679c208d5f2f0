import { Effect, Result } from "effect"
import * as Csv from "../text/Csv.ts"
import { type CsvRow, csvRows } from "../text/CsvRows.ts"
import { readAddress } from "../text/AddressText.ts"
import { validateAddress } from "../text/Email.ts"
import type { Fault } from "../domain/Errors.ts"
import { readDate } from "../rendering/DateText.ts"
import { letOthersRun } from "../runtime/letOthersRun.ts"
import type { SuppressionEntry } from "./Suppression.ts"
import { SuppressionReason } from "../domain/SuppressionReason.ts"

// Reads and writes the suppression list as CSV (RFC 4180). Accepts the exports of other systems.

/** Maximum number of rows of an import. */
export const maxRows = 20_000

/** Maximum number of listed faults of an import. */
const maxFaults = 1_000

/** Number of rows that are read before other work may run. */
const rowsPerTurn = 500

/** The header line of an export. */
export const csvHeader = "address,reason,source,suppressed_at\r\n"

/** Returns an entry as a line of CSV. The address of an erased person is empty. */
export const csvLine = ({ address, reason, source, suppressedAt }: SuppressionEntry): string =>
  Csv.csvLine([address ?? "", reason, source, suppressedAt.toISOString()])

/**
 * Returns an entry as a line for spreadsheets, escaped so that no text runs as a formula. Imports read such lines too.
 */
export const spreadsheetLine = ({ address, reason, source, suppressedAt }: SuppressionEntry): string =>
  Csv.csvLine([
    Csv.spreadsheetText(address ?? ""),
    reason,
    Csv.spreadsheetText(source),
    suppressedAt.toISOString(),
  ])

/** A row of an import. */
interface ImportedRow {
  readonly address: string
  readonly reason: SuppressionReason
  /** Undefined if the row has no source. */
  readonly source: string | undefined
  /** Unit: Unix milliseconds. Undefined if the row has no time. */
  readonly at: number | undefined
}

/** The content of an import. */
interface ReadCsv {
  readonly rows: ReadonlyArray<ImportedRow>
  /** Number of rows without an address, such as rows of erased people. */
  readonly skipped: number
}

/** Returns a name of a column or a reason as its letters alone: `E-Mail Address` and `EmailAddress` are one name. */
const lettersOf = (name: string): string => name.trim().toLowerCase().replace(/[\s_-]+/g, "")

/** Columns by the letters of the names that other systems and spreadsheets use, in English and German. */
const columns: Readonly<Record<string, "address" | "reason" | "source" | "at">> = {
  address: "address",
  adresse: "address",
  email: "address",
  emailaddress: "address",
  emailadresse: "address",
  mail: "address",
  mailadresse: "address",
  recipient: "address",
  grund: "reason",
  reason: "reason",
  suppressionreason: "reason",
  quelle: "source",
  source: "source",
  createdat: "at",
  date: "at",
  datum: "at",
  lastupdatetime: "at",
  suppressedat: "at",
}

/** Reasons by the letters of the names that other systems use. */
const reasons: Readonly<Record<string, SuppressionReason>> = {
  ...Object.fromEntries(SuppressionReason.literals.map((reason) => [lettersOf(reason), reason])),
  bounce: "hard_bounce",
  bounced: "hard_bounce",
  manualsuppression: "manual",
  optout: "unsubscribe",
  spam: "complaint",
  spamcomplaint: "complaint",
  unsubscribed: "unsubscribe",
  "": "manual",
}

/** Returns a date as Unix milliseconds, of UTC if it has no zone. NaN for other texts. */
const timeOf = (text: string): number => {
  const { local, zone = 0 } = readDate(text) ?? { local: NaN }
  return typeof zone === "string" ? NaN : local - zone * 1_000
}

const readRow = (
  { line, values }: CsvRow,
  places: ReadonlyMap<"address" | "reason" | "source" | "at", number>,
  now: number,
): Result.Result<ImportedRow | undefined, Fault> => {
  const valueOf = (name: "address" | "reason" | "source" | "at") => (values[places.get(name) ?? -1] ?? "").trim()
  const fault = (detail: string) => Result.fail({ pointer: `/line/${line}`, detail })
  const cell = Csv.textOfSpreadsheet(valueOf("address"))
  const address = readAddress(cell) ?? cell
  if (address === "") return Result.succeed(undefined)
  const wrong = validateAddress(address)
  if (wrong !== undefined) return fault(`${JSON.stringify(address.slice(0, 100))} is no address: it ${wrong}`)
  const stated = valueOf("reason").toLowerCase()
  const letters = lettersOf(stated)
  const reason = Object.hasOwn(reasons, letters) ? reasons[letters] : undefined
  if (reason === undefined) {
    return fault(
      `reason ${JSON.stringify(stated.slice(0, 50))} must be one of ${SuppressionReason.literals.join(", ")}`,
    )
  }
  const time = valueOf("at")
  const at = time === "" ? undefined : timeOf(time)
  if (Number.isNaN(at)) {
    return fault(`time ${JSON.stringify(time.slice(0, 50))} must be in ISO 8601, such as 2026-05-04T09:30:00Z`)
  }
  const source = valueOf("source").toWellFormed().replaceAll("\0", "")
  return Result.succeed({
    address,
    reason,
    source: source === "" ? undefined : source,
    at: at === undefined ? undefined : Math.min(at, now),
  })
}

/** Maximum number of rows before the header, such as the title of a table. */
const maxTitles = 2

/** Returns the columns that a row names, if it is the header. */
const namesOf = ({ values }: CsvRow) =>
  values.map((name) => {
    const key = lettersOf(name)
    return Object.hasOwn(columns, key) ? columns[key] : undefined
  })

/**
 * Reads CSV with a header that contains the column `address` (or `email`) and optionally `reason`, `source` and
 * `suppressed_at`; or without a header, one address in each line. Fails with every fault, up to 1,000. The pointer of a
 * fault is `/line/` and the line number.
 */
export const readCsv = Effect.fnUntraced(function* (
  text: string,
  now: number,
): Effect.fn.Return<Result.Result<ReadCsv, ReadonlyArray<Fault>>> {
  const parsed = csvRows(text)
  if (Result.isFailure(parsed)) {
    return Result.fail([{ pointer: `/line/${parsed.failure}`, detail: "has a quotation mark that is never closed" }])
  }
  const titles = parsed.success.slice(0, maxTitles + 1).findIndex((row) => namesOf(row).includes("address"))
  const [first, ...others] = parsed.success.slice(Math.max(titles, 0))
  if (first === undefined) return Result.succeed({ rows: [], skipped: 0 })
  const named = namesOf(first)
  const hasHeader = titles >= 0
  if (!hasHeader && !(first.values[0] ?? "").includes("@")) {
    return Result.fail([{
      pointer: `/line/${first.line}`,
      detail: `must be a header with the column email, or the first address. It is ${
        JSON.stringify(first.values.join(", ").slice(0, 100))
      }`,
    }])
  }
  const places = new Map<"address" | "reason" | "source" | "at", number>(hasHeader ? [] : [["address", 0]])
  if (hasHeader) named.forEach((name, place) => name !== undefined && !places.has(name) && places.set(name, place))
  const lines = hasHeader ? others : parsed.success
  if (lines.length > maxRows) {
    return Result.fail([{
      pointer: "",
      detail: `has ${lines.length} rows. One import has at most ${maxRows.toLocaleString("en")}; split the file`,
    }])
  }
  const rows: Array<ImportedRow> = []
  const faults: Array<Fault> = []
  let skipped = 0
  for (const [n, line] of lines.entries()) {
    if (n % rowsPerTurn === rowsPerTurn - 1) yield* letOthersRun
    const read = readRow(line, places, now)
    if (Result.isSuccess(read)) {
      if (read.success === undefined) skipped++
      else rows.push(read.success)
    } else if (faults.length < maxFaults) faults.push(read.failure)
  }
  return faults.length > 0 ? Result.fail(faults) : Result.succeed({ rows, skipped })
})
