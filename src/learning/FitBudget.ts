import { Context, Duration, Effect, Layer, Semaphore } from "effect"
import { Settings } from "../settings/Settings.ts"

/** Maximum share of one core for all fits of a node. */
const share = 0.2

/**
 * Divides processor time among the templates that are due for a fit: one at a time, the longest waiting first. Also limits
 * the connections to the database that learners of a node use at once.
 */
export class FitBudget extends Context.Service<FitBudget, {
  /** Runs `fit`, which returns its duration in milliseconds, when its turn comes. Fails with the error of `fit`. */
  readonly turn: <E, R>(fit: Effect.Effect<number, E, R>) => Effect.Effect<number, E, R>
  /**
   * Runs `statements` when a connection for learners is free. Learners share a quarter of `DATABASE_POOL_SIZE`, and at
   * least one connection. With all connections, the folds of many templates would delay the commits of decisions, and
   * so responses. Fails with the error of `statements`.
   */
  readonly connected: <A, E, R>(statements: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>()("parlance/learning/FitBudget") {
  static readonly layer = Layer.effect(
    FitBudget,
    Effect.gen(function* () {
      const one = yield* Semaphore.make(1)
      const { databasePoolSize } = yield* Settings
      const connections = yield* Semaphore.make(Math.max(1, databasePoolSize >> 2))
      const scope = yield* Effect.scope
      // The completed fit returns before the pause. Only the next fit is delayed.
      const rest = (millis: number) =>
        Effect.forkIn(
          Effect.andThen(Effect.sleep(Duration.millis(millis * (1 / share - 1))), one.release(1)),
          scope,
        )
      return FitBudget.of({
        connected: connections.withPermits(1),
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
