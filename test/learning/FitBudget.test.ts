import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { FitBudget } from "../../src/learning/FitBudget.ts"
import { layerSettings } from "../support/settings.ts"

/** A fit that takes `millis`, and notes when it began. */
const fit = (name: string, millis: number, began: Array<string>) =>
  Effect.gen(function* () {
    began.push(`${name} ${yield* Effect.clockWith(({ currentTimeMillis }) => currentTimeMillis)}`)
    yield* Effect.sleep(`${millis} millis`)
    return millis
  })

const layerWith = (settings: Readonly<Record<string, string>>) =>
  Layer.provide(FitBudget.layer, layerSettings(settings))

it.layer(layerWith({}))("FitBudget", (it) => {
  it.effect("fits one template at a time in order of arrival, and uses at most a fifth of the time", () =>
    Effect.gen(function* () {
      const budget = yield* FitBudget
      const began: Array<string> = []
      yield* Effect.forEach(
        [["a", 100], ["b", 50], ["c", 10]] as const,
        ([name, millis]) => Effect.forkChild(budget.turn(fit(name, millis, began))),
      )
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(began, ["a 0", "b 500", "c 750"])
    }))

  it.effect("starts the next fit at once if a fit fails, is interrupted, or took no time", () =>
    Effect.gen(function* () {
      const budget = yield* FitBudget
      const began: Array<string> = []
      assert.deepStrictEqual(
        yield* Effect.exit(budget.turn(Effect.fail("no"))),
        Exit.fail("no"),
      )
      assert.strictEqual(yield* budget.turn(Effect.succeed(0)), 0)
      const interrupted = yield* Effect.forkChild(budget.turn(Effect.never))
      const waiting = yield* Effect.forkChild(budget.turn(Effect.never))
      const next = yield* Effect.forkChild(budget.turn(fit("next", 10, began)))
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(began, [])
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(interrupted)
      yield* TestClock.adjust("50 millis")
      assert.strictEqual(yield* Fiber.join(next), 10)
      assert.strictEqual(began.length, 1)
    }))
})

for (const [poolSize, most] of [["2", 1], ["7", 1], ["10", 2], ["20", 5]] as const) {
  it.effect(`FitBudget lends learners ${most} of ${poolSize} connections at once`, () =>
    Effect.gen(function* () {
      const budget = yield* FitBudget
      const running: Array<number> = []
      const all = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, learner) => learner),
        (learner) =>
          Effect.forkChild(budget.connected(Effect.andThen(Effect.sync(() => running.push(learner)), Effect.never))),
      )
      yield* TestClock.adjust("1 second")
      assert.strictEqual(running.length, most)
      yield* Fiber.interrupt(all[0]!)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(running, Array.from({ length: most + 1 }, (_, learner) => learner))
    }).pipe(Effect.provide(layerWith({ DATABASE_POOL_SIZE: poolSize }))))
}
