import { assert, describe, it } from "@effect/vitest"
import { gainOver, type StretchCount, stretchFactors } from "../../src/results/Gain.ts"
import { ContextRates } from "../../src/results/ContextRates.ts"
import { contextOf, model } from "./Samples.ts"

// The model's first variant is better for free users, the second for paying users.
const contexts = [contextOf("free", "morning"), contextOf("pro", "morning")]
const rates = new ContextRates(model, ["a", "b"], contexts)

/** Decisions by stretch, context and variant, with the outcomes that the model expects, times `day` of the stretch. */
const countsOf = (
  trials: (stretch: number, context: number, variant: number) => number,
  day: (stretch: number) => number = () => 1,
): ReadonlyArray<StretchCount> =>
  Array.from({ length: 10 }, (_, stretch) =>
    [0, 1].flatMap((context) =>
      [0, 1].map((variant) => {
        const n = trials(stretch, context, variant)
        const value = n * rates.of(variant, context) * day(stretch)
        return { stretch, context, variant, trials: n, exposure: n, value, square: value }
      })
    )).flat()

const gainOf = (counts: ReadonlyArray<StretchCount>) => {
  const factors = stretchFactors(counts, 10, rates)
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
    for (const { gained, interval } of gainOf(countsOf(() => 500, (stretch) => 1 + stretch))) {
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
    gains.forEach(({ even, gained, interval: [low, high] }, stretch) => {
      assert.approximately(gained, each * (stretch + 1), each * 0.02 * (stretch + 1))
      assert.isTrue(low < gained && gained < high && even > 0)
    })
    assert.isAbove(gains.at(-1)!.interval[0], 0, "so many decisions leave no doubt")
  })

  it("is negative if the worse variant was chosen", () => {
    const gain = gainOf(countsOf((_, context, variant) => context === variant ? 0 : 1000)).at(-1)!
    assert.isBelow(gain.interval[1], 0)
  })

  it("does not count better days as a gain of the variants shown on them", () => {
    const steady = gainOf(countsOf((stretch, _, variant) => variant === 0 ? 100 + 90 * stretch : 1000 - 90 * stretch))
    const rising = gainOf(
      countsOf(
        (stretch, _, variant) => variant === 0 ? 100 + 90 * stretch : 1000 - 90 * stretch,
        (stretch) => 1 + stretch / 5,
      ),
    )
    const share = ({ even, gained }: typeof steady[0]) => gained / even
    assert.approximately(share(rising.at(-1)!), share(steady.at(-1)!), 0.03)
  })

  it("is zero without decisions", () => {
    assert.deepStrictEqual(gainOf([]).at(-1), { gained: 0, interval: [0, 0], even: 0 })
  })
})
