import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { actors, twoNodes } from "../../cluster/support.ts"
import type { Contract } from "./contract.ts"

/** Nodes divide shards, and ask each other through the database. */
export const cluster: Contract = (environment) =>
  it.live("divides shards between two nodes, which answer each other's requests", () =>
    Effect.scoped(Effect.gen(function* () {
      const { nodes: [one, two], sql } = yield* twoNodes(environment)
      yield* two.requests.serve((_, request) => Effect.succeed(`two: ${request}`))
      const there = actors.filter((id) => two.cluster.isHere(id))
      assert.isAbove(there.length, 3)
      const answers = yield* Effect.forEach(there, (id) => one.requests.ask(id, id), { concurrency: "unbounded" })
      assert.deepStrictEqual(answers, there.map((id) => `two: ${id}`))
      const [row] = yield* sql<{ nodes: number; shards: number }>`
        SELECT count(DISTINCT s.session)::int AS nodes, count(*)::int AS shards FROM cluster_shards s`
      assert.deepStrictEqual(row, { nodes: 2, shards: 300 })
    })))
