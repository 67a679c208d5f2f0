import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { erasedKinds, erasedLabels } from "../erasure/Report.ts"
import { organization, print } from "./Root.ts"
import { personShow } from "./TimelineCommands.ts"
import { table } from "./Table.ts"

const erase = Command.make(
  "erase",
  {
    user: Flag.String("user").pipe(Flag.withDescription("The user's id as callers give it"), Flag.optional),
    email: Flag.String("email").pipe(Flag.withDescription("The e-mail address"), Flag.optional),
    yes: Flag.Boolean("yes").pipe(
      Flag.withDescription("Confirm the erasure, which cannot be undone"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* ({ email, user, yes }) {
    if (!yes) return yield* new CommandFailed({ message: "Erasing a person cannot be undone: repeat with --yes." })
    const client = yield* ManagementClient
    const org = yield* organization
    let report = yield* client.sources.erasePerson({
      params: { org },
      payload: {
        ...(Option.isSome(user) ? { user_id: user.value } : {}),
        ...(Option.isSome(email) ? { email: email.value } : {}),
      } as never,
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
