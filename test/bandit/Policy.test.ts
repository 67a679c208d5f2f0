import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { emptyScheme } from "../../src/bandit/Contexts.ts"
import { priorModel } from "../../src/bandit/Model.ts"
import { eligibleSet, Policy } from "../../src/bandit/Policy.ts"
import { defaultPriors } from "../../src/bandit/Priors.ts"
import { spreads } from "../../src/bandit/Spreads.ts"
import { bestArmProbabilities, epsilonWeights, kappa, mixFloor, sample } from "../../src/bandit/Weights.ts"
import { adaptive, day, fitRows, now } from "./Samples.ts"

const policy = (floor?: number) =>
  new Policy(
    priorModel({
      version: "t:0",
      now: Date.UTC(2026, 10, 21),
      window: { mode: "adaptive", halfLifeDays: 120 },
      scheme: emptyScheme,
      organization: defaultPriors,
    }),
    floor,
  )

const arms = fc.array(
  fc.record({ mean: fc.double({ min: -3, max: 3, noNaN: true }), sd: fc.double({ min: 0, max: 2, noNaN: true }) }),
  { minLength: 1, maxLength: 40 },
)
const sum = (values: ArrayLike<number>) => Array.from(values).reduce((a, b) => a + b, 0)

describe("weights", () => {
  it("sum to one and assign every variant its share of the floor", () => {
    fc.assert(fc.property(arms, (all) => {
      const q = bestArmProbabilities(all.map(({ mean }) => mean), all.map(({ sd }) => sd))
      assert.closeTo(sum(q), 1, 1e-9)
      const weights = mixFloor(q, 0.01)
      assert.closeTo(sum(weights), 1, 1e-9)
      for (const weight of weights) assert.isAtLeast(weight, 0.01 / all.length - 1e-15)
    }))
  })

  it("are independent of the order of the variants", () => {
    fc.assert(fc.property(arms, (all) => {
      const weigh = (list: typeof all) => bestArmProbabilities(list.map(({ mean }) => mean), list.map(({ sd }) => sd))
      const forward = weigh(all)
      const backward = weigh([...all].reverse())
      forward.forEach((weight, i) => assert.closeTo(weight, backward[all.length - 1 - i]!, 1e-9))
    }))
  })

  it("are uniform for variants without data, for two as for a thousand", () => {
    for (const count of [2, 3, 20, 1000]) {
      const ids = Array.from({ length: count }, (_, i) => `v${String(i).padStart(4, "0")}`)
      const p = policy()
      const { mode, weights } = p.choice(p.contextOf(new Map(), 12), eligibleSet(ids))
      assert.strictEqual(mode, "bandit")
      for (const weight of weights) assert.closeTo(weight, 1 / count, 1e-6)
    }
  })

  it("are one for the only eligible variant", () => {
    const p = policy()
    const choice = p.choice(p.contextOf(new Map(), 0), eligibleSet(["only"]), 0.5)
    assert.strictEqual(choice.mode, "single")
    assert.deepStrictEqual([...choice.weights], [1])
  })
})

describe("epsilon", () => {
  it("of 0 selects the best variant, and draws evenly among equally good ones", () => {
    assert.deepStrictEqual([...epsilonWeights([0, 1, 2], 0)], [0, 0, 1])
    assert.deepStrictEqual([...epsilonWeights([0, 2, 2], 0)], [0, 0.5, 0.5])
  })

  it("of 1 is uniform, and a value between is a mixture", () => {
    assert.deepStrictEqual([...epsilonWeights([0, 1], 1)], [0.5, 0.5])
    assert.deepStrictEqual([...epsilonWeights([0, 1], 0.5)], [0.25, 0.75])
  })

  const idsOf = (count: number) => Array.from({ length: count }, (_, i) => `v${String(i).padStart(2, "0")}`)
  const context = "country=de"
  const scheme = { keys: [{ name: "country", values: ["de", "fr"] }], builtIns: [] }
  const learned = {
    spreads: spreads.map((spread) => -((spread - 0.5) ** 2)),
    a0: Math.log(0.113),
    tau0: 0.53,
    builtIns: new Map(),
  }

  for (const [name, organization] of Object.entries({ defaults: defaultPriors, "learned priors": learned })) {
    it(`draws evenly among 2 to 20 variants without data and records the exact weights, with ${name}`, () => {
      for (let count = 2; count <= 20; count++) {
        for (const window of [adaptive, { mode: "window", lookbackDays: 14, offsetDays: 3 } as const]) {
          const p = new Policy(priorModel({ version: "t:0", now, window, scheme, organization }))
          for (const epsilon of [0, 0.1, 1]) {
            const choice = p.choice(p.contexts.parse(context), eligibleSet(idsOf(count)), epsilon)
            assert.deepInclude(choice, { mode: "epsilon", epsilon })
            for (const weight of choice.weights) assert.closeTo(weight, 1 / count, 1e-15)
          }
        }
      }
    })

    it(`draws evenly among variants with equal evidence, and prefers the one with more clicks, with ${name}`, () => {
      for (let count = 2; count <= 20; count++) {
        const rows = (best: number) =>
          idsOf(count).flatMap((variant, i) =>
            [0, 1, 2].map((ago) => ({
              variant,
              context: ago === 2 ? "country=fr" : context,
              start: now - (ago + 5) * day,
              sends: 1_000,
              clicks: ago === 0 && i === best ? 41 : 40 + ago,
            }))
          )
        const weights = (best: number, epsilon: number) => {
          const p = new Policy(fitRows(rows(best), { scheme, organization }))
          return [...p.choice(p.contexts.parse(context), eligibleSet(idsOf(count)), epsilon).weights]
        }
        for (const epsilon of [0, 0.1, 1]) {
          for (const weight of weights(-1, epsilon)) assert.closeTo(weight, 1 / count, 1e-15)
          weights(1, epsilon).forEach((weight, i) =>
            assert.closeTo(weight, epsilon / count + (i === 1 ? 1 - epsilon : 0), 1e-15)
          )
        }
      }
    })
  }

  it("draws evenly among the variants without data if the others have performed poorly", () => {
    const rows = ["v00", "v01"].map((variant) => ({ variant, context, start: now - 5 * day, sends: 2_000, clicks: 1 }))
    const organization = { ...defaultPriors, a0: Math.log(0.05) }
    const p = new Policy(fitRows([...rows, { ...rows[0]!, variant: "gone", clicks: 100 }], { scheme, organization }))
    const { weights } = p.choice(p.contexts.parse(context), eligibleSet(idsOf(4)), 0)
    assert.deepStrictEqual([...weights], [0, 0, 0.5, 0.5])
  })
})

describe("sampling", () => {
  it("draws by weight, never a variant of weight zero, also at the ends", () => {
    fc.assert(fc.property(
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 20 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (raw, u) => {
        const total = sum(raw)
        fc.pre(total > 1e-6)
        const weights = raw.map((value) => value / total)
        const at = sample(weights, u)
        assert.isAbove(weights[at]!, 0)
        const before = sum(weights.slice(0, at))
        assert.isAtMost(before, u + 1e-9)
      },
    ))
  })

  it("passes a chi-square test against its weights", () => {
    const weights = [0.5, 0.3, 0.15, 0.05]
    const counts = [0, 0, 0, 0]
    const draws = 100_000
    // A low-discrepancy sequence would be too even; this is a plain congruential generator with a fixed seed.
    let state = 12345
    for (let i = 0; i < draws; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      counts[sample(weights, state / 2 ** 32)]!++
    }
    const statistic = sum(counts.map((count, i) => (count - draws * weights[i]!) ** 2 / (draws * weights[i]!)))
    // 99.9 % quantile with 3 degrees of freedom.
    assert.isBelow(statistic, 16.27)
  })
})

describe("kappa", () => {
  it("grows with the expected clicks within its bounds", () => {
    assert.strictEqual(kappa("adaptive", undefined), 0.4)
    assert.strictEqual(kappa("adaptive", 0), 0.15)
    assert.closeTo(kappa("adaptive", 1000), 0.48, 1e-12)
    assert.strictEqual(kappa("adaptive", 1e9), 0.6)
    assert.strictEqual(kappa("window", 1e9), 0.45)
  })
})

describe("a trace", () => {
  it("contains the numbers used for the choice", () => {
    const p = policy(0.05)
    const context = p.contextOf(new Map([["tier", ["gold"]]]), 6 * 24 + 8)
    const set = eligibleSet(["a", "b"])
    const choice = p.choice(context, set)
    const trace = p.trace(context, set)
    assert.deepStrictEqual(trace.candidates.map(({ weight }) => weight), [...choice.weights])
    assert.deepStrictEqual(trace.context, { daypart: "morning", weekend: "weekend" })
    assert.strictEqual(trace.floor, 0.05)
    assert.strictEqual(trace.kappa, choice.kappa)
    assert.closeTo(trace.baseRate, 0.03, 1e-12)
  })
})
