import { Context, Duration, Effect, Layer, Semaphore } from "effect"

/** Share of one core that the fits of a node may use together. */
const share = 0.2

/** Divides processor time among the templates that wait for a fit: one at a time, the longest waiting first. */
export class FitBudget extends Context.Service<FitBudget, {
  /** Runs `fit`, which returns its duration in milliseconds, in its turn. Fails with the error of `fit`. */
  readonly turn: <E, R>(fit: Effect.Effect<number, E, R>) => Effect.Effect<number, E, R>
}>()("parlance/learning/FitBudget") {
  static readonly layer = Layer.effect(
    FitBudget,
    Effect.gen(function* () {
      const one = yield* Semaphore.make(1)
      const scope = yield* Effect.scope
      // The completed fit does not wait for the rest of the pause; only the next fit does.
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
