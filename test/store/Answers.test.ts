import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import process from "node:process"
import { Store } from "../../src/store/Store.ts"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { layerSettings, temporaryEnvironment } from "../support/stores.ts"

const layer = Layer.unwrap(
  Effect.map(temporaryEnvironment, (environment) =>
    StoreFromSettings.layer.pipe(
      Layer.provideMerge(layerSettings({ ...environment, DATABASE_POOL_SIZE: "2" })),
    )),
)

describe("the health check of the database", () => {
  it.live("fails within seconds while its connection hangs, without blocking the pool", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* Store
      assert.isTrue(yield* store.answers)
      const [row] = yield* sql<{ readonly pid: number }>`
        SELECT s.pid FROM pg_stat_activity s
        WHERE s.datname = current_database() AND s.pid <> pg_backend_pid() AND s.query = 'SELECT 1'`
      yield* Effect.acquireUseRelease(
        Effect.sync(() => process.kill(row!.pid, "SIGSTOP")),
        () =>
          Effect.gen(function* () {
            assert.deepStrictEqual(
              yield* Effect.all(Array.from({ length: 5 }, () => store.answers), { concurrency: "unbounded" }),
              [false, false, false, false, false],
            )
            assert.deepStrictEqual(yield* sql`SELECT 2 AS two`, [{ two: 2 }])
          }),
        () => Effect.sync(() => process.kill(row!.pid, "SIGCONT")),
      )
      assert.isTrue(yield* Effect.repeat(store.answers, { until: (answers) => answers }))
    }).pipe(Effect.provide(layer)))

  it.live("succeeds while all connections of the pool are in use", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* Store
      const held = sql.withTransaction(store.answers)
      assert.isTrue(yield* sql.withTransaction(Effect.andThen(sql`SELECT 1`, held)))
      const both = Effect.all([held, held], { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* both, [true, true])
    }).pipe(Effect.provide(layer)))
})
