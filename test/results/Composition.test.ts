import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { encodeContext, groupNames } from "../../src/bandit/Contexts.ts"
import { priorModel } from "../../src/bandit/Model.ts"
import { defaultPriors } from "../../src/bandit/Priors.ts"
import { report } from "../../src/bandit/Report.ts"
import { withLocale } from "../../src/journal/decisions/DecisionLocale.ts"
import { TemplateId } from "../../src/domain/Ids.ts"
import { nothing } from "../../src/domain/SendNothing.ts"
import { prepare, type ResultsInput } from "../../src/results/Composition.ts"
import { type OutcomeCounts, TemplateResults } from "../../src/results/TemplateResults.ts"
import { adaptive, day, fitRows, now, sum } from "../bandit/Samples.ts"
import { contextOf, input, model, onlyFor, row, rows, variant, won } from "./Samples.ts"

const resultsOf = (more: Partial<ResultsInput> = {}) => {
  const { compose, request } = prepare(input(more))
  return compose(report(request))
}

const of = (results: typeof TemplateResults.Type, id: string) => results.variants.find(({ copy_id }) => copy_id === id)!

const total = (counts: OutcomeCounts) => sum(Object.values(counts))

describe("the results of a template", () => {
  it("match the schema of the answer", () => {
    const results = resultsOf()
    assert.deepStrictEqual(Schema.encodeUnknownSync(TemplateResults)(results), results)
    assert.deepStrictEqual(JSON.parse(JSON.stringify(results)), results)
  })

  it("sum the counts of a variant over its segments, and of the template over its variants", () => {
    const results = resultsOf()
    assert.strictEqual(of(results, "a").decisions, 10_040)
    assert.strictEqual(of(results, "a").voided, 40)
    assert.strictEqual(of(results, "a").outcomes.click, 10 * (30 + 15 + 1.6 + 0.4))
    assert.strictEqual(results.decisions, 20_080)
    for (const outcome of ["delivered", "open", "click", "conversion", "bounce"] as const) {
      assert.closeTo(results.outcomes[outcome], sum(results.variants.map(({ outcomes }) => outcomes[outcome])), 1e-9)
    }
  })

  it("are broken down by the locale of the texts, which the model does not learn from", () => {
    const inLocale = (locale: string) => withLocale(contextOf("pro", "morning"), locale)
    const { locales = [], segments } = resultsOf({
      rows: [
        row("a", inLocale("de"), "learned", { decisions: 300, click: 30 }),
        row("b", inLocale("de"), "learned", { decisions: 100, click: 5, voided: 50 }),
        row("a", inLocale("fr"), "learned", { decisions: 50 }),
        row("a", contextOf("pro", "morning"), "learned", { decisions: 7 }),
      ],
    })
    assert.deepStrictEqual(locales.map(({ decisions, locale }) => [locale, decisions]), [["de", 400], ["fr", 50]])
    assert.deepStrictEqual(locales[0]!.variants.map(({ copy_id, raw_rate }) => [copy_id, raw_rate]), [["a", 0.1], [
      "b",
      0.1,
    ]])
    assert.isFalse(segments.some(({ segment }) => "copy_locale" in segment))
    assert.isUndefined(resultsOf().locales)
  })

  it("show the raw rate of decisions that were not voided next to the model's rate", () => {
    const a = of(resultsOf(), "a")
    assert.closeTo(a.raw_rate!, 470 / 10_000, 1e-12)
    assert.closeTo(a.rate!, 0.047, 0.004)
    assert.isTrue(a.interval![0] < a.rate! && a.rate! < a.interval![1])
    assert.closeTo(a.matured_sends, 10_000, 1e-6)
  })

  it("have no loss as a share of sending nothing while people without a message had no outcome", () => {
    const start = Math.floor(now / day) * day - 5 * day
    const fitted = (variants: ReadonlyArray<string>, clicks: number) =>
      fitRows(variants.map((variant) => ({ variant, context: "", start, sends: 5_000, clicks })))
    const messages = { gains: fitted(["a", "b"], 100), costs: fitted(["a", "b"], 150), organic: fitted([nothing], 0) }
    const withNothing = (conversion: number) =>
      resultsOf({
        template: { ...input().template, objective: { click: 1, conversion: 1, negative: -1 }, sendsNothing: true },
        model: { ...model, nothing: messages },
        rows: [...rows, row(nothing, "", "learned", { decisions: 5_000, conversion })],
      })
    const none = withNothing(0)
    assert.strictEqual(none.winner.leader, nothing)
    assert.deepStrictEqual([of(none, nothing).expected_loss, none.winner.value_remaining], [null, null])
    assert.deepStrictEqual(Schema.encodeUnknownSync(TemplateResults)(none), none)
    assert.isNotNull(of(withNothing(5), nothing).expected_loss)
  })

  it("show the effects of components that variants share, with the decisions that had them", () => {
    const ids = ["a", "b", "c", "d"]
    const made = (id: string) => ({
      subject: id < "c" ? "question" : "offer",
      ...(id === "a" ? { constructor: "sale" } : {}),
    })
    const start = Math.floor(now / day) * day - 5 * day
    const fitted = fitRows(
      ids.map((id) => ({ variant: id, context: "", start, sends: 5_000, clicks: id < "c" ? 150 : 300 })),
      { composition: ids.map((id) => [id, Object.entries(made(id))]), rounds: 20 },
    )
    const results = resultsOf({
      template: {
        ...input().template,
        variants: ids.map((id) => variant(id, { components: made(id) })),
      },
      eligible: new Set(ids),
      model: fitted,
      rows: ids.map((id) => row(id, "", "learned", { decisions: 5_000, click: id < "c" ? 150 : 300 })),
    })
    assert.deepStrictEqual(
      results.components.map(({ decisions, kind, value }) => [kind, value, decisions]),
      [["constructor", null, 15_000], ["constructor", "sale", 5_000], ["subject", "offer", 10_000], [
        "subject",
        "question",
        10_000,
      ]],
    )
    const [, sale, offer, question] = results.components
    assert.closeTo(offer!.lift, Math.SQRT2 - 1, 0.1)
    assert.closeTo((1 + offer!.lift) * (1 + question!.lift), 1, 1e-9)
    for (const { interval, lift } of results.components) assert.isTrue(interval[0] < lift && lift < interval[1])
    assert.isTrue(offer!.interval[0] > 0 && question!.interval[1] < 0)
    assert.isTrue(sale!.interval[0] < 0 && sale!.interval[1] > 0)
    assert.deepStrictEqual(Schema.encodeUnknownSync(TemplateResults)(results), results)
    assert.deepStrictEqual(resultsOf().components, [])
  })

  it("count machines' events separately", () => {
    const a = of(resultsOf(), "a")
    assert.strictEqual(a.automated.open, 1000)
    assert.strictEqual(a.automated.click, 20)
    assert.strictEqual(a.outcomes.open, 3000)
    assert.strictEqual(resultsOf().automated.click, 40)
  })

  it("count set-aside clicks by reason, and return the click rates without and with machines", () => {
    const machines = { click: 4, set_aside_early: 5, set_aside_reported: 1, only_set_aside: 3 }
    const context = contextOf("pro", "morning")
    const results = resultsOf({
      rows: [
        row("a", context, "learned", { decisions: 110, voided: 10, click: 8 }),
        row("a", context, "forced", { decisions: 100, click: 2 }),
        row("a", context, "automated", machines),
      ],
    })
    assert.deepStrictEqual(results.set_aside, {
      clicks: 6,
      reasons: { reported: 1, early: 5, unsubscribe: 0, burst: 0, series: 0 },
    })
    assert.deepStrictEqual(results.click_rates, { people: 10 / 200, all: 13 / 200 })
    assert.deepStrictEqual(of(results, "a").click_rates, results.click_rates)
    assert.deepStrictEqual(resultsOf({ rows: [] }).click_rates, { people: null, all: null })
  })

  it("count forced decisions separately, and learn nothing from them", () => {
    const forced = resultsOf({
      rows: [...rows, row("b", contextOf("pro", "morning"), "forced", { decisions: 500, click: 400, voided: 3 })],
    })
    const without = resultsOf()
    assert.strictEqual(of(forced, "b").forced.decisions, 500)
    assert.strictEqual(of(forced, "b").forced.voided, 3)
    assert.strictEqual(of(forced, "b").forced.outcomes.click, 400)
    assert.deepStrictEqual({ ...of(forced, "b"), forced: null, click_rates: null }, {
      ...of(without, "b"),
      forced: null,
      click_rates: null,
    })
    assert.strictEqual(forced.forced.decisions, 500)
    assert.strictEqual(forced.decisions, without.decisions)
  })

  it("weight the outcomes of a mixed objective", () => {
    const results = resultsOf({
      template: {
        id: TemplateId.make("welcome"),
        objective: { click: 1, conversion: 5, negative: -2 },
        variants: [variant("a"), variant("b")],
      },
      rows: [row("a", "", "learned", { decisions: 110, voided: 10, click: 20, conversion: 4, negative: 3, open: 50 })],
    })
    assert.closeTo(of(results, "a").raw_rate!, (20 + 5 * 4 - 2 * 3) / 100, 1e-12)
  })

  it("have no rate without decisions", () => {
    const results = resultsOf({
      template: { ...input().template, variants: [variant("a"), variant("b"), variant("new")] },
      eligible: new Set(["a", "b", "new"]),
    })
    const fresh = of(results, "new")
    assert.isNull(fresh.raw_rate)
    assert.deepStrictEqual([fresh.decisions, fresh.matured_sends, total(fresh.outcomes)], [0, 0, 0])
    assert.deepStrictEqual([fresh.rate, fresh.interval, fresh.p_best], [null, null, null], "the prior is no result")
  })

  it("distinguish stopped, seasonal and removed variants from eligible ones", () => {
    const results = resultsOf({
      template: {
        ...input().template,
        variants: [variant("a", { active: false }), variant("b"), variant("winter")],
      },
      eligible: new Set(["b"]),
      rows: [...rows, row("old", contextOf("free", "morning"), "learned", { decisions: 7, click: 1 })],
    })
    assert.deepStrictEqual(
      results.variants.map(({ copy_id, name, p_best, share, status }) => [copy_id, name, status, p_best, share]),
      [
        ["a", "The a", "stopped", null, 0],
        ["b", "The b", "active", 1, 1],
        ["old", "old", "removed", null, 0],
        ["winter", "The winter", "out_of_season", null, 0],
      ],
    )
    assert.strictEqual(of(results, "old").decisions, 7)
    assert.deepStrictEqual(results.winner.waiting_for, ["variants"])
    assert.strictEqual(results.winner.leader, "b")
  })

  it("divide the traffic of each segment among the variants that targeting allows", () => {
    const template = {
      ...input().template,
      variants: [variant("a"), variant("b", { targeting: onlyFor("plan", "pro") })],
    }
    const results = resultsOf({ template })
    const share = (plan: string, id: string) =>
      results.segments.find(({ segment }) => segment["plan"] === plan)!.variants
        .find(({ copy_id }) => copy_id === id)!.share
    assert.deepStrictEqual([share("free", "a"), share("free", "b")], [1, 0])
    assert.isAbove(share("pro", "b"), 0.3)
    assert.closeTo(of(results, "b").share, 0.1 * share("pro", "b"), 1e-9)
    // Attributes outside the model are not stored, so they cannot restrict results.
    const elsewhere = resultsOf({
      template: { ...template, variants: [variant("a"), variant("b", { targeting: onlyFor("country", "de") })] },
    })
    assert.deepStrictEqual(elsewhere.variants, resultsOf().variants)
  })

  it("exclude a variant from rare values only if its targeting is certain to fail", () => {
    const narrowed = (targeting: ReturnType<typeof onlyFor>) => {
      const other = contextOf("other", "morning")
      const { request } = prepare(input({
        template: { ...input().template, variants: [variant("a"), variant("b", { targeting })] },
        model: { ...model, traffic: [...model.traffic, { cell: other, sends: 1 }] },
      }))
      return request.narrowed!.some(({ context }) => context === other)
    }
    assert.isTrue(narrowed(onlyFor("plan", "pro")))
    assert.isFalse(narrowed(onlyFor("plan", "pro", "Platinum")))
    assert.isFalse(narrowed([{ attribute: "plan", op: "is_not", values: ["pro"] }]))
    assert.isTrue(narrowed([{ attribute: "plan", op: "not_exists", values: [] }]))
  })

  it("apply no targeting by a number to a group of numbers", () => {
    const ages = { name: "age", values: groupNames([30]), cuts: [30] }
    const { request } = prepare(input({
      template: { ...input().template, variants: [variant("a"), variant("b", { targeting: onlyFor("age", "25") })] },
      model: {
        ...model,
        scheme: { ...model.scheme, keys: [ages] },
        traffic: [{ cell: encodeContext([["age", "below 30"]]), sends: 1 }],
      },
    }))
    assert.deepStrictEqual(request.narrowed ?? [], [])
  })
})

describe("the segments of the results", () => {
  it("sum to the total by attribute, most decisions first", () => {
    const results = resultsOf()
    assert.deepStrictEqual(results.segments.map(({ decisions, segment }) => [segment, decisions]), [
      [{ plan: "free" }, 18_040],
      [{ daypart: "morning" }, 13_640],
      [{ daypart: "evening" }, 6_440],
      [{ plan: "pro" }, 2_040],
    ])
    for (const name of ["plan", "daypart"]) {
      const parts = results.segments.filter(({ segment }) => segment[name] !== undefined)
      for (const id of ["a", "b"]) {
        const whole = of(results, id)
        const mine = parts.map(({ variants }) => variants.find(({ copy_id }) => copy_id === id)!)
        assert.strictEqual(sum(mine.map(({ decisions }) => decisions)), whole.decisions)
        assert.closeTo(sum(mine.map(({ outcomes }) => total(outcomes))), total(whole.outcomes), 1e-6)
        assert.closeTo(sum(mine.map(({ automated }) => total(automated))), total(whole.automated), 1e-6)
        assert.closeTo(sum(mine.map(({ matured_sends }) => matured_sends)), whole.matured_sends, 1e-6)
      }
    }
  })

  it("name the best variant of each segment", () => {
    const best = (plan: string) =>
      resultsOf().segments.find(({ segment }) => segment["plan"] === plan)!.variants
        .toSorted((x, y) => y.p_best! - x.p_best!)[0]!.copy_id
    assert.deepStrictEqual([best("free"), best("pro")], ["a", "b"])
  })

  it("map unlisted values to other, and omit attributes that the model did not learn", () => {
    const results = resultsOf({
      rows: [row("a", encodeContext([["plan", "legacy"], ["country", "de"]]), "learned", { decisions: 5 })],
    })
    assert.deepStrictEqual(results.segments.map(({ segment }) => segment), [{ plan: "other" }])
    assert.strictEqual(results.decisions, 5)
  })

  it("are limited to 100, and to fewer with very many variants", () => {
    const values = Array.from({ length: 150 }, (_, i) => `v${i}`)
    const wide = { keys: [{ name: "plan", values }], builtIns: [] }
    const request = (variants: number) =>
      prepare(input({
        template: { ...input().template, variants: Array.from({ length: variants }, (_, v) => variant(`x${v}`)) },
        model: priorModel({ version: "t:0", now, window: adaptive, scheme: wide, organization: defaultPriors }),
        rows: values.map((value, i) => row("x0", encodeContext([["plan", value]]), "learned", { decisions: i + 1 })),
      })).request
    assert.strictEqual(request(2).groups.length, 100)
    assert.strictEqual(request(2).groups[0]!.name, "plan=v149")
    assert.strictEqual(request(1000).groups.length, 10)
  })
})

describe("results without data", () => {
  const shown = (results: typeof TemplateResults.Type, id: string) => {
    const { expected_loss, interval, p_best, rate } = of(results, id)
    return [rate, interval, p_best, expected_loss]
  }

  it("show no rates before the first outcome, even with decisions", () => {
    const none = resultsOf({ rows: [row("a", contextOf("free", "morning"), "learned", { decisions: 90, open: 30 })] })
    assert.deepStrictEqual(shown(none, "a"), [null, null, null, null])
    assert.deepStrictEqual(none.segments.map(({ variants }) => variants[0]!.rate), [null, null])
    const { expected_loss, leader, lift, p_best, value_remaining, waiting_for } = none.winner
    assert.deepStrictEqual([leader, p_best, expected_loss, value_remaining, lift], [null, null, null, null, null])
    assert.include(waiting_for, "outcomes")
  })

  it("show no rate of a variant without decisions of its own", () => {
    const results = resultsOf({
      template: { ...input().template, variants: [variant("a"), variant("b"), variant("new")] },
      eligible: new Set(["a", "b", "new"]),
    })
    assert.deepStrictEqual(shown(results, "new"), [null, null, null, null])
    assert.isNotNull(of(results, "a").rate)
  })
})

describe("results restricted to a segment", () => {
  const pro = resultsOf({ segment: new Map([["plan", "pro"]]) })

  it("count and compare only its decisions", () => {
    assert.deepStrictEqual(pro.segment, { plan: "pro" })
    assert.strictEqual(pro.decisions, 2_040)
    assert.strictEqual(pro.winner.leader, "b")
    assert.closeTo(of(pro, "b").raw_rate!, 0.06, 1e-12)
    assert.closeTo(of(pro, "b").rate!, 0.06, 0.02)
    assert.closeTo(of(pro, "b").matured_sends, 1000, 1e-6)
    assert.closeTo(sum(pro.variants.map(({ share }) => share)), 1, 1e-9)
  })

  it("are divided by the other attributes within the segment", () => {
    assert.deepStrictEqual(pro.segments.map(({ decisions, segment }) => [segment, decisions]), [
      [{ plan: "pro", daypart: "morning" }, 1_620],
      [{ plan: "pro", daypart: "evening" }, 420],
    ])
  })

  it("are empty if the segment has no decisions", () => {
    const none = resultsOf({ segment: new Map([["plan", "gold"]]) })
    assert.deepStrictEqual([none.decisions, none.segments.length, none.winner.matured_sends], [0, 0, 0])
    assert.isNull(of(none, "a").raw_rate)
    assert.isNull(of(none, "a").rate)
    assert.include(none.winner.waiting_for, "sends")
  })
})

describe("the winner in the results", () => {
  it("is the variant of the verdict, with its evidence", () => {
    const { winner } = resultsOf({ verdict: won("a") })
    assert.deepStrictEqual([winner.verdict, winner.copy_id, winner.leader], ["firm_winner", "a", "a"])
    assert.strictEqual(winner.since, new Date(now - 2 * day).toISOString())
    assert.isAbove(winner.p_best!, 0.95)
    assert.isBelow(winner.expected_loss!, 0.01)
    assert.deepStrictEqual(winner.waiting_for, [])
    // 4.7 % against 3.3 %.
    assert.strictEqual(winner.lift!.baseline, "b")
    assert.isTrue(winner.lift!.difference_interval[0] < 0.014 && winner.lift!.difference_interval[1] > 0.012)
    assert.closeTo(winner.lift!.value, 0.42, 0.15)
  })

  it("is null while the winner is not eligible", () => {
    const { winner } = resultsOf({ verdict: won("a"), eligible: new Set(["b"]) })
    assert.deepStrictEqual([winner.verdict, winner.since, winner.copy_id], ["undecided", null, null])
  })

  it("is absent before its conditions are met, which are all listed", () => {
    const { winner } = resultsOf({
      model: {
        ...model,
        firstSendAt: now - 2 * day,
        variants: model.variants.map((known) => ({ ...known, maturedSends: 12 })),
      },
    })
    assert.deepStrictEqual([winner.verdict, winner.copy_id], ["undecided", null])
    assert.strictEqual(winner.leader, "a")
    assert.closeTo(winner.days, 2, 1e-9)
    assert.strictEqual(winner.matured_sends, 12)
    assert.includeMembers([...winner.waiting_for], ["days", "sends"])
  })

  it("is null for a template without variants", () => {
    const { variants, winner } = resultsOf({
      template: { ...input().template, variants: [] },
      eligible: new Set(),
      rows: [],
    })
    assert.deepStrictEqual([variants, winner.leader, winner.p_best, winner.value_remaining], [[], null, null, null])
    assert.deepStrictEqual(winner.waiting_for, ["variants"])
  })
})

describe("the window of the results", () => {
  it("begins with the first whole week of the last 180 days with the model's half-life in adaptive mode", () => {
    const { window } = resultsOf()
    assert.strictEqual(window.mode, "adaptive")
    assert.strictEqual(window.half_life_days, 120)
    assert.strictEqual(window.from, "2026-06-01T00:00:00.000Z")
    assert.strictEqual(window.to, new Date(now).toISOString())
  })

  it("has the counted hours of the model's window otherwise", () => {
    const { window } = resultsOf({
      model: { ...model, window: { mode: "window", lookbackDays: 2.5, offsetDays: 1 } },
      nowMillis: now + day,
    })
    assert.deepStrictEqual(window, {
      mode: "window",
      lookback_days: 2.5,
      offset_days: 1,
      half_life_days: null,
      from: new Date(now - 2.5 * day + 1_800_000).toISOString(),
      to: new Date(now + 1_800_000).toISOString(),
      first_decision: new Date(now - 2.5 * day + 1_800_000).toISOString(),
    })
  })

  it("begins with the first decision, as do the days of the rates", () => {
    const first = model.firstSendAt!
    const { rate_days, window } = resultsOf()
    assert.strictEqual(window.first_decision, new Date(first).toISOString())
    assert.deepStrictEqual(rate_days, { from: new Date(first).toISOString(), to: new Date(now).toISOString() })
    const old = resultsOf({ model: { ...model, firstSendAt: now - 400 * day } })
    assert.strictEqual(old.window.first_decision, old.window.from)
    assert.strictEqual(old.rate_days.from, new Date(now - 14 * day).toISOString())
    assert.isNull(resultsOf({ model: { ...model, firstSendAt: null } }).window.first_decision)
  })
})

describe("a change of a rate", () => {
  const changed = (...changes: ReadonlyArray<readonly [number, number]>) => {
    const levels = changes.map((one) => ({
      variants: model.variants.map(() => [0, 0, 0] as const),
      common: [0, 0, 0] as const,
      changes: model.variants.map((_, v) => v === 0 ? one : [0, 0.01] as const),
    }))
    return resultsOf({ model: { ...model, levels } }).variants.map(({ change }) => change)
  }

  it("is shown if all cases together make it certain", () => {
    assert.deepStrictEqual(changed([Math.log(0.6), 0.01], [Math.log(0.6), 0.01]), [Math.expm1(Math.log(0.6)), null])
    assert.deepStrictEqual(changed([-0.5, 0.01], [0, 0.0001]), [null, null], "the cases differ")
    assert.deepStrictEqual(changed([-0.1, 0.01]), [null, null], "it may be chance")
    assert.deepStrictEqual(resultsOf().variants.map(({ change }) => change), [null, null], "no case")
  })
})
