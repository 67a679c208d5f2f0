import { Clock, Context, Effect, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"
import { DeliveryFixed, DeliveryNotFound } from "../domain/Errors.ts"
import type { OrgSlug, TemplateId } from "../domain/Ids.ts"
import { rowReader } from "../store/ReadRows.ts"
import { Store } from "../store/Store.ts"
import { Delivery, DeliveryDetail, type DeliveryState, type DeliverySummary, hasExpired } from "./Delivery.ts"
import { type DeliveryFilter, matching } from "./DeliveryFilter.ts"
import { DeliveryQueue } from "./DeliveryQueue.ts"
import { report } from "./EndReports.ts"

/** The filter and page of a list. */
interface Listing extends DeliveryFilter {
  /** The id of the last delivery of the previous page. */
  readonly cursor: string | undefined
  readonly limit: number
  /** Default: latest first. */
  readonly order?: "latest" | "oldest" | undefined
}

/** Maximum number of queued messages that are counted, because larger counts take long. */
export const countedAtMost = 50_000

const nameOf = ({ id }: Delivery) => `id ${id}`
const readDelivery = rowReader("deliveries", Delivery, nameOf)
const readDetail = rowReader("deliveries", DeliveryDetail, nameOf)

/** Why a delivery in this state cannot be cancelled. */
const notCancelled: { readonly [state in DeliveryState]?: string } = {
  sending: "is leaving right now and cannot be cancelled.",
  sent: "has been sent and cannot be cancelled.",
  failed: "has failed already; there is nothing to cancel.",
}

/** Why a delivery in this state cannot be sent again. */
const notRetried: { readonly [state in DeliveryState]?: string } = {
  queued: "is waiting to be sent already.",
  sending: "is leaving right now.",
  sent: "has been sent; it would arrive twice.",
  cancelled: "was cancelled; ask Deliver for a new message.",
  failed: "belonged to a person who has been erased; there is nothing left to send.",
}

/** SQL assignments that queue a failed delivery again, with a new retry horizon. */
export const queuedAgain = (sql: SqlClient.SqlClient) =>
  sql`state = 'queued', due_at = now(), attempts = 0, interruptions = 0, first_failed_at = NULL, first_attempt_at = NULL,
    finished_at = NULL, fence = NULL`

/** SQL assignments that cancel a queued delivery at a person's request. */
export const cancelledByHand = (sql: SqlClient.SqlClient) =>
  sql`state = 'cancelled', reason = 'Cancelled before it left', finished_at = now()`

/** Recent final states of an organization's deliveries. */
export interface RecentEnds {
  /** Start of the counted period: the full hour about 24 hours ago. */
  readonly since: Date
  readonly sent: number
  /** Deliveries that failed and were not queued again. */
  readonly failed: number
}

/** Counts the messages of an organization by state. */
const readSummary = Effect.fn("Deliveries.summary")(function* (sql: SqlClient.SqlClient, org: OrgSlug) {
  const [row] = yield* sql<DeliverySummary>`
    SELECT
      (SELECT count(*) FROM (SELECT FROM deliveries d
        WHERE d.org_slug = ${org} AND d.state = 'queued' AND d.due_at <= now() LIMIT ${countedAtMost}) q)::float8
        AS queued,
      (SELECT count(*) FROM (SELECT FROM deliveries d
        WHERE d.org_slug = ${org} AND d.state = 'queued' AND d.due_at > now() LIMIT ${countedAtMost}) l)::float8
        AS scheduled,
      (SELECT count(*) FROM deliveries s WHERE s.org_slug = ${org} AND s.state = 'sending')::float8 AS sending,
      c.sent::float8 AS sent, c.failed::float8 AS failed, c.cancelled::float8 AS cancelled,
      COALESCE((SELECT GREATEST(0, extract(epoch FROM now() - o.due_at)) FROM deliveries o
        WHERE o.org_slug = ${org} AND o.state = 'queued'
        ORDER BY o.org_slug, o.due_at, o.id LIMIT 1), 0)::float8 AS oldest_due_seconds,
      COALESCE((SELECT l.sent_per_second FROM dispatch_lanes l
        WHERE l.org_slug = ${org} AND l.lease_until > now()), 0) AS sent_per_second
    FROM (SELECT COALESCE(sum(n.count) FILTER (WHERE n.state = 'sent'), 0) AS sent,
        COALESCE(sum(n.count) FILTER (WHERE n.state = 'failed'), 0) AS failed,
        COALESCE(sum(n.count) FILTER (WHERE n.state = 'cancelled'), 0) AS cancelled
      FROM delivery_counts n WHERE n.org_slug = ${org}) c`
  return row!
}, Effect.orDie)

/** Messages of a day: messages scheduled for it, and messages sent on it. */
export interface DayOfDeliveries {
  readonly scheduled: number
  readonly sent: number
}

const readDays = Effect.fn("Deliveries.byDay")(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  { from, until, zone }: { readonly from: Date; readonly until: Date; readonly zone: string },
) {
  const rows = yield* sql<DayOfDeliveries & { readonly day: string }>`
    SELECT e.day, sum(e.scheduled)::float8 AS scheduled, sum(e.sent)::float8 AS sent FROM (
      SELECT to_char(q.due_at AT TIME ZONE ${zone}, 'YYYY-MM-DD') AS day, count(*) AS scheduled, 0 AS sent FROM (
        SELECT d.due_at FROM deliveries d WHERE d.org_slug = ${org} AND d.state = 'queued' AND d.due_at >= ${from}
          AND d.due_at < ${until} ORDER BY d.due_at LIMIT 100000) q GROUP BY 1
      UNION ALL
      SELECT to_char(n.hour AT TIME ZONE ${zone}, 'YYYY-MM-DD'), 0, sum(n.count) FROM delivery_counts n
      WHERE n.org_slug = ${org} AND n.state = 'sent' AND n.hour >= ${from} AND n.hour < ${until} GROUP BY 1) e
    GROUP BY e.day`
  return new Map(rows.map(({ day, ...counts }) => [day, counts]))
}, Effect.orDie)

/** Counts the final states of the last 24 hours. */
const readRecentEnds = Effect.fn("Deliveries.recentEnds")(function* (sql: SqlClient.SqlClient, org: OrgSlug) {
  const [row] = yield* sql<RecentEnds>`
    SELECT s.since, COALESCE(sum(n.count) FILTER (WHERE n.state = 'sent'), 0)::float8 AS sent,
      COALESCE(sum(n.count) FILTER (WHERE n.state = 'failed'), 0)::float8 AS failed
    FROM (SELECT date_bin('1 hour', now() - interval '24 hours', 'epoch') AS since) s
    LEFT JOIN delivery_counts n ON n.org_slug = ${org} AND n.hour >= s.since
    GROUP BY s.since`
  return row!
}, Effect.orDie)

/** Counts the latest 10,000 failures of the last 24 hours by template. */
const readRecentFailures = Effect.fn("Deliveries.recentFailures")(function* (sql: SqlClient.SqlClient, org: OrgSlug) {
  const rows = yield* sql<{ readonly templateId: string; readonly failed: number }>`
    SELECT f.template_id, count(*)::int AS failed FROM (
      SELECT d.template_id FROM deliveries d
      WHERE d.org_slug = ${org} AND d.state = 'failed' AND d.finished_at >= now() - interval '24 hours'
      ORDER BY d.finished_at DESC LIMIT 10000
    ) f GROUP BY f.template_id`
  return new Map(rows.map(({ failed, templateId }) => [templateId, failed]))
}, Effect.orDie)

/** Lists and changes queued, sending and finished messages. */
export class Deliveries extends Context.Service<Deliveries, {
  /** Lists deliveries in the order of the time at which they were queued. */
  readonly list: (org: OrgSlug, listing: Listing) => Effect.Effect<ReadonlyArray<Delivery>>
  /** Fails with `DeliveryNotFound` for an unknown delivery. */
  readonly get: (org: OrgSlug, id: string) => Effect.Effect<DeliveryDetail, DeliveryNotFound>
  /**
   * Cancels a queued message. Cancelling a cancelled message changes nothing. Fails with `DeliveryNotFound` for an
   * unknown delivery, and with `DeliveryFixed` if its state does not allow this.
   */
  readonly cancel: (org: OrgSlug, id: string) => Effect.Effect<Delivery, DeliveryNotFound | DeliveryFixed>
  /**
   * Queues a failed message again, with a new retry horizon. Fails with `DeliveryNotFound` for an unknown delivery, and
   * with `DeliveryFixed` if its state does not allow this.
   */
  readonly retry: (org: OrgSlug, id: string) => Effect.Effect<Delivery, DeliveryNotFound | DeliveryFixed>
  readonly summary: (org: OrgSlug) => Effect.Effect<DeliverySummary>
  /** Final states of deliveries in the last 24 hours. */
  readonly recentEnds: (org: OrgSlug) => Effect.Effect<RecentEnds>
  /**
   * Counts scheduled and sent messages by day (`YYYY-MM-DD`) of a time zone, from one time until another. Counts at most
   * 100,000 scheduled messages. Days without messages are left out.
   */
  readonly byDay: (
    org: OrgSlug,
    period: { readonly from: Date; readonly until: Date; readonly zone: string },
  ) => Effect.Effect<ReadonlyMap<string, DayOfDeliveries>>
  /** Deliveries that failed in the last 24 hours, by template. Counts only the latest 10,000 failures. */
  readonly recentFailures: (org: OrgSlug) => Effect.Effect<ReadonlyMap<string, number>>
}>()("parlance/delivery/Deliveries") {
  static readonly layer = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const queue = yield* DeliveryQueue
      const store = yield* Store

      const columns = sql`d.id, d.template_id, d.copy_id, d.email, d.state,
        CASE WHEN d.is_transactional THEN 'transactional' ELSE 'bulk' END AS priority, d.due_at, d.queued_at, d.expires_at,
        d.attempts, d.connection, d.message_id, d.reason, d.finished_at`

      const list = Effect.fn("Deliveries.list")((org: OrgSlug, { cursor, limit, order, ...filter }: Listing) => {
        const isOldest = order === "oldest"
        const after = cursor === undefined ? sql`TRUE` : isOldest ? sql`d.id > ${cursor}` : sql`d.id < ${cursor}`
        return store.read(Effect.orDie(sql<Delivery>`
          SELECT ${columns} FROM deliveries d
          WHERE d.org_slug = ${org} AND ${matching(sql, filter)} AND ${after}
          ORDER BY d.id ${isOldest ? sql`ASC` : sql`DESC`} LIMIT ${limit}`.pipe(
          Effect.flatMap(Effect.forEach(readDelivery)),
        )))
      })

      const get = Effect.fn("Deliveries.get")(function* (org: OrgSlug, id: string) {
        const [row] = yield* Effect.orDie(sql<DeliveryDetail>`
          SELECT ${columns}, d.vars, d.formats FROM deliveries d WHERE d.org_slug = ${org} AND d.id = ${id}`)
        return yield* row === undefined ? new DeliveryNotFound({ id }) : readDetail(row)
      })

      /** Reads and locks a delivery, so that no lane sends it concurrently. */
      const locked = Effect.fnUntraced(function* (org: OrgSlug, id: string) {
        const [row] = yield* sql<Delivery>`
          SELECT ${columns} FROM deliveries d WHERE d.org_slug = ${org} AND d.id = ${id} FOR UPDATE`
        return yield* row === undefined ? new DeliveryNotFound({ id }) : readDelivery(row)
      })

      const cancel = Effect.fn("Deliveries.cancel")((org: OrgSlug, id: string) =>
        sql.withTransaction(Effect.gen(function* () {
          const found = yield* locked(org, id)
          if (found.state === "cancelled") return found
          const reason = notCancelled[found.state]
          if (reason !== undefined) return yield* new DeliveryFixed({ id, reason })
          const [after] = yield* sql<Delivery>`
            UPDATE deliveries d SET ${cancelledByHand(sql)}
            WHERE d.org_slug = ${org} AND d.id = ${id} RETURNING ${columns}`
          yield* sql`
            INSERT INTO delivery_counts AS c (org_slug, hour, state, count)
            VALUES (${org}, date_bin('1 hour', now(), 'epoch'), 'cancelled', 1)
            ON CONFLICT (org_slug, hour, state) DO UPDATE SET count = c.count + 1`
          yield* report(sql, org, [{ id, templateId: found.templateId as TemplateId, _tag: "cancelled" }])
          return after!
        })).pipe(Effect.catchTag("SqlError", Effect.die))
      )

      const retry = Effect.fn("Deliveries.retry")(function* (org: OrgSlug, id: string) {
        const after = yield* sql.withTransaction(Effect.gen(function* () {
          const found = yield* locked(org, id)
          const reason = found.state !== "failed" || found.email === null
            ? notRetried[found.state]
            : hasExpired(found, clock.currentTimeMillisUnsafe())
            ? `has expired (${found.expiresAt!.toISOString()}); ask Deliver for a new message.`
            : undefined
          if (reason !== undefined) return yield* new DeliveryFixed({ id, reason })
          const [after] = yield* sql<Delivery>`
            UPDATE deliveries d SET ${queuedAgain(sql)}
            WHERE d.org_slug = ${org} AND d.id = ${id} RETURNING ${columns}`
          yield* sql`
            UPDATE delivery_counts c SET count = c.count - 1
            WHERE c.org_slug = ${org} AND c.state = 'failed'
              AND c.hour = date_bin('1 hour', ${found.finishedAt!}, 'epoch')`
          return after!
        })).pipe(Effect.catchTag("SqlError", Effect.die))
        Queue.offerUnsafe(queue.due, org)
        return after
      })

      return Deliveries.of({
        list,
        get,
        cancel,
        retry,
        summary: (org) => readSummary(sql, org),
        recentEnds: (org) => readRecentEnds(sql, org),
        byDay: (org, period) => readDays(sql, org, period),
        recentFailures: (org) => readRecentFailures(sql, org),
      })
    }),
  )
}
