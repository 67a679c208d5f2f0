import { Context, Effect, Layer, Schema } from "effect"
import type { Counted, FitAnswer, FitRequest, OpenRequest } from "./Engine.ts"
import { workerThread } from "./WorkerThread.ts"

/** Requests to the worker, answered in order. */
export type EngineRequest =
  | { readonly type: "open"; readonly key: string; readonly request: OpenRequest; readonly now: number }
  | { readonly type: "apply"; readonly key: string; readonly counted: Counted; readonly now: number }
  | { readonly type: "fit"; readonly key: string; readonly request: FitRequest }
  | { readonly type: "close"; readonly key: string }

/** A request to the worker failed because of a bug in this service. */
export class EngineFailed extends Schema.TaggedError<EngineFailed>()("EngineFailed", { reason: Schema.String }) {
  override get message() {
    return `The model could not be fitted: ${this.reason}`
  }
}

/**
 * The engine (see `Engine`) in a worker thread. A worker that stops loses its state; actors reopen their templates in
 * the next worker.
 */
export class EngineWorker extends Context.Service<EngineWorker, {
  /** Loads the counts of a template. Fails with `EngineFailed` if the worker stops or the request fails. */
  readonly open: (key: string, request: OpenRequest, now: number) => Effect.Effect<void, EngineFailed>
  /** Adds counts to an open template. Fails with `EngineFailed` if the worker stops or the request fails. */
  readonly apply: (key: string, counted: Counted, now: number) => Effect.Effect<void, EngineFailed>
  /** Fits the model of an open template. Fails with `EngineFailed` if the worker stops or the request fails. */
  readonly fit: (key: string, request: FitRequest) => Effect.Effect<FitAnswer, EngineFailed>
  readonly close: (key: string) => Effect.Effect<void>
}>()("parlance/learning/EngineWorker") {
  static readonly layer = Layer.effect(
    EngineWorker,
    Effect.gen(function* () {
      const thread = yield* workerThread<EngineRequest>(new URL("./engine.worker.ts", import.meta.url))
      const ask = <A>(request: EngineRequest): Effect.Effect<A, EngineFailed> =>
        Effect.mapError(thread.ask<A>(request), (reason) => new EngineFailed({ reason }))
      return EngineWorker.of({
        open: (key, request, now) => ask({ type: "open", key, request, now }),
        apply: (key, counted, now) => ask({ type: "apply", key, counted, now }),
        fit: (key, request) => ask({ type: "fit", key, request }),
        close: (key) =>
          Effect.suspend(() => thread.isStarted() ? Effect.ignore(ask({ type: "close", key })) : Effect.void),
      })
    }),
  )
}
