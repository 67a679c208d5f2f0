import { assert, describe, it } from "@effect/vitest"
import { chiSquareTail, equalSharesProbability, sampleRatioProbability } from "../../src/results/SampleRatio.ts"
import { seeded } from "../support/load.ts"

/** Choices between variants whose probabilities follow the outcomes so far, as a bandit's do. */
const adaptiveChoices = (decisions: number, variants: number, random: () => number, lostShare = 0) => {
  const rates = Array.from({ length: variants }, () => 0.05)
  const sends = new Array<number>(variants).fill(1)
  const clicks = new Array<number>(variants).fill(0.05)
  const counts = rates.map((_, v) => ({ copyId: `v${v}`, observed: 0, expected: 0, variance: 0 }))
  for (let n = 0; n < decisions; n++) {
    const powers = rates.map((_, v) => (clicks[v]! / sends[v]!) ** 3 + 1e-6)
    const sum = powers.reduce((a, b) => a + b, 0)
    let u = random()
    let chosen = variants - 1
    for (let v = 0; v < variants; v++) {
      u -= powers[v]! / sum
      if (u < 0) {
        chosen = v
        break
      }
    }
    sends[chosen]! += 1
    if (random() < rates[chosen]!) clicks[chosen]! += 1
    // Decisions of the first variant are lost more often than others.
    if (chosen === 0 && random() < lostShare) continue
    counts.forEach((count, v) => {
      const p = powers[v]! / sum
      count.expected += p
      count.variance += p * (1 - p)
      if (v === chosen) count.observed++
    })
  }
  return counts
}

describe("chiSquareTail", () => {
  // Critical values of statistical tables.
  it.each([
    [3.841459, 1, 0.05],
    [10.827566, 1, 0.001],
    [5.991465, 2, 0.05],
    [18.307038, 10, 0.05],
    [29.588298, 10, 0.001],
    [124.342113, 100, 0.05],
    [0.454936, 1, 0.5],
  ])(
    "of %f with %i degrees of freedom is %f",
    (x, freedom, tail) => assert.closeTo(chiSquareTail(x, freedom), tail, 1e-6),
  )
})

describe("sampleRatioProbability", () => {
  it("is below 0.001 in at most 0.3 % of runs whose choices follow their probabilities", () => {
    const random = seeded(7)
    const runs = 2_000
    let alarms = 0
    for (let run = 0; run < runs; run++) {
      if (sampleRatioProbability(adaptiveChoices(1_000, 2 + run % 4, random)) < 0.001) alarms++
    }
    assert.isAtMost(alarms, 0.003 * runs)
  })

  it("is below 0.001 if two fifths of one variant's decisions are lost", () => {
    const random = seeded(8)
    const runs = 200
    let alarms = 0
    for (let run = 0; run < runs; run++) {
      if (sampleRatioProbability(adaptiveChoices(5_000, 3, random, 0.4)) < 0.001) alarms++
    }
    assert.isAtLeast(alarms, 0.8 * runs)
  })

  it("is 1 with too few choices", () =>
    assert.strictEqual(
      sampleRatioProbability([
        { copyId: "a", observed: 9, expected: 5, variance: 2.5 },
        { copyId: "b", observed: 1, expected: 5, variance: 2.5 },
      ]),
      1,
    ))
})

describe("equalSharesProbability", () => {
  it("agrees with Pearson's test on a table of two groups", () =>
    // 90 of 100 against 75 of 100: chi-square 7.792 with one degree of freedom.
    assert.closeTo(equalSharesProbability([{ some: 90, all: 100 }, { some: 75, all: 100 }]), 0.00525, 1e-4))

  it("is 1 for one group", () => assert.strictEqual(equalSharesProbability([{ some: 9, all: 100 }]), 1))

  it("is 1 without any occurrences", () =>
    assert.strictEqual(equalSharesProbability([{ some: 0, all: 100 }, { some: 0, all: 50 }]), 1))
})
