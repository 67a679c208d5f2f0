import { Context, Metric } from "effect"
import { type Answer, failuresOf } from "./Answer.ts"

/** Requests for a decision by outcome. */
const decisions = (outcome: string) =>
  Metric.counter("parlance_decisions_total", { incremental: true, attributes: { outcome } })
const counters = Object.fromEntries(
  ([
    "chosen",
    "held-out",
    "send-nothing",
    "not-rendered",
    "no-candidate",
    "template-not-found",
    "template-archived",
    "variant-not-found",
    "tracking-id-reused",
  ] as const)
    .map((outcome) => [outcome, decisions(outcome.replaceAll("-", "_"))]),
)

/** Number of variants that could not be rendered, in answers with another variant and in refusals. */
const failures = Metric.counter("parlance_failed_renderings_total", { incremental: true })

const process = Context.empty()

/** Registers the counter of failed renderings with the value 0. */
export const showFailures = Metric.update(failures, 0)

const names = {
  Chosen: "chosen",
  Reused: "tracking-id-reused",
  NotRendered: "not-rendered",
} as const

/** Counts an outcome with its failed renderings, and returns it. */
export const countOutcome = <O extends Answer>(outcome: O): O => {
  const name = outcome._tag === "None" || outcome._tag === "NoMessage" ? outcome.reason : names[outcome._tag]
  counters[name]!.updateUnsafe(1, process)
  const failed = failuresOf(outcome)
  if (failed.length > 0) failures.updateUnsafe(failed.length, process)
  return outcome
}
