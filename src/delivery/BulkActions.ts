import { Context, Duration, Effect, Fiber, Layer, Queue, Schedule } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { hash } from "node:crypto"
import { BulkActionNotFound, BulkKeyReused } from "../domain/Errors.ts"
import type { OrgSlug, TemplateId } from "../domain/Ids.ts"
import { isByCircumstance, maxAttempts, reasonOf } from "../store/Attempts.ts"
import { bounded, type BulkKind, type BulkPreview, changing, countMatched, preview, stateOf } from "./BulkPreview.ts"
import { cancelledByHand, countedAtMost, queuedAgain } from "./Deliveries.ts"
import { type BulkFilter, type FilterMembers, filterOf, membersOf } from "./DeliveryFilter.ts"
import { DeliveryQueue } from "./DeliveryQueue.ts"
import { report } from "./EndReports.ts"

/** A request for a bulk action. */
export interface BulkActionRequest {
  readonly kind: BulkKind
  readonly filter: BulkFilter
  /** The requester, for display. */
  readonly requestedBy: string
  /**
   * A request that repeats the key, kind and filter of an earlier request returns the earlier action. Maximum 255
   * characters.
   */
  readonly idempotencyKey: string | undefined
}

/** A retry or cancellation of all deliveries that match a filter. */
export interface BulkAction {
  readonly id: string
  readonly kind: BulkKind
  readonly filter: BulkFilter
  /** `running` until the last batch is done, or until three batches in a row have failed. */
  readonly state: "running" | "done" | "failed"
  /** Deliveries that matched when the action was requested. */
  readonly matched: number
  /** Number of deliveries changed so far. Stays below `matched` if other processes changed some deliveries first. */
  readonly changed: number
  readonly requestedBy: string
  readonly requestedAt: Date
  readonly finishedAt: Date | null
  /** Why the last batch failed; null if it succeeded. */
  readonly reason: string | null
}

/** The answer to a request for an action. */
interface BulkStarted extends BulkAction {
  /** Whether an earlier request with this idempotency key started the action. */
  readonly isRepetition: boolean
}

/** The details of an action for the audit log: its id, its filter, and the number of matching deliveries. */
export const bulkDetails = ({ filter, id, matched }: BulkAction) => ({ ...membersOf(filter), matched, bulk_action: id })

/** Whether an action failed in the last 24 hours. */
export const isStopped = ({ finishedAt, state }: BulkAction, now: number) =>
  state === "failed" && (finishedAt?.getTime() ?? 0) > now - 86_400_000

interface Row extends Omit<BulkAction, "filter"> {
  readonly orgSlug: OrgSlug
  readonly filter: FilterMembers
  readonly digest: string | null
  readonly position: string
}

/** Maximum number of deliveries that one transaction changes. It holds their locks for about 50 milliseconds. */
const batchSize = 1_000

/** Maximum number of deliveries that one transaction reads if few of them match. */
const lookedAtMost = 20_000

/** Timeout of a request. After that, the request returns and the action continues. */
const patience = Duration.seconds(5)

/** The pause between a failed batch and its next attempt. */
const retryPause = Duration.seconds(2)

const digestOf = (kind: BulkKind, filter: BulkFilter): string =>
  hash("sha256", JSON.stringify([kind, membersOf(filter)]))

const toAction = ({ digest: _, filter, orgSlug: _org, position: _position, ...row }: Row): BulkAction => ({
  ...row,
  filter: filterOf(filter),
})

const columnsOf = (sql: SqlClient.SqlClient) =>
  sql`b.org_slug, b.id, b.kind, b.filter, b.state, b.matched::float8 AS matched, b.changed::float8 AS changed,
    b.position, b.digest, b.requested_by, b.requested_at, b.finished_at, b.reason`

/** Reads the action of an organization that satisfies the condition. */
const findAction = (sql: SqlClient.SqlClient, org: OrgSlug, condition: ReturnType<typeof changing>) =>
  Effect.map(
    sql<Row>`SELECT ${columnsOf(sql)} FROM bulk_actions b WHERE b.org_slug = ${org} AND ${condition}`,
    ([row]) => row,
  )

/**
 * Stores a running action. `known`: the filter with its bounds. Returns undefined if an earlier action has the
 * idempotency key.
 */
const insertAction = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  { filter, idempotencyKey, kind, requestedBy }: BulkActionRequest,
  known: BulkFilter,
  matched: number,
) {
  const [made] = yield* sql<Row>`
    INSERT INTO bulk_actions AS b (org_slug, id, kind, filter, requested_by, requested_at, idempotency_key, digest,
      state, matched, worked_at)
    VALUES (${org}, ${SecureRandom.uuidV7Unsafe()}, ${kind}, ${JSON.stringify(membersOf(known))}::text::json,
      ${requestedBy.slice(0, 400)}, now(), ${idempotencyKey ?? null}, ${digestOf(kind, filter)}, 'running',
      ${matched}::bigint, now())
    ON CONFLICT (org_slug, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING ${columnsOf(sql)}`
  return made
})

/** The steps that process one batch. */
const makeBatches = (sql: SqlClient.SqlClient) => {
  /** Queues the failed deliveries of a batch again and removes them from the counts. Returns their number. */
  const retry = Effect.fnUntraced(function* (org: OrgSlug, batch: ReturnType<typeof changing>) {
    const [row] = yield* sql<{ count: number }>`
      WITH found AS MATERIALIZED (
        SELECT d.org_slug, d.id, d.finished_at FROM deliveries d WHERE ${batch} ORDER BY d.id FOR UPDATE
      ), updated AS (
        UPDATE deliveries d SET ${queuedAgain(sql)} FROM found f
        WHERE d.org_slug = ${org} AND d.org_slug = f.org_slug AND d.id = f.id RETURNING f.finished_at
      ), uncounted AS (
        UPDATE delivery_counts c SET count = c.count - u.count
        FROM (SELECT date_bin('1 hour', finished_at, 'epoch') AS hour, count(*) AS count FROM updated GROUP BY 1) u
        WHERE c.org_slug = ${org} AND c.state = 'failed' AND c.hour = u.hour
      )
      SELECT count(*)::float8 AS count FROM updated`
    return row!.count
  })

  /** Cancels the queued deliveries of a batch. Returns their number. */
  const cancel = Effect.fnUntraced(function* (org: OrgSlug, batch: ReturnType<typeof changing>) {
    const cancelled = yield* sql<{ id: string; templateId: TemplateId }>`
      WITH found AS MATERIALIZED (SELECT d.org_slug, d.id FROM deliveries d WHERE ${batch} ORDER BY d.id FOR UPDATE)
      UPDATE deliveries d SET ${cancelledByHand(sql)} FROM found f
      WHERE d.org_slug = ${org} AND d.org_slug = f.org_slug AND d.id = f.id RETURNING d.id, d.template_id`
    if (cancelled.length === 0) return 0
    yield* sql`
      INSERT INTO delivery_counts AS c (org_slug, hour, state, count)
      VALUES (${org}, date_bin('1 hour', now(), 'epoch'), 'cancelled', ${cancelled.length})
      ON CONFLICT (org_slug, hour, state) DO UPDATE SET count = c.count + EXCLUDED.count`
    yield* report(sql, org, cancelled.map((one) => ({ ...one, _tag: "cancelled" })))
    return cancelled.length
  })

  /**
   * Finds the last delivery of the next batch. A batch ends after `batchSize` matching deliveries, or after
   * `lookedAtMost` deliveries if fewer of them match. `last` is null if no delivery is left.
   */
  const windowFrom = Effect.fnUntraced(function* (
    org: OrgSlug,
    kind: BulkKind,
    fitting: ReturnType<typeof changing>,
    position: string,
  ) {
    const next = sql`
      SELECT * FROM deliveries n WHERE n.org_slug = ${org} AND n.state = ${stateOf[kind]} AND n.id > ${position}
      ORDER BY n.org_slug, n.state, n.id LIMIT ${lookedAtMost}`
    const [found] = yield* sql<{ last: string | null; count: number }>`
      SELECT max(f.id) AS last, count(*)::int AS count FROM (
        SELECT d.id FROM (${next}) d WHERE ${fitting} ORDER BY d.id LIMIT ${batchSize}) f`
    if (found!.count === batchSize) return { last: found!.last, isLast: false }
    const [looked] = yield* sql<{ last: string | null; count: number }>`
      SELECT max(w.id) AS last, count(*)::int AS count FROM (${next}) w`
    return { last: looked!.last, isLast: looked!.count < lookedAtMost }
  })

  /** Changes the matching deliveries of the next batch. The caller's transaction has locked the action. */
  const advance = Effect.fnUntraced(function* ({ filter, id, kind, orgSlug: org, position }: Row) {
    const fitting = changing(sql, org, kind, filterOf(filter))
    const { isLast, last } = yield* windowFrom(org, kind, fitting, position)
    const batch = sql`${fitting} AND d.id > ${position} AND d.id <= ${last}`
    const changed = last === null ? 0 : yield* kind === "retry" ? retry(org, batch) : cancel(org, batch)
    yield* sql`
      UPDATE bulk_actions b SET changed = b.changed + ${changed}::bigint, position = ${last ?? position}, attempts = 0,
        reason = NULL, worked_at = now(), state = ${isLast ? "done" : "running"},
        finished_at = CASE WHEN ${isLast}::boolean THEN now() END
      WHERE b.org_slug = ${org} AND b.id = ${id}`
    return { changed, isLast, kind, org }
  })

  /** Counts a failed batch. The third consecutive failure ends the action as failed. */
  const fail = (org: OrgSlug, id: string, reason: string) =>
    sql`
      UPDATE bulk_actions b SET attempts = b.attempts + 1, reason = ${reason}, worked_at = now(),
        state = CASE WHEN b.attempts + 1 >= ${maxAttempts} THEN 'failed' ELSE b.state END,
        finished_at = CASE WHEN b.attempts + 1 >= ${maxAttempts} THEN now() END
      WHERE b.org_slug = ${org} AND b.id = ${id} AND b.state = 'running'`.pipe(
      Effect.andThen(Effect.logError("A batch of a bulk action failed", { org, reason })),
      Effect.ignore,
    )
  return { advance, fail }
}

/**
 * Retries or cancels all deliveries that match a filter. The action is stored before its first batch. Each batch is one
 * transaction, which also stores the number of changed deliveries and the position after the batch. After a crash, any
 * node continues at that position, and no delivery is changed twice.
 *
 *     running ──last batch done──► done
 *        └──three consecutive failed batches──► failed
 *
 * A message that is being sent stays unchanged. If the recipient of a retried message has been suppressed, the
 * dispatcher cancels the message before its first attempt.
 */
export class BulkActions extends Context.Service<BulkActions, {
  /** The effect that an action would have now. */
  readonly preview: (org: OrgSlug, kind: BulkKind, filter: BulkFilter) => Effect.Effect<BulkPreview>
  /** Counts the deliveries that an action would change now. 50,000 means 50,000 or more. */
  readonly count: (org: OrgSlug, kind: BulkKind, filter: BulkFilter) => Effect.Effect<number>
  /**
   * Stores an action and carries it out. Returns when the action ends, or after 5 seconds while it continues in the
   * background. Fails with `BulkKeyReused` if the idempotency key belongs to another action.
   */
  readonly start: (org: OrgSlug, ask: BulkActionRequest) => Effect.Effect<BulkStarted, BulkKeyReused>
  /** Fails with `BulkActionNotFound` for an unknown action. */
  readonly get: (org: OrgSlug, id: string) => Effect.Effect<BulkAction, BulkActionNotFound>
  /** Actions of the last 90 days, latest first. */
  readonly list: (org: OrgSlug, limit: number) => Effect.Effect<ReadonlyArray<BulkAction>>
  /** Processes all running actions until they have ended. */
  readonly drain: Effect.Effect<void>
}>()("parlance/delivery/BulkActions") {
  static readonly layer = Layer.effect(
    BulkActions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* DeliveryQueue
      const scope = yield* Effect.scope

      const columns = columnsOf(sql)

      const { advance, fail } = makeBatches(sql)

      /**
       * Processes one batch of the action that `locked` selects and locks. Returns whether `locked` found an action. A
       * failed batch changes nothing.
       */
      const work = (locked: Effect.Effect<ReadonlyArray<Row>, SqlError>) =>
        Effect.suspend(() => {
          let row: Row | undefined
          const batch = Effect.gen(function* () {
            row = (yield* locked)[0]
            return row && (yield* advance(row))
          })
          return sql.withTransaction(batch).pipe(
            Effect.map((done) => {
              if (done?.kind === "retry" && done.changed > 0) Queue.offerUnsafe(queue.due, done.org)
              return done !== undefined
            }),
            Effect.catchCause((cause) =>
              row === undefined || isByCircumstance(cause)
                ? Effect.failCause(cause)
                : Effect.as(fail(row.orgSlug, row.id, reasonOf(cause)), true)
            ),
          )
        })

      const next = work(sql<Row>`
        SELECT ${columns} FROM bulk_actions b WHERE b.state = 'running'
        ORDER BY b.worked_at LIMIT 1 FOR UPDATE SKIP LOCKED`)

      /** Processes one action until it has ended. Other nodes may process batches of it concurrently. */
      const finish = (org: OrgSlug, id: string) =>
        work(sql<Row>`
          SELECT ${columns} FROM bulk_actions b
          WHERE b.org_slug = ${org} AND b.id = ${id} AND b.state = 'running' FOR UPDATE`).pipe(
          Effect.repeat({ while: (isRunning) => isRunning }),
          Effect.retry(Schedule.spaced(retryPause)),
        )

      const get = Effect.fn("BulkActions.get")(function* (org: OrgSlug, id: string) {
        const row = yield* Effect.orDie(findAction(sql, org, sql`b.id = ${id}`))
        return row === undefined ? yield* new BulkActionNotFound({ id }) : toAction(row)
      })

      /** Stores an action, or returns the earlier action with this idempotency key. */
      const store = Effect.fnUntraced(
        function* (org: OrgSlug, request: BulkActionRequest) {
          const { filter, idempotencyKey, kind } = request
          const earlier = idempotencyKey === undefined
            ? undefined
            : yield* findAction(sql, org, sql`b.idempotency_key = ${idempotencyKey}`)
          if (earlier !== undefined) return { row: earlier, isRepetition: true }
          const known = yield* bounded(sql, filter)
          const matched = yield* countMatched(sql, org, kind, known)
          const made = yield* insertAction(sql, org, request, known, matched)
          if (made !== undefined) return { row: made, isRepetition: false }
          return {
            row: (yield* findAction(sql, org, sql`b.idempotency_key = ${idempotencyKey!}`))!,
            isRepetition: true,
          }
        },
      )

      const start = Effect.fn("BulkActions.start")(function* (org: OrgSlug, ask: BulkActionRequest) {
        const { isRepetition, row } = yield* Effect.orDie(store(org, ask))
        if (ask.idempotencyKey !== undefined && row.digest !== digestOf(ask.kind, ask.filter)) {
          return yield* new BulkKeyReused({ key: ask.idempotencyKey })
        }
        if (row.state === "running") {
          const fiber = yield* Effect.forkIn(finish(org, row.id), scope)
          yield* Effect.timeoutOption(Fiber.await(fiber), patience)
        }
        return { ...toAction((yield* Effect.orDie(findAction(sql, org, sql`b.id = ${row.id}`)))!), isRepetition }
      })

      const list = Effect.fn("BulkActions.list")((org: OrgSlug, limit: number) =>
        Effect.map(
          Effect.orDie(sql<Row>`
            SELECT ${columns} FROM bulk_actions b WHERE b.org_slug = ${org} ORDER BY b.id DESC LIMIT ${limit}`),
          (rows) => rows.map(toAction),
        )
      )

      return BulkActions.of({
        count: (org, kind, filter) => Effect.orDie(countMatched(sql, org, kind, filter, countedAtMost)),
        preview: (org, kind, filter) => Effect.orDie(preview(sql, org, kind, filter)),
        start,
        get,
        list,
        drain: Effect.asVoid(Effect.orDie(Effect.repeat(next, { while: (found) => found }))),
      })
    }),
  )

  /** Continues, every 2 seconds, the running actions of nodes that have ended. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(BulkActions, ({ drain }) =>
      drain.pipe(
        Effect.catchCause((cause) =>
          Effect.logWarning("Bulk actions could not be carried out and will be retried", cause)
        ),
        Effect.repeat(Schedule.spaced("2 seconds")),
        Effect.forkScoped,
      )),
  )
}
