import { Console, Effect } from "effect"
import type { SuppressionResource } from "../api/suppressions/SuppressionsApi.ts"
import { SuppressionReason } from "../domain/SuppressionReason.ts"
import { withProgress } from "../runtime/Progress.ts"
import { maxRows } from "../suppressions/SuppressionCsv.ts"
import { csvRows } from "../text/CsvRows.ts"
import { call, commandGroup, steps } from "./ApiCommand.ts"
import { argument, choice, out, whole } from "./Flags.ts"
import { printOrWrite, readText } from "./Inputs.ts"
import { organization } from "./Root.ts"
import { type TableColumns, tableOf } from "./Table.ts"

const columns: TableColumns<SuppressionResource> = {
  address: ({ email }) => email ?? "(erased)",
  reason: "reason",
  since: "suppressed_at",
  source: "source",
}

const email = argument("address", "An e-mail address; case does not matter")

const reason = (description: string) => choice("reason", SuppressionReason.literals, description)

/**
 * Largest number of UTF-16 code units in one request. In UTF-8 they are at most 750,000 bytes of the limit of 1 MiB.
 */
const maxRequest = 250_000

/** Splits a CSV file into the bodies of several requests. Each part begins with the header of the file. */
export const partsOf = (text: string): ReadonlyArray<string> => {
  if (text.length <= maxRequest && text.split("\n").length <= maxRows) return [text]
  const parsed = csvRows(text)
  // The service reports the faults of the file.
  if (parsed._tag === "Failure") return [text]
  const written = ({ values }: { readonly values: ReadonlyArray<string> }) =>
    `${values.map((value) => `"${value.replaceAll('"', '""')}"`).join(",")}\n`
  const [first, ...others] = parsed.success
  const hasHeader = first !== undefined && !first.values.some((value) => value.includes("@"))
  const header = hasHeader ? written(first) : ""
  const parts: Array<string> = []
  let part = header
  let rows = 0
  for (const row of hasHeader ? others : parsed.success) {
    const line = written(row)
    if (rows > 0 && (rows === maxRows || part.length + line.length > maxRequest)) {
      parts.push(part)
      part = header
      rows = 0
    }
    part += line
    rows++
  }
  return [...parts, part]
}

/** `parlance suppression …` */
export const suppressionCommand = commandGroup("suppression", "Addresses that get no messages", {
  list: call("listSuppressions", "List suppressed addresses, newest first", {
    reason: reason("Only entries with this reason"),
    limit: whole("limit", "1 to 1,000", 100),
  }).result(({ suppressions }) => suppressions).table(columns, "No matching entries"),

  show: call("findSuppression", "Show whether an address is suppressed, and why", { email })
    .text(({ suppressed, suppressions }, { email }) =>
      suppressed ? tableOf(columns, suppressions) : `${email} is not suppressed`
    ),

  add: call("addSuppression", "Add an address to the suppression list and cancel its queued messages", {
    email,
    reason: reason("Default: manual"),
  }).result(({ suppressions }) => suppressions).table(columns),

  remove: call("removeSuppression", "Remove an address from the suppression list", {
    email,
    reason: reason("Remove only entries with this reason. Default: all"),
  }).result((_, { email }) => ({ removed: email }))
    .text(({ removed }) => `Removed ${removed} from the suppression list`),

  import: steps(
    "Import addresses from CSV with a column address (or email) and, optionally, reason, source and suppressed_at",
    { file: argument("file", "A CSV file, or - for standard input") },
    function* (client, { file }) {
      const params = { org: yield* organization }
      const sum = { added: 0, present: 0, skipped: 0 }
      const parts = partsOf(yield* readText(file))
      const importPart = Effect.fnUntraced(function* (payload: string) {
        const done = yield* client.importSuppressions({ params, payload })
        sum.added += done.added
        sum.present += done.present
        sum.skipped += done.skipped
      })
      yield* withProgress("Importing suppressions", (report) =>
        Effect.forEach(
          parts,
          (part, index) =>
            Effect.andThen(report({ done: index, total: parts.length, unit: "requests" }), importPart(part)),
          { discard: true },
        ))
      return sum
    },
  ).text(({ added, present, skipped }) =>
    `Added ${added} entries; ${present} were on the list already, ${skipped} rows have no address`
  ),

  export: steps("Write the suppression list as CSV", { out }, function* (client, { out }) {
    const csv = yield* client.exportSuppressions({ params: { org: yield* organization } })
    if (yield* printOrWrite(out, csv, 0o600)) yield* Console.log(`Wrote the suppression list to ${out}`)
  }).silent(),
})
