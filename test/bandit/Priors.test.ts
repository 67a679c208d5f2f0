import { assert, describe, it } from "@effect/vitest"
import { emptyScheme } from "../../src/bandit/Contexts.ts"
import { priorModel } from "../../src/bandit/Model.ts"
import { contributionOf, defaultPriors, organizationPriors } from "../../src/bandit/Priors.ts"
import { adaptive, day, fitRows, now } from "./Samples.ts"

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
    const priors = organizationPriors(
      new Map([
        ["t1", { squares: 0.3, determined: 2, a0: Math.log(0.02) }],
        ["t2", { squares: 0.1, determined: 1, a0: Math.log(0.08) }],
      ]),
    )
    assert.closeTo(Math.exp(priors.a0), 0.04, 1e-12)
    assert.closeTo(priors.tau0, Math.sqrt((0.16 + 0.4) / 7), 1e-12)
    assert.closeTo(priors.squares, 0.4, 1e-12)
    assert.strictEqual(priors.determined, 3)
  })

  it("exclude the template that is being fitted", () => {
    const one = new Map([["t1", { squares: 0.3, determined: 2, a0: -2 }]])
    assert.deepStrictEqual(organizationPriors(one, "t1"), defaultPriors)
    assert.strictEqual(organizationPriors(one, "t2").a0, -2)
  })

  it("use templates with at least 30 clicks", () => {
    assert.isUndefined(contributionOf(fitRows(rows([0.02, 0.009], 1000))))
    const contribution = contributionOf(fitRows(rows([0.02, 0.01], 1000)))!
    assert.isAbove(contribution.squares, 0)
    assert.isAbove(contribution.determined, 0)
    assert.isBelow(contribution.determined, 2)
  })

  it("widen the spread if variants differ, and narrow it if they do not", () => {
    const learned = (rates: ReadonlyArray<number>) =>
      organizationPriors(new Map([["t", contributionOf(fitRows(rows(rates, 50_000)))!]])).tau0
    assert.isAbove(learned([0.01, 0.02, 0.04, 0.08]), 0.3)
    assert.isBelow(learned([0.03, 0.03, 0.03, 0.03]), 0.18)
  })

  it("are the starting point of a new template", () => {
    const organization = { squares: 0.4, determined: 3, a0: Math.log(0.04), tau0: 0.28 }
    const model = priorModel({ version: "t:0", now, window: adaptive, scheme: emptyScheme, organization })
    assert.strictEqual(model.a0, Math.log(0.04))
    assert.strictEqual(model.tau0, 0.28)
    // The first fit, of nothing, agrees.
    const fitted = fitRows([], { scheme: emptyScheme, organization })
    assert.closeTo(fitted.tau0, Math.sqrt((0.16 + 0.4) / 7), 1e-12)
    assert.closeTo(fitted.a0, model.a0, 1e-12)
  })
})
