import { assert, describe, it } from "@effect/vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { report } from "../../src/bandit/Report.ts"
import { prepare } from "../../src/results/Composition.ts"
import type { PersonalReport } from "../../src/bandit/Personal.ts"
import { answerOf, preferencesOf } from "../../src/results/Preferences.ts"
import { day, fitRows, now, uniform } from "../bandit/Samples.ts"
import { input, row, variant, won } from "./Samples.ts"

const plans = ["free", "pro", "team"]
const tiers = ["gold", "silver", "none"]
const dayparts = ["morning", "afternoon", "evening", "night"]
const contexts = plans.flatMap((plan) =>
  tiers.flatMap((tier) =>
    dayparts.map((daypart) => ({
      plan,
      context: encodeContext([["plan", plan], ["tier", tier], ["daypart", daypart], ["weekend", "weekday"]]),
    }))
  )
)

/** Ten days of three variants. `ratio`: of the rate of the preferred variant of the plans free and pro to the others'. */
const simulated = (ratio: number, perDay: number, seed: number) => {
  const random = uniform(seed)
  const sends = Math.max(1, Math.round(perDay / contexts.length / 3))
  const counts = ["a", "b", "c"].flatMap((id) =>
    contexts.flatMap(({ context, plan }) => {
      const isPreferred = id === "a" && plan === "free" || id === "b" && plan === "pro"
      const rate = 0.06 * (isPreferred ? ratio : 1)
      return Array.from({ length: 10 }, (_, d) => ({
        variant: id,
        context,
        start: Math.floor(now / day) * day - (d + 1) * day,
        sends,
        clicks: Array.from({ length: sends }, random).filter((u) => u < rate).length,
      }))
    })
  )
  const model = fitRows(counts, {
    scheme: {
      keys: [{ name: "plan", values: plans }, { name: "tier", values: tiers }],
      builtIns: ["daypart", "weekend"],
    },
  })
  const variants = ["a", "b", "c"].map((id) => variant(id))
  const rows = counts.map(({ clicks, context, sends, variant }) =>
    row(variant, context, "learned", { decisions: sends, delivered: sends, click: clicks })
  )
  const { compose, request } = prepare(
    input({
      template: { ...input().template, variants },
      eligible: new Set(variants.map(({ id }) => id)),
      model,
      rows,
    }),
  )
  return compose(report(request))
}

const preferredIn = (ratio: number, perDay: number, runs: number) =>
  Array.from({ length: runs }, (_, seed) => {
    const results = simulated(ratio, perDay, seed)
    return preferencesOf(results, results.winner.leader).map(({ preferred, segment }) => ({
      segment,
      id: preferred.copy_id as string,
    }))
  })

describe("segments that prefer another variant", () => {
  it("are found in at most one of 20 simulations of equally good variants", () => {
    assert.isAtMost(preferredIn(1, 1000, 20).filter((found) => found.length > 0).length, 1)
  })

  it("are found where two plans prefer different variants, and are the right ones", () => {
    const found = preferredIn(1.65, 3000, 5)
    for (const preferences of found) {
      assert.isAbove(preferences.length, 0)
      for (const { id, segment } of preferences) {
        assert.include(["free a", "pro b"], `${segment["plan"]} ${id}`)
      }
    }
  })
})

describe("the answer of results", () => {
  const resultsOf = (more: Parameters<typeof input>[0] = {}) => {
    const { compose, request } = prepare(input(more))
    return compose(report(request))
  }
  const found = resultsOf()
  const lift = (value: number) => ({
    value,
    interval: [value - 0.02, value + 0.02] as const,
    difference: value / 10,
    differenceInterval: [value / 10 - 0.002, value / 10 + 0.002] as const,
  })
  const personal = (more: Partial<PersonalReport> = {}): PersonalReport => ({
    probability: 0.97,
    overBest: lift(0.1),
    overSplit: lift(0.3),
    over: [{ id: "b", ...lift(0.25) }, { id: "a", ...lift(0.1) }],
    ...more,
  })

  it("is that different people prefer different variants, with the segments and what personalizing gains", () => {
    const { answer } = found
    assert.strictEqual(answer.kind, "different_people")
    assert.isNull(answer.waits_for)
    assert.deepStrictEqual(
      answer.segments.map(({ copy_id, instead, segment }) => [segment, copy_id, instead.copy_id]),
      [
        [{ plan: "pro" }, "b", "a"],
        [{ plan: "free" }, "a", "b"],
      ],
    )
    assert.isAbove(answer.gain_over_best!.interval[0], 0)
    assert.isAbove(answer.gain_over_split!.value, answer.gain_over_best!.value)
    assert.deepStrictEqual(answer.shipping.map(({ copy_id }) => copy_id), ["a", "b"])
    assert.isAbove(answer.shipping[1]!.loss, answer.shipping[0]!.loss)
  })

  it("stays the same with a winner over all people", () => {
    const { answer } = resultsOf({ verdict: won("a") })
    assert.strictEqual(answer.kind, "different_people")
    assert.strictEqual(resultsOf({ verdict: won("a"), segment: new Map([["plan", "pro"]]) }).answer.kind, "one_for_all")
  })

  it("requires seven days, certainty, a gain of 1 %, a segment and all people", () => {
    const kindOf = (more: Partial<typeof found>, report: PersonalReport | undefined = personal()) =>
      answerOf({ ...found, ...more }, report).kind
    assert.strictEqual(kindOf({}), "different_people")
    assert.strictEqual(kindOf({ winner: { ...found.winner, days: 6.9 } }), "undecided")
    assert.strictEqual(kindOf({}, personal({ probability: 0.94 })), "undecided")
    assert.strictEqual(kindOf({}, personal({ overBest: lift(0.009) })), "undecided")
    assert.strictEqual(kindOf({ segments: [] }), "undecided")
    assert.strictEqual(kindOf({ segment: { plan: "pro" } }), "undecided")
    assert.strictEqual(answerOf(found, undefined).kind, "undecided")
  })

  it("names at most five segments, of which one prefers the best variant over all people", () => {
    const [pro, free] = found.answer.segments.map(({ segment }) =>
      found.segments.find((one) => one.segment["plan"] === segment["plan"])!
    )
    const many = Array.from({ length: 9 }, (_, i) => ({ ...pro!, segment: { plan: `pro ${i}` } }))
    const { segments } = answerOf({ ...found, segments: [...many, free!] }, personal())
    assert.lengthOf(segments, 5)
    assert.deepStrictEqual(segments.map(({ copy_id }) => copy_id), ["b", "b", "b", "b", "a"])
  })

  it("follows the verdict otherwise, and says what an undecided one waits for", () => {
    const kindOf = (verdict: typeof found.winner.verdict) =>
      answerOf({ ...found, winner: { ...found.winner, verdict } }, undefined).kind
    assert.strictEqual(kindOf("winner"), "one_for_all")
    assert.strictEqual(kindOf("firm_winner"), "one_for_all")
    assert.strictEqual(kindOf("no_difference"), "no_difference")
    const variants = found.variants.map((one) => ({ ...one, share: one.copy_id === "a" ? 0.25 : 0.75 }))
    const winner = { ...found.winner, days: 2.3, matured_sends: 60 }
    const answer = answerOf({ ...found, variants, winner }, undefined)
    assert.deepStrictEqual(answer.waits_for, { day: 3, of_days: 7, decisions: 160 })
    assert.deepStrictEqual(answer.shipping, [])
    assert.isNull(answer.gain_over_best)
  })

  it("has no gains before the first outcome, and if sending nothing is a candidate", () => {
    assert.isNull(resultsOf({ rows: [] }).answer.gain_over_best)
    assert.isNull(resultsOf({ eligible: new Set(["a"]) }).answer.gain_over_best)
  })
})
