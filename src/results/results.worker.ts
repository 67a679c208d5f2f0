import "../runtime/leakGuard.ts"
import { report } from "../bandit/Report.ts"
import { answerAsWorker } from "../learning/WorkerThread.ts"
import { type CountedSegment, prepare } from "./Composition.ts"
import type { ResultsRequest } from "./ResultsWorker.ts"
import { composeSeries, type CountedStretch, type DelayedOutcomes } from "./SeriesComposition.ts"

type Read<A> = ReadonlyArray<A>

const segmentOf = (
  [copyId, segment, track, counts]: readonly [string, string, CountedSegment["track"], Read<number>],
): CountedSegment => ({ copyId, segment, track, counts })

type StretchRow = readonly [number, number, string, string, number, number, number, number, number, number]

const stretchOf = (
  [first, moment, copyId, segment, decisions, voided, open, click, conversion, negative]: StretchRow,
): CountedStretch => ({ first, moment, copyId, segment, decisions, voided, open, click, conversion, negative })

const delayOf = (
  [hour, outcome, delayClass, count]: readonly [number, string, number, number],
): DelayedOutcomes => ({ hour, outcome, delayClass, count })

answerAsWorker((request: ResultsRequest): unknown => {
  switch (request.type) {
    case "results": {
      const { rows, ...input } = request.input
      const { compose, request: asked } = prepare({ ...input, rows: JSON.parse(rows).map(segmentOf) })
      return compose(report(asked))
    }
    case "series": {
      const { delays, rows, ...input } = request.input
      return composeSeries({
        ...input,
        rows: JSON.parse(rows).map(stretchOf),
        delays: JSON.parse(delays).map(delayOf),
      })
    }
  }
})
