import { Config, Duration, Effect, Layer, Option } from "effect"
import { MessageStorage, RunnerAddress, RunnerHealth, Runners, Sharding, ShardingConfig } from "effect/cluster"
import { randomBytes } from "node:crypto"
import { hostname } from "node:os"
import { Settings } from "../settings/Settings.ts"
import { ActorRequests } from "./ActorRequests.ts"
import * as NodeStorage from "./NodeStorage.ts"
import { layerCluster, type Seen, shardCount } from "./Shards.ts"

/**
 * Duration of a node's lease, by the database's clock. If a node has not renewed it for this long, other nodes take its
 * shards. Unit: seconds.
 */
const leaseSeconds = 6

/** Interval at which nodes read the list of live nodes. */
const lookEvery = "1 second"

/** Returns a name for this process that is unique on the database: the name of its machine and a random part. */
const newName = () => `${hostname()}-${randomBytes(4).toString("hex")}`

/** Settings of earlier releases that have no effect any longer. */
const outdated = ["CLUSTER_ADDRESS", "CLUSTER_LISTEN", "CLUSTER_SECRET"]

const warnOfOutdated = Effect.forEach(
  outdated,
  (name) =>
    Effect.flatMap(
      Effect.option(Config.NonEmptyString(name)),
      ({ _tag }) =>
        _tag === "None"
          ? Effect.void
          : Effect.logWarning(`${name} has no effect: nodes find each other in the database. Remove the setting`),
    ),
  {
    discard: true,
  },
)

/**
 * Distributes actors over all nodes on one database. Nodes communicate only through the database: live nodes and owners
 * of shards (`NodeStorage`), requests to actors on other nodes (`ActorRequests`), and the work of actors, which each
 * node finds by itself (`Sweep`). Nodes need no connections to each other.
 */
export const layer = Layer.unwrap(Effect.gen(function* () {
  const { port } = yield* Settings
  yield* warnOfOutdated
  const name = newName()
  const seen: Seen = { runners: 1, at: undefined }
  return ActorRequests.layer.pipe(
    Layer.provideMerge(layerCluster(name, seen)),
    Layer.provideMerge(Sharding.layer),
    Layer.provideMerge(Runners.layerNoop),
    Layer.provideMerge(MessageStorage.layerNoop),
    Layer.provide([NodeStorage.layer(leaseSeconds, seen), RunnerHealth.layerNoop]),
    Layer.provide(
      ShardingConfig.layer({
        // A name instead of an address, because nothing connects to it. The port is only for people.
        runnerAddress: Option.some(RunnerAddress.make(name, port)),
        shardsPerGroup: shardCount,
        shardLockExpiration: Duration.seconds(leaseSeconds),
        refreshAssignmentsInterval: lookEvery,
        // Also the interval of attempts to acquire shards that were not free before, for example after a restart of the
        // database.
        entityMessagePollInterval: lookEvery,
        simulateRemoteSerialization: false,
        entityTerminationTimeout: "5 seconds",
      }),
    ),
  )
}))
