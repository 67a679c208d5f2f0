import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Names } from "./Names.ts"
import type { ErasedKind, KeptKind } from "./Report.ts"

// Erasures scan whole tables, so they run in steps. Each step reads or changes a bounded number of rows in its own
// transaction, and other work uses the database in between.

/** Maximum amounts of work in one step. */
interface StepSizes {
  /** Number of rows read. */
  readonly rows: number
  /** Number of rows changed. */
  readonly changes: number
  /** Number of bodies emptied. Freeing a body of 8 MiB costs as much as 4,000 rows. */
  readonly bodies: number
  /** Bytes of bodies read. */
  readonly bytes: number
}

/** Large enough to finish soon, and small enough that locks on the rows of a step are short. */
export const stepSizes: StepSizes = { rows: 5000, changes: 500, bodies: 20, bytes: 512 * 1024 }

/** One erasure in progress. */
export interface Work {
  readonly sql: SqlClient.SqlClient
  readonly org: string
  readonly names: Names
  readonly sizes: StepSizes
  /** Start of the erasure. Unit: Unix milliseconds. */
  readonly now: number
  /** Whether a person reads the report, so that the remaining data is counted. */
  readonly isReported: boolean
  /**
   * Runs one step and stores its counts, in a transaction that is the only one to change events of the organization.
   * Fails with `SqlError` if the database does not respond.
   */
  readonly step: <A>(step: Effect.Effect<A, SqlError>) => Effect.Effect<A, SqlError>
  readonly count: (kind: ErasedKind, rows: number) => void
  readonly keep: (kind: KeptKind, rows: number) => void
}

/** Returns the number of rows that a statement changed. */
export const changed = (statement: Statement.Statement<unknown>): Effect.Effect<number, SqlError> =>
  Effect.map(statement.raw, (result) => (result as { readonly rowCount: number }).rowCount)

/**
 * Returns an SQL condition that is true for every row whose `column` may be one of the names. `Names.has` makes the
 * final decision. PostgreSQL lowercases non-ASCII letters only in some locales, so that every address with such letters
 * is a candidate.
 */
export const maybeNamed = ({ names, sql }: Work, column: string): Statement.Fragment => {
  const name = sql.literal(column)
  return sql`(${name} = ANY(${names.ids()}::text[]) OR (${name} LIKE '%@%' AND (
    lower(${name}) = ANY(${names.addresses()}::text[]) OR octet_length(${name}) <> char_length(${name}))))`
}

/**
 * Processes rows in pages. `read` returns the candidate rows after `after`, and always the last row of the page, which
 * is the start of the next one. It returns an empty list after the last row.
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

/** Splits a list into parts of at most `size` elements. */
export const chunks = <A>(list: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))

/** Maximum number of names looked up by one statement. */
export const lookedUp = 200

/** Adds the spellings of the names in a column of a table (`t`), by pages of an index on it. */
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
