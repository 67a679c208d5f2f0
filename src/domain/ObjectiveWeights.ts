import type { Objective } from "./Template.ts"

/** The outcomes that an objective can value by their number. */
export const valuedOutcomes = ["click", "open", "conversion", "negative"] as const
/** A kind of outcome with a value in objectives. */
export type ValuedOutcome = typeof valuedOutcomes[number]

/** The value of one outcome of each kind, and of one unit of revenue. */
export type ObjectiveWeights = { readonly [outcome in ValuedOutcome]: number } & {
  readonly revenue: number
  /** The largest counted revenue of one decision. 0 for an objective without revenue. */
  readonly revenueCap: number
}

const none: ObjectiveWeights = { click: 0, open: 0, conversion: 0, negative: 0, revenue: 0, revenueCap: 0 }

/** The weights of an objective: 1 for a single outcome, the given weights for a mix, 0 for all other outcomes. */
export const weightsOf = (objective: Objective): ObjectiveWeights => {
  if (typeof objective === "string") return { ...none, [objective]: 1 }
  const { click = 0, conversion = 0, negative = 0, open = 0, revenue = 0, revenue_cap: revenueCap = 0 } = objective
  return { click, conversion, negative, open, revenue, revenueCap }
}

/** The weighted sum of counts of outcomes. The count of `revenue` is the revenue itself. */
export const valueOf = (
  weights: ObjectiveWeights,
  countOf: (outcome: ValuedOutcome | "revenue") => number,
): number =>
  valuedOutcomes.reduce((sum, outcome) => sum + weights[outcome] * countOf(outcome), 0) +
  (weights.revenue === 0 ? 0 : weights.revenue * countOf("revenue"))

/** Whether the number or the revenue of these outcomes has a weight in the objective. */
export const isValued = (weights: ObjectiveWeights, outcome: ValuedOutcome): boolean =>
  weights[outcome] !== 0 || (outcome === "conversion" && weights.revenue !== 0)

/** Whether the objective learns from the delays of an outcome: the weight of its number or revenue is positive. */
export const isTimed = (weights: ObjectiveWeights, outcome: ValuedOutcome): boolean =>
  weights[outcome] > 0 || (outcome === "conversion" && weights.revenue > 0)

/** The number of outcomes with a weight. */
export const learnedOutcomes = (weights: ObjectiveWeights, countOf: (outcome: ValuedOutcome) => number): number =>
  valuedOutcomes.reduce((sum, outcome) => sum + (isValued(weights, outcome) ? countOf(outcome) : 0), 0)

/** Whether the objective states a cost of messages, so that sending nothing can be better. */
export const hasCost = (weights: ObjectiveWeights): boolean => valuedOutcomes.some((outcome) => weights[outcome] < 0)
