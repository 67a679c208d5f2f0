import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { segmentsText } from "../../src/cli/SegmentsText.ts"
import { AttributeStatistics } from "../../src/learning/AttributeStatistics.ts"
import { org, receive } from "../intake/support.ts"
import { day, hour, makeTemplate, plant, settle, suiteOnServer } from "../learning/support.ts"
import { adminToken, makeOrganization, waitUntil } from "../support/service.ts"
import { assertProblem, type Json, pointersOf, read } from "./harness.ts"
import { decide } from "../intake/support.ts"
import { Templates } from "../../src/templates/Templates.ts"

const segment = (plan: string) => encodeContext([["daypart", "morning"], ["plan", plan], ["weekend", "weekday"]])

/** Has requests of a template carry `plan`, so that it is learned from. */
const withPlans = (slug: string) =>
  Effect.flatMap(AttributeStatistics, ({ flush, observe }) =>
    Effect.suspend(() => {
      for (let n = 0; n < 100; n++) {
        observe(slug, "t", new Map([["plan", [n % 2 === 0 ? "pro" : "free"]]]), Date.now())
      }
      return flush
    }))

const byId = (variants: ReadonlyArray<Json>): Json => Object.fromEntries(variants.map((one) => [one.copy_id, one]))
const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((all, one) => all + one, 0)

/** Properties of the variants in every answer. */
const assertCoherent = (variants: ReadonlyArray<Json>, message: string) => {
  const active = variants.filter(({ status }) => status === "active")
  if (active.length > 0) {
    if (active.every(({ rate }) => rate !== null)) {
      assert.approximately(sum(active.map(({ p_best }) => p_best)), 1, 1e-9, message)
    }
    assert.approximately(sum(variants.map(({ share }) => share)), 1, 1e-6, message)
  }
  for (const one of variants) {
    if (one.rate === null) {
      assert.deepStrictEqual([one.interval, one.p_best, one.expected_loss], [null, null, null], message)
    } else {
      const [low, high] = one.interval
      assert.isTrue(0 < low && low < one.rate && one.rate < high, `${message}: ${JSON.stringify(one)}`)
      assert.isAtLeast(one.expected_loss, 0, message)
    }
    assert.isTrue(one.share >= 0 && one.share <= 1, message)
    assert.isTrue(one.matured_sends >= 0 && one.matured_sends <= one.decisions - one.voided + 1e-9, message)
    if (one.status !== "active") assert.isNull(one.p_best, message)
  }
}

suiteOnServer("Results", (server) => {
  const ask = async (path: string) => {
    const { service } = server()
    return read(
      await service.request(`/console/api/organizations/${path}`, {
        headers: { authorization: `Bearer ${adminToken}` },
      }),
    )
  }
  const results = async (slug: string, query = "", template = "t"): Promise<Json> => {
    const answer = await ask(`${slug}/templates/${template}/results${query}`)
    assert.strictEqual(answer.status, 200, answer.text)
    return answer.json
  }
  const organization = async (slug: string, variants: ReadonlyArray<string> = ["a", "b"]) => {
    const { run, service } = server()
    await makeOrganization(service, slug)
    await run(makeTemplate(slug, "t", variants))
    return run
  }

  it("compares two variants in segments, and lists every fault of the question", async () => {
    const run = await organization("explored")
    await run(Effect.gen(function* () {
      yield* withPlans("explored")
      for (let days = 6; days < 12; days++) {
        for (const [copy, click] of [["a", 40], ["b", 4]] as const) {
          yield* plant("explored", {
            copy,
            decisions: 200,
            outcomes: { click },
            segment: segment("pro"),
            ago: days * day,
          })
          yield* plant("explored", { copy, decisions: 1, outcomes: {}, segment: segment("free"), ago: days * day })
        }
      }
      yield* settle("explored")
    }))
    const path = "explored/templates/t/segment-comparison"
    const { json, status, text } = await ask(`${path}?variant=a&against=b&attribute=plan&second_attribute=daypart`)
    assert.strictEqual(status, 200, text)
    assert.deepInclude(json, { variant: "a", against: "b", attributes: ["plan", "daypart"], outcome: "click" })
    const [pro, free] = json.segments
    assert.deepStrictEqual(pro.segment, { plan: "pro", daypart: "morning" })
    assert.deepStrictEqual(pro.variant, { decisions: 1200, outcomes: 240 })
    assert.approximately(pro.comparison.difference, 0.18, 1e-9)
    assert.isTrue(pro.comparison.clear)
    assert.isNull(free.comparison, "too little data")
    assert.strictEqual(json.comparisons, 1)
    const printed = segmentsText(json)
    assert.match(printed, /plan=pro daypart=morning\s+240 of 1200\s+24 of 1200\s+20 % and 2\.0 %\s+\+18\.00 /)
    assert.match(printed, /plan=free daypart=morning .*too little data/)
    assert.isAtMost((await ask(`${path}?variant=a&against=b`)).json.attributes.length, 2)

    assert.deepStrictEqual(pointersOf(await ask(path)), [], "the leader and the runner-up")
    assert.deepStrictEqual(pointersOf(await ask(`${path}?variant=a&against=a&attribute=shoe`)), [
      "against",
      "attribute",
    ])
    assertProblem(await ask(`${path}?variant=a&against=none`), 404, "variant-not-found")
    assertProblem(
      await ask("explored/templates/none/segment-comparison?variant=a&against=b"),
      404,
      "template-not-found",
    )
  })

  it("shows counts, rates with their intervals, and the probably best variant", async () => {
    const run = await organization("counts")
    await run(Effect.gen(function* () {
      yield* withPlans("counts")
      for (const plan of ["pro", "free"]) {
        yield* plant("counts", {
          copy: "a",
          decisions: 300,
          outcomes: { open: 100, click: plan === "pro" ? 60 : 20, conversion: 4, sent: 290, unsubscribe: 2 },
          segment: segment(plan),
        })
        yield* plant("counts", { copy: "b", decisions: 200, outcomes: { click: 10 }, segment: segment(plan) })
      }
      yield* plant("counts", {
        copy: "b",
        decisions: 50,
        outcomes: { bounce: 10 },
        segment: segment("pro"),
        ago: 3 * day,
      })
      yield* plant("counts", {
        copy: "b",
        decisions: 7,
        outcomes: { click: 3 },
        mode: "forced",
        segment: segment("pro"),
      })
      yield* decide("counts", "machine", { copy: "a", segment: segment("pro"), ago: 2 * day })
      yield* receive("counts", {
        event: "open",
        tracking_id: "machine",
        automated: true,
        occurred_at: new Date(Date.now() - 2 * day + hour).toISOString(),
      })
      yield* settle("counts")
    }))
    const answer = await results("counts")
    assert.deepInclude(answer, { template_id: "t", objective: "click", segment: {}, decisions: 1051, voided: 10 })
    assert.deepInclude(answer.window, { mode: "adaptive", lookback_days: null, offset_days: null })
    assert.match(answer.policy_version, /^t:\d+$/)
    assert.deepInclude(answer.outcomes, {
      sent: 580,
      open: 200,
      click: 100,
      conversion: 8,
      unsubscribe: 4,
      negative: 4,
      bounce: 10,
      spam: 0,
    })
    assert.deepInclude(answer.automated, { open: 1, click: 0 })
    assert.deepInclude(answer.forced, { decisions: 7 })
    const { a, b } = byId(answer.variants)
    assert.deepInclude(a, { name: "a", status: "active", decisions: 601, voided: 0, raw_rate: 80 / 601 })
    assert.deepInclude(b, { status: "active", decisions: 450, voided: 10, raw_rate: 20 / 440 })
    assert.strictEqual(b.outcomes.click, 20)
    assert.strictEqual(b.forced.outcomes.click, 3)
    assertCoherent(answer.variants, "all")
    assert.isAbove(a.p_best, 0.99)
    assert.isAbove(a.interval[0], b.interval[1])
    assert.approximately(a.rate, 80 / 601, 0.03)
    assert.approximately(b.rate, 20 / 440, 0.02)
    assert.isAbove(a.share, 0.9)

    const named = (values: Json) =>
      answer.segments.find((one: Json) => JSON.stringify(one.segment) === JSON.stringify(values))
    for (const part of answer.segments) assertCoherent(part.variants, JSON.stringify(part.segment))
    assert.deepStrictEqual(answer.segments[0].decisions, 1051)
    assert.strictEqual(named({ plan: "pro" }).decisions, 551)
    assert.strictEqual(named({ plan: "free" }).decisions, 500)
    assert.isAbove(byId(named({ plan: "pro" }).variants).a.rate, byId(named({ plan: "free" }).variants).a.rate)
    // A repeated request returns equal figures until the model changes.
    await waitUntil("two answers rest on the same model", async () => {
      const [one, two] = [await results("counts"), await results("counts")]
      if (one.policy_version !== two.policy_version) return false
      assert.deepStrictEqual([two.variants, two.segments, two.winner], [one.variants, one.segments, one.winner])
      return true
    })

    const pro = await results("counts", "?segment=plan%3Dpro")
    assert.deepStrictEqual(pro.segment, { plan: "pro" })
    assert.strictEqual(pro.decisions, 551)
    assert.strictEqual(byId(pro.variants).a.outcomes.click, 60)
    assertCoherent(pro.variants, "pro")
    assert.isFalse(pro.segments.some((one: Json) => one.segment.plan !== "pro"))
    const values = { plan: "pro", daypart: "morning" }
    for (const query of ["?segment=plan%3DPRO%26daypart%3Dmorning", "?segment=plan%3Dpro&segment=daypart%3Dmorning"]) {
      const { decisions, segment } = await results("counts", query)
      assert.deepStrictEqual({ decisions, segment }, { decisions: 551, segment: values }, query)
    }
    const nobody = await results("counts", "?segment=plan%3Dgold")
    assert.deepInclude(nobody, { decisions: 0, segments: [] })
    assertCoherent(nobody.variants, "nobody")
  })

  it("restricts itself to the decisions of a window", async () => {
    const run = await organization("window")
    await run(Effect.gen(function* () {
      for (const [days, decisions] of [[0.5, 1], [2, 2], [4, 4], [10, 8], [16, 16], [60, 32]] as const) {
        yield* plant("window", { copy: "a", decisions, outcomes: { click: decisions / 2 | 0 }, ago: days * day })
      }
      yield* settle("window")
    }))
    const of = async (query: string) => {
      const { decisions, window } = await results("window", query)
      return { decisions, ...window }
    }
    assert.strictEqual((await of("")).decisions, 63)
    const both = await of("?lookback_days=14&offset_days=0")
    assert.deepInclude(both, { decisions: 15, mode: "window", lookback_days: 14, offset_days: 0, half_life_days: null })
    // The first day that begins in the window.
    assert.strictEqual(Date.parse(both.from), Math.ceil((Date.parse(both.to) - 14 * day) / day) * day)
    assert.isAtMost(Math.abs(Date.parse(both.to) - Date.now()), 60_000)
    assert.deepInclude(await of("?lookback_days=14"), { decisions: 4 + 8 + 16, offset_days: 3 })
    assert.deepInclude(await of("?offset_days=1"), { decisions: 2 + 4 + 8, lookback_days: 14 })
    assert.deepInclude(await of("?lookback_days=1.5&offset_days=1"), { decisions: 2 })
    assert.deepInclude(await of("?lookback_days=365&offset_days=0"), { decisions: 63 })
    assert.deepInclude(await of("?lookback_days=1&offset_days=365"), { decisions: 0 })
    assert.deepInclude(await of("?lookback_days=1e1&offset_days=0.0"), { decisions: 7, lookback_days: 10 })
  })

  it("names a firm winner after a week of clear data, and waits before", async () => {
    const run = await organization("winner", ["a", "b"])
    const plantDays = (days: ReadonlyArray<number>) =>
      Effect.forEach(days, (days) =>
        Effect.andThen(
          plant("winner", { copy: "a", decisions: 60, outcomes: { click: 12 }, ago: days * day }),
          plant("winner", { copy: "b", decisions: 60, outcomes: { click: 4 }, ago: days * day }),
        ), { discard: true })
    await run(Effect.andThen(plantDays([1, 2, 3, 4, 5]), settle("winner")))
    const early = (await results("winner")).winner
    assert.deepInclude(early, { verdict: "undecided", copy_id: null, leader: "a" })
    assert.deepStrictEqual(early.waiting_for, ["days", "certainty"])
    assert.isBelow(early.days, 7)
    await run(Effect.andThen(plantDays([6, 7, 8, 9, 10]), settle("winner")))
    const { variants, winner } = await results("winner")
    assert.deepInclude(winner, { state: "firm", verdict: "firm_winner", copy_id: "a", leader: "a", waiting_for: [] })
    assert.isNotNull(winner.since)
    assert.isAbove(winner.lift.interval[0], 0.5, "20 % against 7 %")
    assert.isAtLeast(winner.p_best, 0.95)
    assert.strictEqual(winner.p_best, byId(variants).a.p_best)
    assert.isBelow(winner.expected_loss, 0.01)
    assert.isAtLeast(winner.days, 9)
    assert.isAtLeast(winner.matured_sends, 500)
    // A window holds less, and says so.
    assert.deepInclude((await results("winner", "?lookback_days=1&offset_days=7")).winner, { leader: "a" })
  })

  it("reports missing data for equal variants, and a missing second variant", async () => {
    const run = await organization("alike", ["a", "b"])
    await run(Effect.gen(function* () {
      yield* plant("alike", { copy: "a", decisions: 50, outcomes: { click: 5 }, ago: 9 * day })
      yield* plant("alike", { copy: "b", decisions: 50, outcomes: { click: 5 }, ago: 9 * day })
      yield* settle("alike")
    }))
    const { winner } = await results("alike")
    assert.deepInclude(winner, { verdict: "undecided", copy_id: null })
    assert.deepStrictEqual(winner.waiting_for, ["sends", "certainty"])
    await run(
      Effect.flatMap(Templates, (templates) => templates.updateVariant(org("alike"), "t", "b", { active: false })),
    )
    const alone = await results("alike")
    assert.deepInclude(alone.winner, {
      state: "undecided",
      verdict: "undecided",
      leader: "a",
      waiting_for: ["variants"],
    })
    assert.deepInclude(byId(alone.variants).b, { status: "stopped", p_best: null, share: 0, decisions: 50 })
    await run(Effect.flatMap(Templates, (templates) => templates.removeVariant(org("alike"), "t", "b")))
    assert.deepInclude(byId((await results("alike")).variants).b, { status: "removed", decisions: 50 })
  })

  it("answers for a template without decisions", async () => {
    await organization("unserved")
    const answer = await results("unserved")
    assert.deepInclude(answer, { decisions: 0, voided: 0, segments: [], policy_version: "t:0" })
    assertCoherent(answer.variants, "unserved")
    assert.deepStrictEqual(
      answer.variants.map(({ p_best, rate, raw_rate, share }: Json) => [raw_rate, rate, p_best, share]),
      [[null, null, null, 0.5], [null, null, null, 0.5]],
    )
    assert.deepInclude(answer.winner, { verdict: "undecided", days: 0, matured_sends: 0 })
    const empty = await organization("empty", [])
    void empty
    assert.deepInclude((await results("empty")).winner, { leader: null, p_best: null, waiting_for: ["variants"] })
  })

  it("names every fault, and does not know other organizations' templates", async () => {
    const run = await organization("faults")
    const cases: ReadonlyArray<readonly [query: string, pointers: ReadonlyArray<string>]> = [
      ["?lookback_days=0.5", ["lookback_days"]],
      ["?lookback_days=366", ["lookback_days"]],
      ["?lookback_days=x&offset_days=-1", ["lookback_days", "offset_days"]],
      ["?lookback_days=&offset_days=NaN", ["lookback_days", "offset_days"]],
      ["?offset_days=365.1&segment=plan", ["offset_days", "segment"]],
      ["?segment=plan%3Da%26plan%3Db", ["segment"]],
      ["?segment=%3Dpro&segment=plan%3D%25E0", ["segment", "segment"]],
    ]
    for (const [query, pointers] of cases) {
      const answer = await ask(`faults/templates/t/results${query}`)
      assertProblem(answer, 400, "invalid-request", query)
      assert.deepStrictEqual(pointersOf(answer), pointers, query)
    }
    assertProblem(await ask("faults/templates/none/results"), 404, "template-not-found")
    assertProblem(await ask("none/templates/t/results"), 404, "organization-not-found")
    const { service } = server()
    await makeOrganization(service, "faults-other")
    await run(makeTemplate("faults-other", "only-theirs", ["a"]))
    assertProblem(await ask("faults/templates/only-theirs/results"), 404, "template-not-found")
    const denied = await read(await service.request("/console/api/organizations/faults/templates/t/results"))
    assertProblem(denied, 401)
  })
})
