import { assert, describe, it } from "@effect/vitest"
import { Contexts, encodeContext } from "../../src/bandit/Contexts.ts"
import { type Composition, foretellings, interceptVariance } from "../../src/bandit/Components.ts"
import { rate } from "../../src/bandit/Model.ts"
import { eligibleSet, Policy } from "../../src/bandit/Policy.ts"
import { contributionOf, organizationPriors } from "../../src/bandit/Priors.ts"
import { adaptive, compare, day, fitRows, normal, now, type Row } from "./Samples.ts"

const subjects = ["question", "offer", "news"]
const images = ["shoe", "bag", "face", "none"]
const start = Math.floor(now / day) * day - 5 * day
const none = new Contexts({ keys: [], builtIns: [] }).parse(encodeContext([]))

const ids = subjects.flatMap((subject) => images.map((image) => `${subject}-${image}`))
const composition: Composition = ids.map((id) => {
  const [subject = "", image = ""] = id.split("-")
  return [id, [["subject", subject], ["image", image]]]
})

/** Every variant except the last got `sends`. An offer doubles the rate with any image. */
const rows = (sends: number): ReadonlyArray<Row> =>
  ids.slice(0, -1).map((variant) => ({
    variant,
    context: "",
    start,
    sends,
    clicks: Math.round(sends * (variant.startsWith("offer") ? 0.06 : 0.03)),
  }))

const fitted = (sends: number, made: Composition = composition) =>
  fitRows(rows(sends), { composition: made, rounds: 60, window: { mode: "window", lookbackDays: 14, offsetDays: 0 } })

describe("components of variants", () => {
  it("share data, so that an effect common to a component is found with less data", () => {
    const others = (made: Composition) => {
      const { ids: all, weights } = new Policy(fitted(60, made), 0).choice(none, eligibleSet(ids))
      return all.reduce((sum, id, i) => sum + (id.startsWith("offer") ? 0 : weights[i]!), 0)
    }
    assert.isBelow(others(composition), 0.5 * others([]))
  })

  it("predict a variant without decisions", () => {
    const model = fitted(2_000)
    const foretold = foretellings(model.components!)
    const offer = foretold("offer-none").mean - foretold("news-none").mean
    assert.closeTo(offer, Math.log(2), 0.2)
    const added = fitRows(rows(2_000), {
      composition: [...composition, ["fresh", [["subject", "offer"], ["image", "face"]]]],
      rounds: 60,
    })
    const policy = new Policy(added)
    const { ids: all, means, sds } = policy.choice(none, eligibleSet(["fresh", "news-none", "offer-face"]))
    assert.deepStrictEqual(all, ["fresh", "news-none", "offer-face"])
    assert.isAbove(means[0]!, means[1]! + 0.4)
    // Its difference from variants with equal components is still unknown.
    assert.isAbove(sds[0]!, sds[2]!)
    assert.isAbove(sds[0]!, added.tau0)
  })

  it("assign an unknown variant the uncertainty of a variant without data", () => {
    const model = fitted(2_000)
    const { mean, variance } = foretellings(model.components!)("unknown")
    assert.strictEqual(mean, 0)
    assert.closeTo(model.tau0 ** 2 + variance, interceptVariance(model), 1e-12)
    const { means, sds } = new Policy(model).choice(none, eligibleSet(["unknown", "news-none"]))
    assert.closeTo(means[1]!, 0, 1e-12)
    assert.closeTo(sds[1]!, Math.sqrt(interceptVariance(model)), 1e-12)
  })

  it("are at the maximum of the posterior: another step of the fit does not change them", () => {
    const first = fitted(500)
    const again = fitRows(rows(500), {
      composition,
      start: first,
      rounds: 1,
      window: { mode: "window", lookbackDays: 14, offsetDays: 0 },
    })
    again.components!.effects.forEach((effect, i) => assert.closeTo(effect, first.components!.effects[i]!, 2e-3))
    again.variants.forEach(({ beta }, v) => assert.closeTo(beta[0]!, first.variants[v]!.beta[0]!, 2e-3))
  })

  it("are not learned if no variants share a value, or if all do", () => {
    const own: Composition = ids.map((id) => [id, [["text", id]]])
    const same: Composition = ids.map((id) => [id, [["text", "same"]]])
    for (const made of [own, same, [], ids.map((id) => [id, []] as const)]) {
      assert.isUndefined(fitted(500, made).components)
    }
  })

  it("take a missing kind for a value of its own, and leave out the kinds with most values beyond 200", () => {
    const partly: Composition = ids.map((id) => [id, id.startsWith("offer") ? [["badge", "sale"]] : []])
    const { components } = fitted(500, partly)
    assert.deepStrictEqual(components!.kinds.map(({ name, values }) => [name, values]), [["badge", ["", "sale"]]])
    const many: Composition = Array.from({ length: 400 }, (_, i) => [
      `v${i}`,
      [["wide", `w${i % 190}`], ["wider", `x${i % 199}`], ["narrow", `n${i % 2}`]],
    ])
    assert.deepStrictEqual(fitted(500, many).components!.kinds.map(({ name }) => name), ["narrow", "wide"])
  })

  it("have rates in the report that agree with the weights, also for variants without data", () => {
    const model = fitted(400)
    const { variants } = compare(model, ids, normal(3), { draws: 20_000 })
    const policy = new Policy(model)
    const choice = policy.choice(none, eligibleSet(ids))
    variants.forEach(({ id, interval, rate: shown }) => {
      const at = choice.ids.indexOf(id)
      const known = model.variants.find((variant) => variant.id === id)
      const middle = rate(model, known, none, foretellings(model.components!)(id))
      assert.closeTo(shown / middle, 1, 0.1)
      const sd = Math.log(interval[1] / interval[0]) / 3.92
      // The base rate's error comes on top of the variant's own.
      assert.isAbove(sd, 0.9 * choice.sds[at]!)
    })
  })

  it("do not change how much variants differ in the organization's prior", () => {
    const [split, plain] = [fitted(5_000), fitted(5_000, [])].map((model) =>
      organizationPriors(new Map([["t", contributionOf(model)!]])).tau0
    )
    assert.closeTo(split!, plain!, 0.02)
  })

  it("survive a warm start with other variants, kinds and values", () => {
    const first = fitted(500)
    const other: Composition = composition.slice(2).map((
      [id, made],
    ) => [id, [...made, ["cta", id.length > 9 ? "a" : "b"]]])
    const next = fitRows(rows(500), { composition: other, start: first, window: adaptive })
    assert.deepStrictEqual(next.components!.kinds.map(({ name }) => name), ["cta", "subject", "image"])
    assert.isTrue(next.components!.effects.every(Number.isFinite))
  })
})
