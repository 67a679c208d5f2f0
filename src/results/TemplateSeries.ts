import { Schema } from "effect"
import { Objective } from "../domain/Template.ts"
import { described } from "../domain/described.ts"
import { WeightedGain } from "./WeightedGain.ts"

// Results of a template over time, in the shape of the API's response, and as charts show them.

const Interval = Schema.Tuple([Schema.Finite, Schema.Finite])

/** The results of a variant in one period of a series. */
const SeriesVariant = Schema.Struct({
  copy_id: Schema.String,
  decisions: described(Schema.Finite, "Of the stretch; forced ones are left out"),
  value: described(Schema.Finite, "Outcomes of these decisions by the objective"),
  share: described(Schema.NullOr(Schema.Finite), "Of the stretch's decisions; null where there were none"),
  rate: described(
    Schema.NullOr(Schema.Finite),
    "Objective per decision as known at the end of the stretch, among all segments by their traffic: counts from the start " +
      "of the window up to then, held against what the model of now expects of the same decisions, older ones faded as the " +
      "model fades them; null, as are the members that follow from it, before the first outcome of the template and before " +
      "the variant's first decision",
  ),
  interval: described(
    Schema.NullOr(Interval),
    "95 % credible interval of `rate`; conservative: it holds the true rate in 95 % or more of the cases, " +
      "and less often where people tire of variants or segments differ very much",
  ),
  p_best: described(
    Schema.NullOr(Schema.Finite),
    "Probability of the highest rate of the variants in the answer, by the counts up to then",
  ),
})

/** One period of a series. */
export const SeriesPoint = Schema.Struct({
  start: Schema.String,
  end: Schema.String,
  decisions: Schema.Finite,
  maturity: described(
    Schema.Finite,
    "Share of the outcomes of these decisions that has come in, as estimated from their usual delays, 0 to 1",
  ),
  complete: described(Schema.Boolean, "The stretch is over and `maturity` is 0.95 or more"),
  variants: described(Schema.Array(SeriesVariant), "In the order of `variants`"),
  gain: described(
    Schema.NullOr(Schema.Struct({
      gained: described(
        Schema.Finite,
        "Outcomes by the objective beyond those of a random split of the variants, from the start of the window on",
      ),
      interval: described(
        Interval,
        "95 % interval of `gained`, the errors of all variants' rates included. Conservative: it holds the true gain in " +
          "95 % or more of the cases (with revenue in about 94 %), in nearly all where the variants hardly differ, and less often where segments differ very much. Variants are expected to differ as " +
          "usual: `gained` is somewhat above the true gain where they are alike, and below it where they differ much",
      ),
      even: described(Schema.Finite, "Outcomes that a random split is estimated to have had"),
    })),
    "The gain over a random split, by the model's present rates of every variant in every context; null " +
      "before the first outcome",
  ),
})

/** Results of a template's variants over time, from counts and model. Times are UTC. */
export const ComposedSeries = Schema.Struct({
  template_id: Schema.String,
  objective: Objective,
  segment: Schema.Record(Schema.String, Schema.String),
  window: Schema.Struct({ from: Schema.String, to: Schema.String, half_life_days: Schema.NullOr(Schema.Finite) }),
  step: described(Schema.Literals(["hour", "day", "week"]), "Length of a stretch; older ones may be longer"),
  variants: described(Schema.Array(Schema.String), "Those with decisions, at most the 20 with most of them"),
  left_out: described(Schema.Int, "Variants with fewer decisions that are not in the answer"),
  by_segment: described(
    Schema.Boolean,
    "Whether the gain tells segments apart; false where there are more counts than can be read at once",
  ),
  points: Schema.Array(SeriesPoint),
  hours: described(
    Schema.Array(Schema.Struct({
      day: described(Schema.Int, "1 (Monday) to 7, in the organization's time zone"),
      hour: described(Schema.Int, "0 to 23"),
      engagements: described(Schema.Finite, "First opens, clicks and conversions at that hour"),
    })),
    "Hours of the week with engagement with messages of the last 30 days, whatever the window and segment",
  ),
})
export type ComposedSeries = typeof ComposedSeries.Type

/** The series with the gain by propensities. */
export const TemplateSeries = Schema.Struct({
  ...ComposedSeries.fields,
  weighted_gain: described(
    Schema.NullOr(WeightedGain),
    "The gain over a random split by the recorded propensities, which depends on no model, over decisions that are four " +
      "days old. Null where its standard error is a third of the model's gain or more, or the weighted decisions tell no " +
      "more than 1,000 decisions or 30 outcomes of a random split would, for a segment, and for an objective with revenue",
  ),
}).annotate({ identifier: "TemplateSeries" })
export type TemplateSeries = typeof TemplateSeries.Type
export type SeriesPoint = typeof SeriesPoint.Type
