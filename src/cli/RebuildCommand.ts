import type { RebuildResult } from "../api/learning/LearningApi.ts"
import { withProgress } from "../runtime/Progress.ts"
import { steps } from "./ApiCommand.ts"
import { given, text, toggle } from "./Flags.ts"
import { organization } from "./Root.ts"
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

/** A summary, the sums weighted by recorded probabilities, the first differences, and the faults. */
const textOf = (result: typeof RebuildResult.Type) => {
  const { decisions, differences, faults, propensity_differences, send_times, templates, written } = result
  const count = differences.length
  const summary = `${decisions} decisions in ${templates} templates: ` +
    (count === 0
      ? "all counts were correct"
      : `${count === 1000 ? "1,000 or more counts" : count === 1 ? "1 count" : `${count} counts`} differed` +
        (written ? ` and ${count === 1 ? "was" : "were"} corrected` : ""))
  return [
    summary,
    ...(propensity_differences === 0 ? [] : [
      `Decisions weighted by their recorded probabilities: ${propensity_differences} sums ${
        written ? "differed" : "differ"
      } from the ` +
      "stored decisions and events, for example because outcomes were reported late.",
    ]),
    ...(send_times === null || send_times.differences === 0 ? [] : [
      `Send times: the histories of ${send_times.differences} of ${send_times.people} people ${
        written ? "differed and were corrected" : "differ"
      }.`,
    ]),
    ...(count === 0 ? [] : [tableOf(columns, differences.slice(0, shown))]),
    ...(faults.length === 0 ? [] : [
      "These templates could not be rebuilt and are unchanged:",
      tableOf({ template: "template_id", reason: "reason" }, faults),
    ]),
  ].join("\n\n")
}

/** `parlance rebuild` */
export const rebuildCommand = steps("Recompute tallies from decisions and events, and list the counts that differ", {
  template_id: text("template", "Only this template"),
  check: toggle("check", "Only compare; exits with 1 if counts differ"),
}, function* (client, { check, ...only }) {
  const request = client.rebuild({ params: { org: yield* organization }, payload: { check, ...given(only) } })
  return yield* withProgress(check ? "Checking counts" : "Rebuilding counts", () => request)
})
  .failsIf(({ differences, faults }, { check }) => (check && differences.length > 0) || faults.length > 0)
  .text(textOf)("rebuild")
