import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Layer, Logger, Scope } from "effect"
import { Entity } from "effect/cluster"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import * as SingleProcess from "../../src/cluster/SingleProcess.ts"

const Slow = Entity.make("Slow", [Rpc.make("Wake")])

describe("a single process", () => {
  it.effect("stops without a log message, however long its actors run", () =>
    Effect.gen(function* () {
      const logged: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ logLevel, message }) => {
        if (logLevel !== "Debug" && logLevel !== "Trace") logged.push(message)
      })])
      const ending = Latch.makeUnsafe()
      const mayEnd = Latch.makeUnsafe()
      const actor = Slow.toLayer(Effect.gen(function* () {
        yield* Effect.addFinalizer(() => Effect.andThen(ending.open, mayEnd.await))
        return Slow.of({ Wake: () => Effect.void })
      }))
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(
        Layer.provideMerge(actor, SingleProcess.layer).pipe(Layer.provideMerge(logger)),
        scope,
      )
      const wake = Effect.flatMap(Slow.client, (client) => client("a").Wake())
      const awake = yield* Effect.forkChild(Effect.provideContext(wake, context))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(awake)
      const ended = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* ending.await
      yield* TestClock.adjust("4 seconds")
      yield* mayEnd.open
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(ended)
      assert.deepStrictEqual(logged, [])
    }))
})
