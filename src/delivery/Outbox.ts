import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import { templateRows } from "../templates/TemplateRows.ts"
import { organizationRows } from "../organizations/OrganizationRows.ts"
import type { CopyId, OrgSlug, TemplateId } from "../domain/Ids.ts"
import { addMessageLinks } from "../journal/events/MessageLinks.ts"
import { reportOwnRows } from "../journal/inbox/ownReports.ts"
import { deliverSource } from "../domain/Source.ts"
import * as GroupCommit from "../store/GroupCommit.ts"
import type { BounceEvent } from "../domain/refusals/BounceEvent.ts"
import { announceFailed, countEnded } from "./EndReports.ts"
import { recordset } from "../store/Recordset.ts"
import * as SharedLookUp from "../store/SharedLookUp.ts"
import { AddressKeys } from "../suppressions/AddressKeys.ts"
import { type Suppression, suppressionFor } from "../suppressions/Suppression.ts"
import { readSuppression, type SuppressionRow, suppressionsOf } from "../suppressions/SuppressionQuery.ts"
import { TraceShare } from "../telemetry/Tracing.ts"
import { TemplateCache } from "../templates/TemplateCache.ts"
import { Tracking } from "../tracking/Tracking.ts"
import type { Message, PlatformMessage } from "./Connection.ts"
import type { ClaimChoice, Waiting } from "./DomainSessions.ts"
import { type Lane, makeLeases, type RememberedBrake, suspectAfter, type TakenLane } from "./LaneLeases.ts"

/** A message that was claimed to be sent now. */
export interface Claimed extends Message, Waiting {
  readonly isTransactional: boolean
  /**
   * Its last attempts were interrupted, and the message may be the cause. No other message is sent at the same time.
   */
  readonly isSuspect: boolean
  /** Time since its first failed attempt; 0 without a failed attempt. Unit: milliseconds. */
  readonly retryingMillis: number
  /** Absent if the message does not expire. */
  readonly expiry?: Expiry
  /** The trace of the Deliver request. Absent if tracing is off. */
  readonly traceparent?: string | null
}

/** A message that has expired before it could be sent. */
export interface ExpiredMessage {
  readonly expiresAt: Date
  /** Failed attempts. */
  readonly attempts: number
  /** Why the last attempt failed; null before the first. */
  readonly reason: string | null
}

/** The expiry of a claimed message, and the data for its failure reason. */
interface Expiry extends ExpiredMessage {
  /** The expiry on this process's monotonic clock, which clock adjustments do not move. Unit: milliseconds. */
  readonly monotonicMillis: number
}

/** The result of sending a claimed message. */
export type Settled =
  & { readonly id: string; readonly templateId: TemplateId; readonly connection: string }
  & (
    | { readonly _tag: "sent"; readonly messageId: string | undefined; readonly links: ReadonlyArray<PlatformMessage> }
    /**
     * `burned`: whether the failure was an attempt. False if the message expired before an attempt. `event`: the event
     * of the refusal. Undefined: `failed`.
     */
    | { readonly _tag: "failed"; readonly reason: string; readonly burned: boolean; readonly event?: BounceEvent }
    /** Not sent, because its recipient is suppressed. */
    | { readonly _tag: "cancelled"; readonly reason: string }
    /**
     * Queued again. `burned`: whether this was an attempt that counts. `delayMillis`: pause until the message is due,
     * or undefined if its due time and its place in the queue stay unchanged.
     */
    | {
      readonly _tag: "again"
      readonly reason: string
      readonly delayMillis: number | undefined
      readonly burned: boolean
    }
  )

const states = { sent: "sent", failed: "failed", cancelled: "cancelled", again: "queued" } as const

/** Stops a claim once its messages exceed this size, so that a lane's buffer stays small. Unit: characters. */
const maxClaimedSize = 4 * 1024 * 1024

const outcomeColumns = {
  id: "text",
  state: "text",
  connection: "text",
  message_id: "text",
  reason: "text",
  burned: "int",
  event: "text",
  delay_seconds: "float8",
} as const

/** Claims messages of a lane. `traceColumn` is empty if tracing is off. */
const makeClaim = ({ clock, sql, templateCache, traceColumn, tracking }: {
  readonly clock: Clock.Clock
  readonly sql: SqlClient.SqlClient
  readonly templateCache: TemplateCache["Service"]
  readonly traceColumn: Statement.Fragment
  readonly tracking: Tracking["Service"]
}) => {
  /** Selects and locks up to `limit` due messages of one priority, earliest due time first. */
  const dueOf = (
    org: OrgSlug,
    isTransactional: boolean,
    limit: number,
    { dueFrom, only, without = [] }: ClaimChoice,
  ) =>
    sql`
      SELECT q.id, q.due_at, q.interruptions, q.is_transactional, COALESCE(q.size, 0) AS size FROM deliveries q
      WHERE q.org_slug = ${org} AND q.state = 'queued' AND q.is_transactional = ${isTransactional} AND q.due_at <= now()
        ${
      only === undefined
        ? without.length === 0 ? sql`` : sql`AND (q.address_key IS NULL
            OR split_part(q.address_key, '@', -1) <> ALL(${without}::text[]))`
        : sql`AND q.address_key IS NOT NULL AND split_part(q.address_key, '@', -1) = ${only}`
    }
        ${isTransactional || dueFrom === undefined ? sql`` : sql`AND q.due_at >= ${new Date(dueFrom)}`}
      ORDER BY q.org_slug, q.is_transactional, q.due_at, q.id LIMIT ${limit} FOR UPDATE SKIP LOCKED`

  const claim = Effect.fn("Outbox.claim")(function* (
    { fence, org }: Lane,
    limit: number,
    isBusy = false,
    choice: ClaimChoice = {},
  ) {
    const askedAt = Number(clock.monotonicTimeNanosUnsafe()) / 1e6
    const transactional = dueOf(org, true, Math.max(1, Math.floor(0.9 * limit)), choice)
    const rows = yield* sql<{
      id: string
      templateId: TemplateId
      copyId: CopyId
      email: string
      vars: Message["vars"]
      formats: Message["formats"]
      attempts: number
      reason: string | null
      expiresAt: Date | null
      expiresInMillis: number | null
      retryingMillis: number
      isSuspect: boolean
      domain: string
      isTransactional: boolean
      dueAt: Date
      queuedAt: Date
      firstAttemptAt: Date
      traceparent?: string | null
    }>`
      UPDATE deliveries d SET state = 'sending', fence = ${fence}, first_attempt_at = COALESCE(d.first_attempt_at,
        CASE WHEN d.attempts > 0 OR d.interruptions > 0 THEN d.queued_at ELSE now() END)
      WHERE d.org_slug = ${org} AND d.id = ANY(ARRAY(
          SELECT p.id FROM (
            SELECT c.id, row_number() OVER due AS place, sum(c.size) OVER due - c.size AS size_before,
              bool_or(c.interruptions >= ${suspectAfter}) OVER due AS is_suspect_or_behind
            FROM (
              SELECT * FROM (${transactional}) t
              ${
      choice.isTransactional === true ? sql`` : sql`UNION ALL SELECT * FROM (${dueOf(org, false, limit, choice)}) b`
    }) c
            WINDOW due AS (ORDER BY c.is_transactional DESC, c.due_at, c.id)) p
          WHERE p.place <= ${limit} AND p.size_before <= ${maxClaimedSize}
            AND (NOT p.is_suspect_or_behind OR (p.place = 1 AND NOT ${isBusy}))))
        AND EXISTS (SELECT 1 FROM dispatch_lanes l WHERE l.org_slug = ${org} AND l.fence = ${fence})
      RETURNING d.id, d.template_id, d.copy_id, d.email, d.vars, d.formats, d.attempts, d.due_at, d.queued_at,
        d.first_attempt_at,
        COALESCE(split_part(d.address_key, '@', -1), '') AS domain, d.is_transactional,
        COALESCE(1000 * extract(epoch FROM now() - d.first_failed_at), 0)::float8 AS retrying_millis,
        d.reason, d.expires_at, (1000 * extract(epoch FROM d.expires_at - now()))::float8 AS expires_in_millis,
        d.interruptions >= ${suspectAfter} AS is_suspect ${traceColumn}`
    if (rows.length === 0) return []
    const unsubscribeUrl = yield* tracking.unsubscribeUrls(org)
    const returnPath = yield* tracking.returnPaths(org)
    return [...rows]
      .sort((a, b) =>
        Number(b.isTransactional) - Number(a.isTransactional) || a.dueAt.getTime() - b.dueAt.getTime() ||
        (a.id < b.id ? -1 : 1)
      )
      .map(({ attempts, dueAt, expiresAt, expiresInMillis, firstAttemptAt, queuedAt, reason, ...row }): Claimed => ({
        ...row,
        dueAt: dueAt.getTime(),
        ...(expiresAt === null || expiresInMillis === null
          ? {}
          : { expiry: { expiresAt, monotonicMillis: askedAt + expiresInMillis, attempts, reason } }),
        org,
        unsubscribe: {
          // Signed on access, because few connections use the unsubscribe URL or the return path.
          get url() {
            return unsubscribeUrl(row.id)
          },
          isListed: templateCache.template(org, row.templateId)?.listUnsubscribe ?? false,
        },
        get returnPath() {
          return returnPath(row.id)
        },
        attempt: attempts + 1,
        queuedAt: queuedAt.getTime(),
        firstAttemptAt: firstAttemptAt.getTime(),
      }))
  })
  return claim
}

/**
 * SQL expression for `first_attempt_at` of a claimed message that did not begin: null, unless an earlier attempt did.
 */
const notBegun = (sql: SqlClient.SqlClient) =>
  sql`CASE WHEN d.attempts > 0 OR d.interruptions > 0 THEN d.first_attempt_at END`

/** Records the results of messages. */
const makeSettle = (sql: SqlClient.SqlClient) => {
  const settle = Effect.fn("Outbox.settle")(function* (
    { fence, org }: Lane,
    settled: ReadonlyArray<Settled>,
    brake?: RememberedBrake,
  ) {
    const rows = settled.map((one) => ({
      id: one.id,
      state: states[one._tag],
      connection: one._tag === "cancelled" || (one._tag === "failed" && !one.burned) ? undefined : one.connection,
      message_id: one._tag === "sent" ? one.messageId?.slice(0, 400) : undefined,
      reason: one._tag === "sent" ? undefined : one.reason,
      burned: one._tag === "again" || one._tag === "failed" ? Number(one.burned) : 0,
      event: one._tag === "failed" ? one.event : undefined,
      delay_seconds: one._tag !== "again" || one.delayMillis === undefined ? undefined : one.delayMillis / 1000,
    }))
    // A message that an earlier owner was sending was queued again with that owner's fence, so the owner's late result
    // still counts. A record may be repeated because its answer was lost. Then its messages are queued, and their
    // attempt counts once.
    const record = sql<{ id: string; state: "sent" | "failed" | "cancelled" | "queued" }>`
      WITH given AS MATERIALIZED (
        SELECT r.* FROM ${recordset(rows, outcomeColumns)}
      ), updated AS (
        UPDATE deliveries d SET connection = COALESCE(g.connection, d.connection), message_id = g.message_id,
          reason = g.reason, attempts = d.attempts + g.burned, interruptions = 0,
          first_failed_at = CASE WHEN g.burned = 1 THEN COALESCE(d.first_failed_at, now()) ELSE d.first_failed_at END,
          state = CASE WHEN g.state = 'queued' AND d.email IS NULL THEN 'cancelled' ELSE g.state END,
          due_at = COALESCE(now() + g.delay_seconds * interval '1 second', d.due_at),
          first_attempt_at = CASE WHEN g.state = 'queued' AND g.burned = 0 THEN ${
      notBegun(sql)
    } ELSE d.first_attempt_at END,
          finished_at = CASE WHEN g.state = 'queued' THEN NULL ELSE now() END
        FROM given g
        WHERE d.org_slug = ${org} AND d.id = ANY(${rows.map(({ id }) => id)}::text[]) AND d.id = g.id
          AND d.fence = ${fence} AND (d.state = 'sending' OR (d.state = 'queued' AND g.state <> 'queued'))
        RETURNING d.id, d.template_id, d.state, g.burned, g.event, g.state AS given_state
      ), ${countEnded(sql, org)}, reported AS (${
      reportOwnRows(
        sql,
        { org, source: deliverSource },
        sql`
          SELECT json_build_object('event', CASE WHEN u.given_state = 'sent' THEN 'sent' ELSE COALESCE(u.event, 'failed') END,
            'event_id', u.id || ' ' || u.given_state, 'tracking_id', u.id, 'template_id', u.template_id) AS item
          FROM updated u WHERE u.given_state <> 'queued'`,
      )
    })
      SELECT u.id, u.state FROM updated u`
    // A single statement needs no transaction.
    const isPlain = brake === undefined &&
      settled.every((one) => one._tag === "sent" ? one.links.length === 0 : one._tag !== "failed")
    if (isPlain) {
      yield* record
      return
    }
    yield* sql.withTransaction(Effect.gen(function* () {
      // Locks the lane before the messages, in the same order as `take`. Another order could deadlock.
      if (brake !== undefined) {
        yield* sql`
          UPDATE dispatch_lanes l SET brake = ${JSON.stringify(brake)}::text::json
          WHERE l.org_slug = ${org} AND l.fence = ${fence}`
      }
      const ended = new Map((yield* record).map(({ id, state }) => [id, state]))
      yield* link(org, settled.filter(({ id }) => ended.get(id) === "sent"))
      yield* announceFailed(sql, org, settled.flatMap(({ _tag, id }) => _tag === "failed" && ended.has(id) ? [id] : []))
    }))
  })

  /** Stores the platform's identifiers of sent messages, which its webhooks use. */
  const link = (org: OrgSlug, sent: ReadonlyArray<Settled>) =>
    addMessageLinks(
      sql,
      org,
      sent.flatMap((one) => one._tag !== "sent" ? [] : one.links.map((link) => ({ ...link, trackingId: one.id }))),
    )
  return settle
}

/**
 * The queue for the dispatcher. One process at a time holds the lease of a lane (one lane per organization). The lane's
 * fence increases with every owner, so that an earlier owner cannot change messages that a later owner has claimed. A
 * message whose person was erased while it was being sent does not return to the queue.
 */
export class Outbox extends Context.Service<Outbox, {
  /**
   * Organizations with messages to send whose lane has no owner. Fails with `SqlError` if the database does not
   * respond.
   */
  readonly idle: Effect.Effect<ReadonlyArray<OrgSlug>, SqlError>
  /**
   * Claims the lane of an organization, or returns undefined if it has an owner. Messages that the last owner was
   * sending count as interrupted: they are queued again, or fail after five consecutive interruptions (`failed` is
   * their number). The first message may be sent after `quietMillis`, because a message of the last owner may still be
   * on its way. Fails with `SqlError` if the database does not respond.
   */
  readonly take: (
    org: OrgSlug,
    owner: string,
  ) => Effect.Effect<TakenLane | undefined, SqlError>
  /**
   * Renews the lease of the lane. Returns false if another process owns the lane. Fails with `SqlError` if the database
   * does not respond.
   */
  readonly renew: (lane: Lane, sentPerSecond: number) => Effect.Effect<boolean, SqlError>
  /** Gives up the lease of the lane. Fails with `SqlError` if the database does not respond. */
  readonly release: (lane: Lane) => Effect.Effect<void, SqlError>
  /**
   * Claims due messages, earliest due time first: first transactional messages, which get at most nine tenths of a
   * claim, then bulk messages. At most `limit` messages and about 4 MiB of content. A suspected message is claimed
   * alone. While other messages are being sent (`isBusy`), neither a suspected message nor any message behind it is
   * claimed. Fails with `SqlError` if the database does not respond.
   */
  readonly claim: (
    lane: Lane,
    limit: number,
    isBusy?: boolean,
    choice?: ClaimChoice,
  ) => Effect.Effect<ReadonlyArray<Claimed>, SqlError>
  /**
   * Returns the current suppression of each message's recipient, in the order of the messages, or undefined if the
   * message may be sent. Call this right before sending. Calls during a query share the next query. Fails with
   * `BufferFull` while the database does not respond.
   */
  readonly suppressionsOf: (
    messages: ReadonlyArray<Message>,
  ) => Effect.Effect<ReadonlyArray<Suppression | undefined>, GroupCommit.BufferFull>
  /** Returns claimed messages to the queue unchanged. Fails with `SqlError` if the database does not respond. */
  readonly giveBack: (lane: Lane, ids: ReadonlyArray<string>) => Effect.Effect<void, SqlError>
  /**
   * Records the results of messages and the events to learn from. Does not change messages that a later owner has
   * claimed. If `brake` is given, stores it for the next owner in the same transaction. Fails with `SqlError` if the
   * database does not respond.
   */
  readonly settle: (
    lane: Lane,
    settled: ReadonlyArray<Settled>,
    brake?: RememberedBrake,
  ) => Effect.Effect<void, SqlError>
}>()("parlance/delivery/Outbox") {
  static readonly layer = Layer.effect(
    Outbox,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const addressKeys = yield* AddressKeys
      const tracking = yield* Tracking
      const templateCache = yield* TemplateCache
      const traceColumn = sql.literal((yield* TraceShare) === undefined ? "" : ", d.traceparent")

      const { idle, release, renew, take } = makeLeases(sql)

      const claim = makeClaim({ clock, sql, templateCache, traceColumn, tracking })

      const suppressionsOf = yield* SharedLookUp.make({
        write: (questions: ReadonlyArray<ReadonlyArray<Message>>) =>
          Effect.map(findSuppressions(sql, addressKeys, questions.flat()), (found) => {
            let from = 0
            return questions.map(({ length }) => found.slice(from, from += length))
          }),
        maxWeight: { limit: 500, held: 100_000, of: ({ length }) => length },
      })

      const giveBack = ({ fence, org }: Lane, ids: ReadonlyArray<string>) =>
        ids.length === 0 ? Effect.void : Effect.asVoid(sql`
          UPDATE deliveries d SET state = CASE WHEN d.email IS NULL THEN 'cancelled' ELSE 'queued' END,
            first_attempt_at = ${notBegun(sql)}
          WHERE d.org_slug = ${org} AND d.id = ANY(${ids}::text[]) AND d.state = 'sending' AND d.fence = ${fence}`)

      const settle = makeSettle(sql)

      return Outbox.of({ idle, take, renew, release, claim, suppressionsOf, giveBack, settle })
    }),
  )
}

/**
 * Returns the most severe suppression of each message's recipient that its template respects, in the order of
 * `messages`.
 */
const findSuppressions = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  addressKeys: AddressKeys["Service"],
  messages: ReadonlyArray<Message>,
): Effect.fn.Return<ReadonlyArray<Suppression | undefined>, SqlError> {
  const sought = yield* Effect.forEach(
    messages,
    ({ email, org }) => Effect.map(addressKeys.of(email), (keys) => ({ org, keys })),
  )
  const templates = messages.map(({ org, templateId }, n) => ({ n, org_slug: org, template_id: templateId }))
  const found = yield* sql<SuppressionRow & { readonly ignoreUnsubscribes: boolean | null }>`
    SELECT f.n, f.id, f.reason, f.suppressed_at, t.ignore_unsubscribes
    FROM (${suppressionsOf(sql, sought)}) f
    JOIN ${recordset(templates, { n: "int", org_slug: "text", template_id: "text" }, "m")}
      ON m.n = f.n
    JOIN ${sql.literal(organizationRows("suppression"))} ON o.slug = m.org_slug AND o.suppression
    LEFT JOIN ${sql.literal(templateRows)} ON t.org_slug = m.org_slug AND t.id = m.template_id`
  return yield* Effect.forEach(messages, (_, n) => {
    const mine = found.filter((row) => row.n === n)
    return Effect.map(
      Effect.forEach(mine, readSuppression),
      (suppressions) => suppressionFor(suppressions, mine[0]?.ignoreUnsubscribes === true),
    )
  })
})
