import { Context, Effect, Layer, Metric, Queue } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { hash } from "node:crypto"
import { dayMillis } from "../../bandit/Window.ts"
import type { ContextKey } from "../../bandit/Contexts.ts"
import type { OrgSlug, TemplateId } from "../../domain/Ids.ts"
import { sandboxSuffix } from "../../domain/Sandbox.ts"
import { ShortLivedMap } from "../../domain/ShortLived.ts"
import { leastRetentionDays } from "../../domain/Organization.ts"
import { Settings } from "../../Settings.ts"
import * as GroupCommit from "../../store/GroupCommit.ts"
import { recordset } from "../../store/Recordset.ts"
import { step } from "../../telemetry/Tracing.ts"
import { type Decision, type ExistingDecision, noMessage } from "./Decision.ts"
import { failedText, failureCounts } from "./FailedRenderings.ts"
import { trackSql } from "./Track.ts"
import { madeAt, toleranceMillis } from "./TrackingId.ts"

/** Result of recording a decision. */
export interface StoredDecision {
  /** The decision that stands for this tracking id: the recorded one itself, or an earlier one if the request is a retry. */
  readonly existing: ExistingDecision
  /** False while the store is down: the decision is in this process's memory only. */
  readonly durable: boolean
}

/** Decisions committed to the store by this process. */
const stored = Metric.counter("parlance_decisions_stored_total", { incremental: true })
/** Commits that stored them: decisions per commit is the size of a group. */
const commits = Metric.counter("parlance_decision_commits_total", { incremental: true })

/** Counts decisions whose transaction has been committed; call it once for each commit. */
export const countStored = (decisions: number): Effect.Effect<void> =>
  decisions === 0 ? Effect.void : Effect.andThen(Metric.update(stored, decisions), Metric.update(commits, 1))

const keyOf = (decision: Pick<Decision, "org" | "templateId" | "trackingId">): string =>
  `${decision.org}\0${decision.trackingId}\0${decision.templateId}`

/** A decision, with its key if another request may already ask for it. */
interface Keyed {
  key: string | undefined
  readonly decision: Decision
}

/** Events that wait for a decision came in at most so long before it. Unit: days. */
const awaitedDays = 8

type Key = Pick<Decision, "org" | "templateId" | "trackingId">

/** Key in `decision_keys` for a caller's tracking id: a UUID made from a digest, without hyphens. */
const retryKey = ({ org, templateId, trackingId }: Key): string =>
  hash("sha256", JSON.stringify([org, trackingId, templateId]), "hex").slice(0, 32)

/** A key to look up. `made_at` is the time in the key if a caller returns an id that this service generated. */
const toGiven = (key: Key) => ({
  key: retryKey(key),
  org_slug: key.org,
  tracking_id: key.trackingId,
  template_id: key.templateId,
  made_at: madeAt(key.trackingId) ?? null,
})

const toRow = (decision: Decision) => ({
  org_slug: decision.org,
  tracking_id: decision.trackingId,
  template_id: decision.templateId,
  copy_id: decision.copyId,
  user_id: decision.userId,
  mode: decision.mode,
  propensity: decision.propensity,
  weights: decision.weights,
  segment: decision.context,
  further: decision.extraAttributes,
  policy: decision.policy,
  lookback_days: decision.window?.lookbackDays,
  offset_days: decision.window?.offsetDays,
  holdout: decision.holdout,
  decided_at: decision.decidedAtMillis,
  failed: failedText(decision.failed),
  key: decision.trackingIdGiven ? retryKey(decision) : undefined,
  made_at: decision.trackingIdGiven ? madeAt(decision.trackingId) : undefined,
  awaited_since: decision.trackingIdGiven ? decision.decidedAtMillis - awaitedDays * dayMillis : undefined,
})

/** A tracking id that events have come in for before its decision. */
export interface Awaited {
  readonly org: OrgSlug
  readonly trackingId: string
}

/** The result of storing a group of decisions. */
interface Inserted {
  /** The decision that stands for each of them, in their order. */
  readonly existing: ReadonlyArray<ExistingDecision>
  /** Those whose events are there already. */
  readonly awaited: ReadonlyArray<Awaited>
}

/** In `upkeep_runs` where the first partition holds decisions without keys: made by a release that knew none. */
const unkeyed = "decisions without keys"

/** A key whose decision is gone is this old at least: no organization keeps decisions for less. Unit: days. */
const staleDays = leastRetentionDays - 1

const columns = `org_slug, tracking_id, template_id, copy_id, user_id, mode, propensity, weights, segment, further,
  policy, lookback_days, offset_days, holdout, decided_at, failed`

const values = `g.org_slug, g.tracking_id, g.template_id, g.copy_id, g.user_id, g.mode, g.propensity, g.weights::json,
  g.segment, g.further, g.policy, g.lookback_days, g.offset_days, g.holdout, to_timestamp(g.decided_at / 1000.0),
  g.failed::json`

const decisionColumns = {
  org_slug: "text",
  tracking_id: "text",
  template_id: "text",
  copy_id: "text",
  user_id: "text",
  mode: "text",
  propensity: "float8",
  weights: "text",
  segment: "text",
  further: "text",
  policy: "text",
  lookback_days: "float8",
  offset_days: "float8",
  holdout: "text",
  decided_at: "float8",
  failed: "text",
  key: "uuid",
  made_at: "float8",
  awaited_since: "float8",
} as const

/** Decisions as parameters of a statement, and the ledger rows of the decisions that were inserted. */
const fragments = (sql: SqlClient.SqlClient, rows: ReadonlyArray<ReturnType<typeof toRow>>) => ({
  given: sql`given AS MATERIALIZED (
      SELECT r.* FROM ${recordset(rows, decisionColumns)}
    )`,
  counted: sql`counted AS (
      INSERT INTO tally_ledger (org_slug, template_id, copy_id, segment, hour, track, counts)
      SELECT i.org_slug, i.template_id, i.copy_id, i.segment, date_bin('1 hour', i.decided_at, 'epoch'),
        ${sql.literal(trackSql("i"))}, json_build_object('decisions', count(*))
      FROM inserted i WHERE i.copy_id <> ${noMessage} AND right(i.org_slug, ${sandboxSuffix.length}) <> ${sandboxSuffix}
      GROUP BY 1, 2, 3, 4, 5, 6
      ${rows.some(({ failed }) => failed !== null) ? failureCounts(sql, sandboxSuffix) : sql.literal("")}
    )`,
})

interface Counted {
  readonly count: number
  readonly awaited: ReadonlyArray<Awaited> | null
}

/** Ids of our own come once, or again when a group is written again: the index of their partition tells. */
const insertOwn = (sql: SqlClient.SqlClient, rows: ReadonlyArray<ReturnType<typeof toRow>>) => {
  const { counted, given } = fragments(sql, rows)
  return Effect.map(
    sql<Counted>`
      WITH ${given}, inserted AS (
        INSERT INTO decisions (${sql.literal(columns)}) SELECT ${sql.literal(values)} FROM given g
        ON CONFLICT DO NOTHING
        RETURNING org_slug, template_id, copy_id, segment, mode, propensity, decided_at, failed
      ), ${counted}
      SELECT (SELECT count(*)::int FROM inserted) AS count, NULL::json AS awaited`,
    ([result]) => result!,
  )
}

/**
 * A caller's ids may have been decided before, at any time, and no index covers all partitions: each is claimed in
 * `decision_keys`, unless it is in the first partition, which is older than those, or is an id of our own given back.
 */
const insertGiven = (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<ReturnType<typeof toRow>>,
  mayBeOwn: boolean,
) => {
  const { counted, given } = fragments(sql, rows)
  // Planning it takes a while, as it may be in any partition; most callers' ids have no such form.
  const own = sql`(
          SELECT true AS decided FROM decisions d
          WHERE g.made_at IS NOT NULL AND d.org_slug = g.org_slug AND d.tracking_id = g.tracking_id
            AND d.template_id = g.template_id AND d.decided_at >= to_timestamp((g.made_at - ${toleranceMillis}) / 1000.0)
            AND d.decided_at <= to_timestamp((g.made_at + ${toleranceMillis}) / 1000.0)
          ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1)`
  return Effect.map(
    sql<Counted>`
      WITH ${given}, fresh AS MATERIALIZED (
        SELECT g.* FROM given g
        LEFT JOIN LATERAL (
          SELECT true AS decided FROM decisions_first d
          WHERE (SELECT true FROM upkeep_runs u WHERE u.job = ${unkeyed}) AND g.key IS NOT NULL
            AND d.org_slug = g.org_slug AND d.tracking_id = g.tracking_id AND d.template_id = g.template_id
          ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1) f ON true
        LEFT JOIN LATERAL ${mayBeOwn ? own : sql`(SELECT NULL::boolean AS decided)`} o ON true
        WHERE f.decided IS NULL AND o.decided IS NULL
      ), claimed AS (
        INSERT INTO decision_keys (key, org_slug, decided_at)
        SELECT f.key, f.org_slug, to_timestamp(f.decided_at / 1000.0) FROM fresh f WHERE f.key IS NOT NULL
        ON CONFLICT DO NOTHING
        RETURNING key
      ), inserted AS (
        INSERT INTO decisions (${sql.literal(columns)}) SELECT ${sql.literal(values)} FROM fresh g
        WHERE g.key IS NULL OR g.key IN (SELECT c.key FROM claimed c)
        ON CONFLICT DO NOTHING
        RETURNING org_slug, template_id, copy_id, segment, mode, propensity, decided_at, failed
      ), ${counted}
      SELECT (SELECT count(*)::int FROM inserted) AS count,
        (SELECT json_agg(json_build_object('org', g.org_slug, 'trackingId', g.tracking_id)) FROM given g
          CROSS JOIN LATERAL (SELECT true FROM events e
            WHERE g.key IS NOT NULL AND e.org_slug = g.org_slug AND e.tracking_id = g.tracking_id
              AND e.status = 'waiting' AND e.received_at >= (SELECT to_timestamp(min(s.awaited_since) / 1000.0) FROM given s)
            ORDER BY e.org_slug, e.tracking_id, e.occurred_at LIMIT 1) e) AS awaited`,
    ([result]) => result!,
  )
}

const keyColumns = {
  key: "uuid",
  org_slug: "text",
  tracking_id: "text",
  template_id: "text",
  made_at: "float8",
} as const

interface ExistingRow extends Omit<Key, "org">, Omit<ExistingDecision, "extraAttributes" | "userId"> {
  readonly orgSlug: OrgSlug
  readonly userId: string | null
  readonly further: ContextKey | null
}

const fromExistingRow = ({ context, copyId, further, mode, userId }: ExistingRow): ExistingDecision => ({
  context,
  copyId,
  extraAttributes: further ?? undefined,
  mode,
  userId: userId ?? undefined,
})

/** The decisions that stand for given keys, each looked for in the one partition it can be in. */
const readStanding = (sql: SqlClient.SqlClient, keys: ReadonlyArray<ReturnType<typeof toGiven>>) => {
  const wanted = recordset(keys, keyColumns)
  const found = sql`d.org_slug = r.org_slug AND d.tracking_id = r.tracking_id AND d.template_id = r.template_id`
  const read = sql.literal(
    "d.org_slug, d.tracking_id, d.template_id, d.copy_id, d.user_id, d.mode, d.segment AS context, d.further",
  )
  return sql<ExistingRow>`
    SELECT ${read} FROM ${wanted}
    CROSS JOIN LATERAL (SELECT * FROM decision_keys k WHERE k.key = r.key ORDER BY k.key LIMIT 1) k
    CROSS JOIN LATERAL (
      SELECT * FROM decisions d WHERE ${found} AND d.decided_at = k.decided_at
      ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1) d
    UNION ALL
    SELECT ${read} FROM ${wanted}
    CROSS JOIN LATERAL (
      SELECT * FROM decisions_first d WHERE ${found}
      ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1) d
    UNION ALL
    SELECT ${read} FROM ${wanted}
    CROSS JOIN LATERAL (
      SELECT * FROM decisions d
      WHERE ${found} AND d.decided_at >= to_timestamp((r.made_at - ${toleranceMillis}) / 1000.0)
        AND d.decided_at <= to_timestamp((r.made_at + ${toleranceMillis}) / 1000.0)
      ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1) d`
}

/**
 * Writes decisions in one statement, with what they add to the tallies in the ledger, and answers which decision stands
 * for each key. Rows go in the order of their keys, so that two nodes that hold the same keys wait for each other instead
 * of deadlocking. Only a caller's own tracking id can have events before its decision, or have been decided before.
 */
export const insertDecisions: (
  sql: SqlClient.SqlClient,
  decisions: ReadonlyArray<Decision>,
) => Effect.Effect<Inserted, SqlError> = Effect.fnUntraced(function* (sql, decisions) {
  const rows = decisions.map(toRow).sort((a, b) =>
    a.tracking_id < b.tracking_id ? -1 : a.tracking_id > b.tracking_id ? 1 : a.template_id < b.template_id ? -1 : 1
  )
  const given = decisions.filter((decision) => decision.trackingIdGiven)
  const since = decisions.reduce((least, one) => Math.min(least, one.decidedAtMillis), Infinity)
  const { awaited, count } = yield* given.length === 0
    ? insertOwn(sql, rows)
    : insertGiven(sql, rows, given.some((decision) => madeAt(decision.trackingId) !== undefined))
  if (count === decisions.length || given.length === 0) {
    return { existing: decisions, awaited: awaited ?? [] }
  }
  // Another request inserted some of the keys first: its decisions stand.
  const existing = new Map(
    (yield* readStanding(sql, given.map(toGiven))).map((row) => [
      keyOf({ org: row.orgSlug, templateId: row.templateId, trackingId: row.trackingId }),
      fromExistingRow(row),
    ]),
  )
  // A key outlives its decision a little: it is the new decision's now.
  const lost = given.filter((decision) => !existing.has(keyOf(decision)))
  const stale = lost.length === 0 ? [] : yield* sql`
    DELETE FROM decision_keys k WHERE k.key = ANY(${lost.map(retryKey)}::uuid[])
      AND k.decided_at < ${new Date(since - staleDays * dayMillis)} RETURNING k.key`
  const again = stale.length === 0 ? undefined : yield* insertDecisions(sql, lost)
  again?.existing.forEach((one, place) => existing.set(keyOf(lost[place]!), one))
  return {
    existing: decisions.map((decision) => existing.get(keyOf(decision)) ?? decision),
    awaited: [...(awaited ?? []), ...(again?.awaited ?? [])],
  }
})

/**
 * Makes decisions durable, in groups that share one commit. The key of a decision is organization, template and tracking
 * id: a second one under the same key is a retry and changes nothing.
 */
export class DecisionLog extends Context.Service<DecisionLog, {
  /**
   * Answers once the decision is committed, or from memory while the store is down. Fails with `BufferFull` when too
   * many writes wait for the database, or it has been down for too long.
   */
  readonly record: (decision: Decision) => Effect.Effect<StoredDecision, GroupCommit.BufferFull>
  /**
   * Records several decisions. Returns the results in order, once all are recorded. Fails with `BufferFull` when too
   * many writes wait for the database, or it has been down for too long.
   */
  readonly recordAll: (
    decisions: ReadonlyArray<Decision>,
  ) => Effect.Effect<ReadonlyArray<StoredDecision>, GroupCommit.BufferFull>
  /**
   * The decision recorded under a key, if there is one: in the store, or on its way there. Fails with `SqlError` when
   * the database does not respond.
   */
  readonly find: (
    org: OrgSlug,
    template: TemplateId,
    trackingId: string,
  ) => Effect.Effect<ExistingDecision | undefined, SqlError>
  /** Tracking ids that were just decided and have events waiting; offered at least once on the node that decided. */
  readonly awaited: Queue.Dequeue<Awaited>
  /**
   * Decisions in memory that are not known to be committed, whether the store is refusing them, and whether there is room for
   * more of them meanwhile.
   */
  readonly state: () => { readonly pending: number; readonly down: boolean; readonly hasRoom: boolean }
}>()("parlance/journal/decisions/DecisionLog") {
  static readonly layer = Layer.effect(
    DecisionLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings
      const pending = new ShortLivedMap<string, GroupCommit.Ticket<Keyed, ExistingDecision>>()
      // The consumer also polls for waiting events, so a dropped id only delays them.
      const awaited = yield* Queue.dropping<Awaited>(10_000)
      yield* Metric.update(stored, 0)
      yield* Metric.update(commits, 0)

      const commit = yield* GroupCommit.make<Keyed, ExistingDecision>({
        write: (entries) =>
          insertDecisions(sql, entries.map(({ decision }) => decision)).pipe(
            Effect.tap(countStored(entries.length)),
            Effect.map((inserted) => {
              for (const one of inserted.awaited) Queue.offerUnsafe(awaited, one)
              return inserted.existing
            }),
          ),
        onSettled: ({ key }) => key !== undefined && pending.delete(key),
        maxGroup: 1000,
        beside: { most: 1, from: 32 },
        maxWaiting: settings.storeQueueSize,
        bufferSize: settings.decisionBufferSize,
        bufferAge: settings.decisionBufferAge,
        timeout: settings.storeTimeout,
        drainTimeout: settings.shutdownTimeout,
      })

      const recordedAs = (
        ticket: GroupCommit.Ticket<Keyed, ExistingDecision>,
        committed: GroupCommit.Committed<ExistingDecision>,
      ): StoredDecision => {
        if (committed.durable) return { existing: committed.value, durable: true }
        const { entry } = ticket
        // The caller learns an id of our own while its decision is in memory, and may send it again.
        if (entry.key === undefined && ticket.answer === undefined) {
          pending.set(entry.key = keyOf(entry.decision), ticket)
        }
        return { existing: entry.decision, durable: false }
      }

      /** The decision's ticket, or the ticket of a decision of the same key that is being recorded or was in this outage. */
      const ticketOf = (decision: Decision): GroupCommit.Ticket<Keyed, ExistingDecision> | undefined => {
        // No other request can have an id that the service has just made.
        if (!decision.trackingIdGiven) return commit.submit({ key: undefined, decision })
        const key = keyOf(decision)
        const earlier = pending.get(key)
        if (earlier !== undefined) return earlier
        const ticket = commit.submit({ key, decision })
        if (ticket !== undefined) pending.set(key, ticket)
        return ticket
      }

      const record = (decision: Decision): Effect.Effect<StoredDecision, GroupCommit.BufferFull> => {
        const ticket = ticketOf(decision)
        if (ticket === undefined) return new GroupCommit.BufferFull()
        return Effect.map(step("commit")(commit.settled(ticket)), (committed) => recordedAs(ticket, committed))
      }

      const recordAll = Effect.fnUntraced(function* (decisions: ReadonlyArray<Decision>) {
        const tickets: Array<GroupCommit.Ticket<Keyed, ExistingDecision>> = []
        for (const decision of decisions) {
          const ticket = ticketOf(decision)
          if (ticket === undefined) return yield* new GroupCommit.BufferFull()
          tickets.push(ticket)
        }
        const recorded: Array<StoredDecision> = []
        // Submitted together they are committed together: after the first the others hardly wait.
        for (const ticket of tickets) recorded.push(recordedAs(ticket, yield* step("commit")(commit.settled(ticket))))
        return recorded
      })

      const find = (org: OrgSlug, templateId: TemplateId, trackingId: string) => {
        const ticket = pending.get(keyOf({ org, templateId, trackingId }))
        if (ticket !== undefined) return Effect.succeed(ticket.entry.decision)
        return Effect.map(
          readStanding(sql, [toGiven({ org, templateId, trackingId })]),
          ([row]) => row && fromExistingRow(row),
        )
      }

      return DecisionLog.of({
        record,
        recordAll,
        find,
        awaited,
        state: () => ({
          pending: commit.size(),
          down: commit.isDown(),
          hasRoom: commit.hasRoom(),
        }),
      })
    }),
  )
}
