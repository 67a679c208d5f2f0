import { Context, Metric } from "effect"
import type { Outcome } from "./Outcome.ts"

/** Decisions asked for, by what came of them. */
const decisions = Metric.counter("parlance_decisions_total", { incremental: true })
const counters = Object.fromEntries(
  (["chosen", "not-rendered", "no-candidate", "template-not-found", "template-archived", "variant-not-found"] as const)
    .map((outcome) => [
      outcome,
      Metric.withAttributes(decisions, { outcome: outcome.replaceAll("-", "_") }),
    ]),
)

/** Counts an outcome, and answers it. */
export const counted = (outcome: Outcome): Outcome => {
  const name = outcome._tag === "Chosen" ? "chosen" : outcome._tag === "None" ? outcome.reason : "not-rendered"
  counters[name]!.updateUnsafe(1, Context.empty())
  return outcome
}
