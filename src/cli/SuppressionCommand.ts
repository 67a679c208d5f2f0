import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { writeFileSync } from "node:fs"
import type { SuppressionInput, SuppressionResource } from "../api/suppressions/SuppressionsApi.ts"
import { SuppressionReason } from "../suppressions/Suppression.ts"
import { csvRows, maxRows } from "../suppressions/SuppressionCsv.ts"
import { withProgress } from "../runtime/Progress.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { bodyOf, readText } from "./Inputs.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const describe = (suppressions: ReadonlyArray<SuppressionResource>) =>
  table(
    ["address", "reason", "since", "source"],
    suppressions.map((one) => [one.email ?? "(erased)", one.reason, one.suppressed_at, one.source]),
  )

const address = Argument.String("address").pipe(Argument.withDescription("An e-mail address; case does not matter"))

const reason = Flag.Literals("reason", SuppressionReason.literals).pipe(Flag.optional)

const list = Command.make(
  "list",
  {
    reason: reason.pipe(Flag.withDescription("Only entries with this reason")),
    limit: Flag.Int("limit").pipe(Flag.withDescription("1 to 1,000"), Flag.withDefault(100)),
  },
  Effect.fnUntraced(function* ({ limit, reason }) {
    const client = yield* ManagementClient
    const { suppressions } = yield* client.suppressions.listSuppressions({
      params: { org: yield* organization },
      query: { limit: String(limit), ...(Option.isSome(reason) ? { reason: reason.value } : {}) },
    })
    yield* print(suppressions, suppressions.length === 0 ? "No matching entries" : describe(suppressions))
  }),
).pipe(Command.withDescription("List suppressed addresses, newest first"))

const show = Command.make(
  "show",
  { address },
  Effect.fnUntraced(function* ({ address }) {
    const client = yield* ManagementClient
    const found = yield* client.suppressions.findSuppression({
      params: { org: yield* organization },
      query: { email: address },
    })
    yield* print(found, found.suppressed ? describe(found.suppressions) : `${address} is not suppressed`)
  }),
).pipe(Command.withDescription("Show whether an address is suppressed, and why"))

const add = Command.make(
  "add",
  { address, reason: reason.pipe(Flag.withDescription("Default: manual")) },
  Effect.fnUntraced(function* ({ address, reason }) {
    const client = yield* ManagementClient
    const payload = bodyOf<typeof SuppressionInput.Type>({
      email: address,
      ...(Option.isSome(reason) ? { reason: reason.value } : {}),
    })
    const { suppressions } = yield* client.suppressions.addSuppression({
      params: { org: yield* organization },
      payload,
    })
    yield* print(suppressions, describe(suppressions))
  }),
).pipe(Command.withDescription("Add an address to the suppression list and cancel its queued messages"))

const remove = Command.make(
  "remove",
  { address, reason: reason.pipe(Flag.withDescription("Remove only entries with this reason. Default: all")) },
  Effect.fnUntraced(function* ({ address, reason }) {
    const client = yield* ManagementClient
    yield* client.suppressions.removeSuppression({
      params: { org: yield* organization },
      query: { email: address, ...(Option.isSome(reason) ? { reason: reason.value } : {}) },
    })
    yield* print({ removed: address }, `Removed ${address} from the suppression list`)
  }),
).pipe(Command.withDescription("Remove an address from the suppression list"))

/** Largest number of characters in one request, with room for UTF-8's further bytes. */
const maxRequest = 250_000

/** A file in parts that one request takes each, with its header repeated. */
export const partsOf = (text: string): ReadonlyArray<string> => {
  if (text.length <= maxRequest && text.split("\n").length <= maxRows) return [text]
  const parsed = csvRows(text)
  // The service returns its faults.
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
  { file: Argument.String("file").pipe(Argument.withDescription("A CSV file, or - for standard input")) },
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
  { out: Flag.String("out").pipe(Flag.withDescription("File to write. Default: standard output"), Flag.optional) },
  Effect.fnUntraced(function* ({ out }) {
    const client = yield* ManagementClient
    const text = yield* client.suppressions.exportSuppressions({ params: { org: yield* organization } })
    if (Option.isNone(out)) return yield* Console.log(text.trimEnd())
    yield* Effect.try({
      try: () => writeFileSync(out.value, text, { mode: 0o600 }),
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
