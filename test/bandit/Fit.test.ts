import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { Contexts, encodeContext } from "../../src/bandit/Contexts.ts"
import { fitVariant, workspace } from "../../src/bandit/VariantFit.ts"
import { delayCurve, maturity } from "../../src/bandit/Maturity.ts"
import type { FitInput } from "../../src/bandit/Fit.ts"
import { posterior, rate } from "../../src/bandit/Model.ts"
import { eligibleSet, Policy } from "../../src/bandit/Policy.ts"
import { delayCounts } from "./delayCounts.ts"
import { adaptive, day, fitRows, hour, meanOf, normal, now, promptCurve, type Row } from "./Samples.ts"

const today = Math.floor(now / day) * day
const none = new Contexts({ keys: [], builtIns: [] }).parse("")
const plans = { keys: [{ name: "plan", values: ["a", "b"] }], builtIns: [] }
const plan = (value: string) => encodeContext([["plan", value]])
const planContexts = new Contexts(plans)

const row = (variant: string, daysAgo: number, sends: number, clicks: number, context = ""): Row => ({
  variant,
  context,
  start: today - daysAgo * day,
  sends,
  clicks,
})

/** Three variants with data everywhere, and more of it here and there, at rates as e-mail has them. */
const settled = fc.array(
  fc.record({
    variant: fc.constantFrom("u", "v", "w"),
    context: fc.constantFrom(plan("a"), plan("b"), plan("other")),
    daysAgo: fc.integer({ min: 5, max: 9 }),
    sends: fc.integer({ min: 1, max: 400 }),
    share: fc.double({ min: 0, max: 0.1, noNaN: true }),
  }),
  { maxLength: 12 },
).map((more) => [
  ...["u", "v", "w"].flatMap((variant) =>
    ["a", "b", "other"].flatMap((value) => [5, 6, 7, 8, 9].map((daysAgo) => row(variant, daysAgo, 100, 4, plan(value))))
  ),
  ...more.map(({ context, daysAgo, sends, share, variant }) =>
    row(variant, daysAgo, sends, Math.floor(sends * share), context)
  ),
])

describe("the regression of a variant", () => {
  const instances = fc.record({
    contexts: fc.array(
      fc.record({
        coefficients: fc.tuple(fc.constantFrom(-1, 1, 2), fc.constantFrom(-1, 3, 4, 5)),
        expected: fc.double({ min: 0, max: 200, noNaN: true }),
        clicks: fc.integer({ min: 0, max: 200 }),
      }),
      { minLength: 1, maxLength: 10 },
    ),
    tau: fc.double({ min: 0.01, max: 0.5, noNaN: true }),
  })
  const solve = (
    contexts: ReadonlyArray<{ coefficients: readonly [number, number]; expected: number; clicks: number }>,
    tau: number,
  ) => {
    const beta = new Float64Array(6)
    const design = {
      size: 6,
      stride: 2,
      coefficients: Int32Array.from(contexts.flatMap(({ coefficients }) => coefficients)),
    }
    fitVariant(
      design,
      {
        contexts: Int32Array.from(contexts, (_, c) => c),
        expected: Float64Array.from(contexts, ({ expected }) => expected),
        clicks: Float64Array.from(contexts, ({ clicks }) => clicks),
        from: 0,
        to: contexts.length,
      },
      new Float64Array(6).fill(1 / tau ** 2),
      beta,
      workspace(6),
      100,
    )
    const eta = (c: number) => beta[0]! + contexts[c]!.coefficients.reduce((sum, i) => sum + (i < 0 ? 0 : beta[i]!), 0)
    return { beta, eta }
  }

  it("converges to a zero gradient of the penalized likelihood", () => {
    fc.assert(fc.property(instances, ({ contexts, tau }) => {
      const { beta, eta } = solve(contexts, tau)
      // Beyond the cut-off the likelihood is flat by design.
      fc.pre(contexts.every((_, c) => Math.abs(eta(c)) < 5.9))
      const gradient = Array.from(beta, (value) => -value / tau ** 2)
      contexts.forEach(({ clicks, expected, coefficients }, c) => {
        for (const i of [0, ...coefficients]) if (i >= 0) gradient[i]! += clicks - expected * Math.exp(eta(c))
      })
      for (const slope of gradient) assert.closeTo(slope, 0, 1e-5 * (1 + 1 / tau ** 2))
    }))
  })

  it("never raises a context after a send without a click", () => {
    fc.assert(
      fc.property(
        instances,
        fc.nat(),
        fc.double({ min: 0.001, max: 1, noNaN: true }),
        ({ contexts, tau }, at, more) => {
          const c = at % contexts.length
          const { eta } = solve(contexts, tau)
          // As above: beyond the cut-off of one context, all estimates are arbitrary.
          fc.pre(contexts.every((_, other) => Math.abs(eta(other)) < 5.9))
          const before = eta(c)
          const after = solve(
            contexts.map((context, i) => i === c ? { ...context, expected: context.expected + more } : context),
            tau,
          )
            .eta(c)
          assert.isAtMost(after, before + 1e-7 * Math.max(1, Math.abs(before)))
        },
      ),
    )
  })

  it("stays finite with clicks without sends and with negative outcomes", () => {
    const { beta } = solve([{ coefficients: [1, 3], expected: 0, clicks: 5 }, {
      coefficients: [2, 4],
      expected: 5,
      clicks: -3,
    }], 0.2)
    assert.isTrue(beta.every(Number.isFinite))
    assert.isAbove(beta[1]!, 0)
    assert.isBelow(beta[2]!, 0)
  })
})

describe("a fit", () => {
  it("finds the rates of well-known variants", () => {
    const model = fitRows([row("a", 5, 100_000, 2000), row("b", 6, 100_000, 4000), row("b", 5, 100_000, 4000)])
    const [a, b] = model.variants
    assert.closeTo(rate(model, a, none), 0.02, 0.0008)
    assert.closeTo(rate(model, b, none), 0.04, 0.001)
  })

  it("does not credit a variant for being sent on good days", () => {
    const good = [3, 4, 5, 6, 7, 8].flatMap((daysAgo) => {
      const share = daysAgo % 2 === 0 ? 0.06 : 0.02
      const [a, b] = daysAgo % 2 === 0 ? [9000, 1000] : [1000, 9000]
      return [row("a", daysAgo, a, a * share), row("b", daysAgo, b, b * share)]
    })
    const model = fitRows(good)
    // By raw rates a is at 5.6 % and b at 2.4 %.
    assert.closeTo(meanOf(model, "a", none), meanOf(model, "b", none), 0.06)
  })

  it("does not credit a variant for being sent to good segments", () => {
    const model = fitRows([
      row("a", 5, 9000, 540, plan("a")),
      row("a", 5, 1000, 20, plan("b")),
      row("b", 5, 1000, 60, plan("a")),
      row("b", 5, 9000, 180, plan("b")),
    ], { scheme: plans })
    for (const value of ["a", "b"]) {
      const context = planContexts.parse(plan(value))
      assert.closeTo(meanOf(model, "a", context), meanOf(model, "b", context), 0.06)
    }
  })

  it("learns in which segment which variant is better, and that an attribute matters", () => {
    const both = {
      keys: [{ name: "idle", values: ["x", "y"] }, { name: "plan", values: ["a", "b"] }],
      builtIns: [],
    }
    const rows = ["u", "v", "w", "x"].flatMap((variant, i) =>
      ["a", "b"].flatMap((value, j) =>
        ["x", "y"].map((idle) =>
          row(variant, 5, 20_000, (i + j) % 2 === 0 ? 1000 : 500, encodeContext([["plan", value], ["idle", idle]]))
        )
      )
    )
    const model = fitRows(rows, { scheme: both })
    const contexts = new Contexts(both)
    const at = (variant: string, value: string) =>
      meanOf(model, variant, contexts.parse(encodeContext([["plan", value]])))
    assert.isAbove(at("u", "a"), at("v", "a") + 0.5)
    assert.isAbove(at("v", "b"), at("u", "b") + 0.5)
    assert.isAbove(model.taus[1]!, 0.2)
    assert.isBelow(model.taus[0]!, 0.12)
  })

  it("starts a new segment from the estimates of the variants", () => {
    const model = fitRows([row("a", 5, 50_000, 2500, plan("a")), row("b", 5, 50_000, 1500, plan("a"))], {
      scheme: plans,
    })
    const unseen = planContexts.parse(plan("b"))
    assert.isAbove(meanOf(model, "a", unseen), meanOf(model, "b", unseen) + 0.1)
  })

  it("starts a new variant at the mean of the others, with their spread as uncertainty", () => {
    const model = fitRows([row("a", 1, 50_000, 2200), row("b", 1, 50_000, 1800), row("c", 1, 50_000, 2000)])
    const means = ["a", "b", "c"].map((id) => meanOf(model, id, none))
    assert.closeTo(means.reduce((sum, mean) => sum + mean, 0), 0, 1e-9)
    const policy = new Policy(model)
    const { weights } = policy.choice(none, eligibleSet(["a", "b", "c", "new"]))
    assert.isAbove(weights[3]!, 0.05)
    assert.isBelow(weights[3]!, 0.5)
  })

  it("counts variants that were given up early in the mean of the others", () => {
    const failed = Array.from({ length: 40 }, (_, i) => row(`failed ${i}`, 5, 60, 1))
    const model = fitRows([row("kept", 5, 20_000, 900), row("also kept", 5, 10_000, 420), ...failed])
    const [kept] = model.variants.filter(({ id }) => id === "kept")
    assert.closeTo(model.variants.reduce((sum, { beta }) => sum + beta[0]!, 0), 0, 1e-9)
    assert.isAbove(kept!.beta[0]!, 0.15)
  })

  it("weights young sends by the share of clicks that are due", () => {
    const curve = delayCurve(delayCounts([], now))
    const start = Math.floor(now / hour) * hour
    const young = fitRows([row("a", 30, 50_000, 1500), { ...row("b", 0, 1000, 0), start }], { curve })
    const share = maturity(curve, 0.25)
    assert.closeTo(young.variants[1]!.maturedSends, 1000 * share, 1e-9)
    // With full weight 1,000 sends without a click would have sunk it.
    const naive = fitRows([row("a", 30, 50_000, 1500), { ...row("b", 0, 1000, 0), start }], { curve: promptCurve })
    assert.isAbove(meanOf(young, "b", none), -0.15)
    assert.isBelow(meanOf(naive, "b", none), -0.4)
  })

  it("fades old data by the half-life", () => {
    const rows = [row("a", 5, 10_000, 300), row("a", 65, 10_000, 300)]
    const model = fitRows(rows, { window: { mode: "adaptive", halfLifeDays: 30 } })
    const age = (now - today) / day + 4.5
    const week = model.variants[0]!.effectiveSends / 10_000 - 0.5 ** (age / 30)
    // 65 days ago lies in a week bucket, whose middle may be up to half a week off.
    assert.closeTo(week, 0.5 ** (65 / 30), 0.03)
    assert.strictEqual(model.variants[0]!.sends, 20_000)
  })

  it("assigns every variant the same weight if all data are outside its window", () => {
    const rows = [row("a", 1, 10_000, 900), row("b", 2, 10_000, 100), row("a", 40, 10_000, 900)]
    const window = { mode: "window", lookbackDays: 14, offsetDays: 3 } as const
    const model = fitRows(rows, { window })
    assert.deepStrictEqual(model.variants, [])
    const { weights } = new Policy(model).choice(none, eligibleSet(["a", "b", "c"]))
    for (const weight of weights) assert.closeTo(weight, 1 / 3, 1e-9)
    // A warm start does not remember them either.
    const start = fitRows(rows)
    const warm = new Policy(fitRows(rows, { window, start })).choice(none, eligibleSet(["a", "b", "c"]))
    for (const weight of warm.weights) assert.closeTo(weight, 1 / 3, 1e-9)
  })

  it("handles one variant and no variants", () => {
    const one = fitRows([row("only", 5, 1000, 30)])
    assert.closeTo(meanOf(one, "only", none), 0, 1e-9)
    assert.closeTo(Math.exp(one.a0), 0.03, 0.001)
    const nothing = fitRows([])
    assert.deepStrictEqual([nothing.variants, nothing.traffic, nothing.firstSendAt], [[], [], null])
    assert.isNull(nothing.clicksNext14Days)
  })

  it("handles a thousand variants", () => {
    const z = normal(5)
    const rows = Array.from({ length: 1000 }, (_, i) => row(`v${i}`, 5, 200, Math.round(6 * Math.exp(0.3 * z()))))
    const model = fitRows(rows)
    assert.strictEqual(model.variants.length, 1000)
    const { weights } = new Policy(model).choice(none, eligibleSet(rows.map(({ variant }) => variant)))
    assert.closeTo(weights.reduce((sum, weight) => sum + weight, 0), 1, 1e-9)
  })

  it("uses the binomial variance for high rates", () => {
    const sd = (share: number, sends: number) => {
      const model = fitRows(
        [row("a", 5, sends, share * sends), row("b", 5, sends, share * sends)],
        { holdShrinkage: true, rounds: 20, window: { mode: "window", lookbackDays: 14, offsetDays: 0 } },
      )
      return Math.sqrt(model.variants[0]!.covariance[0]!)
    }
    // As many clicks, but at 60 % each of them says 1/(1 - 0.6) as much.
    assert.closeTo(sd(0.1, 10_000), (1 / (1000 + 25)) ** 0.5, 2e-4)
    assert.closeTo(sd(0.6, 1000 / 0.6), (1 / (1000 / 0.4 + 25)) ** 0.5, 2e-4)
  })

  it("weighs young sends with many clicks by the share that has clicked, independent of the delay curve", () => {
    const start = Math.floor(now / hour) * hour
    const rows = [["a", 65, 155], ["b", 55, 145]].map(([variant, clicks, sends]) => ({
      variant: String(variant),
      context: "",
      start,
      sends: Number(sends),
      clicks: Number(clicks),
    }))
    for (const curve of [delayCurve(delayCounts([], now)), promptCurve]) {
      const model = fitRows(rows, { curve, rounds: 20 })
      const { candidates } = new Policy(model).trace(none, eligibleSet(["a", "b"]))
      // Two beta posteriors say 0.76.
      assert.closeTo(candidates[0]!.pBest, 0.76, 0.05)
      for (const { interval: [, high], rate } of candidates) assert.isTrue(rate <= high && high <= 1)
    }
  })

  it("counts at least as many matured sends as there are clicks", () => {
    const start = Math.floor(now / hour) * hour
    const model = fitRows([{ variant: "a", context: "", start, sends: 20, clicks: 10 }], {
      curve: delayCurve(delayCounts([], now)),
    })
    assert.closeTo(model.variants[0]!.maturedSends, 10, 1e-9)
  })

  it("increases the uncertainty of variants with young sends by the uncertainty of the delay curve", () => {
    const start = Math.floor(now / hour) * hour
    const rows = [row("a", 30, 50_000, 1500), { ...row("b", 0, 20_000, 60), start }]
    const curve = delayCurve(delayCounts([], now))
    const spread = curve.map((share) => share < 0.9 ? 0.5 * share : 0)
    const sd = (id: string, options: Partial<FitInput>) => {
      const model = fitRows(rows, { curve, ...options })
      return posterior(model, model.variants.find((variant) => variant.id === id), none).sd
    }
    assert.isAbove(sd("b", { spread }), 1.5 * sd("b", {}))
    assert.closeTo(sd("a", { spread }), sd("a", {}), 0.01)
    // As uncertain for all alike, it makes no difference between them.
    const equal = rows.map((each) => ({ ...each, start }))
    assert.deepStrictEqual(
      fitRows(equal, { curve, spread }).variants.map(({ covariance }) => covariance[0]!.toFixed(9)),
      fitRows(equal, { curve }).variants.map(({ covariance }) => covariance[0]!.toFixed(9)),
    )
  })

  it("foresees the clicks of the next 14 days from the traffic of the last 3", () => {
    const rows = [0, 1, 2].map((daysAgo) => row("a", daysAgo, 1000, 30))
    const model = fitRows([...rows, row("a", 20, 100_000, 3000)])
    // Today's bucket and the two before it start within 3 days.
    assert.closeTo(model.clicksNext14Days!, 3000 * 0.03 * 14 / 3, 3)
    assert.strictEqual(fitRows([row("a", 20, 1000, 30)]).clicksNext14Days, 0)
  })

  it("keeps the shrinkage of its starting model if asked to", () => {
    const start = fitRows([row("a", 5, 50_000, 2500), row("b", 5, 50_000, 500)])
    const held = fitRows([row("a", 5, 50, 2)], { start, holdShrinkage: true })
    assert.deepStrictEqual([held.tau0, held.taus], [start.tau0, start.taus])
    assert.notStrictEqual(fitRows([row("a", 5, 50, 2)], { start }).tau0, start.tau0)
  })

  it("starts from a model with another scheme", () => {
    const rows = [row("a", 5, 50_000, 2500, plan("a")), row("b", 5, 50_000, 1500, plan("b"))]
    const start = fitRows(rows, { scheme: plans })
    const scheme = {
      keys: [{ name: "size", values: ["s"] }, { name: "plan", values: ["b", "z"] }],
      builtIns: ["weekend"],
    }
    const warm = fitRows(rows, { scheme, start, rounds: 30 })
    const cold = fitRows(rows, { scheme, rounds: 60 })
    const context = new Contexts(scheme).parse(plan("b"))
    for (const id of ["a", "b"]) {
      assert.closeTo(meanOf(warm, id, context), meanOf(cold, id, context), 0.02)
    }
  })

  it("reaches the same result from a warm start as from a cold one", () => {
    fc.assert(
      fc.property(settled, (rows) => {
        const start = fitRows(rows.slice(0, -1), { scheme: plans })
        const warm = fitRows(rows, { scheme: plans, start })
        const cold = fitRows(rows, { scheme: plans, rounds: 40 })
        for (const id of ["u", "v", "w"]) {
          const context = planContexts.parse(plan("a"))
          assert.closeTo(meanOf(warm, id, context), meanOf(cold, id, context), 0.05)
        }
      }),
      { numRuns: 30 },
    )
  })
})

describe("properties of any fit", () => {
  it("a send without a click never raises the lead of its variant in its context", () => {
    const where = fc.record({ value: fc.constantFrom("a", "b", "other"), daysAgo: fc.integer({ min: 5, max: 9 }) })
    fc.assert(fc.property(settled, where, (rows, { daysAgo, value }) => {
      const start = fitRows(rows, { scheme: plans })
      const options = { scheme: plans, start, holdShrinkage: true }
      const before = fitRows(rows, options)
      const after = fitRows([...rows, row("v", daysAgo, 1, 0, plan(value))], options)
      const context = planContexts.parse(plan(value))
      for (const other of ["u", "w"]) {
        const lead = (model: typeof before) => meanOf(model, "v", context) - meanOf(model, other, context)
        assert.isAtMost(lead(after), lead(before) + 1e-12)
      }
    }))
  })

  it("another click raises the lead of its variant", () => {
    fc.assert(
      fc.property(settled, (rows) => {
        const start = fitRows(rows, { scheme: plans })
        const options = { scheme: plans, start, holdShrinkage: true }
        const before = fitRows(rows, options)
        const after = fitRows([...rows, row("v", 5, 0, 1, plan("a"))], options)
        const context = planContexts.parse(plan("a"))
        for (const other of ["u", "w"]) {
          const lead = (model: typeof before) => meanOf(model, "v", context) - meanOf(model, other, context)
          assert.isAbove(lead(after), lead(before))
        }
      }),
      { numRuns: 40 },
    )
  })

  it("multiplying all clicks keeps the differences of the variants", () => {
    const many = settled.map((rows) =>
      rows.map((each) => ({ ...each, sends: 100 * each.sends, clicks: 100 * each.clicks }))
    )
    fc.assert(
      fc.property(many, fc.double({ min: 0.5, max: 1.1, noNaN: true }), (rows, multiple) => {
        const start = fitRows(rows, { scheme: plans })
        const options = { scheme: plans, start, holdShrinkage: true, rounds: 20 }
        const once = fitRows(rows, options)
        const more = fitRows(rows.map((each) => ({ ...each, clicks: multiple * each.clicks })), options)
        const context = planContexts.parse(plan("a"))
        for (const other of ["u", "w"]) {
          const lead = (model: typeof once) => meanOf(model, "v", context) - meanOf(model, other, context)
          assert.closeTo(lead(more), lead(once), 0.03)
        }
      }),
      { numRuns: 20 },
    )
  })

  it("renaming the variants keeps their odds", () => {
    fc.assert(
      fc.property(settled, (rows) => {
        const names: Record<string, string> = { u: "w", v: "u", w: "v" }
        const renamed = rows.map((each) => ({ ...each, variant: names[each.variant]! }))
        const odds = (data: ReadonlyArray<Row>) => {
          const policy = new Policy(fitRows(data, { scheme: plans }))
          const { ids, weights } = policy.choice(planContexts.parse(plan("b")), eligibleSet(["u", "v", "w"]))
          return new Map(ids.map((id, i) => [id, weights[i]!]))
        }
        const before = odds(rows)
        const after = odds(renamed)
        for (const id of ["u", "v", "w"]) assert.closeTo(after.get(names[id]!)!, before.get(id)!, 1e-6)
      }),
      { numRuns: 30 },
    )
  })
})

describe("a learning template", () => {
  it("sends most traffic to the better of two variants, and keeps the floor for the other", () => {
    const model = fitRows([row("a", 5, 20_000, 600), row("b", 5, 20_000, 800)], { window: adaptive })
    const { weights } = new Policy(model, 0.02).choice(none, eligibleSet(["a", "b"]))
    assert.isAbove(weights[1]!, 0.98)
    assert.isAtLeast(weights[0]!, 0.01)
  })

  it("does not overestimate the rate from one click within minutes", () => {
    const model = fitRows([{ variant: "a", context: "", start: Math.floor(now / hour) * hour, sends: 2, clicks: 1 }], {
      window: adaptive,
      curve: delayCurve(delayCounts([], now)),
    })
    const [variant] = model.variants
    assert.isBelow(rate(model, variant, none), 0.2)
    const { weights } = new Policy(model).choice(none, eligibleSet(["a", "b"]))
    assert.isBelow(weights[0]!, 0.9)
  })
})
