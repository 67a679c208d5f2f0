import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SpareThreads, workerThread } from "../../src/learning/WorkerThread.ts"
import { Spares } from "../../src/runtime/Spares.ts"

const thread = workerThread<number>(new URL("./counting.worker.ts", import.meta.url))

/** How many requests the thread has answered, in a scope of its own. */
const counted = Effect.scoped(Effect.flatMap(thread, ({ ask }) => ask<number>(0)))

describe("a worker thread", () => {
  it.live("ends with its scope", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual([yield* counted, yield* counted], [1, 1])
    }))

  it.live("continues in the next scope if spare threads are kept", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual([yield* counted, yield* counted], [1, 2])
    }).pipe(Effect.provideService(SpareThreads, new Spares(1))))

  it.live("is not reused while it still works on an abandoned request", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(Effect.gen(function* () {
        const { ask } = yield* thread
        const asking = yield* Effect.forkChild(ask(100), { startImmediately: true })
        yield* Fiber.interrupt(asking)
      }))
      assert.strictEqual(yield* counted, 1)
    }).pipe(Effect.provideService(SpareThreads, new Spares(1))))
})
