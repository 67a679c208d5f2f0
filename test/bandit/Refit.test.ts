import { assert, describe, it } from "@effect/vitest"
import { contextsOf, encodeContext } from "../../src/bandit/Contexts.ts"
import type { ModelSnapshot } from "../../src/bandit/Model.ts"
import { Refit } from "../../src/bandit/Refit.ts"
import { adaptive, day, fitRows, meanOf, now, promptCurve } from "./Samples.ts"

const plan = (value: string) => encodeContext([["plan", value]])
const plans = ["free", "pro", "team"]
const scheme = { keys: [{ name: "plan", values: plans }], builtIns: [] }

/** Clicks of a thousand decisions, by variant and plan. */
const different = { a: [60, 20, 30], b: [30, 45, 30], c: [30, 30, 50] }
const alike = { a: [30, 31, 29], b: [30, 29, 31], c: [31, 30, 30] }

const rowsOf = (clicks: { readonly [variant: string]: ReadonlyArray<number> }) =>
  Object.entries(clicks).flatMap(([variant, own]) =>
    own.map((count, p) => ({
      variant,
      context: plan(plans[p]!),
      start: Math.floor(now / day) * day - 5 * day,
      sends: 1000,
      clicks: count,
    }))
  )

const modelOf = (clicks: typeof different) => fitRows(rowsOf(clicks), { scheme, rounds: 60 })

const refitOf = (model: ModelSnapshot) => new Refit(model, model.fittedWith!)

const logRates = (model: ModelSnapshot) => {
  const contexts = contextsOf(scheme)
  return plans.flatMap((value) =>
    ["a", "b", "c"].map((id) => {
      const context = contexts.parse(plan(value))
      const base = model.a0 + model.f[context.coefficients[0]!]!
      return base + meanOf(model, id, context)
    })
  )
}

describe("a refit with another prior", () => {
  it("is identical under the same prior", () => {
    const model = modelOf(different)
    const same = refitOf(model).with(model.fittedWith!).model
    assert.closeTo(same.a0, model.a0, 1e-9)
    same.variants.forEach(({ beta, covariance }, v) => {
      beta.forEach((value, i) => assert.closeTo(value, model.variants[v]!.beta[i]!, 1e-9))
      covariance.forEach((value, i) => assert.closeTo(value, model.variants[v]!.covariance[i]!, 1e-9))
    })
  })

  it("approximates a fit with that prior from the counts", () => {
    const model = modelOf(different)
    for (const tau of [0.05, 0.2, 0.4]) {
      const { tau0 } = model.fittedWith!
      const start = { ...model, tau0, taus: [tau] }
      const fitted = fitRows(rowsOf(different), { scheme, start, holdShrinkage: true, rounds: 60 })
      const wanted = logRates(fitted)
      logRates(refitOf(model).with({ taus: [tau] }).model).forEach((log, i) => assert.closeTo(log, wanted[i]!, 0.06))
    }
  })

  it("has more evidence if its spread matches the differences of the variants", () => {
    const evidence = (model: ModelSnapshot, tau: number) => refitOf(model).with({ taus: [tau] }).logEvidence
    const [far, near] = [modelOf(different), modelOf(alike)]
    assert.isAbove(evidence(far, 0.4), evidence(far, 0.05) + 3)
    assert.isBelow(evidence(near, 0.4), evidence(near, 0.05) - 1)
  })

  it("has no evidence if its data do not come from a fit", () => {
    const model = modelOf(different)
    const variants = model.variants.map((variant) => ({
      ...variant,
      covariance: variant.covariance.map((value, at) => at === 0 ? value + 1 : value),
    }))
    assert.strictEqual(refitOf({ ...model, variants }).with({ taus: [0.4] }).logEvidence, -Infinity)
  })

  it("applies a case of the effects of earlier exposures to the log rates", () => {
    const rows = ["a", "b"].map((variant) => ({
      variant,
      context: "",
      start: Math.floor(now / day) * day - 5 * day,
      sends: 100_000,
      clicks: 4000,
    }))
    const fatigue = {
      effects: [0, -0.1, -0.3, -0.5],
      freshness: () => 0.8,
      uncertainty: () => 0.1,
      cases: (variant: string) => variant === "a" ? [0.2, -0.1] : [-0.2, 0.1],
      reported: [],
    }
    const model = fitRows(rows, { fatigue, window: adaptive, curve: promptCurve, rounds: 60 })
    const refit = refitOf(model)
    const own = refit.with({ taus: [] }).model
    const inCase = (fatigueCase: number) => refit.with({ taus: [], fatigueCase }).model
    const difference = ({ variants: [a, b] }: ModelSnapshot) => a!.beta[0]! - b!.beta[0]!
    assert.closeTo(difference(own), difference(model), 1e-9)
    assert.closeTo(own.variants[0]!.covariance[0]!, model.variants[0]!.covariance[0]!, 1e-12)
    assert.closeTo(difference(inCase(0)) - difference(own), 0.4, 0.02)
    assert.closeTo(difference(inCase(1)) - difference(own), -0.2, 0.02)
    // The case replaces the uncertainty.
    assert.isBelow(inCase(0).variants[0]!.covariance[0]!, own.variants[0]!.covariance[0]! - 0.005)
  })
})
