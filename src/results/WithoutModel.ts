import { Schema } from "effect"
import { dayMillis } from "../bandit/Window.ts"
import { described } from "../domain/described.ts"
import type { PairDifference } from "./PairDifference.ts"

// The comparison of the first two variants without a model, in the shape of the API's response.

/** The leader's difference to the next best variant by the recorded propensities. */
export const WithoutModel = Schema.Struct({
  copy_id: described(Schema.String, "The winner. Without a winner, the leader"),
  baseline: described(Schema.String, "The best of the other active variants"),
  from: described(Schema.String, "The first day (UTC) with counted decisions, ISO 8601"),
  to: described(Schema.String, "The end of the last day with counted decisions"),
  decisions: described(Schema.Finite, "Decisions in which both variants were candidates, whichever was chosen"),
  difference: described(
    Schema.Finite,
    "The mean value of the objective per decision, `copy_id` less `baseline`: each outcome within four days of its decision, " +
      "over the recorded probability of the chosen variant. Days on which both variants had a large share count more",
  ),
  interval: described(
    Schema.Tuple([Schema.Finite, Schema.Finite]),
    "Confidence sequence of `difference`: it contains the true difference at all times together with a probability of 95 %, " +
      "however often results are read. It uses no model",
  ),
  supports: described(
    Schema.Boolean,
    "Whether `interval` is wholly above 0. A verdict of `firm_winner` without it rests on the model alone",
  ),
})
export type WithoutModel = typeof WithoutModel.Type

/** The variants to compare: the winner or leader, and the best of the others. Undefined without two such variants. */
export const pairOf = (
  { copy_id: won, leader, lift }: {
    readonly copy_id: string | null
    readonly leader: string | null
    readonly lift: { readonly baseline: string } | null
  },
): readonly [string, string] | undefined => {
  if (leader === null || lift === null) return undefined
  return won === null || won === leader ? [leader, lift.baseline] : [won, leader]
}

/** Converts a comparison to its shape in the response. */
export const withoutModel = (
  [copy_id, baseline]: readonly [string, string],
  { decisions, difference, first, interval, last }: PairDifference,
): WithoutModel => ({
  copy_id,
  baseline,
  from: new Date(first).toISOString(),
  to: new Date(last + dayMillis).toISOString(),
  decisions,
  difference,
  interval,
  supports: interval[0] > 0,
})
