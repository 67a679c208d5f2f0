import { assert, describe, it } from "@effect/vitest"
import { gainOver, type StretchCount, stretchFactors } from "../../src/results/Gain.ts"
import { SegmentRates } from "../../src/results/SegmentRates.ts"
import { cell, model } from "./Samples.ts"

// The model's first variant is better for free users, the second for paying users.
const segments = [cell("free", "morning"), cell("pro", "morning")]
const rates = new SegmentRates(model, ["a", "b"], segments)

/** Decisions by stretch, segment and variant, with the outcomes that the model expects, times `day` of the stretch. */
const countsOf = (
  trials: (stretch: number, segment: number, variant: number) => number,
  day: (stretch: number) => number = () => 1,
): ReadonlyArray<StretchCount> =>
  Array.from({ length: 10 }, (_, stretch) =>
    [0, 1].flatMap((segment) =>
      [0, 1].map((variant) => {
        const n = trials(stretch, segment, variant)
        const value = n * rates.of(variant, segment) * day(stretch)
        return { stretch, segment, variant, trials: n, exposure: n, value, square: value }
      })
    )).flat()

const gainOf = (counts: ReadonlyArray<StretchCount>) => {
  const factors = stretchFactors(counts, 10, rates)
  return gainOver(
    counts,
    factors,
    { variants: 2, segments: 2 },
    rates,
    () => true,
    () => true,
  )
}

describe("The gain over an even choice", () => {
  it("is zero for even choices, with any variation of days", () => {
    for (const { gained, interval } of gainOf(countsOf(() => 500, (stretch) => 1 + stretch))) {
      assert.approximately(gained, 0, 1e-9)
      assert.deepStrictEqual(interval.map(Math.abs), [0, 0])
    }
  })

  it("is what choosing the better variant of each segment brought, and grows with every stretch", () => {
    const gains = gainOf(countsOf((_, segment, variant) => segment === variant ? 1000 : 0))
    const each = [0, 1].reduce(
      (sum, segment) => sum + 1000 * (rates.of(segment, segment) - rates.of(1 - segment, segment)) / 2,
      0,
    )
    gains.forEach(({ even, gained, interval: [low, high] }, stretch) => {
      assert.approximately(gained, each * (stretch + 1), each * 0.02 * (stretch + 1))
      assert.isTrue(low < gained && gained < high && even > 0)
    })
    assert.isAbove(gains.at(-1)!.interval[0], 0, "so many decisions leave no doubt")
  })

  it("is a loss where the worse variant was chosen", () => {
    const gain = gainOf(countsOf((_, segment, variant) => segment === variant ? 0 : 1000)).at(-1)!
    assert.isBelow(gain.interval[1], 0)
  })

  it("does not take better days for a gain of what was shown on them", () => {
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

  it("is nothing without decisions", () => {
    assert.deepStrictEqual(gainOf([]).at(-1), { gained: 0, interval: [0, 0], even: 0 })
  })
})
