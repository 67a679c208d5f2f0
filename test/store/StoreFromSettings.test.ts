import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { onServer } from "../support/onServer.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

/** A migrated database with the settings of an administrator, which differ from the defaults. */
const withOwnSettings = Effect.tap(temporaryEnvironment, ({ DATABASE_URL: url }) =>
  Effect.promise(async () => {
    const { pathname } = new URL(url!)
    for (const setting of ["DateStyle = 'SQL, DMY'", "TimeZone = 'Asia/Kathmandu'"]) {
      await onServer(url!, `ALTER DATABASE ${pathname.slice(1)} SET ${setting}`)
    }
  }))

describe("The store of the settings", () => {
  layer(layerMigrated(temporaryEnvironment), { excludeTestServices: true })((it) => {
    it.effect("caches neither texts nor parameters of statements", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const statement = sql<{ one: number }>`SELECT ${1}::int AS one`
        assert.deepStrictEqual(yield* statement, [{ one: 1 }])
        // A kept one would be the same object.
        assert.notStrictEqual(statement.compile(), statement.compile())
        assert.deepStrictEqual(statement.compile(), ["SELECT $1::int AS one", [1]])
      }))
  })

  layer(layerMigrated(withOwnSettings), { excludeTestServices: true })((it) => {
    it.effect("writes dates in the same form, whatever the settings of the database are", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql<{ day: string; at: string; zone: string }>`
          SELECT '2026-02-01'::date::text AS day, '2026-02-01T03:00:00Z'::timestamptz::text AS at,
            current_setting('TimeZone') AS zone`
        assert.deepStrictEqual(row, { day: "2026-02-01", at: "2026-02-01 08:45:00+05:45", zone: "Asia/Kathmandu" })
      }))
  })
})
