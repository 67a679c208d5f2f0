import { assert, describe, it } from "@effect/vitest"
import { type EligibleSet, eligibleSet, Policy } from "../../src/bandit/Policy.ts"
import { defaultPriors } from "../../src/bandit/Priors.ts"
import { type ModelSnapshot, priorModel } from "../../src/bandit/Model.ts"
import { Counts } from "../../src/bandit/Counts.ts"
import { NetEvidence } from "../../src/bandit/NetEvidence.ts"
import { report } from "../../src/bandit/Report.ts"
import type { Tally } from "../../src/bandit/Tally.ts"
import { sample } from "../../src/bandit/Weights.ts"
import { nothing } from "../../src/domain/SendNothing.ts"
import type { Objective } from "../../src/domain/Template.ts"
import { Engine } from "../../src/learning/Engine.ts"
import { day, hour, now } from "../bandit/Samples.ts"

type Rates = { readonly click?: number; readonly conversion?: number; readonly negative?: number }
/** Rates of outcomes by plan and candidate. */
type World = { readonly [plan: string]: { readonly [candidate: string]: Rates } }

/** Numbers in [0, 1) that depend on the seed alone. */
const randomOf = (seed: number) => () => {
  seed = (seed * 1_664_525 + 1_013_904_223) % 2 ** 32
  return seed / 2 ** 32
}

/** Decides for people of each plan daily, learns daily, and returns the last model. */
const live = (
  world: World,
  objective: Objective,
  { active = ["a", "b"], days = 28, people = 500, seed = 1 } = {},
): ModelSnapshot => {
  const scheme = { keys: [{ name: "plan", values: Object.keys(world) }], builtIns: [] }
  const random = randomOf(seed)
  const begin = now - days * day
  const engine = new Engine()
  const window = { mode: "adaptive", halfLifeDays: 35 } as const
  const model = priorModel({ version: "t:0", now: begin, window, scheme, organization: defaultPriors })
  engine.open("t", { objective, sendNothing: true, tallies: [], delays: [], model }, begin)
  const fit = (at: number) =>
    engine.fit("t", {
      version: "t:1",
      now: at,
      window: undefined,
      organization: defaultPriors,
      organizationDelays: [],
      active,
      composition: [],
      attributeCounts: undefined,
    }).model
  const candidates = eligibleSet([nothing, ...active])
  let latest = fit(begin)
  for (let at = begin; at < now; at += day) {
    const policy = new Policy(latest)
    const tallies = Object.entries(world).flatMap(([plan, rates]) => {
      const context = policy.contextOf(new Map([["plan", [plan]]]), 10)
      const { ids, weights } = policy.choice(context, candidates)
      const counts = new Map<string, Record<string, number>>()
      for (let i = 0; i < people; i++) {
        const copyId = ids[sample(weights, random())]!
        const own = counts.get(copyId) ?? { decisions: 0 }
        counts.set(copyId, { ...own, decisions: own["decisions"]! + 1 })
        for (const [outcome, rate] of Object.entries(rates[copyId] ?? {})) {
          const mine = counts.get(copyId)!
          if (random() < rate) counts.set(copyId, { ...mine, [outcome]: (mine[outcome] ?? 0) + 1 })
        }
      }
      return Array.from(counts, ([copyId, own]): Omit<Tally, "track"> => ({
        copyId,
        context: context.key,
        start: Math.floor(at / hour) * hour,
        counts: own,
      }))
    })
    engine.apply("t", { tallies, delays: [] }, at + day)
    latest = fit(at + day)
  }
  return latest
}

const all: EligibleSet = eligibleSet([nothing, "a", "b"])

/** Probability to send nothing, by plan. */
const unsent = (model: ModelSnapshot) => {
  const policy = new Policy(model)
  const of = (plan: string) => policy.choice(policy.contextOf(new Map([["plan", [plan]]]), 10), all).weights[0]!
  return { calm: of("calm"), weary: of("weary") }
}

const weary = {
  calm: { a: { click: 0.05, negative: 0.001 }, b: { click: 0.04, negative: 0.001 } },
  weary: { a: { click: 0.001, negative: 0.02 }, b: { click: 0.001, negative: 0.015 } },
}
const cost = { click: 1, negative: -8 }

describe("a template that may send nothing", () => {
  it("learns to send nothing to people who only unsubscribe", () => {
    const found = unsent(live(weary, cost))
    assert.isAbove(found.weary, 0.95)
    assert.isBelow(found.calm, 0.02)
  })

  it("weighs outcomes against the outcomes of people who get nothing", () => {
    const world = {
      calm: {
        a: { conversion: 0.04, negative: 0.0005 },
        b: { conversion: 0.05, negative: 0.0005 },
        [nothing]: { conversion: 0.02 },
      },
      weary: {
        a: { conversion: 0.03, negative: 0.003 },
        b: { conversion: 0.03, negative: 0.003 },
        [nothing]: { conversion: 0.03 },
      },
    }
    const found = unsent(live(world, { conversion: 1, negative: -8 }))
    assert.isAbove(found.weary, 0.8)
    assert.isBelow(found.calm, 0.1)
  })

  it("reports net values, and compares the best variant with nothing", () => {
    const model = live(weary, cost)
    const request = { model, floor: 0.01, ids: all.ids, eligible: all.ids, groups: [], seed: 1 }
    const of = (plan: string) =>
      report({ ...request, contexts: model.traffic.filter(({ cell }) => cell.includes(plan)) }).overall
    const [calm, tired] = [of("calm"), of("weary")]
    assert.deepInclude(tired, { leader: nothing, lift: null, overSplit: null })
    const rates = (one: typeof calm) => one.variants.map(({ rate }) => rate)
    assert.strictEqual(rates(tired)[0], 0, "without a message there are no clicks and no opt-outs")
    assert.isBelow(rates(tired)[1]!, -0.08)
    assert.closeTo(rates(calm)[1]!, 0.05 - 8 * 0.001, 0.012)
    assert.isBelow(tired.overNothing!.probability, 0.01)
    assert.deepInclude(calm, { leader: "a" })
    assert.isAbove(calm.overNothing!.probability, 0.99)
    assert.isAbove(calm.overNothing!.differenceInterval[0], 0)
    assert.strictEqual(tired.variants[1]!.expectedLoss, Infinity, "a loss has no share of a rate below 0")
  })

  it("names no winner that the reported figures do not support", () => {
    const world = {
      fond: { a: { click: 0.15, negative: 0.002 } },
      calm: { a: { click: 0.05, negative: 0.002 } },
      weary: { a: { negative: 0.05 } },
    }
    for (const seed of [18, 27, 34]) {
      const model = live(world, cost, { active: ["a"], days: 8, people: 200, seed })
      const ids = [nothing, "a"]
      const { overall } = report({ model, floor: 0.01, ids, eligible: ids, groups: [], seed: 1 })
      assert.isBelow(overall.overNothing!.probability, 0.9, `${seed}`)
      assert.strictEqual(model.verdict!.verdict, "undecided", `${seed}`)
    }
  })

  it("names nothing the winner if every message costs more than it brings", () => {
    const everybody = { calm: weary.weary, weary: weary.weary }
    assert.deepInclude(live(everybody, cost).verdict!, { winner: nothing, verdict: "winner" })
    const nobody = { calm: weary.calm, weary: weary.calm }
    assert.notStrictEqual(live(nobody, cost).verdict!.winner, nothing)
  })

  it("sends messages before there are outcomes, and ignores nothing without a cost", () => {
    const early = unsent(live(weary, cost, { days: 0 }))
    assert.isBelow(early.calm, 0.2)
    const engine = new Engine()
    engine.open("t", {
      objective: "click",
      sendNothing: true,
      tallies: [],
      delays: [],

      model: null,
    }, now)
    const { model } = engine.fit("t", {
      version: "t:1",
      now,
      window: undefined,
      organization: defaultPriors,
      organizationDelays: [],
      active: ["a", "b"],
      composition: [],
      attributeCounts: undefined,
    })
    assert.notProperty(model, "nothing")
  })
})

describe("NetEvidence", () => {
  const counted = (rows: ReadonlyArray<readonly [id: string, sends: number, clicks: number, negative: number]>) => {
    const counts = new Counts({ values: [1, -8], squares: [1, 64], mostPerSend: 1, firstWorth: 1 })
    for (const [id, sends, clicks, negative] of rows) {
      for (let i = 0; i < 10; i++) counts.add(id, "", now - i * hour, sends / 10, clicks / 10, negative / 10)
    }
    return counts
  }
  const none = counted([])

  it("finds evidence for the better side only", () => {
    const evidence = new NetEvidence(counted([["a", 10_000, 500, 10], ["b", 10_000, 400, 60]]), none, true)
    assert.isAbove(evidence.of("a", "b"), 100)
    assert.isBelow(evidence.of("b", "a"), 1)
    assert.isAbove(evidence.of("a", nothing), 100)
    assert.isBelow(evidence.of(nothing, "a"), 1)
    assert.strictEqual(evidence.of("a", "new"), 1)
  })

  it("rarely exceeds its bound between equals, however often it is read", () => {
    const random = randomOf(3)
    let exceeded = 0
    for (let run = 0; run < 200; run++) {
      const counts = new Counts({ values: [1, -8], squares: [1, 64], mostPerSend: 1, firstWorth: 1 })
      let highest = 0
      for (let day = 0; day < 20; day++) {
        for (const id of ["a", "b"]) {
          const of = (rate: number) => Array.from({ length: 200 }, random).filter((u) => u < rate).length
          counts.add(id, "", now - day * 24 * hour, 200, of(0.04), of(0.004))
        }
        highest = Math.max(highest, new NetEvidence(counts, none, true).of("a", "b"))
      }
      if (highest >= 20) exceeded++
    }
    assert.isAtMost(exceeded, 200 / 20 + 3 * Math.sqrt(200 / 20), "5 % at most")
  })
})
