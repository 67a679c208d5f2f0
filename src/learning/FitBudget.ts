import { Context, Duration, Effect, Layer, Semaphore } from "effect"

/** Share of one core that the fits of a node may use together. */
const share = 0.2

/** Divides processor time among the templates that want to be fitted: one at a time, who waits longest first. */
export class FitBudget extends Context.Service<FitBudget, {
  /** Runs `fit`, which answers how long it took in milliseconds, when it is its turn. */
  readonly turn: <E, R>(fit: Effect.Effect<number, E, R>) => Effect.Effect<number, E, R>
}>()("parlance/learning/FitBudget") {
  static readonly layer = Layer.effect(
    FitBudget,
    Effect.map(Semaphore.make(1), (one) =>
      FitBudget.of({
        turn: (fit) =>
          one.withPermits(1)(
            Effect.tap(fit, (millis) => Effect.sleep(Duration.millis(millis * (1 / share - 1)))),
          ),
      })),
  )
}
