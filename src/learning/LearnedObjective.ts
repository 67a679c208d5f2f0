import type { RevenueRule } from "../bandit/Revenue.ts"
import { weightsOf } from "../domain/ObjectiveWeights.ts"
import type { Objective } from "../domain/Template.ts"
import * as Json from "../json/Json.ts"

// The objective of a template as text. Two texts are equal as long as the meaning of the counts has not changed, so the
// learner compares texts.

/**
 * Encodes an objective with the currency of the organization, which matters only for revenue, and with whether "send
 * nothing" is a candidate.
 */
export const textOf = (objective: Objective, currency: string | null, sendNothing = false): string => {
  const hasRevenue = weightsOf(objective).revenueCap > 0
  if (!hasRevenue && !sendNothing) return JSON.stringify(objective)
  return JSON.stringify({ objective, ...(hasRevenue ? { currency } : {}), ...(sendNothing ? { sendNothing } : {}) })
}

/**
 * An objective, and the rule by which conversions count as revenue. `rule` is undefined for an objective without
 * revenue.
 */
interface LearnedObjective {
  readonly objective: Objective
  readonly rule: RevenueRule | undefined
  readonly sendNothing: boolean
}

/** Decodes a text of `textOf`. */
export const parse = (text: string): LearnedObjective => {
  const parsed = Json.parseStored(text) as
    | Objective
    | { readonly objective: Objective; readonly currency?: string | null; readonly sendNothing?: boolean }
  if (typeof parsed === "string" || !("objective" in parsed)) {
    return { objective: parsed, rule: undefined, sendNothing: false }
  }
  const { currency, objective, sendNothing = false } = parsed
  const rule = currency === undefined ? undefined : { cap: weightsOf(objective).revenueCap, currency }
  return { objective, rule, sendNothing }
}
