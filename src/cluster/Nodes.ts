import { Config, Duration, Effect, Layer, Option } from "effect"
import { MessageStorage, RunnerAddress, RunnerHealth, Runners, Sharding, ShardingConfig } from "effect/cluster"
import { randomBytes } from "node:crypto"
import { hostname } from "node:os"
import { Settings } from "../Settings.ts"
import { ActorRequests } from "./ActorRequests.ts"
import * as NodeStorage from "./NodeStorage.ts"
import { layerCluster, type Seen, shardCount } from "./Shards.ts"

/**
 * A node that has not renewed its lease for this long is dead to the others, which take its shards. By the clock of the
 * database. Unit: seconds.
 */
const leaseSeconds = 6

/** How often nodes look who is there. */
const lookEvery = "1 second"

/** Names this process among all that ever ran on the database: its machine, and a part by chance. */
const newName = () => `${hostname()}-${randomBytes(4).toString("hex")}`

/** Settings of earlier releases. */
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
 * Actors spread over all nodes on one database. The nodes find each other there, and everything between them goes through
 * it: who lives and who has which shard (`NodeStorage`), requests to actors elsewhere (`ActorRequests`), and what actors have
 * to do, for which each node looks by itself (`Sweep`). Nodes have no way to each other.
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
        // A name and not an address: nothing connects to it. The port is for people.
        runnerAddress: Option.some(RunnerAddress.make(name, port)),
        shardsPerGroup: shardCount,
        shardLockExpiration: Duration.seconds(leaseSeconds),
        refreshAssignmentsInterval: lookEvery,
        // Also how often it is tried to take shards that could not be had at once, after a restart of the database say.
        entityMessagePollInterval: lookEvery,
        simulateRemoteSerialization: false,
        entityTerminationTimeout: "5 seconds",
      }),
    ),
  )
}))
