import { assert, describe, it } from "@effect/vitest"
import { emptyScheme } from "../../src/bandit/Contexts.ts"
import { priorModel } from "../../src/bandit/Model.ts"
import { contributionOf, defaultPriors, organizationPriors, type PriorContribution } from "../../src/bandit/Priors.ts"
import { spreads } from "../../src/bandit/Spreads.ts"
import { windowOf } from "../../src/bandit/Window.ts"
import { adaptive, day, fitRows, normal, now, uniform } from "./Samples.ts"

const rows = (rates: ReadonlyArray<number>, sends = 5000) =>
  rates.map((rate, i) => ({
    variant: `v${i}`,
    context: "",
    start: now - 5 * day,
    sends,
    clicks: Math.round(sends * rate),
  }))

describe("the priors of an organization", () => {
  it("are a rate of 3 % and a spread of 0.2 without templates", () => {
    assert.deepStrictEqual(organizationPriors(new Map()), defaultPriors)
    assert.closeTo(Math.exp(defaultPriors.a0), 0.03, 1e-15)
    assert.strictEqual(defaultPriors.tau0, 0.2)
  })

  it("are pooled from its templates", () => {
    const wide: PriorContribution = {
      a0: Math.log(0.02),
      spreads: spreads.map((spread) => spread > 0.5 ? 0 : -50),
      squares: 0,
      determined: 0,
    }
    const others: PriorContribution = {
      ...wide,
      a0: Math.log(0.08),
      spreads: spreads.map(() => 0),
      builtIns: [["daypart", 2]],
    }
    const priors = organizationPriors(new Map([["t1", wide], ["t2", others]]))
    assert.closeTo(Math.exp(priors.a0), 0.04, 1e-12)
    assert.isAbove(priors.tau0, 0.5)
    assert.isAbove(priors.builtIns.get("daypart")!, 0.5)
    assert.isUndefined(priors.builtIns.get("weekend"))
  })

  it("exclude the template that is being fitted", () => {
    const one = new Map([["t1", { a0: -2, squares: 0, determined: 0 } as const]])
    assert.deepStrictEqual(organizationPriors(one, "t1"), defaultPriors)
    assert.strictEqual(organizationPriors(one, "t2").a0, -2)
  })

  it("take only the base rate from contributions of earlier releases", () => {
    const earlier = JSON.parse(`{"squares":0.3,"determined":2,"a0":-2}`)
    const { tau0, ...priors } = organizationPriors(new Map([["t1", earlier]]))
    assert.closeTo(tau0, defaultPriors.tau0, 1e-5)
    assert.deepStrictEqual(priors, { a0: -2, spreads: defaultPriors.spreads, builtIns: new Map() })
  })

  it("use templates with at least 30 clicks", () => {
    assert.isUndefined(contributionOf(fitRows(rows([0.02, 0.009], 1000))))
    assert.lengthOf(contributionOf(fitRows(rows([0.02, 0.01], 1000)))!.spreads!, spreads.length)
  })

  it("find how much variants differ in templates with 45 clicks each", () => {
    const learned = (sd: number) => {
      const draw = normal(1)
      const random = uniform(2)
      const contributions = new Map<string, PriorContribution>()
      for (let t = 0; t < 60; t++) {
        // Two weeks of five variants with three clicks a day, under the half-life of the service.
        const logs = Array.from({ length: 5 }, () => sd * draw())
        const seen = logs.flatMap((log, v) =>
          Array.from({ length: 14 }, (_, ago) => ({
            variant: `v${v}`,
            context: "",
            start: now - (ago + 0.5) * day,
            sends: 21,
            clicks: Array.from({ length: 21 }, () => random() < 0.03 * Math.exp(log) ? 1 : 0).reduce<number>(
              (a, b) => a + b,
              0,
            ),
          }))
        )
        const organization = organizationPriors(contributions)
        const model = fitRows(seen, { organization, window: windowOf(undefined), scheme: emptyScheme })
        const contribution = contributionOf(model)
        if (contribution !== undefined) contributions.set(`t${t}`, contribution)
      }
      return organizationPriors(contributions).tau0
    }
    assert.closeTo(learned(0.25), 0.25, 0.06)
    assert.closeTo(learned(0.5), 0.5, 0.08)
    assert.isBelow(learned(0), 0.13)
  })

  it("widen the spread if variants differ, and narrow it if they do not", () => {
    const learned = (rates: ReadonlyArray<number>) =>
      organizationPriors(new Map([["t", contributionOf(fitRows(rows(rates, 50_000)))!]])).tau0
    assert.isAbove(learned([0.01, 0.02, 0.04, 0.08]), 0.3)
    assert.isBelow(learned([0.03, 0.03, 0.03, 0.03]), 0.18)
  })

  it("are the starting point of a new template", () => {
    const organization = organizationPriors(
      new Map([["t", contributionOf(fitRows(rows([0.02, 0.04, 0.06], 10_000)))!]]),
    )
    assert.isAbove(organization.tau0, 0.25)
    const model = priorModel({ version: "t:0", now, window: adaptive, scheme: emptyScheme, organization })
    assert.strictEqual(model.a0, organization.a0)
    assert.strictEqual(model.tau0, organization.tau0)
    // The first fit, of nothing, agrees.
    const fitted = fitRows([], { scheme: emptyScheme, organization })
    assert.closeTo(fitted.tau0, organization.tau0, 1e-12)
    assert.closeTo(fitted.a0, model.a0, 1e-12)
  })
})
