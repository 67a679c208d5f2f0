import { type Cause, type Duration, Effect, Fiber } from "effect"

/**
 * Fails with a `TimeoutError` once `duration` is over. What is given up is interrupted and not awaited, as `Effect.timeout`
 * does: on a connection that is cut even giving up a statement takes seconds. It may still take effect.
 */
export const bounded =
  (duration: Duration.Input) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Cause.TimeoutError, R> =>
    Effect.flatMap(Effect.forkDetach(effect, { startImmediately: true }), (fiber) =>
      Fiber.join(fiber).pipe(
        Effect.timeout(duration),
        Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe())),
      ))
