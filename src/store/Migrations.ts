import { Effect, Layer, Schedule, Schema } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { readdirSync, readFileSync } from "node:fs"
import { type Report, withProgress } from "../runtime/Progress.ts"
import { unreachableAt, whenReachable } from "./FirstConnection.ts"
import { innermost } from "./innermost.ts"
import * as Rights from "./Rights.ts"
import { Store } from "./Store.ts"

/** The database was migrated by a newer release, and this release cannot use its tables. */
export class SchemaTooNew extends Schema.TaggedError<SchemaTooNew>()("SchemaTooNew", {
  found: Schema.Int,
  known: Schema.Int,
}) {
  override get message() {
    return `The database is at schema version ${this.found}, but this release knows versions up to ${this.known} and ` +
      "something that it needs has been taken away since. " +
      "Start the newer release again, or restore a backup from before its upgrade."
  }
}

/** A migration failed. None of its statements took effect. */
export class MigrationFailed extends Schema.TaggedError<MigrationFailed>()("MigrationFailed", {
  reason: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `The database could not be migrated, nothing was changed: ${this.reason}`
  }
}

const table = "schema_migrations"
/** The statement of a migration that creates a table. */
const createdTable = /^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+)/gm
/** The statement of a migration that creates a sequence. */
const createdSequence = /^CREATE SEQUENCE (?:IF NOT EXISTS )?(\w+)/gm

const folder = new URL("../../schema/", import.meta.url)

/** The files `schema/NNNN_verb_noun.sql` by id, oldest first. */
export const files = (): ReadonlyArray<{ readonly id: number; readonly name: string; readonly text: string }> =>
  readdirSync(folder)
    .flatMap((file) => {
      const match = /^(\d{4})_(\w+)\.sql$/.exec(file)
      return match === null ? [] : [{ id: Number(match[1]), name: match[2]!, file }]
    })
    .sort((a, b) => a.id - b.id)
    .map(({ file, id, name }) => ({ id, name, text: readFileSync(new URL(file, folder), "utf8") }))

/**
 * Returns the first schema version whose releases do not need the things that a migration removes, according to its
 * comment.
 */
const worksFrom = (text: string): number => Number(/^-- Needs releases from schema (\d+) on\b/m.exec(text)?.[1] ?? 0)

/**
 * Splits a migration into statements, which end with `;` at the end of a line. The wire protocol prepares one statement
 * at a time.
 */
export const statements = (text: string): ReadonlyArray<string> =>
  text.split(/;[ \t]*(?:\n|$)/).filter((statement) => statement.replace(/--.*$/gm, "").trim() !== "")

/** Loads the migrations. Migrations after `latest` are reported as they are applied. */
const loaderFor = (latest: number, report: Report): Migrator.Loader<SqlClient.SqlClient> =>
  Effect.sync(() => {
    const all = files()
    const total = all.filter(({ id }) => id > latest).length
    let done = 0
    return all.map(({ id, name, text }) =>
      [
        id,
        name,
        Effect.succeed(Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          // A table change that waits for a lock blocks all later statements, so it times out and is retried.
          yield* sql`SET LOCAL lock_timeout = '2s'`
          yield* withoutTimeLimits(sql)
          for (const statement of statements(text)) yield* sql.unsafe(statement)
          const needed = worksFrom(text)
          if (needed > 0) {
            yield* sql`UPDATE schema_compatibility SET works_from = GREATEST(works_from, ${needed})`
          }
          yield* report({ done: ++done, total, unit: "migrations" })
        })),
      ] as const
    )
  })

const gaveWay = new Set(["DeadlockError", "LockTimeoutError"])

/**
 * Disables the time limits of the role for statements and transactions, which suit requests and not migrations. Only
 * the current transaction is changed.
 */
const withoutTimeLimits = (sql: SqlClient.SqlClient) =>
  sql`SELECT set_config(s.name, '0', true) AS value FROM pg_settings s
    WHERE s.name IN ('statement_timeout', 'transaction_timeout')`

/** Whether a migration yielded to the traffic of other nodes. Then nothing was changed, and it can be retried. */
const isInTheWay = (error: unknown): boolean =>
  isSqlError(error)
    ? gaveWay.has(error.reason._tag)
    : error instanceof Error && error.cause !== undefined && isInTheWay(error.cause)

/** Maximum number of attempts of a migration that the traffic of other nodes blocks. */
const tries = 60

const failureOf = Effect.fnUntraced(function* (error: SqlError) {
  const store = yield* Store
  const unreachable = yield* unreachableAt(store.direct ?? store, error)
  return yield* unreachable ?? new MigrationFailed({ reason: innermost(error), cause: error })
})

/** Runs statements on the server of `DATABASE_DIRECT_URL`, if it is set. */
const onDirect = <A, E, R>(effect: Effect.Effect<A, E, R | SqlClient.SqlClient>) =>
  Effect.flatMap(
    Effect.all([Store, SqlClient.SqlClient]),
    ([{ direct }, sql]) => Effect.provideService(effect, SqlClient.SqlClient, direct?.sql ?? sql),
  )

/** Returns the database's error inside the migrator's error. */
const sqlErrorIn = (error: unknown): SqlError | undefined =>
  isSqlError(error) ? error : error instanceof Error ? sqlErrorIn(error.cause) : undefined

/** Reads the latest applied migration; undefined before the first migration, or without the table of migrations. */
const latestApplied = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql`SELECT true AS found WHERE to_regclass(${table}) IS NOT NULL`
  if (tables.length === 0) return { hasTable: false, latest: undefined }
  const [row] = yield* sql<{ latest: number | null }>`SELECT max(m.migration_id) AS latest FROM ${sql(table)} m`
  return { hasTable: true, latest: row?.latest ?? undefined }
})

/**
 * Applies pending migrations. The Migrator locks the table of migrations even if no migration is pending, and a session
 * that reads all tables, such as a backup, blocks that lock. Therefore it runs only if a migration is pending, and it
 * times out like the migrations.
 */
const applyPending = Effect.fnUntraced(function* (known: number, report: Report) {
  const { hasTable, latest } = yield* latestApplied
  if (latest !== undefined && latest >= known) return []
  const migrator = Migrator.make({})({ loader: loaderFor(latest ?? 0, report), table })
  if (!hasTable) return yield* migrator
  const sql = yield* SqlClient.SqlClient
  return yield* sql.withTransaction(
    Effect.all([sql`SET LOCAL lock_timeout = '2s'`, withoutTimeLimits(sql)]).pipe(Effect.andThen(migrator)),
  )
})

/**
 * Applies pending migrations in one transaction with an exclusive lock on the table of migrations. If several nodes
 * start at once, one migrates and the others wait. A database newer than this release is usable as long as it has
 * everything that the release needs, so nodes of two releases run together during an upgrade. A database that is not
 * usable yet is retried: see `whenReachable`.
 */
export const migrate = whenReachable(
  Effect.gen(function* () {
    const known = Math.max(...files().map(({ id }) => id))
    let isWaiting = false
    const apply = (report: Report) =>
      applyPending(known, report).pipe(
        Effect.tapError((error) => {
          if (isWaiting || !isInTheWay(error)) return Effect.void
          isWaiting = true
          return Effect.logWarning(
            "The migration of the database waits for other sessions that use its tables, such as a backup",
            { waitingFor: isSqlError(error) ? `The table ${table} could not be locked` : error.message },
          )
        }),
        Effect.retry({ while: isInTheWay, times: tries, schedule: Schedule.spaced("500 millis") }),
      )
    const applied = yield* withProgress("Migrating the database", apply)
    const sql = yield* SqlClient.SqlClient
    const { latest } = yield* latestApplied
    if (latest !== undefined && latest > known) {
      const [compatible] = yield* sql<{ worksFrom: number }>`SELECT c.works_from FROM schema_compatibility c`
      if (compatible === undefined || compatible.worksFrom > known) {
        return yield* new SchemaTooNew({ found: latest, known })
      }
      yield* Effect.logWarning(
        "A newer release has migrated the database. This release works with it until it is replaced",
        {
          found: latest,
          known,
        },
      )
    }
    return applied
  }).pipe(
    Effect.catchTags({
      MigrationError: (error) => {
        const cause = sqlErrorIn(error)
        return cause === undefined ? new MigrationFailed({ reason: innermost(error), cause: error }) : failureOf(cause)
      },
      SqlError: failureOf,
    }),
    onDirect,
  ),
).pipe(Effect.withSpan("Migrations.migrate"))

/**
 * Reads the schema version of the database (0 before the first migration), and the newest version that this release
 * knows. Changes nothing. Fails with `StoreUnreachable` or `MigrationFailed` if the database does not respond.
 */
export const schemaVersion = Effect.gen(function* () {
  const { latest = 0 } = yield* latestApplied
  return { latest, known: Math.max(...files().map(({ id }) => id)) }
}).pipe(Effect.catchTag("SqlError", failureOf), onDirect)

/** Checks the rights of the role on all tables and sequences. Fails with `StoreUnreachable` or `MigrationFailed`. */
export const checkRights = Effect.suspend(() => {
  const created = (statement: RegExp) =>
    files().flatMap(({ text }) => [...text.matchAll(statement)].map(([, name]) => name!))
  return Rights.check([table, ...created(createdTable)], created(createdSequence))
}).pipe(Effect.catchTag("SqlError", failureOf))

/** Migrates and checks rights while the layer is built. All layers that read tables are built on top of it. */
export const layer = Layer.effectDiscard(
  Effect.andThen(migrate, checkRights),
)
