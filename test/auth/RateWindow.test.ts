import { assert, describe, it } from "@effect/vitest"
import { allowedOf } from "../../src/auth/KeyLimits.ts"
import { RateWindow } from "../../src/auth/RateWindow.ts"
import { chance } from "../../src/simulation/Chance.ts"

/** A window with a clock that a test sets. */
const windowAt = (limit: number, windowMillis: number) => {
  const clock = { now: 1_000_000_007 }
  return { clock, window: new RateWindow(limit, windowMillis, () => clock.now) }
}

describe("RateWindow", () => {
  it("admits at most the limit in any window, and the whole limit for evenly spread requests", () => {
    const { uniform } = chance(7)
    for (const [limit, windowMillis] of [[5, 1000], [100, 1000], [40, 60_000]] as const) {
      const { clock, window } = windowAt(limit, windowMillis)
      const taken: Array<number> = []
      for (let i = 0; i < 5000; i++) {
        // Now and then nobody asks for a while, so that bursts follow.
        clock.now += uniform() < 0.01 ? windowMillis * uniform() : 2 * uniform() * windowMillis / limit / 3
        if (window.take(1)) taken.push(clock.now)
      }
      for (let i = limit; i < taken.length; i++) {
        assert.isAtLeast(taken[i]! - taken[i - limit]!, windowMillis, `${limit} in ${windowMillis} ms`)
      }
      const span = taken.at(-1)! - taken[0]!
      assert.isAtLeast(taken.length, 0.8 * limit * span / windowMillis * 0.8)
    }
  })

  it("reports the remaining requests, and the seconds until a refused request would pass", () => {
    const { clock, window } = windowAt(3, 60_000)
    assert.deepStrictEqual(window.state(), { limit: 3, windowSeconds: 60, remaining: 3, resetSeconds: 60 })
    assert.isTrue(window.take(2))
    clock.now += 30_000
    assert.isTrue(window.take(1))
    assert.isFalse(window.take(1))
    const { remaining, resetSeconds } = window.state()
    assert.strictEqual(remaining, 0)
    const wait = window.retryAfterSeconds(1)
    assert.strictEqual(wait, resetSeconds)
    clock.now += wait * 1000
    assert.isTrue(window.take(1))
    assert.isTrue(window.take(1))
    assert.isFalse(window.take(1))
  })

  it("counts a batch by its items, and rejects one larger than the limit", () => {
    const { window } = windowAt(10, 1000)
    assert.isFalse(window.take(11))
    assert.isTrue(window.take(8))
    assert.isFalse(window.take(3))
    assert.isTrue(window.take(2))
  })

  it("admits a batch larger than the share of a node if nothing else was counted", () => {
    const { window } = windowAt(30, 1000)
    window.allowed = 15
    assert.isTrue(window.take(20))
    assert.isFalse(window.take(1))
  })

  it("continues when the clock is set back", () => {
    const { clock, window } = windowAt(1, 1000)
    assert.isTrue(window.take(1))
    clock.now -= 3_600_000
    assert.isTrue(window.take(1))
    assert.isFalse(window.take(1))
  })
})

describe("the shares of nodes", () => {
  const limit = { limit: 600, windowSeconds: 60 }
  const none = { received: 0, used: 0 }

  it("are even without requests, and never exceed the limit together", () => {
    assert.strictEqual(allowedOf(limit, none, none, 3), 200)
    const { uniform } = chance(3)
    for (let i = 0; i < 2000; i++) {
      const windowSeconds = uniform() < 0.5 ? 1 : 60
      const nodes = Array.from({ length: 1 + Math.floor(8 * uniform()) }, () => ({
        received: uniform() < 0.3 ? 0 : 30 * uniform() / windowSeconds * 60,
        used: windowSeconds === 1 ? 0 : 70 * uniform(),
      }))
      const sum = (of: (node: typeof nodes[number]) => number) => nodes.reduce((total, node) => total + of(node), 0)
      const most = Math.max(600, sum(({ used }) => used))
      const allowed = sum((own) =>
        allowedOf(
          { limit: 600, windowSeconds },
          own,
          { received: sum(({ received }) => received) - own.received, used: sum(({ used }) => used) - own.used },
          nodes.length,
        )
      )
      assert.isAtMost(allowed, most + nodes.length)
      assert.isAtLeast(allowed, Math.min(600, most) - nodes.length)
    }
  })

  it("are assigned to the node that receives the requests", () => {
    assert.strictEqual(allowedOf(limit, { received: 1000, used: 0 }, none, 3), 600)
    assert.isAtMost(allowedOf(limit, none, { received: 1000, used: 0 }, 3), 1)
    assert.strictEqual(allowedOf(limit, { received: 1000, used: 100 }, { received: 0, used: 500 }, 3), 100)
  })
})
