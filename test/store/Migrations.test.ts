import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Latch, Layer, Logger, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { readFileSync } from "node:fs"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import * as Migrations from "../../src/store/Migrations.ts"
import { emptyEnvironment, layerMigrated, layerSettings, temporaryEnvironment } from "../support/stores.ts"
import { snapshot } from "../support/schemaSnapshot.ts"

describe("Migrations", () => {
  layer(layerMigrated(emptyEnvironment), { excludeTestServices: true })((it) => {
    it.effect("arrive at the tables that schema/snapshot.sql describes", () =>
      Effect.gen(function* () {
        const expected = readFileSync(new URL("../../schema/snapshot.sql", import.meta.url), "utf8")
        assert.strictEqual(yield* snapshot, expected)
      }))

    it.effect("change nothing when they are applied again", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* Migrations.migrate, [])
      }))

    it.effect("of a newer release are worked with while they only add, and refused once something needed is gone", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`INSERT INTO schema_migrations (migration_id, name) VALUES (9999, 'add_the_future')`
        assert.deepStrictEqual(yield* Migrations.migrate, [])
        yield* sql`UPDATE schema_compatibility SET works_from = 9998`
        const error = yield* Effect.flip(Migrations.migrate)
        assert.strictEqual(error._tag, "SchemaTooNew")
        assert.include(error.message, "9999")
        yield* sql`UPDATE schema_compatibility SET works_from = 0`
        yield* sql`DELETE FROM schema_migrations WHERE migration_id = 9999`
      }))
  })
})

describe("Migrations on one Postgres", () => {
  it.live("are applied once by nodes that start together", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* emptyEnvironment
      const applied = yield* Ref.make(0)
      const node = Effect.scoped(Effect.gen(function* () {
        const context = yield* Layer.build(StoreFromSettings.layer.pipe(Layer.provide(layerSettings(env))))
        const done = yield* Migrations.migrate.pipe(Effect.provideContext(context))
        yield* Ref.update(applied, (count) => count + done.length)
      }))
      yield* Effect.all(Array.from({ length: 6 }, () => node), { concurrency: "unbounded" })
      assert.strictEqual(yield* Ref.get(applied), Migrations.files().length)
    })))

  /** Reads the table of migrations in a transaction; answers how to end that, which fails where it was broken before. */
  const scopedReader = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
    const reading = yield* Latch.make(false)
    const ended = yield* Latch.make(false)
    const reader = yield* Effect.forkScoped(sql.withTransaction(
      sql`LOCK TABLE schema_migrations IN ACCESS SHARE MODE`.pipe(
        Effect.andThen(reading.open),
        Effect.andThen(ended.await),
      ),
    ))
    yield* Effect.raceFirst(reading.await, Fiber.join(reader))
    return { end: Effect.andThen(ended.open, Fiber.join(reader)) }
  })

  it.live("are not in the way of a backup when nothing is pending, nor is that in theirs", () =>
    Effect.scoped(Effect.gen(function* () {
      const store = StoreFromSettings.layerMigrated.pipe(
        Layer.provide(layerSettings(yield* temporaryEnvironment)),
      )
      const context = yield* Layer.build(store)
      const reader = yield* scopedReader(yield* Effect.provideContext(SqlClient.SqlClient, context))
      yield* Effect.scoped(Layer.build(Layer.fresh(store)))
      yield* reader.end
    })))

  it.live("say that they wait for a backup where something is pending, and are applied once it has ended", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* emptyEnvironment
      const context = yield* Layer.build(StoreFromSettings.layer.pipe(Layer.provide(layerSettings(env))))
      const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
      yield* sql`CREATE TABLE schema_migrations (
        migration_id integer primary key, created_at timestamptz not null default now(), name text not null)`
      const reader = yield* scopedReader(sql)
      const said = yield* Deferred.make<string>()
      const logger = Logger.make(({ message }) => Deferred.doneUnsafe(said, Effect.succeed(JSON.stringify(message))))
      const migrating = yield* Migrations.migrate.pipe(
        Effect.provideContext(context),
        Effect.provide(Logger.layer([logger])),
        Effect.forkScoped,
      )
      assert.include(yield* Deferred.await(said), "schema_migrations")
      yield* reader.end
      assert.lengthOf(yield* Fiber.join(migrating), Migrations.files().length)
    })))
})
