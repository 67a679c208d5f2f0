import { Effect, type Scope } from "effect"
import { join } from "node:path"
import { onServer } from "../../support/onServer.ts"
import { startProcess, waitUntil } from "../../support/service.ts"
import { embeddedEnvironment, type Environment } from "../../support/stores.ts"
import { startPostgres } from "../../support/throwawayPostgres.ts"
import { sinkEnvironment } from "../deliverSink.ts"
import { pause } from "../deliverStorm.ts"
import { replicas } from "./replicas.ts"
import {
  awayMillis,
  type Fault,
  freeze,
  pausedMillis,
  processesOf,
  signal,
  type StormDatabase,
  type StormNode,
} from "./stormDatabase.ts"

/** Faults of a server whose data folder is on this machine. */
const faultsOfServer = (data: string): ReadonlyArray<Fault> => [
  ["database crashes", async () => {
    // PostgreSQL ends all connections and recovers from its log if one of its processes is killed.
    signal(processesOf(data).slice(-1), "SIGKILL")
    await pause(awayMillis)
  }],
  ["database is paused", () => freeze(data, pausedMillis)],
  ["database is slow", async () => {
    for (let n = 0; n < 4; n++) {
      await freeze(data, 1000)
      await pause(500)
    }
  }],
]

/** A PostgreSQL that the storm kills and pauses. */
const own = Effect.map(
  Effect.acquireRelease(Effect.promise(() => startPostgres()), ({ stop }) => Effect.promise(stop)),
  ({ data, url }): StormDatabase => ({
    env: { DATABASE_URL: url, SECRET_KEY: "5e".repeat(32) },
    faults: ({ pauseNode }) => [
      pauseNode,
      ...faultsOfServer(data),
      ["no connection is left", async () => {
        await onServer(url, "ALTER DATABASE postgres ALLOW_CONNECTIONS false").catch(() => undefined)
        const admin = new URL("/template1", url).href
        await onServer(
          admin,
          "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a WHERE a.datname = 'postgres'",
        )
        await pause(awayMillis)
        await onServer(admin, "ALTER DATABASE postgres ALLOW_CONNECTIONS true")
      }],
    ],
  }),
)

/** The embedded database of the service, which the storm kills alone and with the service. */
const embedded = Effect.map(embeddedEnvironment, (env): StormDatabase => {
  const data = join(env["DATA_DIR"]!, "postgres", "data")
  return {
    env,
    faults: ({ pauseNode, restart }) => [
      pauseNode,
      ["service is killed with its database", (victim) => restart(victim, () => signal(processesOf(data), "SIGKILL"))],
      ["database is killed", async () => {
        const [first] = processesOf(data)
        signal([first!], "SIGKILL")
        // The service starts it again. Its file is missing meanwhile.
        await waitUntil("another server runs", () => {
          try {
            return processesOf(data)[0] !== first
          } catch {
            return false
          }
        })
        await pause(awayMillis)
      }],
      ...faultsOfServer(data),
    ],
  }
})

/** The databases of storms by name. `standby` has one fault, the loss of its primary, and `replicas` has all of them. */
export const databases: Readonly<Record<string, Effect.Effect<StormDatabase, never, Scope.Scope>>> = {
  standby: replicas(1),
  replicas: replicas(3),
  own,
  embedded,
}

/** A service with an embedded database, killed when the scope closes. */
export const embeddedNode = (env: Environment): Effect.Effect<StormNode, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const environment = { ...env, ...sinkEnvironment, LOG_LEVEL: "Error", STORE_TIMEOUT: "3 seconds" }
      const node: StormNode = {
        name: "node 1",
        service: undefined,
        start: async () => void (node.service = await startProcess(environment)),
      }
      await node.start()
      return node
    }),
    ({ service }) =>
      Effect.promise(async () => {
        service?.kill("SIGKILL")
        await service?.ended
      }),
  )
