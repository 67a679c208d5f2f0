import { Effect, Layer } from "effect"
import { MessageStorage, RunnerHealth, Runners, RunnerStorage, Sharding, ShardingConfig } from "effect/cluster"
import { ActorRequests } from "./ActorRequests.ts"
import { layerCluster, shardCount } from "./Shards.ts"

/**
 * The process stays its own runner until it is gone: there is nobody to be told that it ends, and effect/cluster, looking
 * while the actors end, would warn that no runner is left.
 */
const layerRunner = Layer.effect(
  RunnerStorage.RunnerStorage,
  Effect.map(
    RunnerStorage.makeMemory,
    (memory) => RunnerStorage.RunnerStorage.of({ ...memory, unregister: () => Effect.void }),
  ),
)

/**
 * Actors of this process alone. No message is persisted: what an actor has to do is in the store (see the ledger), a
 * message only wakes it.
 */
export const layer = ActorRequests.layerAlone.pipe(
  Layer.merge(layerCluster(undefined, { runners: 1, at: undefined })),
  Layer.provideMerge(Sharding.layer),
  Layer.provideMerge(Runners.layerNoop),
  Layer.provideMerge(MessageStorage.layerNoop),
  Layer.provide([layerRunner, RunnerHealth.layerNoop]),
  Layer.provide(
    // Within one process a message need not be written out to be read again.
    ShardingConfig.layer({
      shardsPerGroup: shardCount,
      simulateRemoteSerialization: false,
      entityTerminationTimeout: "5 seconds",
    }),
  ),
)
