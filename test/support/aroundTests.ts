import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll } from "vitest"

/**
 * Starts a resource that all tests of a suite share, passes it to `ready`, and closes it after the tests. Several
 * resources close in reverse order.
 */
export const aroundTests = <A>(start: Effect.Effect<A, never, Scope.Scope>, ready: (started: A) => unknown): void => {
  const scope = Scope.makeUnsafe()
  beforeAll(async () => {
    await ready(await Effect.runPromise(Scope.provide(start, scope)))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
}
