import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { OrgSlug } from "../../src/domain/Ids.ts"
import type { Cursor, Stream } from "../../src/exports/Cursor.ts"
import { type ExportedRow, Exports } from "../../src/exports/Exports.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

const minute = 60_000

const insertOrganization = Effect.fnUntraced(function* (slug: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO organizations (slug, name, created_at, updated_at) VALUES (${slug}, ${slug}, now(), now())`
  return slug as OrgSlug
})

/** Stores decisions as a node does that had them in memory for so many minutes. */
const insertDecisions = Effect.fnUntraced(function* (org: string, ids: ReadonlyArray<string>, minutesAgo: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, user_id, mode, segment, policy, decided_at)
    SELECT ${org}, i.id, 't', 'a', 'ann', 'bandit', '', '1', clock_timestamp() - ${minutesAgo} * interval '1 minute'
    FROM unnest(${ids}::text[]) i(id)`
})

/** Makes all notes about late rows so many minutes older. */
const age = (minutes: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`UPDATE late_rows SET noted_at = noted_at - ${minutes} * interval '1 minute'`,
  )

/** Makes new notes as old as the position of an export, as if two minutes had passed. */
const endWait = (org: string, { late }: Cursor) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`UPDATE late_rows SET noted_at = ${late.at}::timestamptz + interval '1 millisecond'
        WHERE org_slug = ${org} AND noted_at > now() - interval '10 minutes'`,
  )

/** Reads pages until there is no more. */
const readAll = Effect.fnUntraced(function* (org: OrgSlug, stream: Stream, after?: Cursor, limit = 1_000) {
  const exports = yield* Exports
  const rows: Array<ExportedRow> = []
  let cursor = after
  let pages = 0
  while (true) {
    const page = yield* exports.page(org, stream, {
      after: cursor,
      since: new Date(Date.now() - 400 * 1440 * minute),
      limit,
    })
    pages++
    rows.push(...page.rows)
    cursor = page.cursor
    if (!page.hasMore) return { rows, cursor, pages }
  }
})

const ids = (rows: ReadonlyArray<ExportedRow>) => rows.map((row) => row["tracking_id"] ?? row["id"])

const names = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => `id-${String(from + n).padStart(4, "0")}`)

describe("Exports", () => {
  const layer = Exports.layer.pipe(Layer.provideMerge(layerMigrated(temporaryEnvironment)))
  it.layer(layer, { excludeTestServices: true })((it) => {
    it.effect("list each row once, in pages, across months and rows of other organizations", () =>
      Effect.gen(function* () {
        const org = yield* insertOrganization("paged")
        const other = yield* insertOrganization("paged-other")
        yield* insertDecisions(org, names(0, 40), 90 * 1440)
        yield* insertDecisions(other, names(0, 40), 90 * 1440)
        yield* insertDecisions(org, names(40, 100), 30)
        yield* age(60)
        const { cursor, pages, rows } = yield* readAll(org, "decisions", undefined, 7)
        assert.deepStrictEqual(ids(rows), names(0, 100))
        assert.isAbove(pages, 14)
        assert.deepInclude(rows[0]!, { template_id: "t", copy_id: "a", user_id: "ann", mode: "bandit", weights: null })
        assert.notProperty(rows[0]!, "position")
        assert.notProperty(rows[0]!, "org_slug")
        assert.deepStrictEqual((yield* readAll(org, "decisions", cursor)).rows, [])
      }))

    it.effect("delay rows of the last two minutes, and include rows stored late", () =>
      Effect.gen(function* () {
        const org = yield* insertOrganization("late")
        yield* insertDecisions(org, ["old"], 30)
        yield* age(60)
        yield* insertDecisions(org, ["fresh"], 0)
        const first = yield* readAll(org, "decisions")
        assert.deepStrictEqual(ids(first.rows), ["old"])
        // A node had this one in its memory while the database did not respond.
        yield* insertDecisions(org, ["late"], 20)
        const soon = yield* readAll(org, "decisions", first.cursor)
        assert.deepStrictEqual(soon.rows, [], "a note is not read before its transaction must have ended")
        yield* endWait(org, first.cursor)
        const { rows } = yield* readAll(org, "decisions", first.cursor)
        assert.deepStrictEqual(ids(rows), ["late"])
      }))

    it.effect("stop before rows that an open transaction may still store", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const org = yield* insertOrganization("open")
        const [hasWritten, mayEnd] = [yield* Latch.make(), yield* Latch.make()]
        const open = yield* Effect.forkChild(sql.withTransaction(Effect.gen(function* () {
          yield* insertDecisions(org, ["uncommitted"], 0)
          yield* hasWritten.open
          yield* mayEnd.await
        })))
        yield* hasWritten.await
        const horizon = Effect.map(
          Effect.flatMap(Exports, (exports) =>
            exports.page(org, "decisions", { after: undefined, since: new Date(), limit: 1 })),
          ({ cursor }) =>
            Date.parse(cursor.late.at),
        )
        const [{ began } = { began: 0 }] = yield* sql<{ began: number }>`
          SELECT (extract(epoch FROM min(a.xact_start)) * 1000)::float8 AS began FROM pg_stat_activity a
          WHERE a.datname = current_database() AND a.backend_xid IS NOT NULL`
        assert.isAtMost(yield* horizon, began - 2 * minute + 1)
        const before = yield* horizon
        assert.strictEqual(yield* horizon, before, "it stands still while the transaction is open")
        yield* mayEnd.open
        yield* Fiber.join(open)
        assert.isAbove(yield* horizon, before)
      }))

    it.effect("list an event once its decision is known, and again when its person is erased", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const org = yield* insertOrganization("events")
        yield* sql`
          INSERT INTO events (org_slug, source, event_key, template_id, user_id, inbox_id, event, occurred_at, received_at,
            automated, status)
          SELECT ${org}, 'events', k, '', 'ann', 1, 'click', now() - interval '1 hour', now() - interval '1 hour', false, s
          FROM (VALUES ('a', 'attributed'), ('b', 'waiting')) v(k, s)`
        yield* age(60)
        const first = yield* readAll(org, "events")
        assert.deepStrictEqual(first.rows.map((row) => row["event_id"]), ["a"])
        yield* sql`UPDATE events SET status = 'attributed', template_id = 't', tracking_id = 'x'
          WHERE org_slug = ${org} AND event_key = 'b'`
        yield* sql`UPDATE events SET user_id = NULL WHERE org_slug = ${org} AND event_key = 'a'`
        yield* sql`UPDATE events SET retry_at = now() WHERE org_slug = ${org}`
        yield* endWait(org, first.cursor)
        const { rows } = yield* readAll(org, "events", first.cursor, 1)
        assert.deepStrictEqual(
          rows.map(({ event_id, template_id, tracking_id, user_id }) => [event_id, template_id, tracking_id, user_id]),
          [["b", "t", "x", "ann"], ["a", null, null, null]],
        )
      }))

    it.effect("list a delivery again when its state changes", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const org = yield* insertOrganization("deliveries")
        const insert = (minutes: number) =>
          sql<{ id: string }>`
            INSERT INTO deliveries (org_slug, id, template_id, copy_id, email, formats, state, due_at, queued_at)
            SELECT ${org}, export_first_id(now() - ${minutes} * interval '1 minute') || '-7000-8000-000000000000', 't', 'a',
              'a@example.com', '{}', 'queued', now(), now() RETURNING id`
        const [[old], [fresh]] = [yield* insert(10), yield* insert(0)]
        yield* age(60)
        const first = yield* readAll(org, "deliveries")
        assert.deepStrictEqual(ids(first.rows), [old!.id])
        yield* sql`UPDATE deliveries SET state = 'sending', fence = 1 WHERE org_slug = ${org}`
        yield* sql`UPDATE deliveries SET state = 'sent', finished_at = now() WHERE org_slug = ${org}`
        const notes = yield* sql<{ key: string }>`SELECT l.row_key[1] AS key FROM late_rows l
          WHERE l.org_slug = ${org} AND l.noted_at > now() - interval '10 minutes'`
        assert.deepStrictEqual(notes.map(({ key }) => key), [old!.id], "the fresh one has not been exported yet")
        assert.isDefined(fresh)
        yield* endWait(org, first.cursor)
        const { rows } = yield* readAll(org, "deliveries", first.cursor)
        assert.deepStrictEqual(rows.map(({ id, state }) => [id, state]), [[old!.id, "sent"]])
      }))
  })
})
