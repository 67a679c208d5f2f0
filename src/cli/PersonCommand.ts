import { Effect } from "effect"
import { erasedKinds, erasedLabels } from "../erasure/Report.ts"
import { commandGroup, steps } from "./ApiCommand.ts"
import { CommandFailed } from "./Connection.ts"
import { text, toggle } from "./Flags.ts"
import { bodyOf } from "./Inputs.ts"
import { organization } from "./Root.ts"
import { table } from "./Table.ts"
import { personShow } from "./TimelineCommands.ts"

/** `parlance person …` */
export const personCommand = commandGroup("person", "End users", {
  show: personShow,
  erase: steps("Erase a person and report the erased and the kept data. Counts are kept", {
    user_id: text("user", "The user's id in requests of callers"),
    email: text("email", "The e-mail address"),
    yes: toggle("yes", "Confirm the erasure, which cannot be undone"),
  }, function* (client, { yes, ...person }) {
    if (!yes) return yield* new CommandFailed({ message: "Erasing a person cannot be undone: repeat with --yes." })
    const org = yield* organization
    let report = yield* client.erasePerson({ params: { org }, payload: bodyOf(person) })
    while (report.state === "running") {
      yield* Effect.sleep("2 seconds")
      report = yield* client.getErasure({ params: { org, id: String(report.id) } })
    }
    return report.state !== "failed" ? report : yield* new CommandFailed({
      message: `The person was not erased completely: ${report.reason ?? "unknown"}. Repeat the command.`,
    })
  }).text((report) => {
    const erased = erasedKinds.filter((kind) => report[kind] > 0).map((kind) => [erasedLabels[kind], report[kind]])
    const kept = report.kept.map(({ count, kind, reason }) => [kind, count ?? "", reason])
    return [
      erased.length === 0
        ? "No data found for this person. Check the exact spelling."
        : table(["erased", "count"], erased),
      table(["kept", "count", "why"], kept),
      "Counts of variants are unchanged.",
    ].join("\n\n")
  }),
})
