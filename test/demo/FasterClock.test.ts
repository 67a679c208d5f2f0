import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { Agenda } from "../../src/demo/Agenda.ts"
import * as FasterClock from "../../src/demo/FasterClock.ts"

const day = 86_400_000

/** A clock of 14 days in 2 minutes, with the real time in the test's hands. */
const clockOf = Effect.gen(function* () {
  yield* TestClock.setTime(1_000 * day)
  const real = yield* Clock.Clock
  const from = real.currentTimeMillisUnsafe() - 14 * day
  const speed = FasterClock.speedFor(14 * day, 120_000)
  return { clock: FasterClock.make({ from, speed, real }), from, speed, real }
})

describe("FasterClock", () => {
  it.effect("runs at its speed once it is released", () =>
    Effect.gen(function* () {
      const { clock, from, speed } = yield* clockOf
      clock.release(Infinity)
      yield* TestClock.adjust("30 seconds")
      assert.closeTo(clock.currentTimeMillisUnsafe(), from + 30_000 * speed, 1)
      assert.strictEqual(yield* clock.currentTimeMillis, clock.currentTimeMillisUnsafe())
      assert.strictEqual(clock.currentTimeNanosUnsafe(), BigInt(clock.currentTimeMillisUnsafe()) * 1_000_000n)
      assert.strictEqual(clock.speed(), speed)
    }))

  it.effect("reaches the present at the planned time, and then follows it", () =>
    Effect.gen(function* () {
      const { clock, real } = yield* clockOf
      clock.release(Infinity)
      yield* TestClock.adjust("119 seconds")
      assert.isBelow(clock.currentTimeMillisUnsafe(), real.currentTimeMillisUnsafe())
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(clock.currentTimeMillisUnsafe(), real.currentTimeMillisUnsafe())
      assert.strictEqual(clock.speed(), 1)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(clock.currentTimeMillisUnsafe(), real.currentTimeMillisUnsafe())
    }))

  it.effect("stops at its release limit, and does not catch up", () =>
    Effect.gen(function* () {
      const { clock, from, speed } = yield* clockOf
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(clock.currentTimeMillisUnsafe(), from)
      clock.release(from + day)
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual(clock.currentTimeMillisUnsafe(), from + day)
      clock.release(from + 14 * day)
      yield* TestClock.adjust("1 second")
      assert.closeTo(clock.currentTimeMillisUnsafe(), from + day + 1000 * speed, 1)
    }))

  it("never goes back, and never passes its limit or the present", () => {
    const moves = fc.array(fc.tuple(fc.integer({ min: -5000, max: 20_000 }), fc.nat(3 * day)), { maxLength: 50 })
    fc.assert(fc.property(moves, (steps) => {
      let present = 1_000 * day
      const real = { currentTimeMillisUnsafe: () => present } as Clock.Clock
      const from = present - 14 * day
      const clock = FasterClock.make({ from, speed: 10_000, real })
      let limit = from
      let last = from
      let latest = present
      for (const [passed, more] of steps) {
        present += passed
        latest = Math.max(latest, present)
        const now = clock.currentTimeMillisUnsafe()
        assert.isAtLeast(now, last)
        assert.isAtMost(now, Math.min(limit, latest))
        last = now
        limit += more
        clock.release(limit)
      }
    }))
  })

  it.effect("sleeps in real time", () =>
    Effect.gen(function* () {
      const { clock } = yield* clockOf
      clock.release(Infinity)
      const sleeping = yield* Effect.sleep("10 seconds").pipe(
        Effect.provideService(Clock.Clock, clock),
        Effect.forkChild,
      )
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(sleeping.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(sleeping)
    }))
})

describe("Agenda", () => {
  it("returns every entry once within a minute after its time", () => {
    const times = fc.array(fc.nat(7_200_000), { maxLength: 100 })
    fc.assert(fc.property(times, fc.array(fc.nat(900_000), { maxLength: 20 }), (planned, steps) => {
      const agenda = new Agenda<number>(0)
      for (const time of planned) agenda.put(time, time)
      const taken: Array<number> = []
      let now = 0
      for (const step of [...steps, 8_000_000]) {
        now += step
        for (const time of agenda.take(now)) {
          assert.isBelow(time, now)
          taken.push(time)
        }
        assert.isTrue(planned.filter((time) => time < now - 60_000).every((time) => taken.includes(time)))
        assert.strictEqual(agenda.size, planned.length - taken.length)
      }
      assert.deepStrictEqual([...taken].sort((a, b) => a - b), [...planned].sort((a, b) => a - b))
    }))
  })
})
