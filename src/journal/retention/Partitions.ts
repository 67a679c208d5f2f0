import { Effect, Schedule } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { dayMillis } from "../../bandit/Window.ts"

// Partitions of decisions, events and the inbox by time. The first partition contains the rows from before there were
// other partitions, and `_other` contains rows that fit no other partition. Every other partition covers a month or a
// week, and its name contains its first day:
//
//     … first ──►│ 20261201 │ 20270101 │ 20270201 │    other: all other rows
//                 └ dropped as a whole ┘   └ created ahead

/** A table that is partitioned by time. */
export interface Partitioned {
  readonly table: "decisions" | "events" | "inbox"
  readonly column: string
  /** Columns that are unique within a partition. */
  readonly key: string
  readonly period: "month" | "week"
}

/** The tables that are partitioned by time. */
export const partitionedTables: ReadonlyArray<Partitioned> = [
  { table: "decisions", column: "decided_at", key: "org_slug, tracking_id, template_id", period: "month" },
  { table: "events", column: "received_at", key: "org_slug, source, event_key, template_id", period: "month" },
  { table: "inbox", column: "received_at", key: "id", period: "week" },
]

/** A partition for times from `from` to before `to`, in Unix milliseconds. */
export interface Partition {
  readonly name: string
  readonly from: number
  readonly to: number
}

/** A partition for the time this far ahead always exists, so that a fast clock finds its partition. Unit: days. */
const aheadDays = 10

/**
 * The first partition covers this many days from now, because nodes of the previous release know no other partition.
 * Unit: days.
 */
const firstDays = 7

/** Maximum time that traffic waits for a change of a table's partitions. The change is then given up and retried. */
export const lockTimeout = "100ms"

const firstMonday = 4 * dayMillis

/**
 * Returns the start of the month or week (UTC, from Monday) that contains `at`, or the start of the period `later`
 * periods after it.
 */
const periodStart = (period: Partitioned["period"], at: number, later = 0): number => {
  const date = new Date(at)
  return period === "month"
    ? Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1)
    : Math.floor((at - firstMonday) / (7 * dayMillis)) * 7 * dayMillis + firstMonday + later * 7 * dayMillis
}

const nameOf = ({ table }: Partitioned, start: number) =>
  `${table}_${new Date(start).toISOString().slice(0, 10).replaceAll("-", "")}`

/** Returns the name of a table's first partition. */
export const firstOf = ({ table }: Partitioned) => `${table}_first`

/** Returns the name of a table's partition for rows that fit no other partition. */
export const otherOf = ({ table }: Partitioned) => `${table}_other`

/** Returns a time as an SQL literal, for statements that accept no parameters. */
const literal = (at: number) => `'${new Date(at).toISOString()}'`

/** Repeats a short transaction until it gets its locks, up to 30 times. Traffic continues during the pauses. */
export const patiently = <A>(
  sql: SqlClient.SqlClient,
  effect: Effect.Effect<A, SqlError>,
): Effect.Effect<A, SqlError> =>
  sql.withTransaction(Effect.andThen(sql.unsafe(`SET LOCAL lock_timeout = '${lockTimeout}'`), effect)).pipe(
    Effect.retry({
      schedule: Schedule.jittered(Schedule.spaced("500 millis")),
      times: 30,
      while: ({ reason }) => reason._tag === "LockTimeoutError" || reason._tag === "DeadlockError",
    }),
  )

/** Locks the partitions of a table until the transaction ends, so that one node at a time changes them. */
const lockPartitions = (sql: SqlClient.SqlClient, { table }: Partitioned) =>
  sql`SELECT pg_advisory_xact_lock(hashtext(${`partitions of ${table}`}))`

/** Reads the partitions of a table, ordered by time, without `_other`. */
export const readPartitions = (
  sql: SqlClient.SqlClient,
  { table }: Partitioned,
): Effect.Effect<ReadonlyArray<Partition>, SqlError> =>
  Effect.map(
    sql<{ readonly name: string; readonly from: Date | null; readonly to: Date | null }>`
      SELECT b.name, substring(b.bound FROM $$FROM \\('([^']*)'\\)$$)::timestamptz AS "from",
        substring(b.bound FROM $$TO \\('([^']*)'\\)$$)::timestamptz AS "to"
      FROM (
        SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = ${table}::regclass) b
      WHERE b.bound <> 'DEFAULT'`,
    (rows) =>
      rows.map(({ from, name, to }) => ({
        name,
        from: from?.getTime() ?? -Infinity,
        to: to?.getTime() ?? Infinity,
      })).sort((a, b) => a.from - b.from),
  )

/**
 * Ends the first partition, which was the whole table before. Its rows are read once without a blocking lock. The step
 * that holds a lock changes only the catalog.
 */
const endFirst = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, one: Partitioned, now: number) {
  const first = firstOf(one)
  const [row] = yield* sql.unsafe<{ readonly latest: Date | null }>(
    `SELECT max(f.${one.column}) AS latest FROM ${first} f`,
  )
  const latest = row?.latest?.getTime() ?? -Infinity
  if (latest > now + 366 * dayMillis) {
    yield* Effect.logWarning(
      `${one.table} is not partitioned, because it holds the time ${new Date(latest).toISOString()}`,
    )
    return
  }
  const end = periodStart(one.period, Math.max(latest, now + firstDays * dayMillis), 1)
  const check = `${first}_range`
  const isOpen = Effect.gen(function* () {
    yield* lockPartitions(sql, one)
    return (yield* readPartitions(sql, one)).some(({ name, to }) => name === first && to === Infinity)
  })
  const isValid = Effect.map(
    sql<{ readonly valid: boolean }>`
      SELECT c.convalidated AS valid FROM pg_constraint c WHERE c.conrelid = ${first}::regclass AND c.conname = ${check}`,
    ([row]) => row?.valid,
  )
  yield* patiently(
    sql,
    Effect.gen(function* () {
      // Another node may be running this step, or an earlier run may have been interrupted here.
      if (!(yield* isOpen) || (yield* isValid) !== undefined) return
      yield* sql.unsafe(
        `ALTER TABLE ${first} ADD CONSTRAINT ${check} CHECK (${one.column} < ${literal(end)}) NOT VALID`,
      )
    }),
  )
  if ((yield* isValid) === false) yield* sql.unsafe(`ALTER TABLE ${first} VALIDATE CONSTRAINT ${check}`)
  yield* patiently(
    sql,
    Effect.gen(function* () {
      // Without a valid constraint, PostgreSQL would read all rows while it holds the lock.
      if (!(yield* isOpen) || (yield* isValid) !== true) return
      yield* sql.unsafe(`ALTER TABLE ${one.table} DETACH PARTITION ${first}`)
      yield* sql.unsafe(
        `ALTER TABLE ${one.table} ATTACH PARTITION ${first} FOR VALUES FROM (MINVALUE) TO (${literal(end)})`,
      )
      yield* sql.unsafe(`ALTER TABLE ${first} DROP CONSTRAINT ${check}`)
    }),
  )
})

/** Creates the partition for [start, end), and moves its rows from `_other` into it. */
const makePartition = (sql: SqlClient.SqlClient, one: Partitioned, start: number, end: number) => {
  const name = nameOf(one, start)
  const inRange = `o.${one.column} >= ${literal(start)} AND o.${one.column} < ${literal(end)}`
  return patiently(
    sql,
    Effect.gen(function* () {
      // Another node may have created the partition first.
      yield* lockPartitions(sql, one)
      if ((yield* readPartitions(sql, one)).some(({ from, to }) => from < end && to > start)) return
      yield* sql.unsafe(`CREATE TABLE ${name} (LIKE ${one.table}, PRIMARY KEY (${one.key}))`)
      yield* sql.unsafe(`LOCK TABLE ${otherOf(one)} IN ACCESS EXCLUSIVE MODE`)
      yield* sql.unsafe(
        `WITH moved AS (DELETE FROM ${
          otherOf(one)
        } o WHERE ${inRange} RETURNING o.*) INSERT INTO ${name} SELECT * FROM moved`,
      )
      yield* sql.unsafe(
        `ALTER TABLE ${one.table} ATTACH PARTITION ${name} FOR VALUES FROM (${literal(start)}) TO (${literal(end)})`,
      )
    }),
  )
}

/** Creates missing partitions for `now` (Unix milliseconds) and the near future. */
export const makePartitions = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  one: Partitioned,
  now: number,
): Effect.fn.Return<void, SqlError> {
  if ((yield* readPartitions(sql, one)).some(({ to }) => to === Infinity)) {
    // Fails if another node has just validated and dropped the constraint: then the first partition is ended already.
    yield* Effect.catch(
      endFirst(sql, one, now),
      (error) => error.reason._tag === "SqlSyntaxError" ? Effect.void : Effect.fail(error),
    )
  }
  const partitions = yield* readPartitions(sql, one)
  const last = partitions.at(-1)
  if (last === undefined || last.to === Infinity) return
  const until = now + aheadDays * dayMillis
  for (let start = last.to; start <= until; start = periodStart(one.period, start, 1)) {
    yield* makePartition(sql, one, start, periodStart(one.period, start, 1))
  }
})

/**
 * Detaches a partition from its table and runs `meanwhile` in the same transaction. `dropDetached` removes the rows
 * later. Fails with `SqlError` if the database does not respond.
 */
export const detach = (
  sql: SqlClient.SqlClient,
  { table }: Partitioned,
  name: string,
  meanwhile: Effect.Effect<unknown, SqlError> = Effect.void,
): Effect.Effect<void, SqlError> =>
  Effect.asVoid(
    patiently(sql, Effect.andThen(sql.unsafe(`ALTER TABLE ${table} DETACH PARTITION ${name}`), meanwhile)),
  )

/** Drops detached partitions, including partitions left by an interrupted run. Returns their number. */
export const dropDetached = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { table }: Partitioned,
): Effect.fn.Return<number, SqlError> {
  const rows = yield* sql<{ readonly name: string }>`
    SELECT c.relname AS name FROM pg_class c
    WHERE c.relnamespace = (SELECT p.relnamespace FROM pg_class p WHERE p.oid = ${table}::regclass)
      AND c.relkind = 'r' AND NOT c.relispartition AND c.relname ~ ${`^${table}_[0-9]{8}$`}`
  for (const { name } of rows) yield* patiently(sql, sql.unsafe(`DROP TABLE IF EXISTS ${name}`))
  return rows.length
})

/** Empties a partition that is not dropped, such as the first. */
export const empty = (sql: SqlClient.SqlClient, name: string): Effect.Effect<void, SqlError> =>
  Effect.asVoid(patiently(sql, sql.unsafe(`TRUNCATE ${name}`)))
