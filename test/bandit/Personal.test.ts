import { assert, describe, it } from "@effect/vitest"
import { personalPlaces, personalReport } from "../../src/bandit/Personal.ts"
import { drawPlaces } from "../../src/bandit/Winner.ts"
import { seededNormal } from "../../src/bandit/SeededNormal.ts"
import { model } from "../results/Samples.ts"

const rates = (...draws: ReadonlyArray<number>) => Float64Array.from(draws)

describe("personalReport", () => {
  it("compares the choices with the best variant of each draw, and bounds the gain from above by the best on average", () => {
    // Two draws: a is the best single variant in the first, b in the second. a is best on average.
    const single = [rates(0.1, 0.08), rates(0.06, 0.1)]
    const found = personalReport(["a", "b"], new Set(["a", "b"]), [
      [rates(0.08, 0.02), rates(0.04, 0.07)],
      single,
      [rates(0.05, 0.04), rates(0.03, 0.05)],
    ])
    // Choices: 0.12 and 0.09.
    assert.strictEqual(found.probability, 0.5)
    assert.closeTo(found.overBest.difference, (0.02 - 0.01) / 2, 1e-12)
    assert.closeTo(found.overBest.differenceInterval[0], -0.01 + 0.025 * 0.03, 1e-12)
    assert.closeTo(found.overBest.differenceInterval[1], 0.01 + 0.975 * 0.01, 1e-12)
    assert.deepStrictEqual(found.over.map(({ id }) => id), ["a", "b"])
    assert.closeTo(found.over[1]!.difference, (0.06 - 0.01) / 2, 1e-12)
  })
})

describe("the gain over a random split", () => {
  const gainOf = (mean: number) => {
    const normal = seededNormal(1)
    const lifts = Array.from({ length: 1000 }, () => mean + 0.05 * normal())
    const half = Float64Array.from(lifts, () => 0.05)
    const none = new Float64Array(1000)
    return personalReport(["a", "b"], new Set(["a", "b"]), [
      [Float64Array.from(lifts, (lift) => 0.1 * (1 + lift)), none],
      [half, half],
      [half, half],
    ]).overSplit
  }

  it("is the mean of the draws if it is certain", () => {
    const { interval, value } = gainOf(0.3)
    assert.closeTo(value, 0.3, 0.005)
    assert.closeTo(interval[0], 0.2, 0.01)
  })

  it("may be 0 if equal variants could have brought it", () => {
    const { difference, interval, value } = gainOf(0.09)
    assert.strictEqual(interval[0], 0)
    assert.isBelow(value, 0.075)
    assert.isBelow(difference, 0.0075)
    assert.isBelow(gainOf(0.01).value, 0.005)
  })
})

describe("personalPlaces", () => {
  const traffic = [{ cell: "plan=free", sends: 300 }, { cell: "plan=pro", sends: 100 }]
  const draw = (choices: Parameters<typeof personalPlaces>[0]["choices"]) =>
    drawPlaces([model], ["a", "b"], seededNormal(1), [
      ...personalPlaces({ traffic, choices }, 50),
      ...traffic.map((one) => ({ traffic: [one], draws: 50 })),
    ])

  it("weights the rate in each context by the choices, eligibility and a random split", () => {
    const [choice, single, split, free, pro] = draw([
      { ids: ["a", "b"], weights: [0.9, 0.1] },
      { ids: ["b"], weights: [1] },
    ])
    for (const d of [0, 1, 49]) {
      const [a, b] = [[free![0]![d]!, pro![0]![d]!], [free![1]![d]!, pro![1]![d]!]] as const
      assert.closeTo(choice![0]![d]!, 0.75 * 0.9 * a[0]!, 1e-12)
      assert.closeTo(choice![1]![d]!, 0.75 * 0.1 * b[0]! + 0.25 * b[1]!, 1e-12)
      assert.closeTo(single![0]![d]!, 0.75 * a[0]!, 1e-12)
      assert.closeTo(single![1]![d]!, 0.75 * b[0]! + 0.25 * b[1]!, 1e-12)
      assert.closeTo(split![1]![d]!, 0.75 * 0.5 * b[0]! + 0.25 * b[1]!, 1e-12)
    }
  })

  it("leaves a variant that is never eligible without value", () => {
    const [choice, single] = draw(traffic.map(() => ({ ids: ["b"], weights: [1] })))
    assert.isTrue([...choice![0]!, ...single![0]!].every((rate) => rate === 0))
  })
})
