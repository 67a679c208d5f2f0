import type { Objective } from "./Template.ts"

/** The outcomes that an objective can value. */
export const valuedOutcomes = ["click", "open", "conversion", "negative"] as const
export type ValuedOutcome = typeof valuedOutcomes[number]

/** The value of one outcome of each kind. */
export type ObjectiveWeights = { readonly [outcome in ValuedOutcome]: number }

const none: ObjectiveWeights = { click: 0, open: 0, conversion: 0, negative: 0 }

/** The weights of an objective: 1 for a single outcome, the given weights for a mix, 0 for all other outcomes. */
export const weightsOf = (objective: Objective): ObjectiveWeights =>
  typeof objective === "string" ? { ...none, [objective]: 1 } : { ...none, ...objective }

/** The value of outcomes by these weights, given their counts. */
export const valueOf = (weights: ObjectiveWeights, countOf: (outcome: ValuedOutcome) => number): number =>
  valuedOutcomes.reduce((sum, outcome) => sum + weights[outcome] * countOf(outcome), 0)

/** The number of outcomes that have a weight. */
export const learnedOutcomes = (weights: ObjectiveWeights, countOf: (outcome: ValuedOutcome) => number): number =>
  valuedOutcomes.reduce((sum, outcome) => sum + (weights[outcome] === 0 ? 0 : countOf(outcome)), 0)
