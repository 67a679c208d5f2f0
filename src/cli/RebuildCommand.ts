import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { withProgress } from "../runtime/Progress.ts"
import { ManagementClient } from "./Connection.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

/** Differences shown to people; JSON has them all. */
const shown = 20

/** `parlance rebuild` */
export const rebuildCommand = Command.make(
  "rebuild",
  {
    template: Flag.String("template").pipe(Flag.withDescription("Only this template"), Flag.optional),
    check: Flag.Boolean("check").pipe(
      Flag.withDescription("Only compare; exits with 1 if counts differ"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* ({ check, template }) {
    const client = yield* ManagementClient
    const request = client.learning.rebuild({
      params: { org: yield* organization },
      payload: { check, ...(Option.isSome(template) ? { template_id: template.value } : {}) },
    })
    const result = yield* withProgress(check ? "Checking counts" : "Rebuilding counts", () => request)
    const count = result.differences.length
    const summary = `${result.decisions} decisions in ${result.templates} templates: ` +
      (count === 0
        ? "all counts were correct"
        : `${count === 1000 ? "1,000 or more counts" : count === 1 ? "1 count" : `${count} counts`} differed` +
          (result.written ? ` and ${count === 1 ? "was" : "were"} corrected` : ""))
    const rows = result.differences.slice(0, shown).map((one) => [
      one.template_id,
      one.copy_id,
      one.segment,
      one.bucket_start,
      one.track,
      one.measure,
      one.counted,
      one.true,
    ])
    const parts = [summary]
    if (result.even_split_differences > 0) {
      parts.push(
        `Decisions weighted to a random split: ${result.even_split_differences} sums ${
          result.written ? "differed" : "differ"
        } from the stored decisions and events, for example because outcomes were reported late.`,
      )
    }
    if (count > 0) {
      parts.push(table(["template", "variant", "segment", "since", "track", "what", "counted", "true"], rows))
    }
    if (result.faults.length > 0) {
      parts.push(
        "These templates could not be rebuilt and are unchanged:",
        table(["template", "reason"], result.faults.map(({ reason, template_id }) => [template_id, reason])),
      )
    }
    yield* print(result, parts.join("\n\n"))
    if ((check && count > 0) || result.faults.length > 0) yield* Effect.sync(() => void (process.exitCode = 1))
  }),
).pipe(
  Command.withDescription("Recompute tallies from decisions and events, and list the counts that differ"),
)
