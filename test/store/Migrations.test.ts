import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Latch, Layer, Logger, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { readFileSync } from "node:fs"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { shrinkIndexes } from "../../src/journal/retention/Indexes.ts"
import * as Migrations from "../../src/store/Migrations.ts"
import { onServer } from "../support/onServer.ts"
import { emptyEnvironment, layerMigrated, layerSettings, temporaryEnvironment } from "../support/stores.ts"
import { snapshot } from "../support/schemaSnapshot.ts"

describe("Migrations", () => {
  layer(layerMigrated(emptyEnvironment), { excludeTestServices: true })((it) => {
    it.effect("result in the tables of schema/snapshot.sql", () =>
      Effect.gen(function* () {
        const expected = readFileSync(new URL("../../schema/snapshot.sql", import.meta.url), "utf8")
        assert.strictEqual(yield* snapshot, expected)
      }))

    it.effect("change nothing when they are applied again", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* Migrations.migrate, [])
      }))

    it.effect("of a newer release are accepted if they only add, and rejected once a required column is gone", () =>
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

/** Applies the migrations before one, as an earlier release did. */
const migrateBefore = Effect.fnUntraced(function* (id: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE schema_migrations (
    migration_id integer primary key, created_at timestamptz not null default now(), name text not null)`
  for (const file of Migrations.files().filter((file) => file.id < id)) {
    for (const statement of Migrations.statements(file.text)) yield* sql.unsafe(statement)
    yield* sql`INSERT INTO schema_migrations ${sql.insert({ migration_id: file.id, name: file.name })}`
  }
})

describe("an upgrade from a release that did not check conversion names", () => {
  it.live("lets organizations that have sent custom events continue with events of any name", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* emptyEnvironment
      const context = yield* Layer.build(StoreFromSettings.layer.pipe(Layer.provide(layerSettings(env))))
      const upgrade = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql.withTransaction(migrateBefore(145))
        for (const slug of ["by-event", "by-body", "by-platform", "silent"]) {
          yield* sql`INSERT INTO organizations (slug, name, time_zone, created_at, updated_at)
            VALUES (${slug}, ${slug}, 'UTC', now(), now())`
        }
        yield* sql`INSERT INTO events (org_slug, source, event_key, template_id, tracking_id, inbox_id, event, occurred_at,
            received_at, automated, status)
          VALUES ('by-event', 'events', 'k', '', 't', 1, 'conversion', now(), now(), false, 'waiting'),
            ('by-platform', 'provider_a', 'k', '', 't', 2, 'open', now(), now(), false, 'waiting')`
        yield* sql`INSERT INTO inbox (org_slug, source, received_at, headers, body, status)
          VALUES ('by-body', 'events', now(), '{}', '[]', 'pending'), ('by-platform', 'provider_a', now(), '{}', '[]', 'done')`
        const before = yield* sql<{ slug: string; revision: number }>`
          SELECT o.slug, o.revision::float8 AS revision FROM organizations o ORDER BY o.slug`
        yield* Migrations.migrate
        const after = yield* sql<{ slug: string; revision: number; conversionEvents: ReadonlyArray<string> }>`
          SELECT o.slug, o.revision::float8 AS revision, o.conversion_events FROM organizations o ORDER BY o.slug`
        const found = after.map(({ conversionEvents, revision, slug }, place) => [
          slug,
          conversionEvents,
          // Nodes that run read the settings of an organization again when its revision rises.
          revision - before[place]!.revision,
        ])
        assert.deepStrictEqual(found, [
          ["by-body", ["*"], 1],
          ["by-event", ["*"], 1],
          ["by-platform", [], 0],
          ["silent", [], 0],
        ])
      })
      yield* Effect.provideContext(upgrade, context)
    })))
})

describe("an upgrade of a database with events", () => {
  it.live("replaces the index by arrival in the background, also after an interrupted build", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* emptyEnvironment
      const context = yield* Layer.build(StoreFromSettings.layer.pipe(Layer.provide(layerSettings(env))))
      const upgrade = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const indexes = Effect.map(
          sql<{ name: string; valid: boolean }>`
            SELECT i.indexrelid::regclass::text AS name, i.indisvalid AS valid FROM pg_index i
            WHERE i.indrelid IN (SELECT p.relid FROM pg_partition_tree('events') p)
              AND pg_get_indexdef(i.indexrelid) LIKE '%inbox_id%' ORDER BY 1`,
          (rows) => rows.map(({ name, valid }) => valid ? name : `${name}, invalid`),
        )
        yield* sql.withTransaction(migrateBefore(350))
        yield* sql`
          INSERT INTO events (org_slug, source, event_key, template_id, inbox_id, event, occurred_at, received_at, automated,
            status)
          SELECT 'a', 'events', 'k' || n, '', n / 2, 'open', now(), now(), false, 'person' FROM generate_series(1, 4) n`
        yield* Migrations.migrate
        assert.deepStrictEqual(yield* indexes, [
          "events_by_arrival",
          "events_by_body, invalid",
          "events_first_by_arrival",
          "events_other_org_slug_inbox_id_source_event_key_template_id_idx",
        ])
        // A unique index fails on these rows, as late as a build that is interrupted, and leaves the invalid index.
        const name = "events_first_org_slug_inbox_id_idx"
        yield* Effect.flip(sql.unsafe(`CREATE UNIQUE INDEX CONCURRENTLY ${name} ON events_first (org_slug)`))
        assert.include(
          yield* Effect.map(
            sql<{ n: number }>`SELECT count(*)::int AS n FROM pg_index i WHERE NOT i.indisvalid`,
            ([row]) => `${row!.n} invalid`,
          ),
          "2 invalid",
        )
        for (let run = 0; run < 2; run++) {
          yield* shrinkIndexes(sql, Date.now())
          assert.deepStrictEqual(yield* indexes, ["events_by_body", name, "events_other_org_slug_inbox_id_idx"])
        }
        const [row] = yield* sql<{ shape: string }>`SELECT pg_get_indexdef(${name}::regclass) AS shape`
        assert.match(row!.shape, /^CREATE INDEX .* \(org_slug, inbox_id\)$/)
      })
      yield* Effect.provideContext(upgrade, context)
    })))
})

describe("migrations on one Postgres", () => {
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

  /**
   * Reads the table of migrations in a transaction; answers how to end that, which fails where it was broken before.
   */
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

  it.live("neither block a backup nor wait for it without pending changes", () =>
    Effect.scoped(Effect.gen(function* () {
      const store = StoreFromSettings.layerMigrated.pipe(
        Layer.provide(layerSettings(yield* temporaryEnvironment)),
      )
      const context = yield* Layer.build(store)
      const reader = yield* scopedReader(yield* Effect.provideContext(SqlClient.SqlClient, context))
      yield* Effect.scoped(Layer.build(Layer.fresh(store)))
      yield* reader.end
    })))

  it.live("report that they wait for a backup, beyond the role's statement_timeout, and are applied after it", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* emptyEnvironment
      const url = env["DATABASE_URL"]!
      yield* Effect.promise(() =>
        onServer(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET statement_timeout = '1s'`)
      )
      const context = yield* Layer.build(StoreFromSettings.layer.pipe(Layer.provide(layerSettings(env))))
      const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
      yield* sql`CREATE TABLE schema_migrations (
        migration_id integer primary key, created_at timestamptz not null default now(), name text not null)`
      const reader = yield* scopedReader(sql)
      const warning = yield* Deferred.make<string>()
      const logger = Logger.make(({ logLevel, message }) => {
        if (logLevel === "Warn") Deferred.doneUnsafe(warning, Effect.succeed(JSON.stringify(message)))
      })
      const migrating = yield* Migrations.migrate.pipe(
        Effect.provideContext(context),
        Effect.provide(Logger.layer([logger])),
        Effect.forkScoped,
      )
      assert.include(yield* Deferred.await(warning), "schema_migrations")
      yield* reader.end
      assert.lengthOf(yield* Fiber.join(migrating), Migrations.files().length)
    })))
})
