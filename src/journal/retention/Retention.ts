import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { expire } from "../../accounts/AuditChain.ts"
import { organizationRows } from "../../organizations/OrganizationRows.ts"
import { dayMillis } from "../../bandit/Window.ts"
import { innermost } from "../../store/innermost.ts"
import { asJob } from "../../telemetry/LoopWork.ts"
import { shrinkIndexes } from "./Indexes.ts"
import {
  detach,
  dropDetached,
  empty,
  firstOf,
  lockTimeout,
  makePartitions,
  otherOf,
  type Partition,
  type Partitioned,
  partitionedTables,
  readPartitions,
} from "./Partitions.ts"

/** Minimum retention of bodies with faults, so that they can be inspected and replayed. Unit: days. */
const notUnderstoodDays = 90

/** Retention of messages that were sent, failed or cancelled, and of bulk actions. Unit: days. */
const deliveryDays = 90

/** Retention of soft bounces of an address without later messages. Unit: days. */
const softBounceDays = 90

/** Retention of events for webhook endpoints, which can be replayed for this time. Unit: days. */
const webhookDays = 30

/** Retention of the list of late rows for exports. An export that pauses for longer begins again. Unit: days. */
const lateRowDays = 31

/** Retention of the audit log, without refused requests (`accounts/Expired.ts`). Unit: days. */
const auditDays = 730

/** Time after a decision's retention until its caller's tracking id is deleted. Unit: days. */
const keyDays = 62

/**
 * Time after the retention of decisions until events are deleted, because events may wait for their decision. Unit:
 * days.
 */
const eventDays = 62

/** Maximum number of bodies that are kept when their partition is dropped. A partition with more is not dropped yet. */
const takenAlong = 2000

/** Blocks of 8 kB that one statement reads when rows are deleted individually. This takes a few milliseconds. */
const sweptBlocks = 128

/** Pause between two of these statements. */
const sweepPause = "5 millis"

/** A failed job is due again after this time, on any node. */
const untilNextTry = "10 minutes"

/** Rows and partitions removed by one run. */
interface Removed {
  /** Partitions that were dropped or emptied as a whole. */
  readonly partitions: ReadonlyArray<string>
  /** Number of rows deleted individually, by table. Tables without deleted rows are left out. */
  readonly rows: Readonly<Record<string, number>>
  /** Tables with failures. The logs contain the reasons. */
  readonly failed: ReadonlyArray<string>
}

const retained = (days: string) => `now() - (${days}) * interval '1 day'`

/** SQL conditions: row `t`, whose organization is `o`, has expired. */
const expiry = {
  decisions: `t.decided_at < ${retained("o.retention_days")}`,
  events: `t.received_at < ${retained(`o.retention_days + ${eventDays}`)}`,
  inbox: `t.status = 'done' AND t.received_at < ${retained("o.inbox_retention_days")}
    OR t.status IN ('partial', 'rejected')
      AND t.received_at < ${retained(`greatest(o.inbox_retention_days, ${notUnderstoodDays})`)}`,
}

/** Tables whose rows are deleted individually, and the condition of expired rows. */
const swept: ReadonlyArray<readonly [table: string, expired: string]> = [
  ["decision_keys", `t.decided_at < ${retained(`o.retention_days + ${keyDays}`)}`],
  ["tracking_aliases", `t.created_at < ${retained("o.retention_days")}`],
  ["attribution_links", `t.created_at < ${retained("o.retention_days")}`],
  ["tracked_links", `t.used_on < ${retained("o.retention_days")}`],
  ["sticky_choices", `t.expires_at < ${retained("1")}`],
  [
    "deliveries",
    `t.state IN ('sent', 'failed', 'cancelled') AND coalesce(t.finished_at, t.queued_at) < ${
      retained(`${deliveryDays}`)
    }`,
  ],
  ["late_rows", `t.noted_at < ${retained(`${lateRowDays}`)}`],
  ["outgoing_webhooks", `t.created_at < ${retained(`${webhookDays}`)}`],
  ["bulk_actions", `t.finished_at < ${retained(`${deliveryDays}`)}`],
  ["soft_bounces", `t.last_at < ${retained(`${softBounceDays}`)}`],
]

/** Shortest and longest retention of a table among all organizations. Unit: days. */
interface Kept {
  readonly least: number
  readonly most: number
}

/** Deletes the expired rows of a table from beginning to end, a few blocks at a time. */
const sweep = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, table: string, expired: string) {
  const [size] = yield* sql<{ readonly blocks: number }>`
    SELECT (pg_relation_size(${table}::regclass) / current_setting('block_size')::int)::float8 AS blocks`
  let removed = 0
  for (let block = 0; block < size!.blocks; block += sweptBlocks) {
    const [row] = yield* sql.unsafe<{ readonly count: number }>(`
      WITH gone AS (
        DELETE FROM ONLY ${table} t USING ${organizationRows("retention_days", "inbox_retention_days")}
        WHERE t.ctid >= '(${block},0)'::tid AND t.ctid < '(${block + sweptBlocks},0)'::tid
          AND o.slug = t.org_slug AND (${expired})
        RETURNING 1)
      SELECT count(*)::int AS count FROM gone`)
    removed += row!.count
    yield* Effect.sleep(sweepPause)
  }
  return removed
})

/** Reads how long each table is kept. Undefined without an organization. */
const readRetentions = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<{ readonly least: number; readonly most: number; readonly leastInbox: number; readonly mostInbox: number }>`
    SELECT min(o.retention_days) AS least, max(o.retention_days) AS most,
      min(o.inbox_retention_days) AS least_inbox, max(o.inbox_retention_days) AS most_inbox
    FROM ${sql.literal(organizationRows("retention_days", "inbox_retention_days"))} HAVING count(*) > 0`,
    ([row]): Readonly<Record<Partitioned["table"], Kept>> | undefined =>
      row && {
        decisions: { least: row.least, most: row.most },
        events: { least: row.least + eventDays, most: row.most + eventDays },
        inbox: { least: row.leastInbox, most: row.mostInbox },
      },
  )

/** Removes the expired rows and partitions of one table. */
const makeRemoval = (sql: SqlClient.SqlClient) => {
  /** SQL for the bodies of a partition that have not expired. */
  const wanted = (partition: string) =>
    `FROM ${partition} t LEFT JOIN ${
      organizationRows("inbox_retention_days")
    } ON o.slug = t.org_slug WHERE (${expiry.inbox}) IS NOT TRUE`

  /** Drops a partition that has expired. Returns false if it still contains too many bodies to keep. */
  const takeAway = Effect.fnUntraced(function* (one: Partitioned, { name }: Partition) {
    if (one.table !== "inbox") return yield* Effect.as(detach(sql, one, name), true)
    const [left] = yield* sql.unsafe<{ readonly count: number }>(
      `SELECT count(*)::int AS count FROM (SELECT 1 ${wanted(name)} LIMIT ${takenAlong + 1}) w`,
    )
    if (left!.count > takenAlong) return false
    // No partition covers their time after the detachment, so they are inserted into `_other`.
    const copy = sql.unsafe(`INSERT INTO inbox SELECT t.* ${wanted(name)}`)
    yield* detach(sql, one, name, copy)
    return true
  })

  const isEmpty = (name: string) =>
    Effect.map(sql.unsafe(`SELECT 1 FROM ${name} t LIMIT 1`), ({ length }) => length === 0)

  const removeFrom = Effect.fnUntraced(function* (one: Partitioned, { least, most }: Kept, now: number) {
    const gone: Array<string> = []
    let rows = 0
    for (const partition of yield* readPartitions(sql, one)) {
      const { name } = partition
      const isFirst = name === firstOf(one)
      if (partition.to <= now - most * dayMillis) {
        if (!isFirst) {
          if (yield* takeAway(one, partition)) {
            gone.push(name)
            continue
          }
        } else if (one.table !== "inbox" && !(yield* isEmpty(name))) {
          yield* empty(sql, name)
          gone.push(name)
          continue
        }
      }
      // A partition whose rows all expire together is dropped as a whole later.
      const isShared = least < most && partition.to <= now - least * dayMillis
      if (isFirst || isShared || partition.to <= now - most * dayMillis) {
        rows += yield* sweep(sql, name, expiry[one.table])
      }
    }
    rows += yield* sweep(sql, otherOf(one), expiry[one.table])
    yield* dropDetached(sql, one)
    return { gone, rows }
  })
  return removeFrom
}

/**
 * Creates partitions ahead of time and removes expired data, by the database's clock. A partition that has expired for
 * all organizations is dropped as a whole. If it has expired for some organizations, their rows are deleted in small
 * steps. Traffic waits for each step at most `lockTimeout`. One node at a time does this. An interruption leaves no
 * step half done.
 */
export class Retention extends Context.Service<Retention, {
  /** Creates the partitions that are needed now and soon. Fails with `SqlError` if the database does not respond. */
  readonly prepare: Effect.Effect<void, SqlError>
  /**
   * Removes expired data. Continues with the next table if one fails. Fails with `SqlError` if the database does not
   * respond.
   */
  readonly remove: Effect.Effect<Removed, SqlError>
  /** Makes indexes smaller: see `shrinkIndexes`. A failure is logged. */
  readonly shrink: Effect.Effect<void>
  /**
   * Runs `prepare`, `remove` and `shrink` if they are due and no other node runs them. After a failure, `prepare` and
   * `remove` are due again in ten minutes. Fails with `SqlError` if the database does not respond.
   */
  readonly runIfDue: Effect.Effect<void, SqlError>
}>()("parlance/journal/retention/Retention") {
  static readonly layer = Layer.effect(
    Retention,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const storeNow = Effect.map(
        sql<{ readonly now: Date }>`SELECT now() AS now`,
        ([row]) => row!.now.getTime(),
      )

      const prepare = Effect.gen(function* () {
        const now = yield* storeNow
        for (const one of partitionedTables) yield* makePartitions(sql, one, now)
      }).pipe(Effect.withSpan("Retention.prepare"))

      const removeFrom = makeRemoval(sql)

      const remove = Effect.gen(function* () {
        const partitions: Array<string> = []
        const rows: Record<string, number> = {}
        const failed: Array<string> = []
        const days = yield* readRetentions(sql)
        if (days === undefined) return { partitions, rows, failed }
        const now = yield* storeNow
        const attempt = (table: string, effect: Effect.Effect<number, SqlError>) =>
          effect.pipe(
            Effect.map((count) => {
              if (count > 0) rows[table] = count
            }),
            Effect.catch((error) => {
              failed.push(table)
              return Effect.logWarning(
                `Expired data could not be removed completely. The next attempt is in ${untilNextTry}`,
                { table, reason: error.message },
              )
            }),
          )
        for (const one of partitionedTables) {
          const removal = Effect.map(removeFrom(one, days[one.table], now), ({ gone, rows }) => {
            partitions.push(...gone)
            return rows
          })
          yield* attempt(one.table, removal)
        }
        for (const [table, expired] of swept) yield* attempt(table, sweep(sql, table, expired))
        yield* attempt("audit_entries", expire(sql, "changes", new Date(now - auditDays * dayMillis)))
        return { partitions, rows, failed }
      }).pipe(Effect.withSpan("Retention.remove"))

      const shrink = Effect.flatMap(storeNow, (now) => shrinkIndexes(sql, now)).pipe(
        Effect.catch((error) =>
          Effect.logWarning("Indexes could not be made smaller. The next attempt is in 24 hours", {
            reason: innermost(error),
          })
        ),
        Effect.withSpan("Retention.shrink"),
      )

      /** Claims a job if it is due, and makes it due again after `hours`. Returns whether this node claimed it. */
      const isDue = (job: string, hours: number) =>
        Effect.map(
          sql`
            INSERT INTO upkeep_runs AS r (job, due_at) VALUES (${job}, now() + ${hours} * interval '1 hour')
            ON CONFLICT (job) DO UPDATE SET due_at = EXCLUDED.due_at WHERE r.due_at <= now() RETURNING r.job`,
          ({ length }) => length > 0,
        )

      /** Runs a job if it is due. `work` returns whether it is complete; if it is not, the job is due again soon. */
      const whenDue = Effect.fnUntraced(function* (job: string, hours: number, work: Effect.Effect<boolean, SqlError>) {
        if (!(yield* isDue(job, hours))) return
        const dueSoon = sql`
          UPDATE upkeep_runs r SET due_at = now() + ${untilNextTry}::interval WHERE r.job = ${job}`
        // Retries, because the failure may have been a database outage.
        const dueSoonCertainly = Effect.retry(dueSoon, { schedule: Schedule.spaced("10 seconds"), times: 60 })
        const isDone = yield* work.pipe(
          Effect.tapError(() => dueSoonCertainly),
          Effect.onInterrupt(() => dueSoon.pipe(Effect.timeout("1 second"), Effect.ignore)),
        )
        if (!isDone) yield* dueSoonCertainly
      })

      const runIfDue = Effect.andThen(
        whenDue("prepare", 1, Effect.as(prepare, true)),
        whenDue(
          "remove",
          24,
          Effect.gen(function* () {
            const { failed, partitions, rows } = yield* remove
            if (partitions.length > 0 || Object.keys(rows).length > 0) {
              yield* Effect.logInfo("Removed expired data", { partitions, rows })
            }
            return failed.length === 0
          }),
        ),
      ).pipe(
        Effect.andThen(whenDue("indexes", 24, Effect.as(shrink, true))),
      )

      return Retention.of({ prepare, remove, shrink, runIfDue })
    }),
  )

  /** Runs `runIfDue` repeatedly while the process serves. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(Retention, ({ runIfDue }) =>
      runIfDue.pipe(
        asJob("retention"),
        Effect.catchCause((cause) =>
          Effect.logWarning(
            `Partitions could not be created or removed and will be retried (lock timeout: ${lockTimeout})`,
            cause,
          )
        ),
        Effect.repeat(Schedule.spaced("1 minute")),
        Effect.delay("3 seconds"),
        Effect.forkScoped,
      )),
  )
}
