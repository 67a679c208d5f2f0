import { assert, describe, it } from "@effect/vitest"
import { dayMillis } from "../../src/bandit/Window.ts"
import { contextsOf } from "../../src/bandit/Contexts.ts"
import { type ComparedSegment, compareSegments, type DayCount } from "../../src/results/SegmentComparison.ts"
import { Product } from "../../src/simulation/Product.ts"
import { run } from "../../src/simulation/Run.ts"
import { armIds, makeWorld, worldStart } from "../../src/simulation/World.ts"

// Whether the intervals of the segment explorer hold, under the adaptive allocation of the product.

interface Plan {
  readonly name: string
  readonly variants: number
  /** Standard deviations of log rates: of variants, of variants by value of one attribute, and by pair of values. */
  readonly variantSd: number
  readonly valueSd: number
  readonly pairSd: number
}

const days = 14
const attributes = ["tier", "device"]

const worldOf = ({ name, pairSd, valueSd, variants, variantSd }: Plan, seed: number) =>
  makeWorld({
    name,
    seed,
    days,
    sends: days * 600,
    arms: armIds(variants),
    attributes: [
      { name: "tier", values: [["free", 0.5], ["pro", 0.3], ["team", 0.2]] },
      { name: "device", values: [["mobile", 0.65], ["desktop", 0.35]] },
    ],
    delay: { medianHours: 5, sigma: 1.6 },
    logRates: ({ normal }) => {
      const draw = (count: number, sd: number) => Array.from({ length: count }, () => sd * normal())
      const own = draw(variants, variantSd)
      const byTier = draw(variants * 3, valueSd)
      const byDevice = draw(variants * 2, valueSd)
      const byPair = draw(variants * 6, pairSd)
      return {
        byValues: ([tier = 0, device = 0], arm) =>
          Math.log(0.05) + own[arm]! + byTier[3 * arm + tier]! + byDevice[2 * arm + device]! +
          byPair[6 * arm + 2 * tier + device]!,
        byDay: () => 0,
      }
    },
  })

/** A shown difference with the true one. */
interface Checked extends NonNullable<ComparedSegment["comparison"]> {
  readonly truth: number
}

/** Runs the product, and compares the first variant with each of the others in every segment, a list for each pair. */
const comparisons = (plan: Plan, seed: number): ReadonlyArray<ReadonlyArray<Checked>> => {
  const world = worldOf(plan, seed)
  const rates = new Float64Array(world.arms.length)
  const truths = new Map<string, Float64Array>()
  let learner: Product | undefined
  const keyOf = (values: ReadonlyArray<string | undefined>) => values.join(" ")
  run(
    world,
    { name: "adaptive", make: (options) => learner = new Product(options, { refitHours: 24, verdicts: false }) },
    seed,
    (decision) => {
      const { attrs } = world.requests[world.requestOf[decision]!]!
      const key = keyOf(attributes.map((name) => attrs.get(name)?.[0]))
      if (truths.has(key)) return
      world.rates(decision, rates)
      truths.set(key, rates.slice())
    },
  )
  const end = worldStart + days * dayMillis
  const { counts, model } = learner!.knowledge(0, end)
  const rows = counts.series().flatMap(({ clicks, context, sends, starts, variant }) =>
    starts.flatMap((start, i): ReadonlyArray<DayCount> =>
      start > end - 4 * dayMillis ? [] : [{
        day: Math.floor(start / dayMillis),
        copyId: variant,
        context,
        trials: sends[i]!,
        outcomes: clicks[i]!,
      }]
    )
  )
  const [first, ...others] = world.arms
  return others.map((against, other) =>
    compareSegments(contextsOf(model.scheme), { attributes, variant: first!, against }, rows).flatMap((one) => {
      if (one.comparison === null) return []
      const truth = truths.get(keyOf(attributes.map((name) => one.segment[name])))!
      return [{ ...one.comparison, truth: truth[0]! - truth[other + 1]! }]
    })
  )
}

const covers = ({ interval: [low, high], truth }: Checked) => low <= truth && truth <= high

/** The tables of several runs, one for each pair. */
const tablesOf = (plan: Plan, runs: number) => Array.from({ length: runs }, (_, n) => comparisons(plan, 1 + n)).flat()

const coverage = (all: ReadonlyArray<Checked>) => all.filter(covers).length / all.length

describe("the segment explorer under adaptive allocation", () => {
  it("has intervals that contain the true differences of variants by attribute and by pair", () => {
    const tables = tablesOf({ name: "usual", variants: 4, variantSd: 0.2, valueSd: 0.15, pairSd: 0.1 }, 30)
    assert.isAbove(tables.flat().length, 80)
    assert.isAtLeast(coverage(tables.flat()), 0.93)
    const wrong = tables.flat().filter(({ difference, clear, truth }) => clear && difference * truth < 0)
    assert.isAtMost(wrong.length, 1)
  }, 240_000)

  it("has intervals that contain strong differences", () => {
    const tables = tablesOf({ name: "strong", variants: 4, variantSd: 0.25, valueSd: 0.3, pairSd: 0 }, 6)
    assert.isAtLeast(coverage(tables.flat()), 0.93)
  }, 240_000)

  it("has intervals that contain zero for equal variants, and rarely calls a difference clear", () => {
    const tables = tablesOf({ name: "equal", variants: 4, variantSd: 0, valueSd: 0, pairSd: 0 }, 14)
    assert.isAtLeast(coverage(tables.flat()), 0.93)
    const withClear = tables.filter((table) => table.some(({ clear }) => clear))
    assert.isAtMost(withClear.length / tables.length, 0.1)
  }, 240_000)
})
