import { Layer } from "effect"
import { MessageStorage, RunnerHealth, Runners, RunnerStorage, Sharding, ShardingConfig } from "effect/cluster"

/**
 * Actors of this process alone. No message is persisted: what an actor has to do is in the store (see the ledger), a
 * message only wakes it.
 */
export const layer = Sharding.layer.pipe(
  Layer.provideMerge(Runners.layerNoop),
  Layer.provideMerge(MessageStorage.layerNoop),
  Layer.provide([RunnerStorage.layerMemory, RunnerHealth.layerNoop]),
  Layer.provide(
    // Within one process a message need not be written out to be read again.
    ShardingConfig.layer({ simulateRemoteSerialization: false, entityTerminationTimeout: "5 seconds" }),
  ),
)
