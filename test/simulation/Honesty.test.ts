import { assert, describe, it } from "@effect/vitest"
import { componentRun } from "../../bench/simulation/ComponentHonesty.ts"
import { coverage, type HonestyRun, honestyRun } from "../../bench/simulation/Honesty.ts"
import { meanValue } from "../../bench/simulation/ConversionValues.ts"
import type { HonestyWorld } from "../../bench/simulation/HonestyWorld.ts"

// `deno task bench honesty` with fewer and shorter runs.

const runsOf = (setting: HonestyWorld, count: number): ReadonlyArray<HonestyRun> =>
  Array.from({ length: count }, (_, i) => honestyRun(setting, 1 + i, { refitHours: 24 }))

const won = ({ looks }: HonestyRun) => looks.some(({ winner }) => winner !== null)

describe("figures in results", () => {
  it("show no gain and no winner for identical variants", () => {
    const runs = runsOf(
      { name: "identical", variants: 3, decisionsPerDay: 500, days: 14, rate: 0.03, sd: 0 },
      12,
    )
    assert.isAtLeast(coverage(runs.flatMap(({ gain }) => gain === null ? [] : [gain])), 0.9)
    assert.isAtLeast(coverage(runs.flatMap(({ rates }) => rates)), 0.9)
    assert.isAtMost(runs.filter(won).length, 2)
    assert.isTrue(runs.every(({ looks }) => looks.every(({ verdict }) => verdict !== "firm_winner")))
  }, 60_000)

  it("have intervals that contain the rates of variants with log-normal revenue", () => {
    const values = { median: 40, sigma: 1, cap: 300, sd: 0.25 }
    const runs = runsOf(
      { name: "revenue", variants: 3, decisionsPerDay: 500, days: 14, rate: 0.03, sd: 0.1, values },
      15,
    )
    const rates = runs.flatMap(({ rates }) => rates)
    assert.isAtLeast(coverage(rates), 0.9)
    assert.isAtLeast(coverage(runs.flatMap(({ seriesRates }) => seriesRates)), 0.9)
    // Capped values: the mean is below the mean of the log-normal law, and the rates are in units of currency.
    assert.closeTo(meanValue(40, { sigma: 1, cap: 1e9 }), 40 * Math.exp(0.5), 1e-6)
    assert.isBelow(meanValue(40, values), 40 * Math.exp(0.5))
    assert.isTrue(rates.every(({ shown }) => shown > 0.5 && shown < 6))
  }, 60_000)

  it(
    "answer that different people prefer different variants only where they do, with gains that contain the true ones",
    () => {
      const world = { variants: 2, decisionsPerDay: 1000, days: 9, rate: 0.15, sd: 0, segmentSd: 0 }
      const of = (more: Partial<HonestyWorld>) =>
        Array.from(
          { length: 3 },
          (_, i) => honestyRun({ ...world, name: "answers", ...more }, 1 + i, { answers: true, refitHours: 24 }),
        )
      const divided = of({ fans: Math.log(1.8) })
      const alike = [...of({}), ...of({ lift: 0.4 })]
      const answersOf = (runs: typeof alike) => runs.map(({ looks }) => looks.flatMap(({ answer }) => answer ?? []))
      assert.isTrue(answersOf(divided).every((answers) => answers.at(-1) === "different_people"))
      assert.isTrue(answersOf(alike).flat().every((answer) => answer !== "different_people"))
      for (const runs of [divided, alike]) {
        assert.isAtLeast(coverage(runs.flatMap(({ gainOverBest }) => gainOverBest ?? [])), 2 / 3)
        assert.isAtLeast(coverage(runs.flatMap(({ shipping }) => shipping)), 2 / 3)
      }
      assert.isTrue(divided.every(({ gainOverBest }) => gainOverBest!.interval[0] > 0))
    },
    60_000,
  )

  it("have intervals that contain the effects of components and the variants' rates", () => {
    const setting = { name: "components", days: 8, decisionsPerDay: 1000, effects: 0.15, variants: 0.05 }
    const runs = Array.from({ length: 5 }, (_, i) => componentRun(setting, 1 + i, 24))
    assert.strictEqual(runs[0]!.effects.length, 8)
    assert.isAtLeast(coverage(runs.flatMap(({ effects }) => effects)), 0.9)
    assert.isAtLeast(coverage(runs.flatMap(({ rates }) => rates)), 0.9)
  }, 60_000)

  it(
    "have intervals that contain the rates at the average exposure if people tire of variants, and no winner of equal ones",
    () => {
      const runs = runsOf(
        {
          name: "tiring",
          variants: 2,
          decisionsPerDay: 1000,
          days: 14,
          rate: 0.03,
          sd: 0,
          fatigue: { people: 1000, effects: [0, -0.3, -0.6, -1] },
        },
        6,
      )
      const rates = runs.flatMap(({ rates }) => rates)
      for (const { truth } of rates) {
        assert.isTrue(
          truth > 0.03 * Math.exp(-1) && truth < 0.03 * Math.exp(-0.3),
          `${truth}`,
        )
      }
      assert.isAtLeast(coverage(rates), 0.9)
      assert.isAtMost(runs.filter(won).length, 1)
    },
    60_000,
  )

  it("have intervals that contain the rates of each value and the gain if variants differ by an attribute", () => {
    const runs = runsOf(
      { name: "segments", variants: 4, decisionsPerDay: 2000, days: 14, rate: 0.03, sd: 0.1, segmentSd: 0.3 },
      6,
    )
    const values = runs.flatMap(({ segmentRates }) => segmentRates)
    assert.strictEqual(values.length, 6 * 4 * 3)
    // With one estimate of the spread it is 86 %.
    assert.isAtLeast(coverage(values), 0.9)
    assert.isAtLeast(coverage(runs.flatMap(({ rates }) => rates)), 0.9)
    assert.isAtLeast(coverage(runs.flatMap(({ gain }) => gain === null ? [] : [gain])), 0.85)
  }, 120_000)

  it("have intervals that contain the rates, lift and gain of a better variant that people tire of", () => {
    const runs = runsOf(
      {
        name: "tiring of the better",
        variants: 2,
        decisionsPerDay: 2500,
        days: 21,
        rate: 0.03,
        sd: 0,
        lift: 0.3,
        fatigue: { people: 3000, effects: [0, -0.5, -1, -1.5] },
      },
      20,
    )
    assert.isTrue(runs.every(({ usesFatigue }) => usesFatigue))
    assert.isAtLeast(coverage(runs.flatMap(({ rates }) => rates)), 0.9)
    assert.isAtLeast(coverage(runs.flatMap(({ gain }) => gain === null ? [] : [gain])), 0.8)
    const lifts = runs.flatMap(({ lift }) => lift === null ? [] : [lift])
    assert.isAtLeast(coverage(lifts), 0.8)
    // With effects that are drawn to 0 it is 0.12. Five runs differ by 0.05 from the mean of many.
    assert.isAbove(lifts.reduce((sum, { shown }) => sum + shown, 0) / lifts.length, 0.18)
  }, 180_000)

  it("have correct intervals and no winner for identical variants with heavy users", () => {
    const crowd = { people: 500 * 21 / 2, heavy: 0.5, keenness: 0.5, taste: 1.5 }
    const runs = runsOf({ name: "crowd", variants: 2, decisionsPerDay: 500, days: 21, rate: 0.03, sd: 0, crowd }, 10)
    const rates = runs.flatMap(({ rates }) => rates)
    // With every decision on its own it is 70 %.
    assert.isAtLeast(coverage(rates), 0.85)
    for (const { truth } of rates) assert.closeTo(truth, 0.03, 1e-12)
    assert.isAtMost(runs.filter(won).length, 1)
  }, 120_000)

  it("equal the figures of runs without people if each person gets one message", () => {
    const setting = { name: "singles", variants: 2, decisionsPerDay: 100, days: 10, rate: 0.03, sd: 0, lift: 0.3 }
    const crowd = { people: 50_000, heavy: 0, keenness: 0, taste: 0 }
    const asPeople = honestyRun({ ...setting, crowd }, 1, { refitHours: 24 })
    const alone = honestyRun({ ...setting, crowd }, 1, { refitHours: 24, without: ["people"] })
    assert.deepStrictEqual(asPeople, alone)
  }, 60_000)

  it("show the gain and the lasting win of a better variant", () => {
    const runs = runsOf(
      { name: "lift", variants: 2, decisionsPerDay: 1000, days: 21, rate: 0.03, sd: 0, lift: 0.6 },
      24,
    )
    assert.isAtLeast(runs.filter(won).length, 16)
    assert.isAtLeast(coverage(runs.flatMap(({ gain }) => gain === null ? [] : [gain])), 0.9)
    for (const { best, looks } of runs) {
      const first = looks.findIndex(({ winner }) => winner !== null)
      if (first >= 0) assert.isTrue(looks.slice(first).every(({ winner }) => winner !== null && best.has(winner)))
    }
  }, 60_000)
})
