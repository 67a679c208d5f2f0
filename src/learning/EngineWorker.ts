import { Context, Effect, Layer, Schema } from "effect"
import type { ReportAnswer, ReportRequest } from "../bandit/Report.ts"
import type { Counted, FitAnswer, FitRequest, OpenRequest } from "./Engine.ts"

/** What the worker is asked; answered in the order asked. */
export type EngineRequest =
  | { readonly type: "open"; readonly key: string; readonly request: OpenRequest; readonly now: number }
  | { readonly type: "apply"; readonly key: string; readonly counted: Counted; readonly now: number }
  | { readonly type: "fit"; readonly key: string; readonly request: FitRequest }
  | { readonly type: "close"; readonly key: string }
  | { readonly type: "report"; readonly request: ReportRequest }

export type EngineAnswer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly reason: string }

/** The worker could not do what it was asked: a fault of this service. */
export class EngineFailed extends Schema.TaggedError<EngineFailed>()("EngineFailed", { reason: Schema.String }) {
  override get message() {
    return `The model could not be fitted: ${this.reason}`
  }
}

/** The engine (see `Engine`) in a worker of its own, started when it is first needed. */
export class EngineWorker extends Context.Service<EngineWorker, {
  readonly open: (key: string, request: OpenRequest, now: number) => Effect.Effect<void, EngineFailed>
  readonly apply: (key: string, counted: Counted, now: number) => Effect.Effect<void, EngineFailed>
  readonly fit: (key: string, request: FitRequest) => Effect.Effect<FitAnswer, EngineFailed>
  readonly close: (key: string) => Effect.Effect<void>
  readonly report: (request: ReportRequest) => Effect.Effect<ReportAnswer, EngineFailed>
}>()("parlance/learning/EngineWorker") {
  static readonly layer = Layer.effect(
    EngineWorker,
    Effect.gen(function* () {
      const waiting = new Map<number, (answer: EngineAnswer) => void>()
      let worker: Worker | undefined
      let nextId = 0

      const start = (): Worker => {
        const made = new Worker(new URL("./engine.worker.ts", import.meta.url), { type: "module" })
        made.onmessage = ({ data }: MessageEvent<EngineAnswer>) => {
          waiting.get(data.id)?.(data)
          waiting.delete(data.id)
        }
        made.onerror = (event) => {
          event.preventDefault()
          // What it knew is gone with it; actors open their templates again in the next one.
          if (worker === made) worker = undefined
          for (const [id, answer] of waiting) answer({ id, reason: `The worker stopped: ${event.message}` })
          waiting.clear()
        }
        return made
      }

      yield* Effect.addFinalizer(() => Effect.sync(() => worker?.terminate()))

      const ask = <A>(request: EngineRequest): Effect.Effect<A, EngineFailed> =>
        Effect.callback((resume) => {
          const id = nextId++
          waiting.set(id, (answer) =>
            resume(
              "reason" in answer
                ? Effect.fail(new EngineFailed({ reason: answer.reason }))
                : Effect.succeed(answer.value as A),
            ))
          worker ??= start()
          worker.postMessage({ id, request })
          return Effect.sync(() => waiting.delete(id))
        })

      return EngineWorker.of({
        open: (key, request, now) => ask({ type: "open", key, request, now }),
        apply: (key, counted, now) => ask({ type: "apply", key, counted, now }),
        fit: (key, request) => ask({ type: "fit", key, request }),
        close: (key) =>
          Effect.suspend(() => worker === undefined ? Effect.void : Effect.ignore(ask({ type: "close", key }))),
        report: (request) => ask({ type: "report", request }),
      })
    }),
  )
}
