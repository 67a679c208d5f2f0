import { Effect } from "effect"

/**
 * Interrupts a long computation, so that sockets are read and written before it continues. `Effect.yieldNow` continues
 * in the next immediate, and Deno runs many immediates before it polls sockets: with pieces of work of 3 ms, a request
 * waited 380 ms. With a timer, it waited 20 ms.
 */
export const letOthersRun: Effect.Effect<void> = Effect.callback<void>((resume) => {
  const timer = setTimeout(() => resume(Effect.void), 0)
  return Effect.sync(() => clearTimeout(timer))
})
