import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Retention } from "../../../src/journal/retention/Retention.ts"
import { Organizations } from "../../../src/organizations/Organizations.ts"
import { Rebuild } from "../../../src/projections/Rebuild.ts"
import { decide, layerQuiet, makeOrg, org } from "../../intake/support.ts"
import { drain } from "../../sendtime/habits.ts"
import { onServer } from "../../support/onServer.ts"
import { temporaryEnvironment } from "../../support/stores.ts"
import { day, receivedAt } from "./support.ts"

/** Number of days that pass. */
const days = Number(process.env.RETENTION_DAYS ?? 365)
/** Days for which the organization keeps decisions. The database drops whole months. */
const kept = 200

/** A database whose `now()` is moved by the row of `moved.clock`, because its schema precedes PostgreSQL's own. */
const movedEnvironment = Effect.gen(function* () {
  const env = yield* temporaryEnvironment
  const url = new URL(env["DATABASE_URL"]!)
  const statements = [
    "CREATE SCHEMA moved",
    "CREATE TABLE moved.clock (ahead interval NOT NULL)",
    "INSERT INTO moved.clock VALUES ('0')",
    "CREATE FUNCTION moved.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT pg_catalog.now() + c.ahead FROM moved.clock c $$",
  ]
  yield* Effect.promise(async () => {
    for (const statement of statements) await onServer(url.href, statement)
  })
  url.searchParams.set("options", "-csearch_path=moved,pg_catalog,public")
  return { ...env, DATABASE_URL: url.href }
})

layer(Layer.unwrap(Effect.map(movedEnvironment, layerQuiet)), { excludeTestServices: true })("a year", (it) => {
  it.effect(
    "passes without rows outside of partitions, and keeps what the organization keeps",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const retention = yield* Retention
        const start = Date.now() - days * day
        const passTo = (n: number) => sql`UPDATE moved.clock SET ahead = ${(n - days) * day} * interval '1 millisecond'`
        const count = (table: string, where = "true") =>
          Effect.map(
            sql.unsafe<{ n: number }>(`SELECT count(*)::int AS n FROM ${table} t WHERE ${where}`),
            ([row]) => row!.n,
          )
        yield* passTo(0)
        yield* makeOrg("year")
        yield* (yield* Organizations).update(org("year"), { retention_days: kept })
        let dropped = 0
        for (let n = 0; n <= days; n++) {
          yield* passTo(n)
          yield* retention.prepare
          const at = start + n * day
          yield* decide("year", `d${n}`, { at, user: `u${n % 7}` })
          yield* receivedAt("year", at, { event: "click", tracking_id: `d${n}`, event_id: `e${n}` })
          yield* drain
          const { failed, partitions } = yield* retention.remove
          dropped += partitions.length
          assert.deepStrictEqual(failed, [], `day ${n}`)
          for (const table of ["decisions_other", "events_other", "inbox_other"]) {
            assert.strictEqual(yield* count(table), 0, `${table} on day ${n}`)
          }
          const present = yield* sql<
            { id: string }
          >`SELECT d.tracking_id AS id FROM decisions d WHERE d.org_slug = 'year'`
          const ids = new Set(present.map(({ id }) => id))
          for (let k = Math.max(0, n - kept + 1); k <= n; k++) assert.isTrue(ids.has(`d${k}`), `d${k} on day ${n}`)
          // The partition of a month is dropped when its last row has expired.
          assert.isAtMost(ids.size, kept + 32)
        }
        assert.isAbove(dropped, 0)
        const { differences, sendTimes } = yield* (yield* Rebuild).run(org("year"), { check: true })
        assert.deepStrictEqual(differences, [])
        assert.strictEqual(sendTimes?.differences, 0)
        console.info(`${days} days: ${dropped} partitions dropped, ${yield* count("decisions")} decisions kept`)
      }),
    3_600_000,
  )
})
