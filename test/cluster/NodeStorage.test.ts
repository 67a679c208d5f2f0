import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Runner, RunnerAddress, RunnerStorage, ShardId } from "effect/cluster"
import { SqlClient } from "effect/sql"
import * as NodeStorage from "../../src/cluster/NodeStorage.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

const shards = (...ids: ReadonlyArray<number>) => ids.map((id) => ShardId.make("default", id))
const idsOf = (taken: ReadonlyArray<ShardId.ShardId>) => taken.map(({ id }) => id).sort((a, b) => a - b)

/** A process at 10.0.0.1 and so on, as the cluster layer uses its storage; not yet registered. */
const startNode = Effect.fnUntraced(function* (host: number) {
  const seen = { runners: 0, at: undefined as number | undefined }
  const context = yield* Layer.build(Layer.fresh(NodeStorage.layer(6, seen)))
  const storage = yield* Effect.provideContext(RunnerStorage.RunnerStorage, context)
  const address = RunnerAddress.make(`10.0.0.${host}`, 8081)
  return {
    address,
    seen,
    storage,
    register: storage.register(Runner.make({ address, groups: ["default"], weight: 1 }), true),
    acquire: (...ids: ReadonlyArray<number>) => Effect.map(storage.acquire(address, shards(...ids)), idsOf),
  }
})

describe("the nodes of a cluster", () => {
  const environment = temporaryEnvironment
  it.live("distribute shards, and take over shards of dead, stopped or restarted nodes", () =>
    Effect.scoped(Effect.gen(function* () {
      const store = yield* Layer.build(layerMigrated(environment))
      yield* Effect.provideContext(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const first = yield* startNode(1)
          const second = yield* startNode(2)
          // A node without a lease gets no shards.
          assert.deepStrictEqual(yield* first.acquire(1), [])
          const machines = [yield* first.register, yield* second.register]
          assert.notStrictEqual(machines[0], machines[1])
          assert.strictEqual((yield* first.storage.getRunners).length, 2)
          assert.strictEqual(first.seen.runners, 2)

          assert.deepStrictEqual(yield* first.acquire(3, 1, 2), [1, 2, 3])
          assert.deepStrictEqual(yield* second.acquire(3, 4), [4])
          assert.deepStrictEqual(yield* first.acquire(3), [3])

          // Both nodes claim the free shards at the same time.
          const [left, right] = yield* Effect.all([first.acquire(7, 8, 9), second.acquire(9, 8, 7)], {
            concurrency: "unbounded",
          })
          assert.deepStrictEqual([...left, ...right].sort(), [7, 8, 9])

          yield* Effect.forEach(shards(1, 2), (id) => first.storage.release(first.address, id), {
            concurrency: "unbounded",
            discard: true,
          })
          assert.deepStrictEqual(yield* second.acquire(1, 2, 3), [1, 2])

          // After a pause longer than its lease, a node's shards are free until it renews.
          const silent = sql`
            UPDATE cluster_nodes n SET seen_at = now() - interval '7 seconds' WHERE n.address = '10.0.0.1:8081'`
          const overtaken = Effect.andThen(silent, second.acquire(3))
          assert.include(yield* Effect.repeat(overtaken, { until: (taken) => taken.length > 0, times: 20 }), 3)
          assert.deepStrictEqual(yield* Effect.andThen(first.register, first.acquire(3)), [])

          // Started anew under its address: the process before has lost everything and cannot get it back.
          const again = yield* startNode(2)
          yield* again.register
          assert.deepStrictEqual(yield* again.acquire(1, 2, 3, 4), [1, 2, 3, 4])
          assert.deepStrictEqual(yield* second.acquire(1, 5), [])
          assert.strictEqual((yield* first.storage.getRunners).length, 2)

          yield* again.storage.unregister(again.address)
          assert.deepStrictEqual(yield* first.acquire(1, 2, 3, 4), [1, 2, 3, 4])
          assert.strictEqual((yield* first.storage.getRunners).length, 1)
          yield* first.storage.releaseAll(first.address)
          assert.strictEqual((yield* sql`SELECT FROM cluster_shards s WHERE s.shard_id = 'default:1'`).length, 0)
        }),
        store,
      )
    })))
})
