import type { AttributeOutcomesRow } from "../../src/bandit/AttributeOutcomes.ts"
import { assert, describe, it } from "@effect/vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { delayClass } from "../../src/bandit/Maturity.ts"
import { eligibleSet, Policy } from "../../src/bandit/Policy.ts"
import { defaultPriors } from "../../src/bandit/Priors.ts"
import type { TallyCounts } from "../../src/bandit/Tally.ts"
import type { Objective } from "../../src/domain/Template.ts"
import { type Counted, Engine, type StoredFatigue } from "../../src/learning/Engine.ts"
import { day, hour, now } from "../bandit/Samples.ts"

const context = encodeContext([])

const tally = (copyId: string, daysAgo: number, counts: TallyCounts): Counted["tallies"][number] => ({
  copyId,
  context,
  start: Math.floor((now - daysAgo * day) / hour) * hour,
  counts,
})

const week = (copyId: string, counts: TallyCounts) =>
  [1, 2, 3, 4, 5, 6, 7].map((daysAgo) => tally(copyId, daysAgo, counts))

const learn = (objective: Objective, tallies: Counted["tallies"], fits = 3) => {
  const engine = new Engine()
  engine.open("t", { objective, tallies, delays: [], model: null }, now)
  const fit = () =>
    engine.fit("t", {
      version: "t:1",
      now,
      window: undefined,
      organization: defaultPriors,
      organizationDelays: [],
      active: ["a", "b"],
      composition: [],
      attributeCounts: undefined,
    })
  let answer = fit()
  for (let i = 1; i < fits; i++) answer = fit()
  const policy = new Policy(answer.model)
  const trace = policy.trace(policy.contexts.parse(context), eligibleSet(["a", "b"]))
  return { ...answer, candidates: trace.candidates, weights: trace.candidates.map(({ weight }) => weight) }
}

const tallies = [
  ...week("a", { decisions: 900, open: 200, click: 30, conversion: 3, negative: 4 }),
  ...week("b", { decisions: 1000, open: 210, click: 42, conversion: 2, negative: 9, voided: 5 }),
]

describe("the objective of a template", () => {
  it("makes the same decisions for any scale of the weights, and reports rates in that scale", () => {
    const once = learn({ click: 1, conversion: 20, negative: -2 }, tallies)
    for (const scale of [30, 0.02]) {
      const scaled = learn({ click: scale, conversion: 20 * scale, negative: -2 * scale }, tallies)
      scaled.weights.forEach((weight, i) => assert.closeTo(weight, once.weights[i]!, 1e-9))
      scaled.candidates.forEach(({ clicks, interval, rate }, i) => {
        const { clicks: value, interval: [low, high], rate: mean } = once.candidates[i]!
        assert.closeTo(clicks / scale, value, 1e-9)
        assert.closeTo(rate / scale, mean, 1e-9)
        assert.closeTo(interval[0] / scale, low, 1e-9)
        assert.closeTo(interval[1] / scale, high, 1e-9)
      })
      assert.closeTo(scaled.contribution!.a0, once.contribution!.a0, 1e-9)
      assert.closeTo(scaled.model.clicksNext14Days!, once.model.clicksNext14Days!, 1e-6)
    }
  })

  it("is as certain with one weighted outcome as with the outcome itself", () => {
    const plain = learn("conversion", tallies)
    const weighted = learn({ conversion: 100, click: 0 }, tallies)
    assert.deepStrictEqual(weighted.weights.map((weight) => weight.toFixed(9)), plain.weights.map((w) => w.toFixed(9)))
    assert.strictEqual(weighted.model.mostPerSend, 100)
    assert.strictEqual(plain.model.mostPerSend, 1)
  })

  it("is less certain with a rare expensive outcome than with many cheap ones", () => {
    const cheap = learn("click", tallies)
    const dear = learn({ click: 1, conversion: 300 }, tallies)
    const width = ({ interval: [low, high], rate }: (typeof cheap)["candidates"][number]) => (high - low) / rate
    assert.isAbove(width(dear.candidates[0]!), 1.5 * width(cheap.candidates[0]!))
  })

  it("subtracts costs, even if they exceed the value", () => {
    const many = [
      ...week("a", { decisions: 1000, click: 30, negative: 1 }),
      ...week("b", {
        decisions: 1000,
        click: 31,
        negative: 12,
      }),
    ]
    assert.isAbove(learn({ click: 1, negative: -1.5 }, many).weights[0]!, 0.9)
    const ruinous = learn({ click: 1, negative: -1000 }, many)
    for (const { interval, rate, weight } of ruinous.candidates) {
      assert.isTrue(Number.isFinite(rate) && rate > 0 && Number.isFinite(interval[1]))
      assert.isAtLeast(weight, 0.005)
    }
    assert.isAbove(ruinous.weights[0]!, ruinous.weights[1]!)
  })

  it("produces the identical model for any order of the tallies", () => {
    const objective = { click: 0.02, conversion: 0.7, negative: -0.1 }
    const parts = tallies.flatMap((one) => [
      { ...one, counts: { decisions: one.counts.decisions!, click: 3 } },
      { ...one, counts: { click: one.counts.click! - 3, conversion: one.counts.conversion! } },
      { ...one, counts: { voided: one.counts.voided ?? 0, negative: one.counts.negative! } },
    ])
    assert.deepStrictEqual(learn(objective, parts, 1).model, learn(objective, parts.toReversed(), 1).model)
  })
})

describe("a template with reactions within seconds", () => {
  const start = Math.floor(now / hour) * hour
  const young = (
    objective: Objective,
    counts: ReadonlyArray<readonly [id: string, decisions: number, click: number]>,
  ) => {
    const engine = new Engine()
    const clicks = counts.reduce((sum, [, , click]) => sum + click, 0)
    engine.open("t", {
      objective,
      tallies: counts.map(([copyId, decisions, click]) => ({ copyId, context, start, counts: { decisions, click } })),
      delays: [{ hour: start, delays: { [`click:${delayClass(5 / 3600)}`]: clicks } }],

      model: null,
    }, now)
    const request = {
      now,
      window: undefined,
      organization: defaultPriors,
      organizationDelays: [],
      composition: [],
      attributeCounts: undefined,
    }
    const fit = () => engine.fit("t", { ...request, version: "t:1", active: counts.map(([id]) => id) }).model
    for (let i = 0; i < 10; i++) fit()
    const policy = new Policy(fit())
    return policy.trace(policy.contexts.parse(context), eligibleSet(counts.map(([id]) => id))).candidates
  }

  it("has plausible rates from the first minutes", () => {
    const [a, b] = young("click", [["a", 10, 5], ["b", 0, 0]])
    // With the organization's usual rate as one more click, 6 of 43 are 14 %; all 5 of 10 are 50 %.
    assert.isTrue(a!.rate > 0.1 && a!.rate < 0.5)
    assert.isBelow(a!.interval[1], 0.6)
    assert.isBelow(b!.rate, a!.rate)
    assert.isAtLeast(b!.weight, 0.1)
  })

  it("separates two variants as well as beta posteriors do, for any value of a click", () => {
    for (const objective of ["click", { click: 50 }] as const) {
      const scale = objective === "click" ? 1 : 50
      const [a, b] = young(objective, [["a", 155, 65], ["b", 145, 55]])
      assert.closeTo(a!.pBest, 0.76, 0.05)
      // 120 of 300 clicked; a first day's rate is drawn towards the organization's.
      for (const { rate } of [a!, b!]) assert.isTrue(rate / scale > 0.2 && rate / scale < 0.5)
      assert.isBelow(a!.weight, 0.85)
    }
  })
})

describe("a variant with late clicks", () => {
  const days = Array.from({ length: 12 }, (_, i) => i + 1)
  const midnight = (daysAgo: number) => (Math.floor(now / day) - daysAgo) * day
  const delaysOf = (copyId: string, delayHours: number) =>
    days.map((daysAgo) => ({ copyId, day: midnight(daysAgo), delays: { [`click:${delayClass(delayHours)}`]: 30 } }))
  const counted: Counted = {
    tallies: [
      ...days.flatMap((daysAgo) => ["a", "b"].map((copyId) => tally(copyId, daysAgo, { decisions: 1000, click: 30 }))),
      // Of the last hours, only the fast variant's clicks are there.
      {
        copyId: "a",
        context,
        start: Math.floor(now / hour) * hour - 8 * hour,
        counts: { decisions: 9000, click: 270 },
      },
      { copyId: "b", context, start: Math.floor(now / hour) * hour - 8 * hour, counts: { decisions: 9000 } },
    ],
    delays: days.map((daysAgo) => ({
      hour: midnight(daysAgo) + 12 * hour,
      delays: { [`click:${delayClass(0.4)}`]: 30, [`click:${delayClass(20)}`]: 30 },
    })),
  }
  const lead = (variantDelays: Counted["variantDelays"] = []) => {
    const engine = new Engine()
    engine.open("t", { objective: "click", model: null, tallies: [], delays: [] }, now)
    engine.apply("t", { ...counted, variantDelays }, now)
    const fit = () =>
      engine.fit("t", {
        version: "t:1",
        now,
        window: undefined,
        organization: defaultPriors,
        organizationDelays: [],
        active: ["a", "b"],
        composition: [],
        attributeCounts: undefined,
      }).model
    for (let i = 0; i < 5; i++) fit()
    const [a, b] = fit().variants
    return a!.beta[0]! - b!.beta[0]!
  }

  it("is not rated lower while its clicks are due", () => {
    assert.isAbove(lead(), 0.15)
    assert.closeTo(lead([...delaysOf("a", 0.4), ...delaysOf("b", 20)]), 0, 0.1)
  })
})

describe("fatigue", () => {
  const tired = (hour: number, strength: number): StoredFatigue => ({
    hour,
    cells: ["a", "b"].flatMap((variant) =>
      Array.from(
        { length: 8 },
        (_, level) =>
          [0, 1, 2, 3].filter((seen) => level >= [0, 1, 2, 4][seen]!).map((seen) => ({
            variant,
            level,
            seen,
            expected: 200,
            click: Math.round(200 * Math.exp(-strength * seen)),
            open: 400,
            conversion: 0,
            negative: 0,
          })),
      ).flat()
    ),
    mixes: [{ variant: "a", day: Math.floor(now / day) * day - 7 * day, decisions: [100, 0, 0, 300] }],
  })

  const learned = (objective: Objective, fatigues: ReadonlyArray<StoredFatigue | undefined>) => {
    const engine = new Engine()
    engine.open("t", { objective, tallies, delays: [], model: null }, now)
    return fatigues.map((fatigue) => {
      const { model } = engine.fit("t", {
        version: "t:1",
        now,
        window: undefined,
        organization: defaultPriors,
        organizationDelays: [],
        active: ["a", "b"],
        composition: [],
        attributeCounts: undefined,
        ...(fatigue === undefined ? {} : { fatigue }),
      })
      return model.fatigue?.map((effect) => effect - model.fatigue![0]!)
    })
  }

  it("is used by the model while the outcomes of the objective support it", () => {
    const [none, strong, same, gone] = learned("click", [undefined, tired(1, 0.3), tired(1, 0), tired(2, 0)])
    assert.isUndefined(none)
    strong!.forEach((effect, seen) => assert.closeTo(effect, -0.3 * seen, 0.08))
    assert.deepStrictEqual(same, strong, "it is found once an hour")
    assert.isUndefined(gone)
    assert.isUndefined(learned("open", [tired(1, 0.3)])[0])
  })

  it("is not learned if the objective is revenue", () => {
    assert.isUndefined(learned({ click: 1, revenue: 1, revenue_cap: 100 }, [tired(1, 0.3)])[0])
  })
})

describe("the learning attributes", () => {
  // Seven attributes in every decision; presence leaves out the last.
  const names = ["a", "b", "c", "d", "e", "f", "tier"]
  const census = {
    start: now - day,
    sends: 100,
    keys: names.map((name) => [name, 100, [["x", 50], ["y", 50]]] as const),
  }
  const outcomes = (click: number, open: number) => ({
    start: 0,
    name: "tier",
    isRounded: false,
    counts: {
      v: { x: [1000, click, open, 0, 0], y: [1000, 50, 50, 0, 0] },
      w: { x: [1000, 50, 50, 0, 0], y: [1000, click, open, 0, 0] },
    },
  })

  const chosen = (objective: Objective, rows: ReadonlyArray<AttributeOutcomesRow> | undefined) => {
    const engine = new Engine()
    engine.open("t", { objective, tallies, delays: [], model: null }, now)
    const { model } = engine.fit("t", {
      version: "t:1",
      now,
      window: undefined,
      organization: defaultPriors,
      organizationDelays: [],
      active: ["a", "b"],
      composition: [],
      attributeCounts: [census],
      ...(rows === undefined ? {} : { attributeOutcomes: rows }),
    })
    return model.scheme.keys.map(({ name }) => name).join()
  }

  it("are selected by their evidence for the objective, in any unit", () => {
    const byPresence = "a,b,c,d,e,f"
    assert.strictEqual(chosen("click", undefined), byPresence)
    assert.strictEqual(chosen("click", []), byPresence)
    for (const objective of ["click", { click: 0.001 }, { click: 1000 }] satisfies ReadonlyArray<Objective>) {
      assert.strictEqual(chosen(objective, [outcomes(150, 50)]), "a,b,c,d,e,tier")
      assert.strictEqual(chosen(objective, [outcomes(50, 150)]), byPresence)
    }
    assert.strictEqual(chosen("open", [outcomes(50, 150)]), "a,b,c,d,e,tier")
  })

  it("are selected by frequency if the objective is revenue alone", () => {
    assert.strictEqual(chosen({ revenue: 1, revenue_cap: 100 }, [outcomes(150, 150)]), "a,b,c,d,e,f")
  })
})
