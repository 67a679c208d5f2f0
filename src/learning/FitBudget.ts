import { Context, Duration, Effect, Layer, Semaphore } from "effect"

/** Maximum share of one core for all fits of a node. */
const share = 0.2

/** Divides processor time among the templates that are due for a fit: one at a time, the longest waiting first. */
export class FitBudget extends Context.Service<FitBudget, {
  /** Runs `fit`, which returns its duration in milliseconds, when its turn comes. Fails with the error of `fit`. */
  readonly turn: <E, R>(fit: Effect.Effect<number, E, R>) => Effect.Effect<number, E, R>
}>()("parlance/learning/FitBudget") {
  static readonly layer = Layer.effect(
    FitBudget,
    Effect.gen(function* () {
      const one = yield* Semaphore.make(1)
      const scope = yield* Effect.scope
      // The completed fit returns before the pause. Only the next fit is delayed.
      const rest = (millis: number) =>
        Effect.forkIn(
          Effect.andThen(Effect.sleep(Duration.millis(millis * (1 / share - 1))), one.release(1)),
          scope,
        )
      return FitBudget.of({
        turn: (fit) =>
          Effect.uninterruptibleMask((restore) =>
            Effect.andThen(
              restore(one.take(1)),
              restore(fit).pipe(
                Effect.tap(rest),
                Effect.onError(() => one.release(1)),
              ),
            )
          ),
      })
    }),
  )
}
