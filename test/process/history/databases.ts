import { Effect, type Scope } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import { onServer } from "../../support/onServer.ts"
import { startProcess, waitUntil } from "../../support/service.ts"
import { embeddedEnvironment, type Environment, temporaryEnvironment } from "../../support/stores.ts"
import { startPostgres } from "../../support/throwawayPostgres.ts"
import type { TestNode } from "../clusterNodes.ts"
import { sinkEnvironment } from "../deliverSink.ts"
import { pause } from "../deliverStorm.ts"

/** A node of a storm. A node with an embedded database has no way to the database that could be cut. */
export type StormNode = Pick<TestNode, "name" | "service" | "start"> & Partial<Pick<TestNode, "toDatabase">>

/** A fault by its name. Ends before the next one. */
export type Fault = readonly [name: string, strike: (victim: StormNode) => Promise<void>]

/** Kills a node and starts it again. */
type Restart = (victim: StormNode, meanwhile?: () => void) => Promise<void>

/** How long a database is away. Unit: milliseconds. */
export const awayMillis = 3000
/** How long a process is paused, longer than its leases. Unit: milliseconds. */
export const pausedMillis = 9000

/** The database of a storm, and its faults. Each of them returns when the database is back or about to return. */
interface StormDatabase {
  readonly env: Environment
  readonly faults: (restart: Restart) => ReadonlyArray<Fault>
}

/** The processes of a server by its data folder: the first one, and its children. */
const processesOf = (data: string): ReadonlyArray<number> => {
  const first = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]!
  const children = readFileSync(`/proc/${first}/task/${first}/children`, "utf8").trim().split(" ")
  return [Number(first), ...children.filter((pid) => pid !== "").map(Number)]
}

const signal = (pids: ReadonlyArray<number>, name: "SIGSTOP" | "SIGCONT" | "SIGKILL") => {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // The process has ended.
    }
  }
}

/** Stops all processes of a server for a time, as a machine without processor or disk does. */
const freeze = async (data: string, millis: number) => {
  const pids = processesOf(data)
  signal(pids, "SIGSTOP")
  await pause(millis)
  signal(pids, "SIGCONT")
}

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
    faults: () => [
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
    faults: (restart) => [
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

/** The databases of storms by name. `shared` is the server of the test run, which has no faults. */
export const databases: Readonly<Record<string, Effect.Effect<StormDatabase, never, Scope.Scope>>> = {
  shared: Effect.map(temporaryEnvironment, (env) => ({ env, faults: () => [] })),
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
