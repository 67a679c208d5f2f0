import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import { announceSlow } from "../../src/store/announceSlow.ts"

describe("announceSlow", () => {
  it.effect("logs what takes over a second, then every ten seconds until it is done", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const logger = Logger.make(({ message }) => void lines.push(message))
      const work = yield* Effect.sleep("22 seconds").pipe(
        Effect.as("done"),
        announceSlow("Working"),
        Effect.provide(Logger.layer([logger])),
        Effect.forkChild,
      )
      yield* TestClock.adjust("999 millis")
      assert.lengthOf(lines, 0)
      yield* TestClock.adjust("1 millis")
      assert.lengthOf(lines, 1)
      yield* TestClock.adjust("20 seconds")
      assert.lengthOf(lines, 3)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* Fiber.join(work), "done")
      assert.lengthOf(lines, 3)
    }))
})
