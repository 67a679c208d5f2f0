import { assert, describe, it } from "@effect/vitest"
import { decodeContext, encodeContext } from "../../src/bandit/Contexts.ts"
import { anyValues, Counts } from "../../src/bandit/Counts.ts"
import { type ModelSnapshot, priorModel } from "../../src/bandit/Model.ts"
import { eligibleSet, Policy } from "../../src/bandit/Policy.ts"
import { defaultPriors } from "../../src/bandit/Priors.ts"
import { report, type ReportRequest } from "../../src/bandit/Report.ts"
import { reportModels } from "../../src/bandit/ReportModels.ts"
import { bestArmProbabilities } from "../../src/bandit/Weights.ts"
import { adaptive, compare, day, fitRows, normal, now, sum } from "./Samples.ts"

const plan = (value: string) => encodeContext([["plan", value]])
const scheme = { keys: [{ name: "plan", values: ["free", "pro"] }], builtIns: [] }

/** Variant a is better for free users, b for paying users. There are nine times as many free users. */
const model = fitRows(
  Array.from({ length: 10 }, (_, d) => Math.floor(now / day) * day - (d + 1) * day).flatMap((start) => [
    { variant: "a", context: plan("free"), start, sends: 900, clicks: 45 },
    { variant: "a", context: plan("pro"), start, sends: 100, clicks: 2 },
    { variant: "b", context: plan("free"), start, sends: 900, clicks: 27 },
    { variant: "b", context: plan("pro"), start, sends: 100, clicks: 6 },
  ]),
  { scheme },
)

const contextsOf = (value: string) => model.traffic.filter(({ cell }) => decodeContext(cell).get("plan") === value)

const request: ReportRequest = {
  model,
  floor: 0.01,
  ids: ["a", "b"],
  eligible: ["a", "b"],
  groups: [{ name: "plan=free", contexts: contextsOf("free") }, { name: "plan=pro", contexts: contextsOf("pro") }],
  seed: 7,
}

const empty: ModelSnapshot = priorModel({
  version: "t:0",
  now,
  window: adaptive,
  scheme,
  organization: defaultPriors,
})

const flat = (rates: ReadonlyArray<number>, sends = 10_000) =>
  fitRows(rates.flatMap((rate, v) =>
    Array.from({ length: 10 }, (_, d) => ({
      variant: `v${v}`,
      context: "",
      start: Math.floor(now / day) * day - (d + 1) * day,
      sends: sends / 10,
      clicks: sends * rate / 10,
    }))
  ))

const flatRequest = (rates: ReadonlyArray<number>, sends?: number): ReportRequest => {
  const ids = rates.map((_, v) => `v${v}`)
  return { model: flat(rates, sends), floor: 0.01, ids, eligible: ids, groups: [], seed: 1 }
}

describe("a report on a template", () => {
  it("finds a planted winner and its share of the traffic", () => {
    const { overall } = report(flatRequest([0.03, 0.045, 0.03], 20_000))
    assert.strictEqual(overall.leader, "v1")
    assert.isAbove(overall.variants[1]!.share, 0.98)
    assert.closeTo(overall.variants[1]!.rate, 0.045, 0.003)
    assert.isTrue(overall.variants[1]!.interval[0] < 0.045 && overall.variants[1]!.interval[1] > 0.045)
  })

  it("returns shares that sum to 1 over the eligible variants", () => {
    const { groups, overall } = report({ ...request, ids: ["a", "b", "gone", "stopped"], eligible: ["a", "b"] })
    for (const variants of [overall.variants, ...groups.map((group) => group.variants)]) {
      assert.closeTo(sum(variants.map(({ share }) => share)), 1, 1e-12)
      assert.deepStrictEqual(variants.slice(2).map(({ pBest, share }) => [pBest, share]), [[0, 0], [0, 0]])
      assert.closeTo(sum(variants.map(({ pBest }) => pBest)), 1, 1e-9)
    }
  })

  it("averages the shares over contexts by traffic", () => {
    const policy = new Policy(model, 0.01)
    const weights = model.traffic.map(({ cell, sends }) => {
      const choice = policy.choice(policy.contexts.parse(cell), eligibleSet(["a", "b"]))
      return sends * choice.weights[0]!
    })
    const { groups, overall } = report(request)
    const total = sum(model.traffic.map(({ sends }) => sends))
    assert.closeTo(overall.variants[0]!.share, sum(weights) / total, 1e-12)
    assert.isAbove(groups[0]!.variants[0]!.share, 0.9)
    assert.isBelow(groups[1]!.variants[0]!.share, 0.3)
  })

  it("divides the traffic of a context among the variants that targeting allows", () => {
    const { groups, overall } = report({ ...request, narrowed: [{ context: plan("free"), eligible: ["b"] }] })
    assert.deepStrictEqual(groups[0]!.variants.map(({ share }) => share), [0, 1])
    assert.isAbove(overall.variants[1]!.share, 0.9)
    const nobody = report({ ...request, narrowed: [{ context: plan("free"), eligible: [] }] })
    assert.deepStrictEqual(nobody.groups[0]!.variants.map(({ share }) => share), [0, 0])
    // A segment in which no variant can be chosen has no share of the traffic.
    assert.closeTo(sum(nobody.overall.variants.map(({ share }) => share)), 1, 1e-12)
  })

  it("names the best variant of each segment", () => {
    const { groups, overall } = report(request)
    const [free, pro] = groups
    assert.deepStrictEqual(groups.map(({ name }) => name), ["plan=free", "plan=pro"])
    assert.isAbove(free!.variants[0]!.pBest, 0.95)
    assert.isAbove(pro!.variants[1]!.pBest, 0.75)
    assert.isAbove(pro!.variants[1]!.rate, pro!.variants[0]!.rate)
    // The whole is the mean of its parts.
    overall.variants.forEach(({ rate }, v) =>
      assert.closeTo(rate, 0.9 * free!.variants[v]!.rate + 0.1 * pro!.variants[v]!.rate, 0.0005)
    )
  })

  it("reports an ineligible variant but never as the winner", () => {
    const { overall } = report({ ...flatRequest([0.03, 0.06, 0.04], 20_000), eligible: ["v0", "v2"] })
    assert.strictEqual(overall.leader, "v2")
    assert.closeTo(overall.variants[1]!.rate, 0.06, 0.004)
    assert.deepStrictEqual([overall.variants[1]!.pBest, overall.variants[1]!.expectedLoss], [0, 0])
  })

  it("has no leader if no variant is eligible", () => {
    const { overall } = report({ ...request, eligible: [] })
    assert.deepStrictEqual([overall.leader, overall.lift], [null, null])
    assert.deepStrictEqual(overall.variants.map(({ share }) => share), [0, 0])
    assert.isAbove(overall.variants[0]!.rate, 0)
  })

  it("limits the overall result to the given contexts", () => {
    const { groups, overall } = report({ ...request, contexts: contextsOf("pro") })
    assert.strictEqual(overall.leader, "b")
    assert.deepStrictEqual(
      overall.variants.map(({ share }) => share),
      groups[1]!.variants.map(({ share }) => share),
    )
  })

  it("assigns all variants without data the same prior", () => {
    const ids = ["a", "b", "c", "d"]
    const { overall } = report({ ...request, model: empty, ids, eligible: ids, draws: 100_000 })
    for (const { interval, pBest, rate, share } of overall.variants) {
      assert.closeTo(rate, 0.03 * Math.exp(0.02), 0.0005)
      assert.isTrue(interval[0] < 0.023 && interval[1] > 0.04)
      assert.closeTo(pBest, 0.25, 0.03)
      assert.closeTo(share, 0.25, 1e-9)
    }
  })

  it("includes variants unknown to the model", () => {
    const { overall } = report({
      ...flatRequest([0.03, 0.06], 20_000),
      ids: ["v0", "new", "v1"],
      eligible: ["new", "v1"],
    })
    const [known, unknown] = overall.variants
    assert.isAbove(unknown!.interval[1] / unknown!.interval[0], known!.interval[1] / known!.interval[0])
    assert.isAbove(unknown!.pBest, 0)
  })

  it("is identical for one seed and similar for another", () => {
    assert.deepStrictEqual(report(request), report(request))
    const [a, b] = [report(request), report({ ...request, seed: 8 })]
    assert.notDeepEqual(a, b)
    a.overall.variants.forEach(({ pBest, rate }, v) => {
      assert.closeTo(b.overall.variants[v]!.rate / rate, 1, 0.01)
      assert.closeTo(b.overall.variants[v]!.pBest, pBest, 0.05)
    })
  })

  it("agrees with the integral and with another generator of normal numbers", () => {
    const asked = flatRequest([0.04, 0.043, 0.05], 3000)
    const { overall } = report({ ...asked, draws: 20_000 })
    const posteriors = asked.model.variants.map(({ beta, covariance }) =>
      [beta[0]!, Math.sqrt(covariance[0]!)] as const
    )
    const integrals = reportModels(asked.model).map(({ variants }) =>
      bestArmProbabilities(variants.map(({ beta }) => beta[0]!), variants.map((one) => Math.sqrt(one.covariance[0]!)))
    )
    const q = asked.ids.map((_, v) => sum(integrals.map((best) => best[v]!)) / integrals.length)
    const other = compare(asked.model, asked.ids, normal(5), { draws: 20_000 })
    overall.variants.forEach(({ interval, pBest }, v) => {
      assert.closeTo(pBest, q[v]!, 0.015)
      assert.closeTo(pBest, other.variants[v]!.pBest, 0.02)
      const [mean, sd] = posteriors[v]!
      assert.closeTo(interval[0], Math.exp(asked.model.a0 + mean - 1.96 * sd), 0.001)
      assert.closeTo(interval[1], Math.exp(asked.model.a0 + mean + 1.96 * sd), 0.001)
    })
  })

  it("counts the days on which costs exceed the gains", () => {
    const counts = new Counts(anyValues)
    for (let d = 1; d <= 28; d++) {
      const start = Math.floor(now / day) * day - d * day
      // One opt-out at the cost of 8 on every second day.
      const [value, square] = d % 2 === 0 ? [9, 9] : [-3, 69]
      for (const id of ["a", "b"]) counts.add(id, "", start, 300, value, square)
    }
    const { overall } = report({ ...request, model: fitRows([], { counts }), groups: [], draws: 20_000 })
    for (const { rate } of overall.variants) assert.closeTo(rate, 3 / 300, 0.001)
  })

  it("round-trips through a worker", () => {
    assert.deepStrictEqual(structuredClone(report(structuredClone(request))), report(request))
  })

  it("reports a template of very many variants within its budget", () => {
    const ids = Array.from({ length: 100 }, (_, v) => `x${v}`)
    const { overall } = report({ ...request, ids, eligible: ids })
    assert.closeTo(sum(overall.variants.map(({ pBest }) => pBest)), 1, 1e-9)
    assert.closeTo(sum(overall.variants.map(({ share }) => share)), 1, 1e-9)
  })
})
