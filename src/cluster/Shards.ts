import { Clock, Effect, Layer } from "effect"
import { EntityId, ShardId, Sharding } from "effect/cluster"
import { Cluster } from "./Cluster.ts"

/** Number of shards. Actors move between nodes by shard. All nodes of an installation must use one number. */
export const shardCount = 300

/** The group of every shard. */
const group = "default"

const all = Array.from({ length: shardCount }, (_, i) => ShardId.make(group, i + 1))

/** The last known state of the other nodes. */
export interface Seen {
  runners: number
  /** Time of the last read. Unit: Unix milliseconds. Undefined outside of a cluster. */
  at: number | undefined
}

/** Provides information about the shards of this process. The code that reads the list of nodes updates `seen`. */
export const layerCluster = (address: string | undefined, seen: Seen) =>
  Layer.effect(
    Cluster,
    Effect.gen(function* () {
      const sharding = yield* Sharding.Sharding
      const clock = yield* Clock.Clock
      return Cluster.of({
        membership: Effect.map(sharding.activeEntityCount, (actors) => ({
          address,
          runners: seen.runners,
          seenSecondsAgo: seen.at === undefined ? 0 : Math.max(0, (clock.currentTimeMillisUnsafe() - seen.at) / 1000),
          shards: all.filter(sharding.hasShardId).length,
          actors,
        })),
        isHere: (actorId) => sharding.hasShardId(sharding.getShardId(EntityId.make(actorId), group)),
      })
    }),
  )
