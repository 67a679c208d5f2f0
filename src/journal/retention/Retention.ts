import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { organizationRows } from "../../organizations/OrganizationRows.ts"
import { dayMillis } from "../../bandit/Window.ts"
import { asJob } from "../../telemetry/LoopWork.ts"
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

/** Bodies with faults are kept at least this long, so that they can be inspected and replayed. Unit: days. */
const notUnderstoodDays = 90

/** Messages that have been sent, failed or cancelled, and bulk actions on them. Unit: days. */
const deliveryDays = 90

/** Soft bounces of an address that no message has been sent to since. Unit: days. */
const softBounceDays = 90

/** Events for webhook endpoints, which can be replayed for so long. Unit: days. */
const webhookDays = 30

/** Rows that exports list again. An export that pauses for longer begins again. Unit: days. */
const lateRowDays = 31

/** Retention of the audit log. Unit: days. */
const auditDays = 730

/** A caller's tracking id is remembered a little longer than its decision. Unit: days. */
const keyDays = 62

/** Events are kept a little longer than the decisions they belong to, which they may have waited for. Unit: days. */
const eventDays = 62

/** Bodies that are taken along when their partition goes, at most: until there are so few it stays. */
const takenAlong = 2000

/** Blocks of 8 kB looked at by one statement when rows are removed one by one: a few milliseconds. */
const sweptBlocks = 128

/** Pause between two such statements. */
const sweepPause = "5 millis"

/** A job that has failed is due again after so long, at whichever node comes first. */
const untilNextTry = "10 minutes"

/** Rows and partitions removed by one run. */
export interface Removed {
  /** Partitions dropped or emptied as a whole. */
  readonly partitions: ReadonlyArray<string>
  /** Rows removed one by one, by table; tables without any are left out. */
  readonly rows: Readonly<Record<string, number>>
  /** Tables that something could not be removed from; why is in the logs. */
  readonly failed: ReadonlyArray<string>
}

const retained = (days: string) => `now() - (${days}) * interval '1 day'`

/** When a row has had its time, with its organization as `o`. */
const expiry = {
  decisions: `t.decided_at < ${retained("o.retention_days")}`,
  events: `t.received_at < ${retained(`o.retention_days + ${eventDays}`)}`,
  inbox: `t.status = 'done' AND t.received_at < ${retained("o.inbox_retention_days")}
    OR t.status IN ('partial', 'rejected')
      AND t.received_at < ${retained(`greatest(o.inbox_retention_days, ${notUnderstoodDays})`)}`,
}

/** Tables whose rows go one by one, and when. */
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
  ["audit_entries", `t.at < ${retained(`${auditDays}`)}`],
]

/** Shortest and longest retention of a table among all organizations. Unit: days. */
interface Kept {
  readonly least: number
  readonly most: number
}

/** Removes the expired rows and partitions of one table. `sweep` removes rows one by one. */
const makeRemoval = (
  sql: SqlClient.SqlClient,
  sweep: (table: string, expired: string) => Effect.Effect<number, SqlError>,
) => {
  /** Bodies of a partition that are still wanted when the understood ones are not. */
  const wanted = (partition: string) =>
    `FROM ${partition} t LEFT JOIN ${
      organizationRows("inbox_retention_days")
    } ON o.slug = t.org_slug WHERE (${expiry.inbox}) IS NOT TRUE`

  /** Takes a partition that nobody wants any more away; answers whether it could. */
  const takeAway = Effect.fnUntraced(function* (one: Partitioned, { name }: Partition) {
    if (one.table !== "inbox") return yield* Effect.as(detach(sql, one, name), true)
    const [left] = yield* sql.unsafe<{ readonly count: number }>(
      `SELECT count(*)::int AS count FROM (SELECT 1 ${wanted(name)} LIMIT ${takenAlong + 1}) w`,
    )
    if (left!.count > takenAlong) return false
    // Their time belongs to no partition any more, so that they go where such rows are.
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
      // One that all will have had enough of by the same time goes as a whole then.
      const isShared = least < most && partition.to <= now - least * dayMillis
      if (isFirst || isShared || partition.to <= now - most * dayMillis) {
        rows += yield* sweep(name, expiry[one.table])
      }
    }
    rows += yield* sweep(otherOf(one), expiry[one.table])
    yield* dropDetached(sql, one)
    return { gone, rows }
  })
  return removeFrom
}

/**
 * Makes partitions ahead and removes what has had its time, by the clock of the store. A partition that no organization
 * wants goes as a whole; where only some want it, the others' rows go in small steps. Nothing waits for any of it longer
 * than `lockTimeout`. One node at a time does it; stopping in the middle leaves nothing half done.
 */
export class Retention extends Context.Service<Retention, {
  /** Makes the partitions that are needed now and soon. Fails with `SqlError` when the database does not respond. */
  readonly prepare: Effect.Effect<void, SqlError>
  /** Goes on with the next table where one fails. Fails with `SqlError` when the database does not respond. */
  readonly remove: Effect.Effect<Removed, SqlError>
  /**
   * Does both, if no node has of late; again after ten minutes if something fails. Fails with `SqlError` when the
   * database does not respond.
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

      /** Removes the rows of a table that have had their time, from its beginning to its end, a few blocks at a time. */
      const sweep = Effect.fnUntraced(function* (table: string, expired: string) {
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

      const kept = Effect.map(
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

      const removeFrom = makeRemoval(sql, sweep)

      const remove = Effect.gen(function* () {
        const partitions: Array<string> = []
        const rows: Record<string, number> = {}
        const failed: Array<string> = []
        const days = yield* kept
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
        for (const [table, expired] of swept) yield* attempt(table, sweep(table, expired))
        return { partitions, rows, failed }
      }).pipe(Effect.withSpan("Retention.remove"))

      /** Whether a job is due, in which case it is this node's, and due again after `hours`. */
      const isDue = (job: string, hours: number) =>
        Effect.map(
          sql`
            INSERT INTO upkeep_runs AS r (job, due_at) VALUES (${job}, now() + ${hours} * interval '1 hour')
            ON CONFLICT (job) DO UPDATE SET due_at = EXCLUDED.due_at WHERE r.due_at <= now() RETURNING r.job`,
          ({ length }) => length > 0,
        )

      /** Does a job that is due, which answers whether all of it was done: if not, it is due again soon. */
      const whenDue = Effect.fnUntraced(function* (job: string, hours: number, work: Effect.Effect<boolean, SqlError>) {
        if (!(yield* isDue(job, hours))) return
        const dueSoon = sql`
          UPDATE upkeep_runs r SET due_at = now() + ${untilNextTry}::interval WHERE r.job = ${job}`
        // The failure may have been a database outage.
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
      )

      return Retention.of({ prepare, remove, runIfDue })
    }),
  )

  /** Keeps at it while the process serves. */
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
