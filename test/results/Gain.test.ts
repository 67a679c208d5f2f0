import { assert, describe, it } from "@effect/vitest"
import { gainOver, type PeriodCount, periodFactors } from "../../src/results/Gain.ts"
import { ContextRates } from "../../src/results/ContextRates.ts"
import { contextOf, model } from "./Samples.ts"

// The model's first variant is better for free users, the second for paying users.
const contexts = [contextOf("free", "morning"), contextOf("pro", "morning")]
const rates = new ContextRates(model, ["a", "b"], contexts)

/** Decisions by period, context and variant, with the outcomes that the model expects, times `day` of the period. */
const countsOf = (
  trials: (period: number, context: number, variant: number) => number,
  day: (period: number) => number = () => 1,
): ReadonlyArray<PeriodCount> =>
  Array.from({ length: 10 }, (_, period) =>
    [0, 1].flatMap((context) =>
      [0, 1].map((variant) => {
        const n = trials(period, context, variant)
        const value = n * rates.of(variant, context) * day(period)
        return { period, context, variant, trials: n, exposure: n, value, square: value }
      })
    )).flat()

const gainOf = (counts: ReadonlyArray<PeriodCount>) => {
  const factors = periodFactors(counts, 10, rates)
  return gainOver(
    counts,
    factors,
    { variants: 2, contexts: 2 },
    rates,
    () => true,
    () => true,
  )
}

describe("the gain over a random split", () => {
  it("is zero for random splits, with any variation between days", () => {
    for (const { gained, interval } of gainOf(countsOf(() => 500, (period) => 1 + period))) {
      assert.approximately(gained, 0, 1e-9)
      assert.deepStrictEqual(interval.map(Math.abs), [0, 0])
    }
  })

  it("equals the benefit of choosing the better variant in each context, and grows over time", () => {
    const gains = gainOf(countsOf((_, context, variant) => context === variant ? 1000 : 0))
    const each = [0, 1].reduce(
      (sum, context) => sum + 1000 * (rates.of(context, context) - rates.of(1 - context, context)) / 2,
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

  it("is zero without decisions", () => {
    assert.deepStrictEqual(gainOf([]).at(-1), { gained: 0, interval: [0, 0], even: 0 })
  })
})
