import { Effect, Layer } from "effect"
import { MessageStorage, RunnerHealth, Runners, RunnerStorage, Sharding, ShardingConfig } from "effect/cluster"
import { ActorRequests } from "./ActorRequests.ts"
import { layerCluster, shardCount } from "./Shards.ts"

/**
 * Keeps the process registered as its own runner until it ends. No other node needs to know that it ends, and
 * effect/cluster would warn that no runner is left while actors are ending.
 */
const layerRunner = Layer.effect(
  RunnerStorage.RunnerStorage,
  Effect.map(
    RunnerStorage.makeMemory,
    (memory) => RunnerStorage.RunnerStorage.of({ ...memory, unregister: () => Effect.void }),
  ),
)

/**
 * Runs all actors in this process. Messages to actors are not persisted, because the work of an actor is in the
 * database (see the ledger) and a message only wakes it.
 */
export const layer = ActorRequests.layerAlone.pipe(
  Layer.merge(layerCluster(undefined, { runners: 1, at: undefined })),
  Layer.provideMerge(Sharding.layer),
  Layer.provideMerge(Runners.layerNoop),
  Layer.provideMerge(MessageStorage.layerNoop),
  Layer.provide([layerRunner, RunnerHealth.layerNoop]),
  Layer.provide(
    // Messages within one process need no serialization.
    ShardingConfig.layer({
      shardsPerGroup: shardCount,
      simulateRemoteSerialization: false,
      entityTerminationTimeout: "5 seconds",
    }),
  ),
)
