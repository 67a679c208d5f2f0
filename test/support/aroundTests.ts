import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll } from "vitest"

/** Starts what all tests of a suite share, hands it to `ready`, and ends it after them; several end in reverse order. */
export const aroundTests = <A>(start: Effect.Effect<A, never, Scope.Scope>, ready: (started: A) => unknown): void => {
  const scope = Scope.makeUnsafe()
  beforeAll(async () => {
    await ready(await Effect.runPromise(Scope.provide(start, scope)))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
}
