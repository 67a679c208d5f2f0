import "../runtime/leakGuard.ts"
import { report } from "../bandit/Report.ts"
import * as Json from "../json/Json.ts"
import { type SeriesCounts, seriesMeasures } from "../learning/TallyReports.ts"
import { type CountRow, propensityCountOf } from "../learning/PropensityTallies.ts"
import { answerAsWorker } from "../learning/WorkerThread.ts"
import { prepare } from "./Composition.ts"
import type { CountedContext } from "./Tabulation.ts"
import { pairDifference } from "./PairDifference.ts"
import type { ResultsRequest } from "./ResultsWorker.ts"
import { composeSeries, type CountedPeriod, type DelayedOutcomes } from "./SeriesComposition.ts"

type Read<A> = ReadonlyArray<A>

type ContextRow = readonly [copyId: string, context: string, track: CountedContext["track"], counts: Read<number>]
const contextOf = ([copyId, context, track, counts]: ContextRow): CountedContext => ({ copyId, context, track, counts })

type PeriodRow = readonly [number, number, string, string, ...counts: ReadonlyArray<number>]

const periodOf = ([first, moment, copyId, context, ...counts]: PeriodRow): CountedPeriod => ({
  first,
  moment,
  copyId,
  context,
  ...Object.fromEntries(seriesMeasures.map((measure, i) => [measure, counts[i]!])) as SeriesCounts,
})

type DelayRow = readonly [hour: number, outcome: string, delayClass: number, count: number]
const delayOf = ([hour, outcome, delayClass, count]: DelayRow): DelayedOutcomes => ({
  hour,
  outcome,
  delayClass,
  count,
})

answerAsWorker((request: ResultsRequest): unknown => {
  switch (request.type) {
    case "results": {
      const { rows, ...input } = request.input
      const { compose, request: reportRequest } = prepare({
        ...input,
        rows: (Json.parseStored(rows) as Array<ContextRow>).map(contextOf),
      })
      return compose(report(reportRequest))
    }
    case "series": {
      const { delays, rows, ...input } = request.input
      return composeSeries({
        ...input,
        rows: (Json.parseStored(rows) as Array<PeriodRow>).map(periodOf),
        delays: (Json.parseStored(delays) as Array<DelayRow>).map(delayOf),
      })
    }
    case "pair": {
      const counts = (Json.parseStored(request.input.counts) as Array<CountRow>).map(propensityCountOf)
      return pairDifference({ ...request.input, counts })
    }
  }
})
