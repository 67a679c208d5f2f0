import { Effect } from "effect"
import { Command } from "effect/cli"
import { withProgress } from "../runtime/Progress.ts"
import { ManagementClient } from "./Connection.ts"
import { given, text, toggle } from "./Flags.ts"
import { organization, print } from "./Root.ts"
import { tableOf } from "./Table.ts"

/** Number of differences in the text. `--json` prints all differences. */
const shown = 20

const columns = {
  template: "template_id",
  variant: "copy_id",
  segment: "segment",
  since: "bucket_start",
  track: "track",
  what: "measure",
  counted: "counted",
  true: "true",
} as const

/** `parlance rebuild` */
export const rebuildCommand = Command.make(
  "rebuild",
  {
    template: text("template", "Only this template"),
    check: toggle("check", "Only compare; exits with 1 if counts differ"),
  },
  Effect.fnUntraced(function* ({ check, template }) {
    const client = yield* ManagementClient
    const request = client.learning.rebuild({
      params: { org: yield* organization },
      payload: { check, ...given({ template_id: template }) },
    })
    const result = yield* withProgress(check ? "Checking counts" : "Rebuilding counts", () => request)
    const count = result.differences.length
    const summary = `${result.decisions} decisions in ${result.templates} templates: ` +
      (count === 0
        ? "all counts were correct"
        : `${count === 1000 ? "1,000 or more counts" : count === 1 ? "1 count" : `${count} counts`} differed` +
          (result.written ? ` and ${count === 1 ? "was" : "were"} corrected` : ""))
    const parts = [summary]
    if (result.even_split_differences > 0) {
      parts.push(
        `Decisions weighted to a random split: ${result.even_split_differences} sums ${
          result.written ? "differed" : "differ"
        } from the stored decisions and events, for example because outcomes were reported late.`,
      )
    }
    if (count > 0) {
      parts.push(tableOf(columns, result.differences.slice(0, shown)))
    }
    if (result.faults.length > 0) {
      parts.push(
        "These templates could not be rebuilt and are unchanged:",
        tableOf({ template: "template_id", reason: "reason" }, result.faults),
      )
    }
    yield* print(result, parts.join("\n\n"))
    if ((check && count > 0) || result.faults.length > 0) yield* Effect.sync(() => void (process.exitCode = 1))
  }),
).pipe(
  Command.withDescription("Recompute tallies from decisions and events, and list the counts that differ"),
)
