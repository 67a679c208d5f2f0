import { Schema } from "effect"
import { described } from "../domain/described.ts"
import { holdoutText, parseHoldout, type TemplateHoldout } from "../domain/Holdout.ts"
import { isValued, type ValuedOutcome, valuedOutcomes, weightsOf } from "../domain/ObjectiveWeights.ts"
import type { Objective } from "../domain/Template.ts"
import type { HoldoutCounts, PeopleCounts } from "../learning/HoldoutTallies.ts"
import { compare, HoldoutOutcome } from "./HoldoutComparison.ts"

// The comparison of treated people with people held out, in the shape of the API's response.

/** The comparison of treated people with people held out. */
export const HoldoutResults = Schema.Struct({
  share: Schema.Finite,
  content: Schema.Literals(["even", "fixed", "no_message"]),
  copy_id: described(Schema.NullOr(Schema.String), "The variant of `fixed` content"),
  running: described(Schema.Boolean, "Whether this is the current holdout. If not, it was the last holdout"),
  from: described(
    Schema.NullOr(Schema.String),
    "The first day (UTC) with counted decisions, ISO 8601. Null before this day. Decisions count when they " +
      "are four days old, with their outcomes until then, including bounces. Only decisions with this share and " +
      "content count, so a change of either restarts the comparison",
  ),
  treated: described(Schema.Finite, "Decisions for people who are not held out"),
  control: described(Schema.Finite, "Decisions for people who are held out"),
  outcomes: described(
    Schema.Array(HoldoutOutcome),
    "One comparison for each outcome of the objective, each with its own interval. For revenue, the number of conversions is " +
      "compared",
  ),
}).annotate({ identifier: "HoldoutResults" })
export type HoldoutResults = typeof HoldoutResults.Type

const decisionsOf = (side: ReadonlyArray<PeopleCounts>) => side.reduce((sum, [decisions = 0]) => sum + decisions, 0)

const groupsOf = (side: ReadonlyArray<PeopleCounts>, outcome: ValuedOutcome) =>
  side.map((counts) => ({ decisions: counts[0]!, outcomes: counts[1 + valuedOutcomes.indexOf(outcome)]! }))

/**
 * Returns the comparison under the current holdout or, without one, under the last holdout with counted decisions.
 * Returns null if there is neither. `counted` comes from `readHoldouts`.
 */
export const holdoutResults = (
  current: TemplateHoldout,
  counted: ReadonlyArray<HoldoutCounts>,
  objective: Objective,
): HoldoutResults | null => {
  const running = current.share > 0
  const counts = running ? counted.find(({ holdout }) => holdout === holdoutText(current)) : counted[0]
  if (!running && counts === undefined) return null
  const { content, copy_id, share } = counts === undefined ? current : parseHoldout(counts.holdout)
  const { control, treated } = counts ?? { control: [], treated: [] }
  const weights = weightsOf(objective)
  return {
    share,
    content,
    copy_id: copy_id ?? null,
    running,
    from: counts?.first.toISOString() ?? null,
    treated: decisionsOf(treated),
    control: decisionsOf(control),
    outcomes: valuedOutcomes.filter((outcome) => isValued(weights, outcome)).map((outcome) => ({
      outcome,
      ...compare(groupsOf(treated, outcome), groupsOf(control, outcome)),
    })),
  }
}
