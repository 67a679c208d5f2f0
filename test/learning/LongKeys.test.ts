import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { measures } from "../../src/bandit/Tally.ts"
import { hourMillis } from "../../src/bandit/Window.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import * as Tallies from "../../src/learning/Tallies.ts"
import { decide, layerQuiet, makeOrg, org, receive, tallies } from "../intake/support.ts"
import { seeded } from "../support/load.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { counted, day, makeTemplate, settle } from "./support.ts"

/** Incompressible text of the given number of CJK characters, determined by the seed. */
const cjk = (length: number, seed: number): string => {
  const random = seeded(seed)
  return Array.from({ length }, () => String.fromCodePoint(0x4e00 + Math.floor(random() * 20_000))).join("")
}

/** A segment of six attributes whose names and values have 60 CJK characters each: about 6,500 bytes. */
const longSegment = (seed: number): string =>
  encodeContext(Array.from({ length: 6 }, (_, i) => [cjk(60, 100 * seed + i), cjk(60, 100 * seed + 50 + i)] as const))

const hourStart = (at: number) => Math.floor(at / hourMillis) * hourMillis
const zeros = Object.fromEntries(measures.map((measure) => [measure, 0]))

/** The key of a tally as the previous release writes it. */
const previous = (slug: string, segment: string, start: number) => ({
  org_slug: slug,
  template_id: "t",
  copy_id: "a",
  segment,
  bucket_start: new Date(start),
  track: "learned",
})

describe("segments too long for an index row", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("are learned from, rolled up and rebuilt like short ones, and stay readable", () =>
      Effect.gen(function* () {
        yield* makeOrg("long")
        yield* makeTemplate("long", "t", ["a", "b"])
        const [first, second] = [longSegment(1), longSegment(2)]
        const at = Date.now() - 3 * day
        for (const [n, segment] of [first, second, "plan=pro", first].entries()) {
          yield* decide("long", `d${n}`, { template: "t", copy: "a", segment, at: at + n * 1000 })
        }
        yield* receive("long", [{ event: "click", tracking_id: "d0" }, { event: "click", tracking_id: "d2" }])
        yield* settle("long")
        assert.deepStrictEqual(yield* counted("long"), [["a", 4, 2]])

        const rebuild = yield* Rebuild
        assert.deepStrictEqual((yield* rebuild.run(org("long"), { check: true })).differences, [])
        const before = yield* tallies("long")
        const expected = [first, second, "plan=pro"]
        for (const segment of expected) assert.include(before.join("\n"), segment)
        const rebuilt = yield* rebuild.run(org("long"), { check: false })
        assert.deepStrictEqual(rebuilt.differences, [])
        yield* settle("long")
        assert.deepStrictEqual(yield* tallies("long"), before)

        const sql = yield* SqlClient.SqlClient
        yield* sql.withTransaction(Tallies.rollUp(sql, "long", "t", Date.now() + 60 * day))
        const rolled = yield* Tallies.readTallies(sql, "long", "t")
        assert.sameMembers([...new Set(rolled.map(({ context }) => context))], expected)
        assert.isTrue(rolled.every(({ start }) => start % (24 * hourMillis) === 0))
      }))

    it.effect("are counted together with rows that the previous release stored under their text", () =>
      Effect.gen(function* () {
        yield* makeOrg("mixed")
        yield* makeTemplate("mixed", "t", ["a"])
        const segment = encodeContext([["city", "a".repeat(1_100)]])
        const sql = yield* SqlClient.SqlClient
        const now = Date.now()
        const tally = {
          copyId: "a",
          context: segment,
          start: hourStart(now),
          track: "learned" as const,
          counts: { decisions: 2 },
        }
        yield* Tallies.addTallies(sql, "mixed", "t", [tally], now)
        // The previous release keys by the text, as far as an index row has room for it.
        yield* sql`
          INSERT INTO tallies ${sql.insert({ ...zeros, ...previous("mixed", segment, hourStart(now)), decisions: 3 })}`
        assert.deepStrictEqual(yield* tallies("mixed"), [`a ${segment} learned: decisions 5`])
        // It drops the text of a long segment when it rolls up; the next fold brings it back.
        yield* sql`UPDATE tallies t SET segment_text = NULL WHERE t.org_slug = 'mixed'`
        yield* Tallies.addTallies(sql, "mixed", "t", [tally], now)
        assert.deepStrictEqual(yield* tallies("mixed"), [`a ${segment} learned: decisions 7`])
      }))
  })
})

describe("a rebuild", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("reports and keeps a template whose data the database refuses, and rebuilds the others", () =>
      Effect.gen(function* () {
        yield* makeOrg("faulty")
        for (const id of ["bad", "good"]) {
          yield* makeTemplate("faulty", id, ["a"])
          yield* decide("faulty", `d-${id}`, { template: id })
        }
        yield* settle("faulty", "bad", "good")
        const sql = yield* SqlClient.SqlClient
        yield* sql`UPDATE tallies t SET decisions = 7 WHERE t.org_slug = 'faulty'`
        yield* sql`
          ALTER TABLE tallies ADD CONSTRAINT refused CHECK (template_id <> 'bad' OR decisions <> 1) NOT VALID`
        const rebuilt = yield* (yield* Rebuild).run(org("faulty"), { check: false })
        assert.deepStrictEqual(rebuilt.faults.map(({ templateId }) => templateId), ["bad"])
        assert.match(rebuilt.faults[0]!.reason, /refused/)
        assert.deepStrictEqual(yield* tallies("faulty", "bad"), ["a plan=pro learned: decisions 7"])
        assert.deepStrictEqual(yield* tallies("faulty", "good"), ["a plan=pro learned: decisions 1"])
      }))
  })
})
