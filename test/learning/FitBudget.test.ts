import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { FitBudget } from "../../src/learning/FitBudget.ts"

/** A fit that takes `millis`, and notes when it began. */
const fit = (name: string, millis: number, began: Array<string>) =>
  Effect.gen(function* () {
    began.push(`${name} ${yield* Effect.clockWith(({ currentTimeMillis }) => currentTimeMillis)}`)
    yield* Effect.sleep(`${millis} millis`)
    return millis
  })

it.layer(FitBudget.layer)("FitBudget", (it) => {
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
