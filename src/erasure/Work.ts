import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Names } from "./Names.ts"
import type { ErasedKind, KeptKind } from "./Report.ts"

// Erasures scan whole tables, so they run in steps. Each step reads or changes a bounded number of rows in its own
// transaction, and other work uses the database in between.

/** How much one step does. */
export interface StepSizes {
  /** Rows read. */
  readonly rows: number
  /** Rows changed. */
  readonly changes: number
  /** Bodies emptied. Freeing a body of 8 MiB takes as long as 4,000 rows. */
  readonly bodies: number
  /** Bytes of bodies read. */
  readonly bytes: number
}

/** Large enough to finish soon, and small enough that locks on the rows of a step are short. */
export const stepSizes: StepSizes = { rows: 5000, changes: 500, bodies: 20, bytes: 512 * 1024 }

/** One erasure under way. */
export interface Work {
  readonly sql: SqlClient.SqlClient
  readonly org: string
  readonly names: Names
  readonly sizes: StepSizes
  /** When it began, Unix milliseconds. */
  readonly now: number
  /** Whether a person reads the report, which makes it worth counting the remaining data. */
  readonly isReported: boolean
  /**
   * Runs one step and stores its counts, in a transaction that is alone in changing events of the organization. Fails
   * with `SqlError` when the database does not respond.
   */
  readonly step: <A>(step: Effect.Effect<A, SqlError>) => Effect.Effect<A, SqlError>
  readonly count: (kind: ErasedKind, rows: number) => void
  readonly keep: (kind: KeptKind, rows: number) => void
}

/** Rows that a statement changed. */
export const changed = (statement: Statement.Statement<unknown>): Effect.Effect<number, SqlError> =>
  Effect.map(statement.raw, (result) => (result as { readonly rowCount: number }).rowCount)

/**
 * SQL that holds for every row whose `column` may be one of the names; `Names.has` decides. Postgres knows the lowercase of
 * letters beyond ASCII only in some locales, so that every such address is looked at.
 */
export const maybeNamed = ({ names, sql }: Work, column: string): Statement.Fragment => {
  const name = sql.literal(column)
  return sql`(${name} = ANY(${names.ids()}::text[]) OR (${name} LIKE '%@%' AND (
    lower(${name}) = ANY(${names.addresses()}::text[]) OR octet_length(${name}) <> char_length(${name}))))`
}

/**
 * Goes through rows in pages. `read` answers the rows behind `after` that may matter, and in any case the last row of the
 * page, which tells where the next one begins; nothing once there are no more rows.
 */
export const pages = <Row>(
  read: (after: Row | undefined) => Effect.Effect<ReadonlyArray<Row>, SqlError>,
  use: (rows: ReadonlyArray<Row>) => Effect.Effect<void, SqlError>,
): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    let after: Row | undefined
    while (true) {
      const rows = yield* read(after)
      if (rows.length === 0) return
      after = rows[rows.length - 1]!
      yield* use(rows)
    }
  })

/** Repeats a step that changes at most `most` rows, until it has changed fewer. */
export const repeated = (most: number, step: Effect.Effect<number, SqlError>): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    while ((yield* step) >= most);
  })

/** Parts of a list, of at most so many elements. */
export const chunks = <A>(list: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))

/** Names looked up by one statement. */
export const lookedUp = 200

/** Adds the spellings of the names that a column of a table (`t`) has, by pages of an index of it. */
export const learnSpellings = (work: Work, table: string, column: string, where: Statement.Fragment) => {
  const { names, org, sizes, sql } = work
  const [from, name] = [sql.literal(table), sql.literal(column)]
  return pages<{ readonly name: string }>(
    (after) =>
      sql`
        SELECT DISTINCT q.name FROM (
          SELECT p.name, row_number() OVER (ORDER BY p.name) = count(*) OVER () AS is_last FROM (
            SELECT t.${name} AS name FROM ${from} t
            WHERE t.org_slug = ${org} AND ${where} AND t.${name} > ${after?.name ?? ""}
            ORDER BY t.org_slug, t.${name} LIMIT ${sizes.rows}) p) q
        WHERE q.is_last OR ${maybeNamed(work, "q.name")}
        ORDER BY q.name`,
    (rows) =>
      Effect.sync(() => {
        for (const { name } of rows) if (names.has(name)) names.add(name)
      }),
  )
}
