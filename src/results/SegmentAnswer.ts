import { Schema } from "effect"
import { described } from "../domain/described.ts"
import { comparedOutcome, leastData, mostSegments } from "./SegmentComparison.ts"
import type { Explored } from "./SegmentExplorer.ts"
import type { SegmentQuestion } from "./SegmentComparison.ts"
import type { Template } from "../domain/Template.ts"

// The comparison of two variants in the segments of attributes, in the shape of the API's response.

const Counts = Schema.Struct({
  decisions: described(Schema.Finite, "Decisions that were not voided"),
  outcomes: described(Schema.Finite, "The decisions with the outcome"),
})

/** Two variants in the segments of one or two attributes. */
export const SegmentComparisonAnswer = Schema.Struct({
  template_id: Schema.String,
  variant: Schema.String,
  against: Schema.String,
  attributes: described(Schema.Array(Schema.String), "The attributes of the segments"),
  learned_attributes: described(
    Schema.Array(Schema.String),
    "Attributes that the template learns from. Each can be selected",
  ),
  outcome: described(
    Schema.Literals(["open", "click", "conversion"]),
    "The compared outcome: the outcome of the goal, or clicks for a mix and for revenue",
  ),
  from: described(
    Schema.String,
    "Start of the compared decisions, ISO 8601: the last 60 days that are at least four days old",
  ),
  to: described(Schema.String, "End of the compared decisions, not included, ISO 8601"),
  comparisons: described(Schema.Int, "Segments with a comparison, for which `clear` is corrected"),
  segments: described(
    Schema.NullOr(Schema.Array(Schema.Struct({
      segment: Schema.Record(Schema.String, Schema.String),
      variant: Counts,
      against: Counts,
      comparison: described(
        Schema.NullOr(Schema.Struct({
          rate: described(
            Schema.Finite,
            "The rate of `variant`: the average over days on which both variants were sent",
          ),
          rate_against: Schema.Finite,
          difference: described(Schema.Finite, "`rate` less `rate_against`"),
          interval: described(
            Schema.Tuple([Schema.Finite, Schema.Finite]),
            "95 % interval of `difference`, for this segment by itself",
          ),
          clear: described(
            Schema.Boolean,
            "Whether the rates differ after a correction for the number of comparisons (Bonferroni)",
          ),
        })),
        `Null with fewer than ${leastData.decisions} decisions of either variant, ${leastData.outcomes} outcomes of both, or ` +
          `${leastData.days} days with both`,
      ),
    }))),
    `At most ${mostSegments} segments, most decisions first. Null if the template has more combinations of attribute values ` +
      "and days than can be read at once",
  ),
}).annotate({ identifier: "SegmentComparison" })
export type SegmentComparisonAnswer = typeof SegmentComparisonAnswer.Type

const counts = ({ outcomes, trials }: { readonly outcomes: number; readonly trials: number }) => ({
  decisions: trials,
  outcomes,
})

/** Converts a comparison to the API's response. */
export const segmentAnswer = (
  { id, objective }: Pick<Template, "id" | "objective">,
  { against, attributes, variant }: SegmentQuestion,
  learned: ReadonlyArray<string>,
  { from, segments, to }: Explored,
): SegmentComparisonAnswer => ({
  template_id: id,
  variant,
  against,
  attributes,
  learned_attributes: learned,
  outcome: comparedOutcome(objective),
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
  comparisons: (segments ?? []).filter(({ compared }) => compared !== null).length,
  segments: segments?.map((one) => ({
    segment: one.segment,
    variant: counts(one.variant),
    against: counts(one.against),
    comparison: one.compared === null ? null : {
      rate: one.compared.rate,
      rate_against: one.compared.rateAgainst,
      difference: one.compared.difference,
      interval: one.compared.interval,
      clear: one.compared.isClear,
    },
  })) ?? null,
})
