import * as NodeSocket from "@effect/platform-node/NodeSocket"
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import { Duration, Effect, Layer, Option, type Redacted } from "effect"
import { MessageStorage, RunnerAddress, RunnerHealth, Runners, RunnerServer, ShardingConfig } from "effect/cluster"
import { RpcClient, RpcSerialization, RpcServer } from "effect/rpc"
import { Socket, SocketServer } from "effect/socket"
import { type HostAndPort, SettingsFaulty } from "../Settings.ts"
import * as NodeStorage from "./NodeStorage.ts"
import { seal } from "./SealedSocket.ts"
import { layerCluster, type Seen, shardCount } from "./Shards.ts"

/**
 * A node that has not renewed its lease for this long is dead to the others, which take its shards. By the clock of the
 * database. Unit: seconds.
 */
const leaseSeconds = 6

/** How often nodes look who is there. */
const lookEvery = "1 second"

/** A connection to another node that does not come about by then is tried again later. Unit: milliseconds. */
const connectMillis = 1000

/** What makes this process a node. */
export interface NodeOptions {
  /** Under which the others reach it. */
  readonly address: HostAndPort
  /** What it binds to. */
  readonly listen: HostAndPort
  readonly secret: Redacted.Redacted<string>
}

const textOf = ({ host, port }: HostAndPort) => `${host.includes(":") ? `[${host}]` : host}:${port}`

/** Ways to other nodes. */
const layerClients = (secret: Redacted.Redacted<string>) =>
  Layer.effect(
    Runners.RpcClientProtocol,
    Effect.gen(function* () {
      const serialization = yield* RpcSerialization.RpcSerialization
      return {
        codecFor: serialization.codecFor,
        make: Effect.fnUntraced(function* ({ host, port }: RunnerAddress.RunnerAddress) {
          const socket = yield* NodeSocket.makeNet({ host, port, openTimeout: connectMillis })
          return yield* RpcClient.makeProtocolSocket().pipe(
            Effect.provideService(Socket.Socket, seal(socket, secret, "client")),
            Effect.provideService(RpcSerialization.RpcSerialization, serialization),
          )
        }),
      }
    }),
  )

/** The port of this one. */
const layerServer = ({ listen, secret }: NodeOptions) =>
  Layer.effect(
    SocketServer.SocketServer,
    Effect.map(NodeSocketServer.make(listen), (server) =>
      SocketServer.SocketServer.of({
        address: server.address,
        run: (handler) => server.run((socket) => handler(seal(socket, secret, "server"))),
      })).pipe(
        Effect.mapError(({ reason: { cause } }) =>
          new SettingsFaulty({
            faults: [
              `CLUSTER_ADDRESS, CLUSTER_LISTEN: ${textOf(listen)} cannot be listened on (${
                cause instanceof Error ? cause.message : String(cause)
              }); set CLUSTER_LISTEN to an address of this machine and a port that is free`,
            ],
          })
        ),
      ),
  )

/**
 * Actors spread over all nodes on one Postgres. Who lives is decided by leases in the database alone, whether or not nodes
 * reach each other: a node that only the database sees works on, since every node looks by itself for what its actors have
 * to do (`Sweep`). What goes from node to node are questions whose askers do not wait long.
 */
export const layer = (options: NodeOptions) => {
  const seen: Seen = { runners: 1, at: undefined }
  return layerCluster(textOf(options.address), seen).pipe(
    Layer.provideMerge(RunnerServer.layerWithClients),
    Layer.provide(RpcServer.layerProtocolSocketServer),
    Layer.provide([layerServer(options), layerClients(options.secret)]),
    // Text and not binary: nodes of neighbouring releases may have more or fewer members in a message.
    Layer.provide(RpcSerialization.layerNdjsonWith({ maxBufferSize: "unbounded" })),
    Layer.provideMerge(MessageStorage.layerNoop),
    Layer.provide([NodeStorage.layer(leaseSeconds, seen), RunnerHealth.layerNoop]),
    Layer.provide(
      ShardingConfig.layer({
        runnerAddress: Option.some(RunnerAddress.make(options.address.host, options.address.port)),
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
}
