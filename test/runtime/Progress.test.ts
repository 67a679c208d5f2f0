import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import {
  durationText,
  forCommand,
  forService,
  lineOf,
  type Output,
  Progress,
  type Report,
  withProgress,
} from "../../src/runtime/Progress.ts"

/** A stream that keeps the texts written to it. */
const collecting = (isTTY: boolean, columns = 80) => {
  const texts: Array<string> = []
  const output: Output = { isTTY, columns, write: (text) => texts.push(text) }
  return { texts, output }
}

const rows = (done: number, total?: number) => ({ done, total, unit: "rows" })

describe("lines of progress", () => {
  it("state the amount, the percentage and the elapsed time", () => {
    assert.strictEqual(lineOf("Importing", undefined, 999), "Importing: 0 s")
    assert.strictEqual(lineOf("Importing", rows(1500), 61_000), "Importing: 1,500 rows, 1 min 1 s")
    assert.strictEqual(lineOf("Importing", rows(500, 2000), 3000), "Importing: 500 of 2,000 rows (25 %), 3 s")
  })

  it("stay below 100 % until all is done, and never exceed it", () => {
    assert.include(lineOf("Importing", rows(1999, 2000), 0), "(99 %)")
    assert.include(lineOf("Importing", rows(2000, 2000), 0), "(100 %)")
    assert.include(lineOf("Importing", rows(2001, 2000), 0), "(100 %)")
  })

  it("leave out a total of 0", () => assert.strictEqual(lineOf("Importing", rows(0, 0), 0), "Importing: 0 rows, 0 s"))

  it("state durations in minutes and seconds", () => {
    assert.deepStrictEqual([0, 59_999, 60_000, 3_725_000].map(durationText), ["0 s", "59 s", "1 min 0 s", "62 min 5 s"])
  })
})

describe("withProgress", () => {
  it.effect("logs a line after a second and then every ten seconds, unless a display is provided", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const logger = Logger.make(({ message }) => void lines.push(message))
      const work = yield* withProgress("Working", () => Effect.as(Effect.sleep("22 seconds"), "done")).pipe(
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

  it.effect("redraws one line on a terminal, at most five times a second, and clears it at the end", () =>
    Effect.gen(function* () {
      const { output, texts } = collecting(true, 24)
      const work = yield* withProgress("Importing", (report) =>
        Effect.gen(function* () {
          for (let done = 1; done <= 100; done++) yield* report(rows(done, 100))
          yield* Effect.sleep("200 millis")
        })).pipe(Effect.provideService(Progress, forService(output)), Effect.forkChild)
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(work)
      assert.strictEqual(texts[0], "\rImporting: 1 of 100 row\x1b[K\r")
      assert.strictEqual(texts.at(-1), "\r\x1b[K")
      assert.isBelow(texts.length, 5)
      assert.isFalse(texts.some((text) => text.includes("\n")))
    }))

  it.effect("writes a line of a command every ten seconds to a stream that is no terminal", () =>
    Effect.gen(function* () {
      const { output, texts } = collecting(false)
      let report: Report | undefined
      const work = yield* withProgress("Importing", (given) => {
        report = given
        return Effect.sleep("25 seconds")
      }).pipe(Effect.provideService(Progress, forCommand(output)), Effect.forkChild)
      yield* TestClock.adjust("9 seconds")
      yield* report!(rows(5, 10))
      assert.deepStrictEqual(texts, [])
      yield* TestClock.adjust("20 seconds")
      yield* Fiber.join(work)
      assert.deepStrictEqual(texts, [
        "Importing: 5 of 10 rows (50 %), 10 s\n",
        "Importing: 5 of 10 rows (50 %), 20 s\n",
      ])
    }))

  it.effect("shows the operation that began last, and the outer one again when that has ended", () =>
    Effect.gen(function* () {
      const { output, texts } = collecting(false)
      const inner = withProgress("Inner", () => Effect.sleep("15 seconds"))
      const work = yield* withProgress("Outer", () => Effect.andThen(inner, Effect.sleep("10 seconds"))).pipe(
        Effect.provideService(Progress, forCommand(output)),
        Effect.forkChild,
      )
      yield* TestClock.adjust("25 seconds")
      yield* Fiber.join(work)
      assert.deepStrictEqual(texts, ["Inner: 10 s\n", "Outer: 20 s\n"])
    }))

  it.effect("clears the line of an operation that fails, and fails as it does", () =>
    Effect.gen(function* () {
      const { output, texts } = collecting(true)
      const failing = withProgress("Importing", (report) => Effect.andThen(report(rows(1)), Effect.fail("refused")))
      const error = yield* Effect.flip(Effect.provideService(failing, Progress, forCommand(output)))
      assert.strictEqual(error, "refused")
      assert.strictEqual(texts.at(-1), "\r\x1b[K")
    }))
})
