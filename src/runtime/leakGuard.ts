// Must be the first import of every program: the process, its workers, the CLI, the tests and the benchmarks.
import "./hideAsyncResource.ts"
import { Effect, Fiber } from "effect"

/** Whether the fibers of this program capture an `AsyncResource` when they suspend, which leaks memory on Deno. */
export const capturesAsyncContext = (): boolean => {
  const fiber = Effect.runFork(Effect.never)
  const captured = (fiber as { readonly _asyncContext?: unknown })._asyncContext !== undefined
  Effect.runFork(Fiber.interrupt(fiber))
  return captured
}

if (capturesAsyncContext()) {
  throw new Error(
    "`effect` was imported before src/runtime/leakGuard.ts, so its fibers leak memory on Deno. " +
      'Make `import ".../runtime/leakGuard.ts"` the first import of the program.',
  )
}
