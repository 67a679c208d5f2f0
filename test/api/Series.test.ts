import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { Settling } from "../../src/sendtime/Settling.ts"
import { day, makeTemplate, plant, settle, suiteOnServer } from "../learning/support.ts"
import { makeOrganization } from "../support/service.ts"
import { type Json } from "./harness.ts"

const segment = encodeContext([["daypart", "morning"], ["weekend", "weekday"]])
const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((all, one) => all + one, 0)

suiteOnServer("The series of a template", (server) => {
  const ask = (path: string): Promise<{ status: number; body: Json }> =>
    server().service.manage("GET", `/organizations/${path}`)
  const organization = async (slug: string) => {
    await makeOrganization(server().service, slug)
    await server().run(makeTemplate(slug, "t", ["a", "b"]))
  }

  it("sums up to the totals of the results", async () => {
    await organization("over-time")
    await server().run(Effect.gen(function* () {
      for (const days of [6, 5, 4, 3, 2]) {
        yield* plant("over-time", {
          copy: "a",
          decisions: 60 + 20 * (6 - days),
          outcomes: { click: 12 + 4 * (6 - days), open: 30 },
          segment,
          ago: days * day,
        })
        yield* plant("over-time", { copy: "b", decisions: 100, outcomes: { click: 5 }, segment, ago: days * day })
      }
      yield* plant("over-time", { copy: "b", decisions: 30, outcomes: { click: 30 }, segment, mode: "forced" })
      yield* settle("over-time")
    }))
    const { body: results } = await ask("over-time/templates/t/results")
    const { body: series, status } = await ask("over-time/templates/t/series")
    assert.strictEqual(status, 200, JSON.stringify(series))
    assert.deepStrictEqual(series.variants, ["a", "b"])
    assert.isTrue(series.by_segment)
    const { points } = series
    for (const { copy_id, decisions, outcomes } of results.variants) {
      const mine = points.map(({ variants }: Json) => variants.find((one: Json) => one.copy_id === copy_id))
      assert.strictEqual(sum(mine.map((one: Json) => one.decisions)), decisions, "forced ones are left out")
      assert.strictEqual(sum(mine.map((one: Json) => one.value)), outcomes.click)
    }
    for (const [i, point] of points.entries()) {
      const { decisions, end, maturity, start, variants } = point
      assert.isBelow(Date.parse(start), Date.parse(end))
      if (i > 0) assert.isAtLeast(Date.parse(start), Date.parse(points[i - 1].end), "stretches do not overlap")
      assert.isTrue(maturity > 0 && maturity <= 1)
      if (decisions > 0) assert.approximately(sum(variants.map((one: Json) => one.share)), 1, 1e-9)
      assert.approximately(sum(variants.map((one: Json) => one.p_best)), 1, 1e-6)
      for (const { interval: [low, high], rate } of variants) assert.isTrue(0 < low && low < rate && rate < high)
    }
    const last = points.at(-1)
    const byId = Object.fromEntries(last.variants.map((one: Json) => [one.copy_id, one]))
    assert.isAbove(byId.a.p_best, 0.95, "20 % against 5 %")
    // The series' current rates equal the model's.
    for (const { copy_id, interval, rate } of results.variants) {
      assert.isTrue(interval[0] < byId[copy_id].rate && byId[copy_id].rate < interval[1], copy_id)
      assert.approximately(byId[copy_id].rate, rate, rate * 0.25)
    }
    // In the first days b got more of the traffic, later a did.
    assert.isBelow(points[0].gain.gained, 0)
    assert.isAbove(last.gain.even, 0)
    assert.isAtLeast(sum(series.hours.map(({ engagements }: Json) => engagements)), 5 * 30)
    for (const { day, hour } of series.hours) assert.isTrue(day >= 1 && day <= 7 && hour >= 0 && hour <= 23)
  }, 120_000)

  it("keeps to its window and segment", async () => {
    await organization("windows")
    await server().run(Effect.gen(function* () {
      yield* plant("windows", { copy: "a", decisions: 20, outcomes: { click: 3 }, segment, ago: 8 * day })
      yield* plant("windows", { copy: "b", decisions: 10, outcomes: { click: 1 }, segment, ago: 2 * day })
      yield* settle("windows")
    }))
    const decisions = async (query: string) => {
      const { body, status } = await ask(`windows/templates/t/series${query}`)
      assert.strictEqual(status, 200, JSON.stringify(body))
      return sum(body.points.map((one: Json) => one.decisions))
    }
    assert.strictEqual(await decisions(""), 30)
    assert.strictEqual(await decisions("?lookback_days=4&offset_days=0"), 10)
    assert.strictEqual(await decisions("?lookback_days=7&offset_days=4"), 20)
    assert.strictEqual(await decisions("?segment=daypart%3Dmorning"), 30)
    assert.strictEqual(await decisions("?segment=daypart%3Dnight"), 0)
  }, 120_000)

  it("of settled decisions have a comparison by propensities", async () => {
    await organization("measured")
    await server().run(Effect.gen(function* () {
      const weights = { a: 0.75, b: 0.25 }
      for (const ago of [6 * day, 8 * day]) {
        yield* plant("measured", { copy: "a", decisions: 750, outcomes: { click: 375 }, segment, ago, weights })
        yield* plant("measured", { copy: "b", decisions: 250, outcomes: { click: 25 }, segment, ago, weights })
      }
      yield* plant("measured", { copy: "a", decisions: 50, outcomes: { click: 10 }, segment, ago: day, weights })
      yield* settle("measured")
      // The service settles as well, maybe before there were decisions.
      const sql = yield* SqlClient.SqlClient
      yield* sql.withTransaction(Effect.all([
        sql`DELETE FROM propensity_tallies WHERE org_slug = 'measured'`,
        sql`DELETE FROM send_time_marks WHERE org_slug = 'measured'`,
      ]))
      yield* (yield* Settling).run
    }))
    const days = (time: string) => Math.round((Date.parse(time) - Math.floor(Date.now() / day) * day) / day)
    const { body: results } = await ask("measured/templates/t/results")
    const { baseline, copy_id, difference, interval: [low, high], supports, ...counted } = results.without_model
    assert.deepStrictEqual([copy_id, baseline, supports, counted.decisions], ["a", "b", true, 2000])
    assert.approximately(difference, 0.4, 1e-3, "50 % less 10 %")
    assert.isTrue(0.2 < low && low < 0.4 && 0.4 < high && high < 0.6, `${low} to ${high}`)
    assert.deepStrictEqual([days(counted.from), days(counted.to)], [-8, -5])
    assert.strictEqual(results.rate_days.from, results.window.first_decision)
  }, 120_000)

  it("is empty before any decision, and refuses invalid queries", async () => {
    await organization("fresh")
    const { body, status } = await ask("fresh/templates/t/series")
    assert.strictEqual(status, 200)
    assert.deepStrictEqual([body.points, body.hours, body.variants], [[], [], []])
    const refused = await ask("fresh/templates/t/series?lookback_days=0&offset_days=x&segment=plan")
    assert.strictEqual(refused.status, 400)
    assert.sameMembers(refused.body.errors.map(({ pointer }: Json) => pointer), [
      "lookback_days",
      "offset_days",
      "segment",
    ])
    assert.strictEqual((await ask("fresh/templates/none/series")).status, 404)
    assert.strictEqual((await ask("nobody/templates/t/series")).status, 404)
    assert.strictEqual(
      (await server().service.request("/console/api/organizations/fresh/templates/t/series")).status,
      401,
    )
  })

  it("returns the hours of the week in which people read, to all members", async () => {
    await organization("hours")
    await server().run(Effect.gen(function* () {
      yield* plant("hours", { copy: "a", decisions: 40, outcomes: { click: 20 }, ago: 3 * day })
      yield* settle("hours")
    }))
    const { body, status } = await ask("hours/templates/t/send-times")
    assert.strictEqual(status, 200, JSON.stringify(body))
    assert.deepInclude(body, { template_id: "t", basis: "template", time_zone: "UTC", quiet_hours: null })
    assert.strictEqual(body.hours.length, 168)
    assert.deepInclude(body.levels[0], { level: "template", touches: 20, engagements: 20 })
    assert.strictEqual(body.timing.followed.sends, 0)
    assert.strictEqual((await ask("hours/templates/none/send-times")).body.type, "/problems/template-not-found")
    assert.strictEqual((await ask("nowhere/templates/t/send-times")).body.type, "/problems/organization-not-found")
  })
})
