import { Schema } from "effect"
import { described } from "../domain/described.ts"
import { comparedOutcome, ComparedSegment, mostSegments } from "./SegmentComparison.ts"
import type { Explored } from "./SegmentExplorer.ts"
import type { SegmentQuestion } from "./SegmentComparison.ts"
import type { Template } from "../domain/Template.ts"

// The comparison of two variants in the segments of attributes, in the shape of the API's response.

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
    Schema.NullOr(Schema.Array(ComparedSegment)),
    `At most ${mostSegments} segments, most decisions first. Null if the template has more combinations of attribute values ` +
      "and days than can be read at once",
  ),
}).annotate({ identifier: "SegmentComparison" })
export type SegmentComparisonAnswer = typeof SegmentComparisonAnswer.Type

/** Converts a comparison to the API's response. */
export const segmentAnswer = (
  { id, objective }: Pick<Template, "id" | "objective">,
  question: SegmentQuestion,
  learned: ReadonlyArray<string>,
  { from, segments, to }: Explored,
): SegmentComparisonAnswer => ({
  template_id: id,
  ...question,
  learned_attributes: learned,
  outcome: comparedOutcome(objective),
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
  comparisons: (segments ?? []).filter(({ comparison }) => comparison !== null).length,
  segments,
})
