import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { measures, type Tally, tracks } from "../../src/bandit/Tally.ts"
import { bucketAt, dayMillis } from "../../src/bandit/Window.ts"
import * as Ledger from "../../src/journal/Ledger.ts"
import { append, type LedgerEntry, LedgerSum } from "../../src/journal/Ledger.ts"
import * as Tallies from "../../src/learning/Tallies.ts"
import { seeded } from "../support/load.ts"
import { shuffle } from "../process/storm.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"
import { hour } from "./support.ts"

// The last noon: in the first hour of a day, its hour and the day would begin alike.
const base = Math.floor((Date.now() - 12 * hour) / dayMillis) * dayMillis + 12 * hour

const counts = fc.dictionary(fc.constantFrom(...measures), fc.integer({ min: -3, max: 5 }), { maxKeys: 4 })
const entry: fc.Arbitrary<LedgerEntry> = fc.record({
  org: fc.constantFrom("acme", "other"),
  templateId: fc.constantFrom("t", "u"),
  copyId: fc.constantFrom("a", "b", "a b"),
  context: fc.constantFrom("", "plan=pro", "plan=free"),
  hour: fc.constantFrom(base, base - hour, base - 2 * hour),
  track: fc.constantFrom(...tracks),
  counts,
  delays: fc.option(fc.dictionary(fc.constantFrom("click:0", "click:7", "open:3"), fc.integer({ min: -2, max: 3 })), {
    nil: undefined,
  }),
})

/** Everything that entries add up to, by place and name; no zeros. */
const sums = (entries: ReadonlyArray<LedgerEntry>) => {
  const sum: Record<string, number> = {}
  for (const { counts, delays, ...place } of entries) {
    const { copyId, hour, org, context, templateId, track } = place
    for (const [name, count] of [...Object.entries(counts), ...Object.entries(delays ?? {})]) {
      const key = JSON.stringify([org, templateId, copyId, context, hour, track, name])
      sum[key] = (sum[key] ?? 0) + count
    }
  }
  return Object.fromEntries(Object.entries(sum).filter(([, count]) => count !== 0).sort())
}

const summed = (entries: ReadonlyArray<LedgerEntry>) => {
  const sum = new LedgerSum()
  for (const one of entries) sum.add(one)
  return sum
}

describe("LedgerSum", () => {
  it("returns one entry per key with the same sums for any order and grouping", () => {
    fc.assert(fc.property(fc.array(entry, { maxLength: 30 }), fc.nat(), fc.nat(30), (entries, seed, at) => {
      const whole = summed(entries).entries()
      const mixed = summed(shuffle([...entries], seeded(seed))).entries()
      const twice = summed([...summed(entries.slice(0, at)).entries(), ...summed(entries.slice(at)).entries()])
        .entries()
      assert.deepStrictEqual(sums(whole), sums(entries))
      assert.deepStrictEqual(sums(mixed), sums(entries))
      assert.deepStrictEqual(sums(twice), sums(entries))
      const places = whole.map(({ copyId, hour, org, context, templateId, track }) =>
        JSON.stringify([org, templateId, copyId, context, hour, track])
      )
      assert.strictEqual(new Set(places).size, places.length)
    }))
  })

  it("does not modify its input", () => {
    const given: LedgerEntry = {
      org: "acme",
      templateId: "t",
      copyId: "a",
      context: "",
      hour: base,
      track: "learned",
      counts: { click: 1 },
      delays: { "click:1": 1 },
    }
    const sum = summed([given, given])
    assert.deepStrictEqual(given.counts, { click: 1 })
    assert.deepStrictEqual(sum.entries(), [{ ...given, counts: { click: 2 }, delays: { "click:1": 2 } }])
  })
})

/** Decisions by day and variant, as lists show them. */
const dailyRows = (sql: SqlClient.SqlClient, org: string, template: string) =>
  Effect.map(
    sql<{ day: Date; copyId: string; decisions: number }>`
      SELECT d.day, d.copy_id, d.decisions FROM daily_decisions d
      WHERE d.org_slug = ${org} AND d.template_id = ${template} AND d.decisions <> 0`,
    (rows) => rows.map(({ copyId, day, decisions }) => `${day.getTime() / dayMillis} ${copyId}: ${decisions}`).sort(),
  )

/** Messages by day: a learned decision that could not be rendered was not sent. */
const daysOf = (tallies: ReadonlyArray<Tally>) => {
  const sums = new Map<string, number>()
  for (const { copyId, counts, start, track } of tallies) {
    const key = `${Math.floor(start / dayMillis)} ${copyId}`
    const unsent = track === "learned" ? counts.unrendered ?? 0 : 0
    sums.set(key, (sums.get(key) ?? 0) + (counts.decisions ?? 0) - unsent)
  }
  return [...sums].filter(([, decisions]) => decisions !== 0).map(([key, decisions]) => `${key}: ${decisions}`).sort()
}

describe("the ledger", () => {
  const environment = temporaryEnvironment
  layer(layerMigrated(environment), { excludeTestServices: true })((it) => {
    it.effect("counts equal rows separately", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const same: LedgerEntry = {
          org: "same",
          templateId: "t",
          copyId: "a",
          context: "plan=pro",
          hour: base,
          track: "learned",
          counts: { decisions: 2, revenue: 5 },
          delays: { "click:1": 1 },
        }
        for (let n = 0; n < 3; n++) yield* append(sql, summed([same]))
        yield* append(sql, summed([{ ...same, counts: { decisions: 1 } }]))
        const folded = yield* sql.withTransaction(Tallies.fold(sql, "same", "t", Date.now()))
        assert.strictEqual(folded.rows, 4)
        assert.deepStrictEqual(folded.tallies.map(({ counts }) => counts), [{ decisions: 7, revenue: 15 }])
        assert.deepStrictEqual(folded.delays, [{ hour: base, delays: { "click:1": 4 } }])
        assert.deepStrictEqual(yield* dailyRows(sql, "same", "t"), [`${Math.floor(base / dayMillis)} a: 7`])
      }))

    it.effect("is read by the index after folds of an idle ledger", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`VACUUM tally_ledger`
        // One transaction, so that all folds use one connection.
        yield* sql.withTransaction(Effect.gen(function* () {
          const take = Ledger.take(sql, "idle", "t1", { limit: 1000, isTraced: false })
          // PostgreSQL keeps the plan of a prepared statement from the sixth time on.
          for (let n = 0; n < 6; n++) assert.deepStrictEqual(yield* take, [])
          yield* sql`
            INSERT INTO tally_ledger (org_slug, template_id, copy_id, segment, hour, track, counts)
            SELECT 'idle', 't' || i % 100, 'a', '', now(), 'learned', '{}' FROM generate_series(1, 5000) i`
          assert.deepStrictEqual((yield* take).map(({ times }) => times), [50])
          const [row] = yield* sql<{ read: number }>`
            SELECT s.seq_tup_read::int AS read FROM pg_stat_xact_user_tables s WHERE s.relname = 'tally_ledger'`
          assert.isBelow(row!.read, 1000)
          yield* sql`DELETE FROM tally_ledger WHERE org_slug = 'idle'`
        }))
      }))

    it.effect("returns each appended row to exactly one fold, and stores no zeros", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const entries = fc.sample(entry, { numRuns: 300, seed: 7 })
        for (let from = 0; from < entries.length; from += 50) {
          yield* sql.withTransaction(append(sql, summed(entries.slice(from, from + 50))))
        }
        // A contribution without counts adds no row.
        const before = (yield* sql`SELECT count(*)::int AS n FROM tally_ledger l`)[0]
        const nothing = { ...entries[0]!, counts: { click: 0 }, delays: {} }
        yield* append(sql, summed([nothing, { ...nothing, counts: { open: 1 } }, { ...nothing, counts: { open: -1 } }]))
        yield* append(sql, new LedgerSum())
        assert.deepStrictEqual((yield* sql`SELECT count(*)::int AS n FROM tally_ledger l`)[0], before)

        for (const [org, template] of [["acme", "t"], ["acme", "u"], ["other", "t"], ["other", "u"]] as const) {
          const mine = entries.filter((one) => one.org === org && one.templateId === template)
          const held = yield* Ledger.read(sql, org, template)
          assert.deepStrictEqual(
            sums(held.map((row) => ({ ...row, org, templateId: template, delays: row.delays ?? undefined }))),
            sums(mine),
          )
          const folds = yield* Effect.all(
            Array.from({ length: 3 }, () => sql.withTransaction(Tallies.fold(sql, org, template, Date.now()))),
            { concurrency: "unbounded" },
          )
          assert.strictEqual(folds.reduce((all, { rows }) => all + rows, 0), held.length)
          const tallies = yield* Tallies.readTallies(sql, org, template)
          assert.deepStrictEqual(
            sums(tallies.map(({ start, ...tally }) => ({
              ...tally,
              org,
              templateId: template,
              hour: start,
              delays: undefined,
            }))),
            sums(mine.map((one) => ({ ...one, delays: undefined }))),
          )
          assert.deepStrictEqual(yield* dailyRows(sql, org, template), daysOf(tallies))
          const delays: Record<string, number> = {}
          for (const { delays: counted, hour } of yield* Tallies.readDelays(sql, org, template)) {
            for (const [name, count] of Object.entries(counted)) if (count !== 0) delays[`${hour} ${name}`] = count
          }
          const expected: Record<string, number> = {}
          for (const { delays: given, hour } of mine) {
            for (const [name, count] of Object.entries(given ?? {})) {
              expected[`${hour} ${name}`] = (expected[`${hour} ${name}`] ?? 0) + count
            }
          }
          assert.deepStrictEqual(
            Object.entries(delays).sort(),
            Object.entries(expected).filter(([, count]) => count !== 0).sort(),
          )
          const nonZero = (rows: ReadonlyArray<readonly [string, number]>) => {
            const summed: Record<string, number> = {}
            for (const [key, count] of rows) summed[key] = (summed[key] ?? 0) + count
            return Object.entries(summed).filter(([, count]) => count !== 0).sort()
          }
          const ofVariants = yield* Tallies.readVariantDelays(sql, org, template)
          assert.deepStrictEqual(
            nonZero(ofVariants.flatMap(({ copyId, day, delays }) =>
              Object.entries(delays).map(([name, count]) => [`${copyId} ${day} ${name}`, count] as const)
            )),
            nonZero(mine.flatMap(({ copyId, delays: given, hour }) =>
              Object.entries(given ?? {}).map(([name, count]) =>
                [`${copyId} ${Math.floor(hour / 86_400_000) * 86_400_000} ${name}`, count] as const
              )
            )),
          )
          assert.deepStrictEqual(yield* Ledger.read(sql, org, template), [])
        }
      }))

    it.effect("counts decisions by day, including those folded by a node of the previous release", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const now = base + 10 * 60_000
        const days = [0, 1, 5, Tallies.dailyDays - 1, Tallies.dailyDays, 60]
        const tallies = days.map((age) => {
          const start = bucketAt(now - age * dayMillis, now).start
          return { copyId: "a", context: "", start, track: "learned", counts: { decisions: 7, click: 1 } } as const
        })
        const shown = tallies.slice(0, 4)
        yield* Tallies.addTallies(sql, "days", "t", tallies, now)
        assert.deepStrictEqual(yield* dailyRows(sql, "days", "t"), daysOf(shown))
        // Added to the tallies alone, in an hour whose day is one by now; and a day that has gone by.
        const late = { copyId: "b", context: "", start: now - now % hour - 6 * dayMillis, track: "forced" } as const
        yield* Tallies.addTallies(sql, "days", "t", [{ ...late, counts: { decisions: 2 } }], now)
        yield* sql`DELETE FROM daily_decisions d WHERE d.org_slug = 'days' AND d.copy_id = 'b'`
        yield* sql`UPDATE daily_decisions SET decisions = 1 WHERE org_slug = 'days' AND copy_id = 'a'`
        yield* sql`
          INSERT INTO daily_decisions (org_slug, template_id, day, copy_id, decisions)
          VALUES ('days', 't', ${new Date(0)}, 'a', 3)`
        yield* sql.withTransaction(Tallies.rollUp(sql, "days", "t", now))
        assert.deepStrictEqual(
          yield* dailyRows(sql, "days", "t"),
          daysOf([...shown, { ...late, counts: { decisions: 2 } }]),
        )
      }))
  })
})
