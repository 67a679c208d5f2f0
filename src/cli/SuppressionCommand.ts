import { Console, Effect, Option } from "effect"
import { Command } from "effect/cli"
import { writeFileSync } from "node:fs"
import type { SuppressionInput, SuppressionResource } from "../api/suppressions/SuppressionsApi.ts"
import { SuppressionReason } from "../domain/SuppressionReason.ts"
import { csvRows, maxRows } from "../suppressions/SuppressionCsv.ts"
import { withProgress } from "../runtime/Progress.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { argument, choice, given, text, whole } from "./Flags.ts"
import { bodyOf, readText } from "./Inputs.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import { organization, print } from "./Root.ts"
import { type TableColumns, tableOf } from "./Table.ts"

const columns: TableColumns<SuppressionResource> = {
  address: ({ email }) => email ?? "(erased)",
  reason: "reason",
  since: "suppressed_at",
  source: "source",
}

const address = argument("address", "An e-mail address; case does not matter")

const reason = (description: string) => choice("reason", SuppressionReason.literals, description)

const list = organizationCommand({
  name: "list",
  description: "List suppressed addresses, newest first",
  flags: { reason: reason("Only entries with this reason"), limit: whole("limit", "1 to 1,000", 100) },
  call: (client, { limit, org, reason }) =>
    client.suppressions.listSuppressions({ params: { org }, query: { limit: String(limit), ...given({ reason }) } }),
  result: ({ suppressions }) => suppressions,
}).table(columns, "No matching entries")

const show = organizationCommand({
  name: "show",
  description: "Show whether an address is suppressed, and why",
  flags: { address },
  call: (client, { address, org }) =>
    client.suppressions.findSuppression({ params: { org }, query: { email: address } }),
}).text(({ suppressed, suppressions }, { address }) =>
  suppressed ? tableOf(columns, suppressions) : `${address} is not suppressed`
)

const add = organizationCommand({
  name: "add",
  description: "Add an address to the suppression list and cancel its queued messages",
  flags: { address, reason: reason("Default: manual") },
  call: (client, { address, org, reason }) =>
    client.suppressions.addSuppression({
      params: { org },
      payload: bodyOf<typeof SuppressionInput.Type>({ email: address, ...given({ reason }) }),
    }),
  result: ({ suppressions }) => suppressions,
}).table(columns)

const remove = organizationCommand({
  name: "remove",
  description: "Remove an address from the suppression list",
  flags: { address, reason: reason("Remove only entries with this reason. Default: all") },
  call: (client, { address, org, reason }) =>
    client.suppressions.removeSuppression({ params: { org }, query: { email: address, ...given({ reason }) } }),
  result: (_, { address }) => ({ removed: address }),
}).text(({ removed }) => `Removed ${removed} from the suppression list`)

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

const importFile = Command.make(
  "import",
  { file: argument("file", "A CSV file, or - for standard input") },
  Effect.fnUntraced(function* ({ file }) {
    const client = yield* ManagementClient
    const org = yield* organization
    const sum = { added: 0, present: 0, skipped: 0 }
    const parts = partsOf(yield* readText(file))
    yield* withProgress(
      "Importing suppressions",
      (report) =>
        Effect.forEach(parts, (payload, index) =>
          Effect.gen(function* () {
            yield* report({ done: index, total: parts.length, unit: "requests" })
            const done = yield* client.suppressions.importSuppressions({ params: { org }, payload })
            sum.added += done.added
            sum.present += done.present
            sum.skipped += done.skipped
          }), { discard: true }),
    )
    yield* print(
      sum,
      `Added ${sum.added} entries; ${sum.present} were on the list already, ${sum.skipped} rows have no address`,
    )
  }),
).pipe(
  Command.withDescription(
    "Import addresses from CSV with a column address (or email) and, optionally, reason, source and suppressed_at",
  ),
)

const exportFile = Command.make(
  "export",
  { out: text("out", "File to write. Default: standard output") },
  Effect.fnUntraced(function* ({ out }) {
    const client = yield* ManagementClient
    const csv = yield* client.suppressions.exportSuppressions({ params: { org: yield* organization } })
    if (Option.isNone(out)) return yield* Console.log(csv.trimEnd())
    yield* Effect.try({
      try: () => writeFileSync(out.value, csv, { mode: 0o600 }),
      catch: (cause) =>
        new CommandFailed({
          message: `${out.value} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`,
        }),
    })
    yield* Console.log(`Wrote the suppression list to ${out.value}`)
  }),
).pipe(Command.withDescription("Write the suppression list as CSV"))

/** `parlance suppression …` */
export const suppressionCommand = Command.make("suppression").pipe(
  Command.withDescription("Addresses that get no messages"),
  Command.withSubcommands([list, show, add, remove, importFile, exportFile]),
)
