import { Layer } from "effect"
import { t, translated } from "../../../languages/Language.ts"
import { ReportWriter } from "../../../mailing/ReportSending.ts"
import { outlookOf } from "../../../results/Outlook.ts"
import type { PageResults } from "../../../results/KeptResults.ts"
import { coverageText, rateName, unitName } from "../../../results/ObjectiveText.ts"
import { count, counted, date, dateTime, rateFormat, signedCount } from "../../Format.ts"
import { countRange, leadOf } from "./Lead.ts"

/** Variants that a report lists. */
const mostRates = 5

/** The sends and the gain of the last seven days. */
const weekOf = ({ found: { decisions, objective, window }, over: { points } }: PageResults, zone: string) => {
  const gain = points.at(-1)?.gain ?? null
  return [
    {
      label: t`Last 7 days`,
      value: counted(decisions, "send"),
      detail: t`since ${dateTime(new Date(window.from), zone)}`,
    },
    ...(gain === null ? [] : [{
      label: t`Additional ${unitName(objective)}, last 7 days`,
      value: signedCount(gain.gained),
      detail: countRange(gain.interval),
    }]),
  ]
}

/** The rates of the best variants, with their intervals. */
const ratesOf = ({ objective, variants }: PageResults["found"]) => {
  const rated = variants.flatMap(({ decisions, interval, name, rate, status }) =>
    rate === null || interval === null || status === "removed" ? [] : [{ decisions, interval, name, rate }]
  ).sort((a, b) => b.rate - a.rate)
  const format = rateFormat(typeof objective === "string", Math.max(0, ...rated.map(({ rate }) => Math.abs(rate))))
  return rated.slice(0, mostRates).map(({ decisions, interval: [low, high], name, rate }) => ({
    label: name,
    value: `${rateName(objective)} ${format(rate)}`,
    detail: t`${format(low)} to ${format(high)}, ${count(decisions)} sends`,
  }))
}

/** The days that rates and lifts describe, and the promise of the intervals, as the results page has them. */
const rulesOf = ({ rate_days: days }: PageResults["found"], zone: string) =>
  [
    t`Rates and lifts describe ${date(new Date(days.from), zone)} to ${date(new Date(days.to), zone)}.`,
    t`Ranges are 95\u00a0% intervals; they held the true value ${translated(coverageText)}.`,
  ].join(" ")

/** The results of a template in the words of the results page. */
export const reportWords: ReportWriter["Service"]["wordsOf"] = (results, { now, runnerUpFloor, week, zone }) => {
  const { found, over: { points } } = results
  const { advice, figures, headline } = leadOf(
    found,
    points,
    outlookOf({ ...found, points, now, runnerUpFloor }),
    zone,
  )
  return {
    headline,
    advice,
    figures: [...figures, ...weekOf(week, zone)],
    rates: ratesOf(found),
    rules: rulesOf(found, zone),
  }
}

/** Writes reports in the words of the results page. */
export const layerReportWriter = Layer.succeed(ReportWriter, { wordsOf: reportWords })
