import { Effect } from "effect"

/**
 * Ends the turn of a long computation, so that sockets are read and written before it goes on. `Effect.yieldNow` goes on
 * in the next immediate, and Deno runs many of these before it looks at sockets again: with turns of 3 ms a request that came
 * in meanwhile waited 380 ms. After a timer, it waited 20 ms.
 */
export const letOthersRun: Effect.Effect<void> = Effect.callback<void>((resume) => {
  const timer = setTimeout(() => resume(Effect.void), 0)
  return Effect.sync(() => clearTimeout(timer))
})
