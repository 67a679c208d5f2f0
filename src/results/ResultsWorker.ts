import { Context, Effect, Layer } from "effect"
import { workerThread } from "../learning/WorkerThread.ts"
import type { ResultsInput } from "./Composition.ts"
import type { PairDifference, PairInput } from "./PairDifference.ts"
import type { SeriesInput } from "./SeriesComposition.ts"
import type { TemplateResults } from "./TemplateResults.ts"
import type { TemplateSeries } from "./TemplateSeries.ts"

/** Counts arrive as the JSON text of the store: a list of lists, in the order of the members. */
type Unread<A, Counted extends keyof A> = Omit<A, Counted> & { readonly [name in Counted]: string }

/** `rows`: copyId, context, track, counts. */
type UnreadResults = Unread<ResultsInput, "rows">
/**
 * `rows`: first, moment, copyId, context, then the counts in the order of `seriesMeasures`. `delays`: hour, outcome,
 * delayClass, count.
 */
type UnreadSeries = Unread<SeriesInput, "rows" | "delays">
/** `counts`: the rows of `readPropensities`. */
type UnreadPair = Unread<PairInput, "counts">

/** A request to the worker of results. */
export type ResultsRequest =
  | { readonly type: "results"; readonly input: UnreadResults }
  | { readonly type: "series"; readonly input: UnreadSeries }
  | { readonly type: "pair"; readonly input: UnreadPair }

/**
 * Computes results and series in a separate worker, started by the first request for results. Each needs up to half a
 * second of arithmetic, which must delay neither the event loop nor learning. A failure is a defect.
 */
export class ResultsWorker extends Context.Service<ResultsWorker, {
  /** Starts the worker, which loads its modules while the counts are read. Returns at once. */
  readonly start: Effect.Effect<void>
  readonly results: (input: UnreadResults) => Effect.Effect<TemplateResults>
  readonly series: (input: UnreadSeries) => Effect.Effect<TemplateSeries>
  readonly pair: (input: UnreadPair) => Effect.Effect<PairDifference | null>
}>()("parlance/results/ResultsWorker") {
  static readonly layer = Layer.effect(
    ResultsWorker,
    Effect.gen(function* () {
      const { ask, start } = yield* workerThread<ResultsRequest>(new URL("./results.worker.ts", import.meta.url))
      const askOrDie = <A>(request: ResultsRequest) =>
        Effect.orDie(Effect.mapError(ask<A>(request), (reason) => new Error(`Results could not be made: ${reason}`)))
      return ResultsWorker.of({
        start,
        results: (input) => askOrDie({ type: "results", input }),
        series: (input) => askOrDie({ type: "series", input }),
        pair: (input) => askOrDie({ type: "pair", input }),
      })
    }),
  )
}
