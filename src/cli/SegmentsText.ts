import type { SegmentComparisonAnswer } from "../results/SegmentAnswer.ts"
import { percent } from "./ResultsText.ts"
import { table } from "./Table.ts"

// Formats a comparison of two variants by segment for a terminal. Pure.

const points = (share: number) => `${share < 0 ? "−" : "+"}${Math.abs(100 * share).toFixed(2)}`

const share = (counts: { readonly decisions: number; readonly outcomes: number }) =>
  `${counts.outcomes} of ${counts.decisions}`

/** A table with a row for each segment, followed by an explanation of the marks. */
export const segmentsText = (answer: SegmentComparisonAnswer): string => {
  const { against, attributes, comparisons, from, outcome, segments, template_id, to, variant } = answer
  const days = `${from.slice(0, 10)} to ${to.slice(0, 10)}`
  if (segments === null) {
    return `${template_id}: there is too much to compare. Compare by one attribute: ${attributes[0] ?? "--by plan"}.`
  }
  if (segments.length === 0) return `${template_id}: no decisions of both variants from ${days}.`
  return [
    `${template_id}: ${variant} against ${against}, ${outcome} rate of decisions from ${days}. Differences are in ` +
    "percentage points.",
    "",
    table(
      ["segment", variant, against, "rates", "difference", "95 % interval"],
      segments.map(({ against, comparison, segment, variant }) => [
        Object.entries(segment).map(([name, value]) => `${name}=${value}`).join(" "),
        share(variant),
        share(against),
        ...(comparison === null ? ["too little data", "", ""] : [
          `${percent(comparison.rate)} and ${percent(comparison.rate_against)}`,
          points(comparison.difference),
          `${comparison.interval.map(points).join(" to ")}${comparison.clear ? "  clear" : ""}`,
        ]),
      ]),
    ),
    "",
    `${comparisons} comparisons. Each interval is for its segment alone; "clear" is corrected for the number of comparisons.`,
  ].join("\n")
}
