import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type OutlookInput, outlookOf, outlookRule } from "../../src/results/Outlook.ts"
import { day, now } from "../bandit/Samples.ts"

const countedOf = (copy_id: string, sends: number) => ({ copy_id, status: "active", matured_sends: sends })

/** Two variants with click rates of 3 % and `rate`, as many decisions a day each, for so many days. */
const inputOf = (rate: number, { days = 10, perDay = 500, share = 0.5 } = {}): OutlookInput => {
  const sends = [share, 1 - share].map((part) => part * perDay * days)
  const error = Math.sqrt(rate / sends[0]! + 0.03 / sends[1]!)
  const difference = rate - 0.03
  const interval = [difference - 1.96 * error, difference + 1.96 * error] as const
  const none = { share: null, rate: null, interval: null, p_best: null }
  return {
    now,
    objective: "click",
    runnerUpFloor: 0,
    winner: {
      verdict: "undecided",
      leader: "a",
      days,
      lift: { baseline: "b", value: 0, interval, difference, difference_interval: interval },
    },
    variants: [
      countedOf("a", sends[0]!),
      countedOf("b", sends[1]!),
    ],
    points: Array.from({ length: days }, (_, i) => ({
      start: new Date(now - (days - i) * day).toISOString(),
      end: new Date(now - (days - i - 1) * day).toISOString(),
      variants: [
        { copy_id: "a", decisions: share * perDay, value: rate * share * perDay, ...none },
        { copy_id: "b", decisions: (1 - share) * perDay, value: 0.03 * (1 - share) * perDay, ...none },
      ],
    })),
  }
}

const daysOf = (input: OutlookInput) => {
  const outlook = outlookOf(input)
  return outlook?.kind === "days" ? outlook.days : outlook?.kind === "long" ? Infinity : undefined
}

describe("the estimated days until a winner", () => {
  it("are the time until the standard error is small enough for the verdict", () => {
    // After 10 days the difference has 2.1 standard errors, and half of it counts. Evidence of 6 takes about 2.6.
    const days = daysOf(inputOf(0.0395, { perDay: 650 }))!
    assert.isTrue(days > 5 && days < 20, `${days}`)
    // With a share of the runner-up, a winner needs evidence of 10.
    assert.isAbove(daysOf({ ...inputOf(0.0395, { perDay: 650 }), runnerUpFloor: 0.1 })!, days)
  })

  it("decrease with a larger difference and with more traffic", () => {
    const differences = fc.double({ min: 0.034, max: 0.06, noNaN: true })
    fc.assert(fc.property(differences, differences, (one, other) => {
      const [small, large] = [Math.min(one, other), Math.max(one, other)].map((rate) => daysOf(inputOf(rate)))
      if (small !== undefined && large !== undefined) assert.isAtMost(large, small)
    }))
    const slower = inputOf(0.038, { perDay: 650 })
    const recent = slower.points.map((point, day) => ({
      ...point,
      variants: point.variants.map((one) => ({
        ...one,
        decisions: one.decisions * (day < 3 ? 0.25 : 1.32),
        value: one.value * (day < 3 ? 0.25 : 1.32),
      })),
    }))
    assert.isBelow(daysOf({ ...slower, points: recent })!, daysOf(slower)!)
  })

  it("cover at least the remaining minimum days of data", () => {
    assert.strictEqual(daysOf(inputOf(0.06, { days: 3, perDay: 4000 })), 4)
  })

  it("increase if the runner-up receives little traffic", () => {
    const input = inputOf(0.0395, { perDay: 650 })
    const starved = {
      ...input,
      points: input.points.map((point, day) => ({
        ...point,
        variants: point.variants.map((one) =>
          one.copy_id === "b" && day >= 3 ? { ...one, decisions: 2, value: 0.06 } : one
        ),
      })),
    }
    assert.deepStrictEqual(outlookOf(starved), { kind: "long" })
  })

  it("account for each other variant, not only for the runner-up", () => {
    const input = inputOf(0.05, { perDay: 4000, share: 0.6 })
    assert.strictEqual(daysOf(input), 1)
    const points = input.points.map((point) => {
      const [, b] = point.variants
      return { ...point, variants: [...point.variants, { ...b!, copy_id: "c", decisions: 10, value: 0.4 }] }
    })
    const third = { ...input, points, variants: [...input.variants, countedOf("c", 100)] }
    assert.deepStrictEqual(outlookOf(third), { kind: "long" })
    const stopped = { ...third.variants[2]!, status: "stopped" }
    assert.strictEqual(daysOf({ ...third, variants: [...input.variants, stopped] }), 1)
  })

  it("are absent if they would be a guess", () => {
    const good = inputOf(0.0395, { perDay: 650 })
    const absent: ReadonlyArray<readonly [string, OutlookInput]> = [
      ["a verdict", { ...good, winner: { ...good.winner, verdict: "winner" } }],
      ["no leader", { ...good, winner: { ...good.winner, leader: null } }],
      ["no runner-up", { ...good, winner: { ...good.winner, lift: null } }],
      ["a difference below one standard error", inputOf(0.0305)],
      ["few matured sends", { ...good, variants: good.variants.map((one) => ({ ...one, matured_sends: 49 })) }],
      ["a day of traffic", { ...good, points: good.points.slice(-1) }],
      ["revenue", { ...good, objective: { revenue: 1, revenue_cap: 100 } }],
      ["no traffic lately", { ...good, now: now + (outlookRule.trafficDays + 1) * day }],
    ]
    assert.isDefined(outlookOf(good))
    for (const [what, input] of absent) assert.isUndefined(outlookOf(input), what)
  })

  it("stay within their limits for any input", () => {
    fc.assert(fc.property(
      fc.double({ min: 0.03, max: 0.5, noNaN: true }),
      fc.integer({ min: 1, max: 90 }),
      fc.integer({ min: 1, max: 100_000 }),
      fc.double({ min: 0.001, max: 0.999, noNaN: true }),
      (rate, days, perDay, share) => {
        const outlook = outlookOf(inputOf(rate, { days, perDay, share }))
        if (outlook?.kind !== "days") return
        assert.isTrue(Number.isInteger(outlook.days) && outlook.days >= 1 && outlook.days <= outlookRule.mostDays)
      },
    ))
  })
})
