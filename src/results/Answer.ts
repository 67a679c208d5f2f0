import { Schema } from "effect"
import { stoppingRule } from "../bandit/Verdict.ts"
import { described } from "../domain/described.ts"

// The answer of results in one of four kinds, in the shape of the API's response.

/**
 * Conditions under which different people prefer different variants. Calibrated by simulation together: with 40 runs of
 * each of the four answers, no other answer was given as this one.
 */
export const answerRule = {
  /** Minimum probability that the present choices are better than every single variant. */
  probability: 0.95,
  /** Minimum gain over the best single variant, as a share of its rate. */
  gain: 0.01,
  /** Minimum probability that another variant than the best one over all people is the best in a segment. */
  inSegment: 0.9,
  /** Maximum number of segments. */
  segments: 5,
} as const

const Interval = Schema.Tuple([Schema.Finite, Schema.Finite])

/** How often the intervals of gains of the present choices contained the true gain in simulations. */
export const gainPromise = "In simulations of the four answers it contained the true gain in 95 to 100 % of the cases"

/** How much better the present choices are than something else. */
const ChoiceGain = Schema.Struct({
  value: described(Schema.Finite, "As a share of the other rate, 0.1 for 10 % more"),
  interval: described(Interval, `95 % interval of \`value\`. ${gainPromise}`),
  difference: described(Schema.Finite, "In the unit of the rates"),
  difference_interval: described(Interval, "95 % interval of `difference`"),
})
export type ChoiceGain = typeof ChoiceGain.Type

/** A segment with its preferred variant. */
const AnswerSegment = Schema.Struct({
  segment: described(Schema.Record(Schema.String, Schema.String), "One attribute and its value"),
  decisions: Schema.Finite,
  copy_id: described(Schema.String, "The variant with the highest rate in the segment"),
  rate: described(Schema.Finite, "Its estimated rate in the segment"),
  interval: described(Interval, "95 % credible interval of `rate`"),
  p_best: described(Schema.Finite, "Its chance to be best in the segment"),
  instead: described(
    Schema.Struct({ copy_id: Schema.String, rate: Schema.Finite, interval: Interval }),
    "The variant that is best over all people. In segments that prefer it, the next best variant of the segment",
  ),
})
export type AnswerSegment = typeof AnswerSegment.Type

/** The answer to the question which variant people should get. */
export const ResultsAnswer = Schema.Struct({
  kind: described(
    Schema.Literals(["undecided", "one_for_all", "different_people", "no_difference"]),
    "`one_for_all`: one variant is the best choice for all people (`winner.copy_id`). `different_people`: different people prefer " +
      `different variants. From the seventh day on, with a probability of ${
        100 * answerRule.probability
      } % that the present ` +
      `choices are better than every single variant, and a segment where another variant than the best one over all people is best ` +
      `with a probability of ${
        100 * answerRule.inSegment
      } %. Then the next step is to keep personalizing, whatever \`winner\` says. ` +
      `\`no_difference\`: all variants are within ${100 * stoppingRule.loss} % of each other. ` +
      "Results of a segment never have `different_people`",
  ),
  waits_for: described(
    Schema.NullOr(Schema.Struct({
      day: described(Schema.Int, "The present day of the data, from 1"),
      of_days: described(Schema.Int, "Minimum number of days of an answer"),
      decisions: described(
        Schema.NullOr(Schema.Int),
        "Approximate number of decisions until the leader has enough matured ones, at its present share. 0 if it has. Null " +
          "without a leader",
      ),
    })),
    "Days and decisions that an undecided answer still requires. With both, it requires evidence. Null for other answers",
  ),
  segments: described(
    Schema.Array(AnswerSegment),
    `If different people prefer different variants, up to ${answerRule.segments} segments with their preferred variants, the ` +
      "segment that would lose most first. Segments of different attributes have people in common. Otherwise empty",
  ),
  p_better: described(
    Schema.NullOr(Schema.Finite),
    "Probability that the present choices are better than every single variant. Null with `gain_over_best`",
  ),
  gain_over_best: described(
    Schema.NullOr(ChoiceGain),
    "The present choices, compared with the best single variant for all people: what personalizing gains now, less the cost of " +
      "exploration. Below 0 if one variant is best for all. Null before the first outcome, with fewer than two active variants, " +
      "and if the template may send nothing",
  ),
  gain_over_split: described(
    Schema.NullOr(ChoiceGain),
    "The present choices, compared with a random split of the active variants. Null with `gain_over_best`",
  ),
  shipping: described(
    Schema.Array(Schema.Struct({
      copy_id: Schema.String,
      loss: described(
        Schema.Finite,
        "The rate that is lost if all people get this variant in place of the present choices, in the unit of the rates. " +
          "Negative if shipping it gains",
      ),
      interval: described(Interval, `95 % interval of \`loss\`. ${gainPromise}`),
      share: described(Schema.Finite, "`loss` as a share of the rate of the present choices"),
    })),
    "What it costs to ship an active variant, the cheapest first. Empty if `gain_over_best` is null",
  ),
})
export type ResultsAnswer = typeof ResultsAnswer.Type

/** The answer before there is anything to answer. */
export const noGains = { p_better: null, gain_over_best: null, gain_over_split: null } as const
