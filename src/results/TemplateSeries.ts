import { Schema } from "effect"
import { Objective } from "../domain/Template.ts"
import { described } from "../domain/described.ts"

// Results of a template over time, in the shape of the API's response, and as charts show them.

const Interval = Schema.Tuple([Schema.Finite, Schema.Finite])

/** The results of a variant in one period of a series. */
const SeriesVariant = Schema.Struct({
  copy_id: Schema.String,
  decisions: described(Schema.Finite, "Decisions in the period, without forced decisions"),
  value: described(Schema.Finite, "Outcomes of these decisions by the objective"),
  revenue: Schema.optionalKey(described(
    Schema.Finite,
    "Value of the conversions of these decisions, at most `revenue_cap` for each decision. Absent unless the objective has a " +
      "`revenue_cap`",
  )),
  share: described(Schema.NullOr(Schema.Finite), "Share of the period's decisions. Null without decisions"),
  rate: described(
    Schema.NullOr(Schema.Finite),
    "Estimate of the objective per decision in the period, over all segments by their present traffic. All counts of the " +
      "window take part, as far as the movement of the rates lets them speak for this period. Null before the first outcome of " +
      "the template and before the variant's first decision, and if the template may send nothing (`send_nothing`), as are " +
      "the members that depend on it",
  ),
  interval: described(
    Schema.NullOr(Interval),
    "95 % credible interval of `rate`, wider the more the rates have moved",
  ),
  p_best: described(
    Schema.NullOr(Schema.Finite),
    "Probability of the highest rate in the period among the variants in the response",
  ),
})

/** One period of a series. */
export const SeriesPoint = Schema.Struct({
  start: Schema.String,
  end: Schema.String,
  decisions: Schema.Finite,
  maturity: described(
    Schema.Finite,
    "Share of the outcomes of these decisions that has arrived, estimated from the usual delays, 0 to 1",
  ),
  complete: described(Schema.Boolean, "Whether the period has ended and `maturity` is 0.95 or more"),
  variants: described(Schema.Array(SeriesVariant), "In the order of `variants`"),
  gain: described(
    Schema.NullOr(Schema.Struct({
      gained: described(
        Schema.Finite,
        "Outcomes by the objective beyond the outcomes of a random split of the variants, from the start of the window on",
      ),
      interval: described(
        Interval,
        "95 % interval of `gained`, including the errors of all variants' rates. In simulations it contains the true gain in " +
          "94 to 100 % of the cases, also if rates move. `gained` is slightly above the true gain if the variants are alike",
      ),
      even: described(Schema.Finite, "Estimated outcomes of a random split"),
    })),
    "The gain over a random split, by the estimated rates of every variant in every context on the days of the decisions. " +
      "Null before the first outcome",
  ),
})

/** Results of a template's variants over time, from counts and model. Times are UTC. */
export const TemplateSeries = Schema.Struct({
  template_id: Schema.String,
  objective: Objective,
  segment: Schema.Record(Schema.String, Schema.String),
  window: Schema.Struct({ from: Schema.String, to: Schema.String, half_life_days: Schema.NullOr(Schema.Finite) }),
  step: described(Schema.Literals(["hour", "day", "week"]), "Length of a period. Older periods may be longer"),
  variants: described(Schema.Array(Schema.String), "The variants with decisions: at most 20, most decisions first"),
  left_out: described(Schema.Int, "Number of variants with fewer decisions that are not in the response"),
  by_segment: described(
    Schema.Boolean,
    "Whether the gain distinguishes segments. False if there are more counts than can be read at once",
  ),
  points: Schema.Array(SeriesPoint),
  hours: described(
    Schema.Array(Schema.Struct({
      day: described(Schema.Int, "1 (Monday) to 7, in the organization's time zone"),
      hour: described(Schema.Int, "0 to 23"),
      engagements: described(Schema.Finite, "First opens, clicks and conversions at that hour"),
    })),
    "Hours of the week with engagement with messages of the last 30 days, independent of the window and segment",
  ),
}).annotate({ identifier: "TemplateSeries" })
export type TemplateSeries = typeof TemplateSeries.Type
export type SeriesPoint = typeof SeriesPoint.Type
