import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { DomainBreaker } from "../../src/delivery/DomainBreaker.ts"

const second = 1_000

const failTimes = (breaker: DomainBreaker, times: number, now: number) => {
  for (let i = 0; i < times; i++) breaker.failed(now, now)
}

describe("DomainBreaker", () => {
  it("stays closed through four failures in a row, and opens with the fifth", () => {
    const breaker = new DomainBreaker()
    failTimes(breaker, 4, 0)
    assert.isFalse(breaker.isOpen)
    breaker.answered(0)
    failTimes(breaker, 4, 0)
    assert.isFalse(breaker.isOpen, "an answer between them counts")
    failTimes(breaker, 1, 0)
    assert.deepStrictEqual([breaker.isOpen, breaker.isPaused(0), breaker.probeAt], [true, false, second])
  })

  it("probes after 1, 2, 4, … 60 seconds, and closes with an answer", () => {
    const breaker = new DomainBreaker()
    failTimes(breaker, 5, 0)
    const pauses = [breaker.probeAt]
    for (let i = 0; i < 7; i++) {
      const now = breaker.probeAt
      breaker.failed(now, now)
      pauses.push(breaker.probeAt - now)
    }
    assert.deepStrictEqual(pauses.map((pause) => pause / second), [1, 2, 4, 8, 16, 32, 60, 60])
    breaker.answered(breaker.probeAt)
    assert.isFalse(breaker.isOpen)
    failTimes(breaker, 4, 0)
    assert.isFalse(breaker.isOpen, "five failures are needed again")
  })

  it("does not double its pause for attempts that were under way when it opened", () => {
    const breaker = new DomainBreaker()
    failTimes(breaker, 5, 100)
    for (let i = 0; i < 20; i++) breaker.failed(50, 200)
    assert.strictEqual(breaker.probeAt, 100 + second)
  })

  it("pauses for as long as the domain asks, else for 5 seconds that double up to 5 minutes", () => {
    const breaker = new DomainBreaker()
    breaker.slowedDown(30 * second, 0, 0)
    assert.deepStrictEqual([breaker.isPaused(30 * second - 1), breaker.isPaused(30 * second)], [true, false])
    assert.isTrue(breaker.isOpen, "one message at a time after the pause")
    breaker.answered(10)
    assert.isTrue(breaker.isOpen, "an attempt from before the pause shows nothing")
    let now = 30 * second
    const pauses: Array<number> = []
    for (let i = 0; i < 8; i++) {
      breaker.slowedDown(undefined, now, now)
      breaker.slowedDown(undefined, now - 1, now)
      pauses.push(breaker.probeAt - now)
      now = breaker.probeAt
    }
    assert.deepStrictEqual(pauses.map((pause) => pause / second), [5, 10, 20, 40, 80, 160, 300, 300])
    breaker.answered(now)
    assert.deepStrictEqual([breaker.isOpen, breaker.isPaused(now)], [false, false])
  })

  it("never shortens a pause, and always names a time for the next probe while it is open", () => {
    const step = fc.tuple(
      fc.integer({ min: 0, max: 100 * second }),
      fc.integer({ min: 0, max: 10 * second }),
      fc.constantFrom("answered", "failed", "failed", "failed", "slowed", "slowed-long"),
    )
    fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const breaker = new DomainBreaker()
      let now = 0
      for (const [passed, took, what] of steps) {
        now += passed
        const startedAt = now - took
        const paused = [0, 5, 60, 600, 3_600].map((seconds) => now + seconds * second).filter((at) =>
          breaker.isPaused(at)
        )
        if (what === "answered") breaker.answered(startedAt)
        else if (what === "failed") breaker.failed(startedAt, now)
        else breaker.slowedDown(what === "slowed" ? undefined : 3_600 * second, startedAt, now)
        for (const at of paused) assert.isTrue(breaker.isPaused(at))
        if (breaker.isPaused(now)) assert.isTrue(breaker.isOpen)
        if (breaker.isOpen) assert.isTrue(Number.isFinite(breaker.probeAt))
      }
    }))
  })
})
