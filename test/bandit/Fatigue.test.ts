import { assert, describe, it } from "@effect/vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { Counts } from "../../src/bandit/Counts.ts"
import { expectedPerDecision } from "../../src/bandit/Expectation.ts"
import {
  casesAround,
  exposureClass,
  type FatigueCell,
  fatigueOf,
  learnFatigue,
  levelOf,
  wideEffects,
} from "../../src/bandit/Fatigue.ts"
import { earlierText, exposureEffects } from "../../src/results/ExposureEffects.ts"
import { fit } from "../../src/bandit/Fit.ts"
import { eligibleSet, Policy } from "../../src/bandit/Policy.ts"
import { defaultPriors } from "../../src/bandit/Priors.ts"
import { day, now, promptCurve } from "./Samples.ts"

const variants = ["a", "b", "c"]

/** Cells in which outcomes are `rate` of the expected, at the first eight levels. */
const cells = (
  expected: number,
  rate: (at: { readonly variant: string; readonly level: number; readonly seen: number }) => number,
): ReadonlyArray<FatigueCell> =>
  variants.flatMap((variant) =>
    Array.from(
      { length: 8 },
      (_, level) =>
        [0, 1, 2, 3].filter((seen) => seen === 0 || level >= [1, 1, 2, 4][seen]!).map((seen) => {
          const at = { variant, level, seen }
          return { ...at, expected, outcomes: Math.round(expected * rate(at)) }
        }),
    ).flat()
  )

describe("classes of exposure", () => {
  it("are 0, 1, 2 to 3, and 4 or more earlier decisions", () => {
    assert.deepStrictEqual([0, 1, 2, 3, 4, 5, 100].map(exposureClass), [0, 1, 2, 2, 3, 3, 3])
  })

  it("have 24 levels that increase with all earlier decisions of the template", () => {
    const found = Array.from({ length: 300 }, (_, total) => levelOf(total))
    assert.deepStrictEqual(found.slice(0, 9), [0, 1, 2, 3, 4, 5, 6, 7, 8])
    found.forEach((level, total) => assert.isAtLeast(level, found[total - 1] ?? 0))
    assert.deepStrictEqual([...new Set(found)], Array.from({ length: 24 }, (_, level) => level))
  })
})

describe("effects of earlier exposures", () => {
  it("are found if people tire of variants they have seen", () => {
    const effects = [0, -0.15, -0.4, -0.8]
    const learned = learnFatigue(cells(200, ({ seen }) => Math.exp(effects[seen]!)))
    assert.isAbove(learned.logOdds, 3)
    learned.effects.forEach((effect, seen) => assert.closeTo(effect, effects[seen]!, 0.1))
  })

  it("are independent of the unit of the expected value", () => {
    const tired = cells(200, ({ seen }) => [1, 0.9, 0.7, 0.5][seen]!)
    const once = learnFatigue(tired)
    const scaled = learnFatigue(tired.map((cell) => ({ ...cell, expected: cell.expected * 37 })))
    assert.closeTo(scaled.logOdds, once.logOdds, 1e-6)
    scaled.effects.forEach((effect, seen) => assert.closeTo(effect, once.effects[seen]!, 1e-6))
  })

  it("have no evidence if nothing differs, or if rates change with all messages of the template", () => {
    assert.isBelow(learnFatigue(cells(200, () => 1)).logOdds, 0)
    assert.isBelow(learnFatigue(cells(200, ({ level }) => 1 + level / 8)).logOdds, 0)
    assert.isBelow(learnFatigue(cells(200, ({ level }) => 1 - level / 12)).logOdds, 0)
    assert.isBelow(learnFatigue(cells(200, ({ variant }) => variant === "a" ? 1.3 : 0.9)).logOdds, 0)
  })

  it("have no evidence without outcomes or decisions", () => {
    assert.strictEqual(learnFatigue([]).logOdds, -Infinity)
    assert.strictEqual(learnFatigue(cells(200, () => 0)).logOdds, -Infinity)
    assert.isUndefined(fatigueOf({ cells: [], mixes: [] }, true))
  })

  it("are used from an evidence of 3 until it falls below 0", () => {
    const counts = { cells: cells(5, ({ seen }) => [1, 1, 0.7, 0.5][seen]!), mixes: [] }
    const { logOdds } = learnFatigue(counts.cells)
    assert.isTrue(logOdds > 0 && logOdds < 3, `evidence ${logOdds}`)
    assert.isUndefined(fatigueOf(counts, false))
    assert.isDefined(fatigueOf(counts, true))
    assert.isUndefined(fatigueOf({ cells: cells(5, () => 1), mixes: [] }, true))
  })

  it("weight the decisions of a day by their mix, and later days by the last known mix", () => {
    const start = Math.floor(now / day) * day - 20 * day
    const { effects, freshness } = fatigueOf({
      cells: cells(200, ({ seen }) => [1, 0.9, 0.7, 0.5][seen]!),
      mixes: [
        { variant: "a", day: start, decisions: [10, 0, 0, 0] },
        { variant: "a", day: start + 3 * day, decisions: [5, 0, 0, 5] },
      ],
    }, false)!
    assert.strictEqual(freshness("a", start - day), 1)
    assert.strictEqual(freshness("a", start + 2 * day), 1)
    assert.closeTo(freshness("a", start + 9 * day), (1 + Math.exp(effects[3]!)) / 2, 1e-12)
    assert.strictEqual(freshness("new", start), 1)
  })

  it("are more uncertain with fewer outcomes", () => {
    const sd = (expected: number) => {
      const { covariance } = learnFatigue(cells(expected, ({ seen }) => [1, 0.9, 0.7, 0.5][seen]!))
      assert.deepStrictEqual(covariance.map((row) => row[0]), [0, 0, 0, 0])
      assert.closeTo(covariance[1]![3]!, covariance[3]![1]!, 1e-12)
      return Math.sqrt(covariance[3]![3]!)
    }
    // 15 cells of 200 outcomes have classes above 0; the model must distinguish them from levels and variants.
    assert.isTrue(sd(200) > 0.02 && sd(200) < 0.1, `${sd(200)}`)
    assert.isTrue(sd(20) > 2 * sd(200), `${sd(20)}`)
    assert.deepStrictEqual(learnFatigue([]).covariance.flat(), new Array<number>(16).fill(0))
  })

  it("make the level of a variant uncertain if it was seen more or less often than others", () => {
    const start = Math.floor(now / day) * day
    const uncertainty = (a: ReadonlyArray<number>, b: ReadonlyArray<number>) => {
      const used = fatigueOf({
        cells: cells(200, ({ seen }) => [1, 0.9, 0.7, 0.5][seen]!),
        mixes: [{ variant: "a", day: start, decisions: a }, { variant: "b", day: start, decisions: b }],
      }, false)!
      assert.strictEqual(used.uncertainty("new"), 0)
      return [used.uncertainty("a"), used.uncertainty("b")] as const
    }
    const alike = uncertainty([10, 20, 30, 40], [1, 2, 3, 4])
    for (const sd of alike) assert.closeTo(sd, 0, 1e-9)
    const [tired, fresh] = uncertainty([0, 0, 0, 900], [100, 0, 0, 0])
    assert.isTrue(tired > 0 && tired < fresh, `${tired} ${fresh}`)
  })
})

describe("cases of the effects for reports", () => {
  const tired = (expected: number) => cells(expected, ({ seen }) => [1, 0.9, 0.7, 0.5][seen]!)
  const start = Math.floor(now / day) * day
  const mixes = [
    { variant: "a", day: start, decisions: [0, 0, 0, 900] },
    { variant: "b", day: start, decisions: [900, 0, 0, 0] },
  ]

  const casesOf = (cells: ReadonlyArray<FatigueCell>) => casesAround(wideEffects(cells)!)

  it("are six around the estimated effects, further apart with fewer outcomes", () => {
    const spreadOf = (expected: number) => {
      const found = casesOf(tired(expected))
      assert.strictEqual(found.length, 6)
      for (const seen of [0, 1, 2, 3]) {
        const mean = found.reduce((sum, effects) => sum + effects[seen]!, 0) / 6
        assert.closeTo(mean, Math.log([1, 0.9, 0.7, 0.5][seen]!), 0.1)
      }
      assert.deepStrictEqual(found.map(([first]) => first), [0, 0, 0, 0, 0, 0])
      return Math.max(...found.map((effects) => effects[3]!)) - Math.min(...found.map((effects) => effects[3]!))
    }
    assert.isAbove(spreadOf(20), 2 * spreadOf(200))
    assert.isUndefined(wideEffects([]))
  })

  it("shrink small effects less than the choice does", () => {
    const few = tired(3)
    const mean = casesOf(few).reduce((sum, effects) => sum + effects[3]! / 6, 0)
    assert.isBelow(mean, learnFatigue(few).effects[3]! - 0.02)
  })

  it("come with effects and deviations, which are smaller with more outcomes", () => {
    const reported = (expected: number) => fatigueOf({ cells: tired(expected), mixes }, false)!.reported
    const [few, many] = [reported(200), reported(2000)]
    assert.lengthOf(many, 3)
    many.forEach(({ deviation, effect }, at) => {
      assert.closeTo(effect, Math.log([0.9, 0.7, 0.5][at]!), 0.05)
      assert.isTrue(deviation > 0 && deviation < few[at]!.deviation)
    })
  })

  it("raise a variant that was seen more often than others, more for stronger effects", () => {
    const counts = { cells: tired(200), mixes }
    const found = casesOf(counts.cells).map((effects) => effects[3]!)
    const { cases, effects } = fatigueOf(counts, false)!
    found.forEach((effect, k) => {
      assert.closeTo(cases("a")[k]! - cases("b")[k]!, effects[3]! - effect, 1e-9)
      assert.strictEqual(Math.sign(cases("a")[k]!), Math.sign(effects[3]! - effect))
    })
    const [a, b] = ["a", "b"].map((variant) =>
      fatigueOf({ ...counts, mixes: mixes.map((mix) => ({ ...mix, variant })) }, false)!
    )
    assert.deepStrictEqual(a!.cases("a").map(Math.abs), new Array<number>(6).fill(0), "there is no other variant")
    assert.deepStrictEqual(b!.cases("new"), cases("b"), "new variants have not been seen")
  })
})

const context = encodeContext([])

/**
 * Two equally good variants, of which `a` goes to people who have seen it four times: half of the clicks. `sd`: the
 * standard deviation of the factor.
 */
const tiredOfA = (sd = 0) => {
  const counts = new Counts()
  for (let daysAgo = 6; daysAgo < 16; daysAgo++) {
    const start = Math.floor(now / day) * day - daysAgo * day
    counts.add("a", context, start, 1000, 25)
    counts.add("b", context, start, 1000, 50)
  }
  return fit({
    version: "t:1",
    counts,
    scheme: { keys: [] },
    window: { mode: "adaptive", halfLifeDays: 120 },
    curve: promptCurve,
    now,
    organization: defaultPriors,
    fatigue: {
      effects: [0, -0.1, -0.3, Math.log(0.5)],
      freshness: (variant) => variant === "a" ? 0.5 : 1,
      uncertainty: (variant) => variant === "a" ? sd : 0,
      cases: () => [],
      reported: [{ effect: -0.1, deviation: 0.02 }, { effect: -0.3, deviation: 0.03 }, {
        effect: Math.log(0.5),
        deviation: 0.1,
      }],
    },
  })
}

describe("a model with effects in use", () => {
  it("rates variants as at a first exposure, and the level at actual exposures", () => {
    const model = tiredOfA()
    const [a, b] = model.variants
    assert.closeTo(a!.beta[0]!, b!.beta[0]!, 0.02)
    const start = model.days[0]![0]
    const expected = expectedPerDecision(model, "a", context, start)
    assert.closeTo(expected, 0.0375, 0.001)
    assert.closeTo(model.fatigue![3]! - model.fatigue![0]!, Math.log(0.5), 1e-12)
    const effects = exposureEffects(model)
    assert.deepStrictEqual(effects.map(earlierText), ["1", "2 or 3", "4 or more"])
    assert.closeTo(effects[2]!.change, -0.5, 1e-12)
    assert.closeTo(effects[2]!.interval[0], 0.5 * Math.exp(-0.196) - 1, 1e-4)
    assert.closeTo(effects[2]!.interval[1], 0.5 * Math.exp(0.196) - 1, 1e-4)
    assert.deepStrictEqual(exposureEffects({}), [], "without evidence, or of an earlier release")
  })

  it("is less certain of a variant that was seen more often if the effects are uncertain", () => {
    const variance = (sd: number) => tiredOfA(sd).variants.map(({ covariance }) => covariance[0]!)
    const [a, b] = variance(0)
    const [widened, same] = variance(0.2)
    assert.strictEqual(same, b)
    assert.isTrue(widened! > a! + 0.2 ** 2 / 2 && widened! < a! + 2 * 0.2 ** 2, `${a} ${widened}`)
  })

  it("prefers the variants that a user has seen less often", () => {
    const policy = new Policy(tiredOfA())
    const at = policy.contextOf(new Map(), 12)
    const set = eligibleSet(["a", "b"])
    const weightOfA = (seen?: ReadonlyMap<string, number>) => policy.choice(at, set, undefined, seen).weights[0]!
    const even = weightOfA()
    assert.isBelow(weightOfA(new Map([["a", 5]])), 0.1)
    assert.isAbove(weightOfA(new Map([["b", 5]])), 0.9)
    assert.isBelow(weightOfA(new Map([["a", 1]])), even)
    assert.strictEqual(weightOfA(new Map([["a", 4], ["b", 9]])), even, "both have been seen equally often")
    assert.strictEqual(weightOfA(new Map([["gone", 9]])), even)
    const choice = policy.choice(at, set, undefined, new Map([["a", 7]]))
    assert.strictEqual(policy.choice(at, set, undefined, new Map([["a", 4]])), choice, "classes share a cached choice")
    assert.closeTo(choice.weights[0]! + choice.weights[1]!, 1, 1e-12)
    const greedy = policy.choice(at, set, 0, new Map([["a", 4]]))
    assert.deepStrictEqual([...greedy.weights], [0, 1])
  })

  it("shows the weights of a user's decision in its trace", () => {
    const policy = new Policy(tiredOfA())
    const at = policy.contextOf(new Map(), 12)
    const set = eligibleSet(["a", "b"])
    const seen = new Map([["a", 4]])
    const { candidates } = policy.trace(at, set, undefined, seen)
    assert.deepStrictEqual(
      candidates.map(({ weight }) => weight),
      [...policy.choice(at, set, undefined, seen).weights],
    )
  })
})
