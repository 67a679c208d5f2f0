import { Context, Effect, Layer, Metric, Queue } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { CopyId, OrgSlug, TemplateId } from "../domain/Ids.ts"
import { Settings } from "../Settings.ts"
import * as GroupCommit from "../store/GroupCommit.ts"
import type { Decision } from "./Decision.ts"

/** What became of a decision that was to be recorded. */
export interface Recorded {
  /** The variant that stands for this tracking id: an earlier one if the request is a retry. */
  readonly copyId: CopyId
  /** False while the store is down: the decision is in this process's memory only. */
  readonly durable: boolean
}

/** Decisions committed to the store by this process. */
const stored = Metric.counter("parlance_decisions_stored_total", { incremental: true })
/** Commits that stored them: decisions per commit is the size of a group. */
const commits = Metric.counter("parlance_decision_commits_total", { incremental: true })

const keyOf = (decision: Pick<Decision, "org" | "templateId" | "trackingId">): string =>
  `${decision.org}\0${decision.trackingId}\0${decision.templateId}`

/** A decision with its key, which is asked for more than once. */
interface Keyed {
  readonly key: string
  readonly decision: Decision
}

const toRow = (decision: Decision) => ({
  org_slug: decision.org,
  tracking_id: decision.trackingId,
  template_id: decision.templateId,
  copy_id: decision.copyId,
  user_id: decision.userId,
  mode: decision.mode,
  propensity: decision.propensity,
  weights: decision.weights,
  segment: decision.segment,
  policy: decision.policy,
  lookback_days: decision.window?.lookbackDays,
  offset_days: decision.window?.offsetDays,
  decided_at: decision.decidedAtMillis,
  awaited: decision.trackingIdGiven,
})

/** A tracking id that events have come in for before its decision. */
export interface Awaited {
  readonly org: OrgSlug
  readonly trackingId: string
}

/** What became of a group of decisions. */
interface Inserted {
  /** The variant that stands for each of them, in their order. */
  readonly copyIds: ReadonlyArray<CopyId>
  /** Those whose events are there already. */
  readonly awaited: ReadonlyArray<Awaited>
}

/**
 * Writes decisions in one statement, with what they add to the tallies in the ledger, and answers which variant stands
 * for each key. Rows go in the order of their keys, so that two nodes that hold the same keys wait for each other instead
 * of deadlocking. Only a caller's own tracking id can have events before its decision.
 */
export const insertDecisions = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  decisions: ReadonlyArray<Decision>,
): Effect.fn.Return<Inserted, SqlError> {
  const rows = decisions.map(toRow).sort((a, b) =>
    a.tracking_id < b.tracking_id ? -1 : a.tracking_id > b.tracking_id ? 1 : a.template_id < b.template_id ? -1 : 1
  )
  const json = JSON.stringify(rows)
  const [result] = yield* sql<{ count: number; awaited: ReadonlyArray<Awaited> | null }>`
    WITH given AS MATERIALIZED (
      SELECT r.* FROM json_to_recordset(${json}::text::json) AS r(org_slug text, tracking_id text, template_id text,
        copy_id text, user_id text, mode text, propensity float8, weights text, segment text, policy text,
        lookback_days float8, offset_days float8, decided_at float8, awaited boolean)
    ), inserted AS (
      INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, user_id, mode, propensity, weights, segment,
        policy, lookback_days, offset_days, decided_at)
      SELECT g.org_slug, g.tracking_id, g.template_id, g.copy_id, g.user_id, g.mode, g.propensity, g.weights::json,
        g.segment, g.policy, g.lookback_days, g.offset_days, to_timestamp(g.decided_at / 1000.0)
      FROM given g
      ON CONFLICT DO NOTHING
      RETURNING org_slug, template_id, copy_id, segment, mode, decided_at
    ), counted AS (
      INSERT INTO tally_ledger (org_slug, template_id, copy_id, segment, hour, track, counts)
      SELECT i.org_slug, i.template_id, i.copy_id, i.segment, date_bin('1 hour', i.decided_at, 'epoch'),
        CASE i.mode WHEN 'forced' THEN 'forced' ELSE 'learned' END, json_build_object('decisions', count(*))
      FROM inserted i GROUP BY 1, 2, 3, 4, 5, 6
    )
    SELECT (SELECT count(*)::int FROM inserted) AS count,
      (SELECT json_agg(json_build_object('org', g.org_slug, 'trackingId', g.tracking_id)) FROM given g
        CROSS JOIN LATERAL (SELECT true FROM events e
          WHERE g.awaited AND e.org_slug = g.org_slug AND e.tracking_id = g.tracking_id AND e.status = 'waiting'
          ORDER BY e.org_slug, e.tracking_id, e.occurred_at LIMIT 1) e) AS awaited`
  const { count, awaited } = result!
  if (count === decisions.length) {
    return { copyIds: decisions.map((decision) => decision.copyId), awaited: awaited ?? [] }
  }
  // Somebody was first with some of the keys: theirs stands.
  const standing = yield* sql<{ orgSlug: string; trackingId: string; templateId: string; copyId: CopyId }>`
    SELECT d.org_slug, d.tracking_id, d.template_id, d.copy_id
    FROM json_to_recordset(${json}::text::json) AS r(org_slug text, tracking_id text, template_id text)
    CROSS JOIN LATERAL (
      SELECT * FROM decisions d
      WHERE d.org_slug = r.org_slug AND d.tracking_id = r.tracking_id AND d.template_id = r.template_id
      ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1) d`
  const byKey = new Map<string, CopyId>(
    standing.map((row) => [`${row.orgSlug}\0${row.trackingId}\0${row.templateId}`, row.copyId]),
  )
  return {
    copyIds: decisions.map((decision) => byKey.get(keyOf(decision)) ?? decision.copyId),
    awaited: awaited ?? [],
  }
})

/**
 * Makes decisions durable, in groups that share one commit. The key of a decision is organization, template and tracking
 * id: a second one under the same key is a retry and changes nothing.
 */
export class DecisionLog extends Context.Service<DecisionLog, {
  /** Answers once the decision is committed, or from memory while the store is down; fails when that memory is full. */
  readonly record: (decision: Decision) => Effect.Effect<Recorded, GroupCommit.BufferFull>
  /** The same for several decisions, answered in their order once all are. */
  readonly recordAll: (
    decisions: ReadonlyArray<Decision>,
  ) => Effect.Effect<ReadonlyArray<Recorded>, GroupCommit.BufferFull>
  /** The variant recorded under a key, if there is one: in the store, or on its way there. */
  readonly find: (
    org: OrgSlug,
    template: TemplateId,
    trackingId: string,
  ) => Effect.Effect<CopyId | undefined, SqlError>
  /** Tracking ids that were just decided and have events waiting; offered at least once on the node that decided. */
  readonly awaited: Queue.Dequeue<Awaited>
  /**
   * Decisions in memory that are not known to be committed, whether the store is refusing them, and whether there is room for
   * more of them meanwhile.
   */
  readonly state: () => { readonly pending: number; readonly down: boolean; readonly hasRoom: boolean }
}>()("parlance/decisions/DecisionLog") {
  static readonly layer = Layer.effect(
    DecisionLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings
      const pending = new Map<string, GroupCommit.Ticket<Keyed, CopyId>>()
      // Whoever consumes it looks for waiting events from time to time as well: dropping some only makes them late.
      const awaited = yield* Queue.dropping<Awaited>(10_000)

      const commit = yield* GroupCommit.make<Keyed, CopyId>({
        write: (entries) =>
          insertDecisions(sql, entries.map(({ decision }) => decision)).pipe(
            Effect.tap(Effect.andThen(Metric.update(stored, entries.length), Metric.update(commits, 1))),
            Effect.map((inserted) => {
              for (const one of inserted.awaited) Queue.offerUnsafe(awaited, one)
              return inserted.copyIds
            }),
          ),
        onSettled: ({ key }) => pending.delete(key),
        maxGroup: 1000,
        maxWaiting: settings.storeQueueSize,
        bufferSize: settings.decisionBufferSize,
        bufferAge: settings.decisionBufferAge,
        timeout: settings.storeTimeout,
        drainTimeout: settings.shutdownTimeout,
      })

      const recordedAs = (
        ticket: GroupCommit.Ticket<Keyed, CopyId>,
        committed: GroupCommit.Committed<CopyId>,
      ): Recorded =>
        committed.durable
          ? { copyId: committed.value, durable: true }
          : { copyId: ticket.entry.decision.copyId, durable: false }

      /** The decision's ticket, or that of the same decision already on its way. */
      const ticketOf = (decision: Decision): GroupCommit.Ticket<Keyed, CopyId> | undefined => {
        const key = keyOf(decision)
        const earlier = pending.get(key)
        if (earlier !== undefined) return earlier
        const ticket = commit.submit({ key, decision })
        if (ticket !== undefined) pending.set(key, ticket)
        return ticket
      }

      const record = (decision: Decision): Effect.Effect<Recorded, GroupCommit.BufferFull> => {
        const ticket = ticketOf(decision)
        if (ticket === undefined) return new GroupCommit.BufferFull()
        return Effect.map(commit.settled(ticket), (committed) => recordedAs(ticket, committed))
      }

      const recordAll = Effect.fnUntraced(function* (decisions: ReadonlyArray<Decision>) {
        const tickets: Array<GroupCommit.Ticket<Keyed, CopyId>> = []
        for (const decision of decisions) {
          const ticket = ticketOf(decision)
          if (ticket === undefined) return yield* new GroupCommit.BufferFull()
          tickets.push(ticket)
        }
        const recorded: Array<Recorded> = []
        // Submitted together they are committed together: after the first the others hardly wait.
        for (const ticket of tickets) recorded.push(recordedAs(ticket, yield* commit.settled(ticket)))
        return recorded
      })

      const find = (org: OrgSlug, templateId: TemplateId, trackingId: string) => {
        const ticket = pending.get(keyOf({ org, templateId, trackingId }))
        if (ticket !== undefined) return Effect.succeed(ticket.entry.decision.copyId)
        return Effect.map(
          sql<{ copyId: CopyId }>`
            SELECT d.copy_id FROM decisions d
            WHERE d.org_slug = ${org} AND d.tracking_id = ${trackingId} AND d.template_id = ${templateId}`,
          (rows) => rows[0]?.copyId,
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
          hasRoom: commit.size() < settings.decisionBufferSize,
        }),
      })
    }),
  )
}
