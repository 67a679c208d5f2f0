import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { findKnown } from "../../src/journal/events/KnownEvents.ts"
import { plannedFor } from "../../src/store/Recordset.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

/** A node of a plan, as `EXPLAIN (FORMAT JSON)` shows it. */
interface PlanNode {
  readonly "Index Name"?: string
  readonly "Node Type": string
  readonly Plans?: ReadonlyArray<PlanNode>
}

const nodesOf = (node: PlanNode): ReadonlyArray<PlanNode> => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

describe("the look-up of known events", () => {
  it.live("uses the primary key of every partition, even if it is empty when the plan is made", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const now = Date.now()
      const [text, parameters] = findKnown(sql, [
        { org: "bench", source: "events", key: "k", occurredAt: now, receivedAt: now },
      ]).compile()
      const [row] = yield* sql.unsafe<Record<string, ReadonlyArray<{ readonly Plan: PlanNode }>>>(
        `EXPLAIN (FORMAT JSON) ${text}`,
        parameters,
      )
      const [{ Plan: plan }] = Object.values(row!)[0] as [{ readonly Plan: PlanNode }]
      const indexes = yield* sql<{ name: string }>`
        SELECT c.relname AS name FROM pg_index i
        JOIN pg_class c ON c.oid = i.indexrelid
        JOIN pg_inherits h ON h.inhrelid = i.indrelid AND h.inhparent = 'events'::regclass
        WHERE i.indisprimary`
      const scans = nodesOf(plan).filter((node) => node["Node Type"].includes("Index"))
      assert.isAbove(scans.length, 0)
      assert.includeMembers(indexes.map(({ name }) => name), scans.map((node) => node["Index Name"]!))
      assert.notInclude(nodesOf(plan).map((node) => node["Node Type"]), "Seq Scan")
    }).pipe(Effect.provide(layerMigrated(temporaryEnvironment))))

  it.live("does not read a whole partition for each event with a plan from when it was small", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const now = Date.now()
      const events = Array.from(
        { length: 201 },
        (_, n) => ({ org: "bench", source: "events", key: `new ${n}`, occurredAt: now, receivedAt: now }),
      )
      const search = plannedFor(events.length, findKnown(sql, events))
      const insert = (from: number, to: number) =>
        sql`
        INSERT INTO events (org_slug, source, event_key, template_id, inbox_id, event, occurred_at, received_at, automated,
          status)
        SELECT 'bench', 'events', i::text, 't', i, 'click', now(), now(), false, 'attributed'
        FROM generate_series(${from}::int, ${to}::int) i`
      const readRows = Effect.map(
        sql<{ read: string }>`
        SELECT coalesce(sum(seq_tup_read), 0) AS read FROM pg_stat_xact_user_tables WHERE relname LIKE 'events%'`,
        ([row]) => Number(row!.read),
      )
      yield* insert(1, 50)
      yield* sql`ANALYZE events`
      // PostgreSQL keeps a plan from the sixth call on.
      for (let n = 0; n < 6; n++) yield* search
      yield* insert(51, 5000)
      const before = yield* readRows
      assert.deepStrictEqual(yield* search, [])
      assert.isBelow(yield* readRows, before + 5000)
    }).pipe(
      (test) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(test)),
      Effect.provide(layerMigrated(temporaryEnvironment)),
    ))
})
