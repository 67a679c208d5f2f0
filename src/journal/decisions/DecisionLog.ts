import { Context, Effect, Exit, Layer, Metric, Queue } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { hash } from "node:crypto"
import { dayMillis } from "../../bandit/Window.ts"
import type { ContextKey } from "../../bandit/Contexts.ts"
import type { OrgSlug, TemplateId } from "../../domain/Ids.ts"
import { sandboxSuffix } from "../../domain/Sandbox.ts"
import { ShortLivedMap } from "../../domain/ShortLived.ts"
import { leastRetentionDays } from "../../domain/Organization.ts"
import { Settings } from "../../settings/Settings.ts"
import * as GroupCommit from "../../store/GroupCommit.ts"
import { recordset } from "../../store/Recordset.ts"
import { step } from "../../telemetry/Tracing.ts"
import { type Decision, type ExistingDecision } from "./Decision.ts"
import { failedText, failureCounts } from "./FailedRenderings.ts"
import { countedSql, trackSql } from "./Track.ts"
import { madeAt, toleranceMillis } from "./TrackingId.ts"

/** Result of recording a decision. */
export interface StoredDecision {
  /** The decision for this tracking id: the given decision, or an earlier one if the request is a retry. */
  readonly existing: ExistingDecision
  /** False while the database is down: the decision is only in this process's memory. */
  readonly durable: boolean
}

/** Decisions that this process committed. */
const stored = Metric.counter("parlance_decisions_stored_total", { incremental: true })
/** Commits that contained decisions. Decisions per commit is the group size. */
const commits = Metric.counter("parlance_decision_commits_total", { incremental: true })

/** Counts decisions whose transaction was committed. Call this once for each commit. */
export const countStored = (decisions: number): Effect.Effect<void> =>
  decisions === 0 ? Effect.void : Effect.andThen(Metric.update(stored, decisions), Metric.update(commits, 1))

const keyOf = (decision: Pick<Decision, "org" | "templateId" | "trackingId">): string =>
  `${decision.org}\0${decision.trackingId}\0${decision.templateId}`

/** A decision. It has a key if another request may already refer to it. */
interface Keyed {
  key: string | undefined
  readonly decision: Decision
}

/** A decision is matched at once to waiting events that arrived within this time before it. Unit: days. */
const awaitedDays = 8

type Key = Pick<Decision, "org" | "templateId" | "trackingId">

/** The key in `decision_keys` of a caller's tracking id: a UUID without hyphens, derived from a digest. */
const retryKey = ({ org, templateId, trackingId }: Key): string =>
  hash("sha256", JSON.stringify([org, trackingId, templateId]), "hex").slice(0, 32)

/**
 * A key to search for. `made_at` is the time in the tracking id if the id has the form of a generated id: a caller may
 * return an id that this service generated.
 */
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

/** A tracking id whose events arrived before its decision. */
interface Awaited {
  readonly org: OrgSlug
  readonly trackingId: string
}

/** The result of storing a group of decisions. */
interface Inserted {
  /** The decision for each key, in order: the given decision or an earlier one. */
  readonly existing: ReadonlyArray<ExistingDecision>
  /** Tracking ids whose events have already arrived. */
  readonly awaited: ReadonlyArray<Awaited>
}

/** Name in `upkeep_runs` while the first partition contains decisions without keys, from a release that had no keys. */
const unkeyed = "decisions without keys"

/**
 * A key whose decision was deleted is at least this old, because no organization keeps decisions for a shorter time.
 * Unit: days.
 */
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

/** SQL fragments: decisions as parameters, and the ledger rows of the inserted decisions. */
const fragments = (sql: SqlClient.SqlClient, rows: ReadonlyArray<ReturnType<typeof toRow>>) => ({
  given: sql`given AS MATERIALIZED (
      SELECT r.* FROM ${recordset(rows, decisionColumns)}
    )`,
  counted: sql`counted AS (
      INSERT INTO tally_ledger (org_slug, template_id, copy_id, segment, hour, track, counts)
      SELECT i.org_slug, i.template_id, i.copy_id, i.segment, date_bin('1 hour', i.decided_at, 'epoch'),
        ${sql.literal(trackSql("i"))}, json_build_object('decisions', count(*))
      FROM inserted i WHERE ${
    sql.literal(countedSql("i"))
  } AND right(i.org_slug, ${sandboxSuffix.length}) <> ${sandboxSuffix}
      GROUP BY 1, 2, 3, 4, 5, 6
      ${rows.some(({ failed }) => failed !== null) ? failureCounts(sql, sandboxSuffix) : sql.literal("")}
    )`,
})

interface Counted {
  readonly count: number
  readonly awaited: ReadonlyArray<Awaited> | null
}

/**
 * Inserts decisions with ids that this service generated. An id occurs again only if a group is written again, and the
 * index of its partition detects that.
 */
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
 * Inserts decisions with ids of callers. Such an id may have been decided before, at any time, and no index covers all
 * partitions. Therefore each id is claimed in `decision_keys`. Exceptions: ids of decisions in the first partition,
 * which is older than `decision_keys`, and ids that this service generated.
 */
const insertGiven = (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<ReturnType<typeof toRow>>,
  mayBeOwn: boolean,
) => {
  const { counted, given } = fragments(sql, rows)
  // Planning this subquery takes long, because it concerns all partitions. So it is left out if no id has the form of a
  // generated id, which is usual.
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
        RETURNING org_slug, key
      ), inserted AS (
        INSERT INTO decisions (${sql.literal(columns)}) SELECT ${sql.literal(values)} FROM fresh g
        WHERE g.key IS NULL OR (g.org_slug, g.key) IN (SELECT c.org_slug, c.key FROM claimed c)
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

/** Reads the earlier decisions of given keys, each from the only partition that can contain it. */
const readExisting = (sql: SqlClient.SqlClient, keys: ReadonlyArray<ReturnType<typeof toGiven>>) => {
  const wanted = recordset(keys, keyColumns)
  const found = sql`d.org_slug = r.org_slug AND d.tracking_id = r.tracking_id AND d.template_id = r.template_id`
  const read = sql.literal(
    "d.org_slug, d.tracking_id, d.template_id, d.copy_id, d.user_id, d.mode, d.segment AS context, d.further",
  )
  return sql<ExistingRow>`
    SELECT ${read} FROM ${wanted}
    CROSS JOIN LATERAL (SELECT * FROM decision_keys k WHERE k.key = r.key AND k.org_slug = r.org_slug ORDER BY k.key LIMIT 1) k
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
 * Inserts decisions and their ledger rows in one statement. Returns the decision of each key: the given one, or an
 * earlier one. Rows are sorted by key, so that two nodes that insert equal keys do not deadlock. Only a tracking id
 * that the caller supplied can have earlier events or an earlier decision.
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
  // Another request inserted some of the keys first, so its decisions apply.
  const existing = new Map(
    (yield* readExisting(sql, given.map(toGiven))).map((row) => [
      keyOf({ org: row.orgSlug, templateId: row.templateId, trackingId: row.trackingId }),
      fromExistingRow(row),
    ]),
  )
  // A key is deleted later than its decision. The new decision may claim such a key.
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
 * Stores decisions in groups that share one commit. The key of a decision is organization, template and tracking id: a
 * second decision with a key is a retry and changes nothing.
 */
export class DecisionLog extends Context.Service<DecisionLog, {
  /**
   * Records a decision. Returns after the commit, or at once while the database is down. Fails with `BufferFull` if too
   * many writes are waiting for the database, or if it has been down for too long.
   */
  readonly record: (decision: Decision) => Effect.Effect<StoredDecision, GroupCommit.BufferFull>
  /**
   * Records several decisions. Returns the results in order after all are recorded. Fails with `BufferFull` if too many
   * writes are waiting for the database, or if it has been down for too long.
   */
  readonly recordAll: (
    decisions: ReadonlyArray<Decision>,
  ) => Effect.Effect<ReadonlyArray<StoredDecision>, GroupCommit.BufferFull>
  /**
   * Returns the decision recorded with a key, if any: from the store, or from memory if it is being written. Fails with
   * `SqlError` if the database does not respond.
   */
  readonly find: (
    org: OrgSlug,
    template: TemplateId,
    trackingId: string,
  ) => Effect.Effect<ExistingDecision | undefined, SqlError>
  /**
   * Tracking ids whose events arrived before their new decision. Offered once or more often on the node that decided,
   * unless the queue is full.
   */
  readonly awaited: Queue.Dequeue<Awaited>
  /**
   * The number of decisions in memory that may not be committed, whether the database is failing, and whether there is
   * memory for more decisions until it works again.
   */
  readonly state: () => { readonly pending: number; readonly down: boolean; readonly hasRoom: boolean }
}>()("parlance/journal/decisions/DecisionLog") {
  static readonly layer = Layer.effect(
    DecisionLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings
      const pending = new ShortLivedMap<string, GroupCommit.PendingWrite<Keyed, ExistingDecision>>()
      // The consumer also searches for waiting events at an interval, so a dropped id only delays them.
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
        write: GroupCommit.PendingWrite<Keyed, ExistingDecision>,
        committed: GroupCommit.Committed<ExistingDecision>,
      ): StoredDecision => {
        if (committed.durable) return { existing: committed.value, durable: true }
        const { entry } = write
        // The caller receives the generated id while its decision is only in memory, and may send it in another
        // request.
        if (entry.key === undefined && write.answer === undefined) {
          pending.set(entry.key = keyOf(entry.decision), write)
        }
        return { existing: entry.decision, durable: false }
      }

      /** Submits the decision, or returns the pending write of an earlier decision with its key. */
      const writeOf = (decision: Decision): GroupCommit.PendingWrite<Keyed, ExistingDecision> | undefined => {
        // No other request can refer to an id that was just generated.
        if (!decision.trackingIdGiven) return commit.submit({ key: undefined, decision })
        const key = keyOf(decision)
        const earlier = pending.get(key)
        if (earlier !== undefined) return earlier
        const write = commit.submit({ key, decision })
        if (write !== undefined) pending.set(key, write)
        return write
      }

      const record = (decision: Decision): Effect.Effect<StoredDecision, GroupCommit.BufferFull> => {
        const write = writeOf(decision)
        if (write === undefined) return new GroupCommit.BufferFull()
        return Effect.map(step("commit")(commit.settled(write)), (committed) => recordedAs(write, committed))
      }

      const recordAll = Effect.fnUntraced(function* (decisions: ReadonlyArray<Decision>) {
        const writes: Array<GroupCommit.PendingWrite<Keyed, ExistingDecision>> = []
        for (const decision of decisions) {
          const write = writeOf(decision)
          if (write === undefined) return yield* new GroupCommit.BufferFull()
          writes.push(write)
        }
        const recorded: Array<StoredDecision> = []
        // All were submitted together and are committed together, so only the first has to be awaited.
        for (const write of writes) {
          const { answer } = write
          const committed = answer !== undefined && Exit.isSuccess(answer)
            ? answer.value
            : yield* step("commit")(commit.settled(write))
          recorded.push(recordedAs(write, committed))
        }
        return recorded
      })

      const find = (org: OrgSlug, templateId: TemplateId, trackingId: string) => {
        const write = pending.get(keyOf({ org, templateId, trackingId }))
        if (write !== undefined) return Effect.succeed(write.entry.decision)
        return Effect.map(
          readExisting(sql, [toGiven({ org, templateId, trackingId })]),
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
