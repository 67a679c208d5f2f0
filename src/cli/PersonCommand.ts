import { Effect } from "effect"
import { Command } from "effect/cli"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { erasedKinds, erasedLabels } from "../erasure/Report.ts"
import { given, text, toggle } from "./Flags.ts"
import { bodyOf } from "./Inputs.ts"
import { organization, print } from "./Root.ts"
import { personShow } from "./TimelineCommands.ts"
import { table } from "./Table.ts"

const erase = Command.make(
  "erase",
  {
    user: text("user", "The user's id in requests of callers"),
    email: text("email", "The e-mail address"),
    yes: toggle("yes", "Confirm the erasure, which cannot be undone"),
  },
  Effect.fnUntraced(function* ({ email, user, yes }) {
    if (!yes) return yield* new CommandFailed({ message: "Erasing a person cannot be undone: repeat with --yes." })
    const client = yield* ManagementClient
    const org = yield* organization
    let report = yield* client.sources.erasePerson({
      params: { org },
      payload: bodyOf(given({ user_id: user, email })),
    })
    while (report.state === "running") {
      yield* Effect.sleep("2 seconds")
      report = yield* client.sources.getErasure({ params: { org, id: String(report.id) } })
    }
    if (report.state === "failed") {
      return yield* new CommandFailed({
        message: `The person was not erased completely: ${report.reason ?? "unknown"}. Repeat the command.`,
      })
    }
    const erased = erasedKinds.filter((kind) => report[kind] > 0).map((kind) => [erasedLabels[kind], report[kind]])
    const kept = report.kept.map(({ count, kind, reason }) => [kind, count ?? "", reason])
    yield* print(
      report,
      [
        erased.length === 0
          ? "No data found for this person. Check the exact spelling."
          : table(["erased", "count"], erased),
        table(["kept", "count", "why"], kept),
        "Counts of variants are unchanged.",
      ].join("\n\n"),
    )
  }),
).pipe(Command.withDescription("Erase a person and report the erased and the kept data. Counts are kept"))

/** `parlance person …` */
export const personCommand = Command.make("person").pipe(
  Command.withDescription("End users"),
  Command.withSubcommands([personShow, erase]),
)
