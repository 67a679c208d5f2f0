import { Layer } from "effect"
import { t } from "../../../languages/Language.ts"
import { ReportWriter } from "../../../mailing/ReportSending.ts"
import { outlookOf } from "../../../results/Outlook.ts"
import type { PageResults } from "../../../results/KeptResults.ts"
import { unitName } from "../../../results/ObjectiveText.ts"
import { count, counted, rateFormat, signedCount } from "../../Format.ts"
import { leadOf } from "./Lead.ts"

/** Variants that a report lists. */
const mostRates = 5

const weekMillis = 7 * 86_400_000

/** The sends and the gain of the last seven days, from the points of the series. */
const weekOf = ({ found: { objective }, over: { points } }: PageResults, now: number) => {
  const recent = points.filter(({ start }) => Date.parse(start) >= now - weekMillis)
  const before = points.findLast(({ start }) => Date.parse(start) < now - weekMillis)?.gain?.gained ?? 0
  const gained = recent.at(-1)?.gain?.gained
  return [
    {
      label: t`Last 7 days`,
      value: counted(recent.reduce((sum, { decisions }) => sum + decisions, 0), "send"),
      detail: "",
    },
    ...(gained === undefined ? [] : [{
      label: t`Additional ${unitName(objective)}, last 7 days`,
      value: signedCount(gained - before),
      detail: "",
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
    value: format(rate),
    detail: t`${format(low)} to ${format(high)}, ${count(decisions)} sends`,
  }))
}

/** The results of a template in the words of the results page. */
export const reportWords: ReportWriter["Service"]["wordsOf"] = (results, { now, runnerUpFloor }) => {
  const { found, over: { points } } = results
  const { advice, figures, headline } = leadOf(found, points, outlookOf({ ...found, points, now, runnerUpFloor }))
  return { headline, advice, figures: [...figures, ...weekOf(results, now)], rates: ratesOf(found) }
}

/** Writes reports in the words of the results page. */
export const layerReportWriter = Layer.succeed(ReportWriter, { wordsOf: reportWords })
