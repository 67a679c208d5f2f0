import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  delayClass,
  delayClasses,
  delayCurve,
  delayEdges,
  Delays,
  delaySpan,
  maturity,
  priorDelayCurve,
} from "../../src/bandit/Maturity.ts"
import { delayCounts } from "./delayCounts.ts"
import { day, hour, normal, now, uniform } from "./Samples.ts"

const clicks = fc.array(
  fc.record({
    sentAt: fc.integer({ min: now - 30 * day, max: now }),
    delayHours: fc.double({ min: 0, max: 400, noNaN: true }),
  }),
  { maxLength: 200 },
)

describe("the delay curve", () => {
  it("increases from 0 to 1 for any clicks", () => {
    fc.assert(fc.property(clicks, (all) => {
      const curve = delayCurve(delayCounts(all, now))
      assert.strictEqual(curve[0], 0)
      assert.lengthOf(curve, delayEdges.length)
      assert.strictEqual(curve.at(-1), 1)
      for (let j = 0; j < curve.length - 1; j++) assert.isAtMost(curve[j]!, curve[j + 1]! + 1e-12)
    }))
  })

  it("equals the scaled prior without clicks", () => {
    const curve = delayCurve(delayCounts([], now))
    curve.forEach((share, j) => assert.closeTo(share, priorDelayCurve[j]! / priorDelayCurve.at(-1)!, 1e-12))
    assert.closeTo(maturity(curve, 6), 0.5 / priorDelayCurve.at(-1)!, 1e-12)
  })

  it("starts from the organization's curve if there is one", () => {
    const quick = delayEdges.map((edge) => edge === 0 ? 0 : 1)
    assert.strictEqual(maturity(delayCurve(delayCounts([], now), quick), 1), 1)
  })

  it("is not biased by young sends whose late clicks are missing", () => {
    // Log-normal delays, median 5 h and sigma 1.6, and the last 10 days of sends as seen today.
    const u = uniform(5)
    const z = normal(6)
    const seen: Array<{ sentAt: number; delayHours: number }> = []
    for (let i = 0; i < 20_000; i++) {
      const age = 240 * u()
      const delayHours = Math.exp(Math.log(5) + 1.6 * z())
      if (delayHours <= age) seen.push({ sentAt: now - age * hour, delayHours })
    }
    const curve = delayCurve(delayCounts(seen, now))
    // Shares of the delays up to 336 h by the normal distribution function.
    for (const [hours, share] of [[1, 0.158], [6, 0.548], [24, 0.84], [96, 0.972]] as const) {
      assert.closeTo(maturity(curve, hours), share, 0.02)
    }
    const naive = seen.filter(({ delayHours }) => delayHours <= 6).length / seen.length
    assert.isAbove(naive, 0.56)
  })

  it("assigns a click on an edge to the class that ends there, and no class beyond the last edge", () => {
    // Numbers that are stored: they must not change.
    assert.deepStrictEqual([0.26, 1, 336, 336.1, -1, NaN].map(delayClass), [1, 2, 18, -1, -1, -1])
    assert.deepStrictEqual([0, 10, 11, 60, 300, 301, 900].map((s) => delayClass(s / 3600)), [
      19,
      19,
      20,
      20,
      21,
      22,
      22,
    ])
    for (let j = 1; j < delayClasses; j++) {
      const [from, to] = delaySpan(j)
      assert.strictEqual(delayClass(to), j)
      assert.strictEqual(delayClass((from + to) / 2), j)
    }
    assert.deepStrictEqual(delaySpan(0), [0, 0.25])
  })

  it("reads delays of earlier releases, whose first class was 15 minutes", () => {
    const sentAt = Math.floor(now / hour) * hour - 20 * day
    const old = new Delays()
    old.merge([[sentAt, [30, 10]]])
    const fine = new Delays()
    fine.add(sentAt, 0.2, 30)
    fine.add(sentAt, 0.3, 10)
    const [before, after] = [old, fine].map((delays) => delayCurve(delays.counts(now)))
    delayEdges.forEach((edge, j) => edge >= 0.25 && assert.strictEqual(before![j], after![j]))
    assert.strictEqual(old.clicks(), 40)
    assert.deepStrictEqual(old.logLikelihoods([delayEdges.map((edge) => edge > 0 ? 1 : 0)], now).map(Number.isFinite), [
      true,
    ])
  })
})

describe("maturity", () => {
  const curve = delayCurve(delayCounts([], now))

  it("is at least 2 %, 1 from the last edge, and the curve's value on its edges", () => {
    assert.strictEqual(maturity(curve, 0), 0.02)
    assert.strictEqual(maturity(curve, 336), 1)
    assert.strictEqual(maturity(curve, 10_000), 1)
    delayEdges.forEach((edge, j) => assert.closeTo(maturity(curve, edge), Math.max(0.02, curve[j]!), 1e-12))
  })

  it("grows with age", () => {
    const age = fc.double({ min: 0, max: 400, noNaN: true })
    fc.assert(fc.property(age, age, (a, b) => {
      assert.isAtMost(maturity(curve, Math.min(a, b)), maturity(curve, Math.max(a, b)) + 1e-12)
    }))
  })

  it("is interpolated linearly between edges", () => {
    assert.closeTo(maturity(curve, 30), (maturity(curve, 24) + maturity(curve, 36)) / 2, 1e-12)
  })
})

describe("running counts of delays", () => {
  it("equal the counts of clicks whose hour is entirely old enough", () => {
    fc.assert(fc.property(clicks, (all) => {
      const delays = new Delays()
      for (const { delayHours, sentAt } of all) delays.add(sentAt, delayHours)
      // Treat every send as the last one of its hour.
      const late = all.map(({ delayHours, sentAt }) => ({ delayHours, sentAt: (Math.floor(sentAt / hour) + 1) * hour }))
      assert.deepStrictEqual(delays.counts(now), delayCounts(late, now))
    }))
  })

  it("are independent of the order, and survive serialization", () => {
    fc.assert(fc.property(clicks, (all) => {
      const forward = new Delays()
      const backward = new Delays()
      all.forEach(({ delayHours, sentAt }) => forward.add(sentAt, delayHours))
      all.toReversed().forEach(({ delayHours, sentAt }) => backward.add(sentAt, delayHours))
      assert.deepStrictEqual(forward.rows(), backward.rows())
      const copy = new Delays()
      copy.merge(JSON.parse(JSON.stringify(forward.rows())))
      assert.deepStrictEqual(copy.rows(), forward.rows())
    }))
  })

  it("drop sends older than 30 days", () => {
    const delays = new Delays()
    delays.add(now - 31 * day, 1)
    delays.add(now - 29 * day, 1)
    delays.prune(now)
    assert.strictEqual(delays.rows().length, 1)
  })

  it("ignore a click before its send or after 14 days", () => {
    const delays = new Delays()
    delays.add(now, -1)
    delays.add(now, 337)
    assert.deepStrictEqual(delays.rows(), [])
  })
})
