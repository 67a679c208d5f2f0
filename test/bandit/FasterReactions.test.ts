import { assert, describe, it } from "@effect/vitest"
import { singleOutcome, type Valuation } from "../../src/bandit/Counts.ts"
import { curveAt } from "../../src/bandit/Maturity.ts"
import { type ModelSnapshot, possibleInterval, priorModel } from "../../src/bandit/Model.ts"
import { organizationPriors } from "../../src/bandit/Priors.ts"
import { type FasterWorld, reportOn } from "./fasterWorld.ts"

const world: FasterWorld = {
  seed: 1,
  variants: 2,
  speed: 100,
  only: false,
  rate: 0.3,
  slowDays: 21,
  decisionsPerDay: 20,
  fastHours: 3,
  decisionsPerHour: 300,
  valuation: singleOutcome,
  amounts: () => [1],
}

const launches: ReadonlyArray<Partial<FasterWorld>> = [
  { slowDays: 21, decisionsPerDay: 200, fastHours: 2, decisionsPerHour: 100 },
  { slowDays: 21, decisionsPerDay: 20, fastHours: 3, decisionsPerHour: 300 },
  { slowDays: 10, decisionsPerDay: 100, fastHours: 6, decisionsPerHour: 500 },
  { slowDays: 28, decisionsPerDay: 50, fastHours: 24, decisionsPerHour: 500 },
]

/** Checks rates, intervals and shares of all variants, and returns how many intervals hold `truth`. */
const held = ({ variants }: ReturnType<typeof reportOn>, truth: number, most: number, factor: number): number => {
  let holding = 0
  let shares = 0
  for (const { interval: [low, high], rate, share } of variants) {
    assert.isAtLeast(rate, truth / factor)
    assert.isAtMost(rate, truth * factor)
    assert.isAtMost(high, most)
    assert.isBelow(low, high)
    assert.isAtMost(share, 1)
    shares += share
    if (low <= truth && truth <= high) holding++
  }
  assert.approximately(shares, 1, 1e-9)
  return holding
}

const settings = [10, 100].flatMap((speed) =>
  [1, 5, 20].flatMap((variants) =>
    (variants === 1 ? [false] : [false, true]).map((only) => [speed, variants, only] as const)
  )
)

describe("a template whose people react faster than before", () => {
  it.each(settings)(
    "keeps the rates possible: %s times faster, %s variants (only one of them faster: %s)",
    (speed, variants, only) => {
      let holding = 0
      let all = 0
      for (const launch of launches) {
        for (const rate of [0.05, 0.3]) {
          // Before, rates rose to three times the true one.
          const reported = reportOn({ ...world, ...launch, speed, variants, only, rate, seed: variants + speed })
          holding += held(reported, rate, 1, rate < 0.1 ? 2.2 : 1.6)
          all += variants
        }
      }
      // Intervals of a template whose people stay as they are hold the truth as often here: they are about an average
      // day.
      if (variants >= 5) assert.isAtLeast(holding / all, 0.6)
    },
  )

  it("uses the faster curve for recent decisions and the former curve for older ones", () => {
    const { followed } = reportOn({ ...world, variants: 1, decisionsPerDay: 200, decisionsPerHour: 500 })
    assert.isAbove(curveAt(followed.curve, 1), 0.9)
    assert.isBelow(curveAt(followed.earlier!.curve, 1), 0.1)
    assert.approximately(curveAt(followed.earlier!.curve, 8), 0.5, 0.08)
  })

  it("assigns one faster variant a curve of its own", () => {
    const { followed, variants } = reportOn({ ...world, only: true, decisionsPerDay: 200, decisionsPerHour: 500 })
    assert.isAbove(curveAt(followed.curves.get("v0")!, 1), 0.9)
    assert.isBelow(curveAt(followed.curves.get("v1")!, 1), 0.15)
    assert.isBelow(variants[0]!.rate, 0.36)
  })

  it("estimates rates by revenue and with negative outcomes correctly", () => {
    const revenue: Valuation = { values: [1, 0], squares: [0, 1], mostPerSend: 100, firstWorth: 100 }
    const orders = reportOn({
      ...world,
      valuation: revenue,
      amounts: (uniform) => {
        const value = 20 + 40 * uniform()
        return [value, value ** 2]
      },
    })
    held(orders, 0.3 * 40, 100, 1.6)
    // Each tenth outcome is a complaint, which subtracts the value of two clicks.
    const costs: Valuation = { values: [1, -2], squares: [1, 4], mostPerSend: 1, firstWorth: 1 }
    const complaints = reportOn({
      ...world,
      valuation: costs,
      amounts: (uniform) => uniform() < 0.9 ? [1, 0] : [0, 1],
    })
    held(complaints, 0.3 * 0.7, 1, 1.6)
  })
})

describe("a template whose people react at a constant speed", () => {
  it.each([1, 0.2])("keeps its curve at %s times the usual speed", (speed) => {
    for (const launch of launches.slice(0, 3)) {
      for (const seed of [1, 2, 3]) {
        const { followed } = reportOn({ ...world, ...launch, variants: 3, speed, seed })
        assert.isUndefined(followed.earlier)
      }
    }
  })
})

describe("an interval that exceeds the possible rates", () => {
  const model: ModelSnapshot = {
    ...priorModel({
      version: "t:1",
      now: 0,
      window: { mode: "adaptive", halfLifeDays: 14 },
      scheme: { keys: [] },
      organization: organizationPriors(new Map(), "t"),
    }),
    mostPerSend: 1,
  }
  const variant = { id: "a", beta: [0], covariance: [1], sends: 96, maturedSends: 2, effectiveSends: 2, clicks: 20 }

  it("starts at the observed outcomes", () => {
    assert.deepStrictEqual(possibleInterval(model, variant, [3, 9]), [0.2, 1])
    assert.deepStrictEqual(possibleInterval(model, undefined, [3, 9]), [0, 1])
    assert.deepStrictEqual(possibleInterval(model, { ...variant, sends: 5, clicks: 5 }, [1, 9]), [5 / 9, 1])
  })

  it("is cut at the largest possible rate if it starts below that rate", () => {
    assert.deepStrictEqual(possibleInterval(model, variant, [0.5, 9]), [0.5, 1])
    assert.deepStrictEqual(possibleInterval(model, variant, [0.1, 0.2]), [0.1, 0.2])
  })
})
