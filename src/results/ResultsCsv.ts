import { csvLine, spreadsheetText } from "../text/Csv.ts"
import { OutcomeCounts, type TemplateResults, type VariantResults } from "./TemplateResults.ts"

// The table of variants as CSV (RFC 4180), for spreadsheets.

const outcomes = Object.keys(OutcomeCounts.fields) as ReadonlyArray<keyof OutcomeCounts>

/** Outcomes with an additional column: their share of the decisions that can have an outcome. */
const rated = ["open", "click", "conversion", "negative"] as const

const columns = [
  "template_id",
  "segment",
  "from",
  "to",
  "copy_id",
  "name",
  "status",
  "standing",
  "decisions",
  "voided",
  "matured_sends",
  ...outcomes,
  ...rated.map((outcome) => `${outcome}_rate`),
  "revenue",
  "raw_rate",
  "rate",
  "interval_low",
  "interval_high",
  "chance_to_be_best",
  "expected_loss",
  "traffic_share",
  "answer",
  "preferred_where",
  "shipping_loss",
  "shipping_loss_low",
  "shipping_loss_high",
  "lift_baseline",
  "lift",
  "lift_low",
  "lift_high",
  "lift_over_split",
  "lift_over_split_low",
  "lift_over_split_high",
]

const number = (value: number | null | undefined): string => value === null || value === undefined ? "" : String(value)

/** Returns `winner`, `leader`, `loser`, or an empty text. */
const standingOf = ({ copy_id: id }: VariantResults, { winner }: TemplateResults): string =>
  winner.copy_id === id ? "winner" : winner.leader === id ? "leader" : winner.losers.includes(id) ? "loser" : ""

const segmentText = (segment: TemplateResults["segment"]): string =>
  Object.entries(segment).map(([name, value]) => `${name}=${value}`).join("&")

/** The lifts of the leader. Empty for other variants. */
const liftsOf = ({ copy_id: id }: VariantResults, { winner }: TemplateResults): ReadonlyArray<string> => {
  const lift = winner.leader === id ? winner.lift : null
  const split = winner.leader === id ? winner.lift_over_split : null
  return [
    spreadsheetText(lift?.baseline ?? ""),
    ...[lift?.value, lift?.interval[0], lift?.interval[1], split?.value, split?.interval[0], split?.interval[1]]
      .map(number),
  ]
}

/** The answer, the segments that prefer the variant, and what it costs to ship it. */
const answerOf = ({ copy_id: id }: VariantResults, { answer }: TemplateResults): ReadonlyArray<string> => {
  const cost = answer.shipping.find(({ copy_id }) => copy_id === id)
  const where = answer.segments.filter(({ copy_id }) => copy_id === id).map(({ segment }) => segmentText(segment))
  return [
    answer.kind,
    spreadsheetText(where.join(" ")),
    ...[cost?.loss, cost?.interval[0], cost?.interval[1]].map(number),
  ]
}

const lineOf = (results: TemplateResults, one: VariantResults): string => {
  const trials = one.decisions - one.voided
  return csvLine([
    spreadsheetText(results.template_id),
    spreadsheetText(segmentText(results.segment)),
    results.window.from,
    results.window.to,
    spreadsheetText(one.copy_id),
    spreadsheetText(one.name),
    one.status,
    standingOf(one, results),
    ...[one.decisions, one.voided, one.matured_sends, ...outcomes.map((outcome) => one.outcomes[outcome])].map(number),
    ...rated.map((outcome) => trials > 0 ? number(one.outcomes[outcome] / trials) : ""),
    ...[
      one.revenue?.value,
      one.raw_rate,
      one.rate,
      one.interval?.[0],
      one.interval?.[1],
      one.p_best,
      one.expected_loss,
      one.status === "active" ? one.share : null,
    ].map(number),
    ...answerOf(one, results),
    ...liftsOf(one, results),
  ])
}

/**
 * Returns a header and a line for each variant in the order of the results. Rates, chances and shares are between 0 and
 * 1. An unknown value is empty. Only the leader has lifts.
 */
export const resultsCsv = (results: TemplateResults): string =>
  csvLine(columns) + results.variants.map((one) => lineOf(results, one)).join("")

/** File name from the template's id, limited to characters that a header allows. */
export const csvName = ({ template_id: id }: Pick<TemplateResults, "template_id">): string =>
  `${id.replaceAll(/[^\w.-]+/g, "-").slice(0, 100)}-results.csv`
