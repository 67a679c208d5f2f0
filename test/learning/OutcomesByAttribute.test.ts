import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { periodDays, periodStart } from "../../src/bandit/AttributeOutcomes.ts"
import { countAttributeOutcomes, readAttributeOutcomes, stopCounting } from "../../src/learning/OutcomesByAttribute.ts"
import { isLocked } from "../../src/learning/Tallies.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { Settling } from "../../src/sendtime/Settling.ts"
import { decide, layerQuiet, makeOrg, org, receive, settle } from "../intake/support.ts"
import { dayAt, drain, drainAndSettle, eventsAfter } from "../sendtime/habits.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { day, makeTemplate } from "./support.ts"

const builtIn = "daypart=morning&weekend=weekday"

/** Stores decisions of the template `t`, with their attributes in or outside the segment, and their events. */
const plantDecisions = Effect.fnUntraced(function* (slug: string) {
  yield* makeOrg(slug)
  yield* makeTemplate(slug, "t", ["a", "b"])
  const at = dayAt(9, 10)
  const make = (id: string, copy: string, segment: string, more = {}) =>
    decide(slug, id, { copy, at, segment: `${builtIn}&${segment}`, ...more })
  yield* make("first", "a", "plan=pro", { extraAttributes: "tier=gold&city=a%26b" })
  yield* make("second", "a", "plan=pro", { extraAttributes: "tier=missing" })
  yield* make("third", "b", "country=other&plan=free", { extraAttributes: "country=no" })
  yield* make("forced", "a", "plan=pro", { mode: "forced", propensity: null })
  yield* make("held out", "", "plan=pro", { mode: "control", propensity: null })
  yield* make("bounced", "b", "plan=free")
  yield* make("fresh", "a", "plan=pro", { at: at + 8 * day })
  const event = eventsAfter(at)
  yield* receive(slug, [
    event("click", "first", 1),
    event("click", "second", 100),
    event("open", "third", 2),
    event("bounce", "bounced", 2),
  ])
  yield* drain
  return at
})

const read = Effect.fnUntraced(function* (slug: string) {
  const rows = yield* readAttributeOutcomes(yield* SqlClient.SqlClient, slug, "t", Date.now())
  return rows.map(({ counts, name, start }) => ({ start, name, counts }))
})

describe("outcomes by attribute", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("count each settled decision by its segment and extra attributes, and equal a rebuild", () =>
      Effect.gen(function* () {
        const at = yield* plantDecisions("attributed")
        yield* drainAndSettle

        // Decisions, clicks, opens, conversions, negative outcomes. A click after four days does not count.
        const first = [1, 1, 0, 0, 0]
        const counted = [
          { name: "city", counts: { a: { "a&b": first } } },
          { name: "country", counts: { b: { no: [1, 0, 1, 0, 0] } } },
          { name: "plan", counts: { a: { pro: [2, 1, 0, 0, 0] }, b: { free: [1, 0, 1, 0, 0] } } },
          { name: "tier", counts: { a: { gold: first, missing: [1, 0, 0, 0, 0] } } },
        ].map((row) => ({ start: periodStart(at), ...row }))
        assert.deepStrictEqual(yield* read("attributed"), counted)

        yield* settle("attributed")
        const rebuild = yield* Rebuild
        yield* rebuild.run(org("attributed"), { check: true })
        yield* rebuild.run(org("attributed"), { check: false })
        assert.deepStrictEqual(yield* read("attributed"), counted)
      }))

    it.effect("start with the decisions settled after an upgrade, or with a rebuild", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* plantDecisions("upgraded")
        yield* (yield* Settling).run
        // The previous release settled without counting attributes, and recorded no attributes outside segments.
        yield* sql`DELETE FROM attribute_outcomes WHERE org_slug = 'upgraded'`
        yield* sql`UPDATE decisions d SET further = NULL WHERE d.org_slug = 'upgraded'`
        assert.deepStrictEqual(yield* read("upgraded"), [])
        yield* (yield* Settling).run
        assert.deepStrictEqual(yield* read("upgraded"), [])
        yield* (yield* Rebuild).run(org("upgraded"), { check: false })
        assert.deepStrictEqual((yield* read("upgraded")).map(({ name }) => name), ["country", "plan"])
      }))

    it.effect("sum over several passes, drop old periods, and leave out attributes with too many values", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("passes")
        const now = Date.now()
        const pass = (values: ReadonlyArray<string>, ago: number, at = now) =>
          countAttributeOutcomes(
            sql,
            "passes",
            values.map((value) => ({
              templateId: "t",
              copyId: "a",
              propensity: 0.5,
              segment: `name=${value}`,
              further: null,
              decidedAt: new Date(now - ago * day),
            })),
            values.map(() => []),
            at,
          )
        yield* pass(["x", "y"], 0)
        yield* pass(["x"], 0)
        yield* pass(["x"], 200)
        assert.deepStrictEqual((yield* read("passes")).map(({ counts }) => counts), [
          { a: { x: [2, 0, 0, 0, 0], y: [1, 0, 0, 0, 0] } },
        ])
        const many = Array.from({ length: 150 }, (_, i) => `v${i}`)
        yield* pass(many, 0)
        yield* pass(many.map((value) => `more-${value}`), 0)
        yield* pass(["x"], 0)
        assert.deepStrictEqual((yield* read("passes")).map(({ counts }) => counts), [null])
        const later = now + 5 * periodDays * day
        yield* pass(["x"], -5 * periodDays, later)
        const rows = yield* readAttributeOutcomes(sql, "passes", "t", later)
        assert.deepStrictEqual(rows.map(({ counts }) => counts), [{ a: { x: [1, 0, 0, 0, 0] } }])
        const [{ n }] = (yield* sql<{ n: number }>`
          SELECT count(*)::int AS n FROM attribute_outcomes a WHERE a.org_slug = 'passes'`) as [{ n: number }]
        assert.strictEqual(n, 1)
      }))

    it.effect("wait for a rebuild without blocking other work", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* plantDecisions("waiting")
        const { run } = yield* Settling
        const isHeld = yield* Deferred.make<void>()
        const isOver = yield* Deferred.make<void>()
        const rebuilding = yield* Effect.forkChild(sql.withTransaction(
          stopCounting(sql).pipe(
            Effect.andThen(Deferred.succeed(isHeld, undefined)),
            Effect.andThen(Deferred.await(isOver)),
          ),
        ))
        yield* Deferred.await(isHeld)
        const error = yield* Effect.flip(run)
        assert.isTrue(isLocked(error))
        yield* Deferred.succeed(isOver, undefined)
        yield* Fiber.join(rebuilding)
        assert.deepStrictEqual(yield* read("waiting"), [])
        yield* run
        assert.isNotEmpty(yield* read("waiting"))
      }))
  })
})
