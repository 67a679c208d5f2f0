import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { findKnown } from "../../src/journal/events/KnownEvents.ts"
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
})
