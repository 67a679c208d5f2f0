import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { captured, Gain, none, ofChoice, plus } from "../../src/demo/Gain.ts"

const rates = fc.array(fc.double({ min: 0.001, max: 0.9, noNaN: true }), { minLength: 2, maxLength: 8 })
const best = (some: ReadonlyArray<number>) => some.indexOf(Math.max(...some))
const hourMillis = 3_600_000

describe("the gain", () => {
  it("is 1 for the best choice, 0 for an even choice, and never above 1", () => {
    fc.assert(fc.property(rates, (some) => {
      fc.pre(Math.max(...some) - Math.min(...some) > 1e-6)
      assert.closeTo(captured(ofChoice(some, best(some)))!, 1, 1e-9)
      assert.closeTo(captured(some.map((_, variant) => ofChoice(some, variant)).reduce(plus, none))!, 0, 1e-6)
      some.forEach((_, variant) => assert.isAtMost(captured(ofChoice(some, variant))!, 1 + 1e-9))
    }))
  })

  it("is undefined if there is nothing to gain", () => {
    assert.isUndefined(captured(none))
    assert.isUndefined(captured(ofChoice([0.1, 0.1, 0.1], 1)))
  })

  it("increases with a better choice", () => {
    fc.assert(fc.property(rates, (some) => {
      const order = some.map((_, variant) => variant).sort((a, b) => some[a]! - some[b]!)
      const gains = order.map((variant) => captured(ofChoice(some, variant)) ?? 0)
      for (let i = 1; i < gains.length; i++) assert.isAtLeast(gains[i]!, gains[i - 1]! - 1e-9)
    }))
  })

  it("sums over all choices and over the choices of the last 24 hours", () => {
    fc.assert(fc.property(fc.array(fc.tuple(fc.nat(72), fc.nat(2)), { maxLength: 100 }), (choices) => {
      const some = [0.02, 0.05, 0.03]
      const gain = new Gain(3)
      for (const [hour, chosen] of choices) gain.add(hour * hourMillis + 1, some, chosen)
      const sum = (list: typeof choices) => list.map(([, chosen]) => ofChoice(some, chosen)).reduce(plus, none)
      const late = choices.filter(([hour]) => hour > 72 - 24)
      const last = gain.lastDay(72 * hourMillis + 2)
      assert.closeTo(gain.total.ours, sum(choices).ours, 1e-9)
      assert.closeTo(last.clicks.ours, sum(late).ours, 1e-9)
      assert.closeTo(last.clicks.oracle, sum(late).oracle, 1e-9)
      assert.deepStrictEqual(last.choices, [0, 1, 2].map((v) => late.filter(([, chosen]) => chosen === v).length))
    }))
  })
})
