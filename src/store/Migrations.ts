import { Effect, Layer, Schema } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { readdirSync, readFileSync } from "node:fs"
import { Store } from "./Store.ts"

/** The database was migrated by a newer release, whose tables this one does not know. */
export class SchemaTooNew extends Schema.TaggedError<SchemaTooNew>()("SchemaTooNew", {
  found: Schema.Int,
  known: Schema.Int,
}) {
  override get message() {
    return `The database is at schema version ${this.found}, but this release knows versions up to ${this.known}. ` +
      "Start the newer release again, or restore a backup from before its upgrade."
  }
}

/** A migration did not apply; nothing of it was kept. */
export class MigrationFailed extends Schema.TaggedError<MigrationFailed>()("MigrationFailed", {
  reason: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `The database could not be migrated, nothing was changed: ${this.reason}`
  }
}

/** The store cannot be asked at all. */
export class StoreUnreachable extends Schema.TaggedError<StoreUnreachable>()("StoreUnreachable", {
  address: Schema.String,
  reason: Schema.String,
}) {
  override get message() {
    return `DATABASE_URL: the database at ${this.address} cannot be used: ${this.reason}. ` +
      "Check that it runs, and the host, port, user, password and name of the database."
  }
}

const table = "schema_migrations"
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

/** A `;` at the end of a line ends a statement: the wire protocol prepares one statement at a time. */
const statements = (text: string): ReadonlyArray<string> =>
  text.split(/;[ \t]*(?:\n|$)/).filter((statement) => statement.replace(/--.*$/gm, "").trim() !== "")

const loader: Migrator.Loader<SqlClient.SqlClient> = Effect.sync(() =>
  files().map(({ id, name, text }) =>
    [
      id,
      name,
      Effect.succeed(Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (const statement of statements(text)) yield* sql.unsafe(statement)
      })),
    ] as const
  )
)

const failureOf = (error: SqlError, address: string): Effect.Effect<never, StoreUnreachable | MigrationFailed> => {
  const { reason } = error
  if (reason._tag !== "ConnectionError" && reason._tag !== "AuthenticationError") {
    return new MigrationFailed({ reason: error.message, cause: error })
  }
  const why = reason.cause instanceof Error && reason.cause.message !== "" ? reason.cause.message : error.message
  return new StoreUnreachable({ address, reason: why })
}

/**
 * Applies what is pending, all in one transaction under an exclusive lock on the table of migrations, so that of several
 * nodes starting at once one migrates and the others wait. Refuses a database newer than this release.
 */
export const migrate = Effect.gen(function* () {
  const applied = yield* Migrator.make({})({ loader, table })
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ latest: number }>`SELECT max(m.migration_id) AS latest FROM ${sql(table)} m`
  const known = Math.max(...files().map(({ id }) => id))
  if (row !== undefined && row.latest > known) return yield* new SchemaTooNew({ found: row.latest, known })
  return applied
}).pipe(
  Effect.catchTags({
    MigrationError: (error) => new MigrationFailed({ reason: String(error.cause ?? error.message), cause: error }),
    SqlError: (error) => Effect.flatMap(Store, ({ address }) => failureOf(error, address)),
  }),
  Effect.withSpan("Migrations.migrate"),
)

/** Migrates while it is built; everything that reads tables is built on top of it. */
export const layer = Layer.effectDiscard(migrate)
