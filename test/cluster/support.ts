import { Context, Effect, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { ActorRequests } from "../../src/cluster/ActorRequests.ts"
import { Cluster } from "../../src/cluster/Cluster.ts"
import * as Nodes from "../../src/cluster/Nodes.ts"
import { Settings } from "../../src/settings/Settings.ts"
import { Store } from "../../src/store/Store.ts"
import { type Environment, layerMigrated, layerSettings } from "../support/stores.ts"

/** Ids of actors in different shards. */
export const actors = Array.from({ length: 40 }, (_, n) => `acme/offer ${n * 7919}`)

/** Starts two nodes on one database. Returns once they know each other and have all actors between them. */
export const twoNodes = Effect.fnUntraced(function* (database: Effect.Effect<Environment, never, Scope.Scope>) {
  const environment = yield* database
  const store = yield* Layer.build(Layer.merge(layerMigrated(Effect.succeed(environment)), layerSettings(environment)))
  const shared = Context.pick(SqlClient.SqlClient, Store, Settings)(store)
  const start = Effect.map(
    Layer.build(Layer.fresh(Nodes.layer).pipe(Layer.provide(Layer.succeedContext(shared)))),
    (context) => ({ cluster: Context.get(context, Cluster), requests: Context.get(context, ActorRequests) }),
  )
  const nodes = [yield* start, yield* start] as const
  const isWhole = Effect.map(
    Effect.forEach(nodes, ({ cluster }) => cluster.membership),
    (views) =>
      views.every(({ runners }) => runners === 2) && views.reduce((sum, { shards }) => sum + shards, 0) === 300,
  )
  yield* Effect.repeat(Effect.delay(isWhole, "100 millis"), { until: (whole) => whole })
  return { nodes, sql: Context.get(store, SqlClient.SqlClient) }
})
