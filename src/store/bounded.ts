import { type Cause, type Duration, Effect, Fiber } from "effect"

/**
 * Fails with a `TimeoutError` after `duration`. Like `Effect.timeout`, interrupts the effect, but does not wait for the
 * end of the interruption: on a broken connection, even cancelling a statement takes seconds. The effect may still
 * complete.
 */
export const bounded =
  (duration: Duration.Input) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Cause.TimeoutError, R> =>
    Effect.flatMap(Effect.forkDetach(effect, { startImmediately: true }), (fiber) =>
      Fiber.join(fiber).pipe(
        Effect.timeout(duration),
        Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe())),
      ))
