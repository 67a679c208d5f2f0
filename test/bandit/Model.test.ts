import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import fc from "fast-check"
import { Contexts, encodeContext } from "../../src/bandit/Contexts.ts"
import { packedIndex } from "../../src/bandit/Cholesky.ts"
import { intervalAround, logBaseRate, ModelSnapshot, posterior, priorModel, rate } from "../../src/bandit/Model.ts"
import { eligibleSet, Policy } from "../../src/bandit/Policy.ts"
import { defaultPriors } from "../../src/bandit/Priors.ts"
import { adaptive, day, fitRows, now } from "./Samples.ts"

const scheme = { keys: [{ name: "plan", values: ["free", "pro"] }] }
const contexts = new Contexts(scheme)
const id = (plan: string, daypart: string) =>
  encodeContext([["plan", plan], ["weekend", "weekday"], ["daypart", daypart]])

const rows = fc.array(
  fc.record({
    variant: fc.constantFrom("a", "b", "c"),
    context: fc.constantFrom(id("free", "night"), id("pro", "morning"), id("pro", "evening"), id("other", "night")),
    start: fc.integer({ min: 0, max: 40 }).map((age) => Math.floor(now / day) * day - age * day),
    sends: fc.integer({ min: 1, max: 5000 }),
  }).chain((row) => fc.integer({ min: 0, max: row.sends }).map((clicks) => ({ ...row, clicks }))),
  { maxLength: 12 },
)

describe("a model snapshot", () => {
  it("round-trips through JSON and its schema with identical decisions", () => {
    fc.assert(
      fc.property(rows, (data) => {
        const model = fitRows(data, { scheme })
        const copy = Schema.decodeUnknownSync(ModelSnapshot)(JSON.parse(JSON.stringify(model)))
        assert.deepStrictEqual(copy, model)
        const set = eligibleSet(["a", "b", "c", "d"])
        const weights = (snapshot: ModelSnapshot) => {
          const policy = new Policy(snapshot)
          return policy.choice(policy.contextOf(new Map([["plan", ["pro"]]]), 33), set).weights
        }
        assert.deepStrictEqual(weights(copy), weights(model))
      }),
      { numRuns: 30 },
    )
  })

  it("has finite numbers and valid odds for any counts", () => {
    fc.assert(fc.property(rows, (data) => {
      const model = fitRows(data, { scheme })
      for (const variant of [...model.variants, undefined]) {
        for (const plan of ["free", "pro", "gold"]) {
          const context = contexts.parse(id(plan, "night"))
          const { mean, sd } = posterior(model, variant, context)
          assert.isTrue(Number.isFinite(mean) && sd > 0 && Number.isFinite(sd))
          const [low, high] = intervalAround(model, variant, logBaseRate(model, context) + mean, sd)
          const middle = rate(model, variant, context)
          // Rates of single outcomes end at 1, and so do their intervals.
          assert.isTrue(high <= 1 && (middle < high || high === 1) && (low < middle || middle === 1))
        }
      }
    }))
  })
})

describe("the posterior of a variant", () => {
  const data = [
    { variant: "a", context: id("pro", "morning"), start: now - 5 * day, sends: 4000, clicks: 160 },
    { variant: "a", context: id("free", "morning"), start: now - 5 * day, sends: 4000, clicks: 80 },
    { variant: "b", context: id("pro", "morning"), start: now - 5 * day, sends: 4000, clicks: 100 },
    { variant: "b", context: id("free", "morning"), start: now - 5 * day, sends: 4000, clicks: 140 },
  ]
  const model = fitRows(data, { scheme })
  const [a] = model.variants

  it("is the sum of its effects with the variance of that sum", () => {
    const context = contexts.parse(id("pro", "morning"))
    const active = [0, ...context.coefficients]
    const { mean, sd } = posterior(model, a, context)
    assert.closeTo(mean, active.reduce((total, i) => total + a!.beta[i]!, 0), 1e-12)
    const variance = active.flatMap((i) =>
      active.map((j) => a!.covariance[packedIndex(Math.max(i, j), Math.min(i, j))]!)
    ).reduce((total, value) => total + value, 0)
    assert.closeTo(sd ** 2, variance, 1e-12)
  })

  it("widens for an unknown value by the spread of its attribute", () => {
    const known = posterior(model, a, contexts.parse(encodeContext([["plan", "pro"]])))
    const without = posterior(model, a, contexts.parse(""))
    const unseen = posterior(model, a, contexts.parse(encodeContext([["plan", "gold"]])))
    assert.closeTo(unseen.mean, without.mean, 1e-12)
    assert.closeTo(unseen.sd ** 2, without.sd ** 2 + model.taus[0]! ** 2, 2e-3)
    assert.isBelow(known.sd, unseen.sd)
  })

  it("of a variant without data has the base rate and the spread of the variants", () => {
    const context = contexts.parse(id("pro", "morning"))
    const { mean, sd } = posterior(model, undefined, context)
    assert.strictEqual(mean, 0)
    assert.closeTo(sd ** 2, model.tau0 ** 2 + model.taus.reduce((total, tau) => total + tau ** 2, 0), 1e-12)
    assert.closeTo(rate(model, undefined, context), Math.exp(logBaseRate(model, context)), 1e-15)
    assert.closeTo(posterior(model, undefined, contexts.parse("")).sd, model.tau0, 1e-12)
  })
})

describe("the model of a template without data", () => {
  it("has the organization's rate and its interval, without traffic", () => {
    const model = priorModel({ version: "t:0", now, window: adaptive, scheme, organization: defaultPriors })
    const context = contexts.parse(encodeContext([]))
    assert.closeTo(rate(model, undefined, context), 0.03, 1e-12)
    const [low, high] = intervalAround(model, undefined, logBaseRate(model, context), model.tau0)
    assert.closeTo(low, 0.03 * Math.exp(-1.96 * 0.2), 1e-12)
    assert.closeTo(high, 0.03 * Math.exp(1.96 * 0.2), 1e-12)
    assert.isNull(model.clicksNext14Days)
  })

  it("expects effects of learned attributes as if there were no built-in ones", () => {
    const tausOf = (...names: ReadonlyArray<string>) =>
      priorModel({
        version: "t:0",
        now,
        window: adaptive,
        scheme: { keys: names.map((name) => ({ name, values: ["a", "b"] })) },
        organization: defaultPriors,
      }).taus
    assert.deepStrictEqual(tausOf("plan"), [0.2, 0.2 / Math.sqrt(3), 0.2 / Math.sqrt(3)])
    assert.deepStrictEqual(tausOf("plan", "city").slice(0, 2), [0.2 / Math.sqrt(2), 0.2 / Math.sqrt(2)])
  })
})
