import { assert, describe, it } from "@effect/vitest"
import { dayMillis } from "../../src/bandit/Window.ts"
import { overTime, type PeriodCount } from "../../src/results/Gain.ts"
import { ContextRates } from "../../src/results/ContextRates.ts"
import { contextOf, model } from "./Samples.ts"

// The model's first variant is better for free users, the second for paying users.
const contexts = [contextOf("free", "morning"), contextOf("pro", "morning")]
const rates = new ContextRates(model, ["a", "b"], contexts)

/** The rates of both variants by context: relative to each other as in the model. */
const planted = [0.036, 0.044].map((mean, variant) => rates.relative(variant, [1, 1]).map((one) => mean * one))
const rateOf = (variant: number, context: number) => planted[variant]![context]!

/** Decisions by period, context and variant, with the outcomes that the model expects, times `day` of the period. */
const countsOf = (
  trials: (period: number, context: number, variant: number) => number,
  day: (period: number) => number = () => 1,
): ReadonlyArray<PeriodCount> =>
  Array.from({ length: 10 }, (_, period) =>
    [0, 1].flatMap((context) =>
      [0, 1].map((variant) => {
        const n = trials(period, context, variant)
        const value = n * rateOf(variant, context) * day(period)
        return { period, context, variant, trials: n, exposure: n, value, square: value }
      })
    )).flat()

const estimatesOf = (counts: ReadonlyArray<PeriodCount>, more: Partial<Parameters<typeof overTime>[0]> = {}) =>
  overTime({
    counts,
    starts: Array.from({ length: 10 }, (_, period) => period * dayMillis),
    contexts: 2,
    rates,
    centers: [0, 0],
    tau0: 0.2,
    independence: [1, 1],
    fatigue: [[], []],
    freshness: () => 1,
    runs: () => true,
    fits: () => true,
    concerns: () => true,
    traffic: [0.5, 0.5],
    began: () => true,
    ...more,
  })

const gainOf = (counts: ReadonlyArray<PeriodCount>, more: Partial<Parameters<typeof overTime>[0]> = {}) =>
  estimatesOf(counts, more).gains

describe("the gain over a random split", () => {
  it("is zero for random splits, with any variation between days", () => {
    for (const { gained, interval } of gainOf(countsOf(() => 500, (period) => 1 + period))) {
      assert.approximately(gained, 0, 1e-9)
      for (const end of interval) assert.approximately(end, 0, 1e-6)
    }
  })

  it("equals the benefit of choosing the better variant in each context, and grows over time", () => {
    const gains = gainOf(countsOf((_, context, variant) => context === variant ? 1000 : 0))
    const each = [0, 1].reduce(
      (sum, context) => sum + 1000 * (rateOf(context, context) - rateOf(1 - context, context)) / 2,
      0,
    )
    gains.forEach(({ even, gained, interval: [low, high] }, period) => {
      assert.approximately(gained, each * (period + 1), each * 0.02 * (period + 1))
      assert.isTrue(low < gained && gained < high && even > 0)
    })
    assert.isAbove(gains.at(-1)!.interval[0], 0, "so many decisions leave no doubt")
  })

  it("is negative if the worse variant was chosen", () => {
    const gain = gainOf(countsOf((_, context, variant) => context === variant ? 0 : 1000)).at(-1)!
    assert.isBelow(gain.interval[1], 0)
  })

  it("does not count better days as a gain of the variants shown on them", () => {
    const steady = gainOf(countsOf((period, _, variant) => variant === 0 ? 100 + 90 * period : 1000 - 90 * period))
    const rising = gainOf(
      countsOf(
        (period, _, variant) => variant === 0 ? 100 + 90 * period : 1000 - 90 * period,
        (period) => 1 + period / 5,
      ),
    )
    const share = ({ even, gained }: typeof steady[0]) => gained / even
    assert.approximately(share(rising.at(-1)!), share(steady.at(-1)!), 0.03)
  })

  it("judges past choices by the rates of their time", () => {
    // The rates of two variants cross. Over all days they are alike.
    const crossing = (period: number, variant: number) =>
      0.04 * Math.exp((variant === 0 ? 1 : -1) * 0.06 * (4.5 - period))
    const chosen = (better: number) =>
      Array.from({ length: 10 }, (_, period) =>
        [0, 1].map((variant) => {
          const trials = (period < 5) === (variant === 0) ? better : 4000 - better
          const value = trials * crossing(period, variant)
          return { period, context: 0, variant, trials, exposure: trials, value, square: value }
        })).flat()
    const { gained, interval: [low, high] } = gainOf(chosen(3000)).at(-1)!
    const truth = Array.from({ length: 10 }, (_, period) => 1000 * Math.abs(crossing(period, 0) - crossing(period, 1)))
      .reduce((sum, one) => sum + one, 0)
    assert.isTrue(low < truth && truth < high && low > 0, `${low} to ${high} without ${truth}`)
    assert.closeTo(gained, truth, 0.35 * truth)
  })

  it("compares variants as if people had seen each of them equally often", () => {
    // People respond half as often to the first variant, because they have seen it before.
    const counts = countsOf((_, __, variant) => variant === 0 ? 1500 : 500).map((one) => ({
      ...one,
      value: 30 * (one.variant === 0 ? 0.75 : 0.5),
      square: 30 * (one.variant === 0 ? 0.75 : 0.5),
    }))
    const aware = gainOf(counts, { freshness: (variant) => variant === 0 ? 0.5 : 1 }).at(-1)!
    const tired = { fatigue: [[0.2, -0.2], [-0.2, 0.2]], freshness: (variant: number) => variant === 0 ? 0.5 : 1 }
    assert.isBelow(gainOf(counts).at(-1)!.gained, 0)
    assert.isAbove(aware.gained, gainOf(counts).at(-1)!.gained + 50)
    const widthOf = ({ interval: [low, high] }: typeof aware) => high - low
    assert.isAbove(widthOf(gainOf(counts, tired).at(-1)!), widthOf(aware))
  })

  it("of all segments is the sum of the gains of each", () => {
    const counts = countsOf((_, context, variant) => context === variant ? 1000 : 300)
    const gained = [0, 1].map((segment) =>
      gainOf(counts, { concerns: (context) => context === segment }).at(-1)!.gained
    )
    assert.closeTo(gained[0]! + gained[1]!, gainOf(counts).at(-1)!.gained, 1e-9)
    assert.isAbove(Math.min(...gained), 0)
  })

  it("is zero without decisions", () => {
    assert.deepStrictEqual(gainOf([]).at(-1), { gained: 0, interval: [0, 0], even: 0 })
  })
})

describe("the rates of variants over time", () => {
  it("are the rates of all contexts, also of a variant that was shown in one of them", () => {
    // Both do exactly as the model says, in different contexts.
    const { rates: shown } = estimatesOf(countsOf((_, context, variant) => context === variant ? 4000 : 0))
    for (const period of shown) {
      period.forEach((one, variant) => {
        const everywhere = (rateOf(variant, 0) + rateOf(variant, 1)) / 2
        assert.closeTo(one!.rate / everywhere, 1, 0.06)
        assert.isTrue(one!.interval[0] < everywhere && everywhere < one!.interval[1])
      })
    }
  })

  it("follow a fall, are uncertain with few outcomes, and are null before the first decision", () => {
    const falling = (trials: number) =>
      estimatesOf(
        countsOf((_, __, variant) => variant === 1 ? trials : 4000).map((one) =>
          one.variant === 1 && one.period >= 5 ? { ...one, value: one.value / 3, square: one.value / 3 } : one
        ),
        { began: (variant, period) => variant === 0 || period > 0 },
      ).rates
    const many = falling(4000)
    const [before, after] = [many[1]![1]!, many.at(-1)![1]!]
    assert.isBelow(after.interval[1], before.interval[0])
    assert.isAbove(before.p_best, 0.99)
    assert.isBelow(after.p_best, 0.01)
    assert.closeTo(after.p_best + many.at(-1)![0]!.p_best, 1, 1e-9)
    const width = ({ interval: [low, high] }: typeof after) => Math.log(high / low)
    assert.isAbove(width(falling(40).at(-1)![1]!), 2 * width(after))
    assert.deepStrictEqual([many[0]![1], many[0]![0]!.p_best], [null, 1])
  })
})
