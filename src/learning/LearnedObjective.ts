import type { RevenueRule } from "../bandit/Revenue.ts"
import { weightsOf } from "../domain/ObjectiveWeights.ts"
import type { Objective } from "../domain/Template.ts"
import * as Json from "../json/Json.ts"

// The objective of a template as text. Two texts are equal as long as the meaning of the counts has not changed, so the
// learner compares texts.

/** Encodes an objective with the currency of the organization, which matters only for revenue. */
export const textOf = (objective: Objective, currency: string | null): string =>
  JSON.stringify(weightsOf(objective).revenueCap > 0 ? { objective, currency } : objective)

/**
 * An objective, and the rule by which conversions count as revenue. `rule` is undefined for an objective without
 * revenue.
 */
interface LearnedObjective {
  readonly objective: Objective
  readonly rule: RevenueRule | undefined
}

/** Decodes a text of `textOf`. */
export const parse = (text: string): LearnedObjective => {
  const parsed = Json.parseStored(text) as
    | Objective
    | { readonly objective: Objective; readonly currency: string | null }
  if (typeof parsed === "string" || !("objective" in parsed)) return { objective: parsed, rule: undefined }
  const { currency, objective } = parsed
  return { objective, rule: { cap: weightsOf(objective).revenueCap, currency } }
}
