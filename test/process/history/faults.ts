import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import { onServer } from "../../support/onServer.ts"
import { startPostgres } from "../../support/throwawayPostgres.ts"
import type { TestNode } from "../clusterNodes.ts"
import { pause } from "../deliverStorm.ts"
import { now } from "./clients.ts"

/** How long the database is away. */
const awayMillis = 3000
/** How long a process is paused, longer than its leases. */
const pausedMillis = 9000

/** A fault by its name. Ends before the next one. */
type Fault = readonly [name: string, strike: (victim: TestNode) => Promise<void>]

/** A PostgreSQL server that a trial can kill and pause. */
export const scopedDatabase = Effect.acquireRelease(
  Effect.promise(() => startPostgres()),
  ({ stop }) => Effect.promise(stop),
)

type Database = Effect.Success<typeof scopedDatabase>

/** The processes of a server: the first one, and its children. */
const processesOf = ({ data }: Database): ReadonlyArray<number> => {
  const first = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]!
  const children = readFileSync(`/proc/${first}/task/${first}/children`, "utf8").trim().split(" ")
  return [Number(first), ...children.filter((pid) => pid !== "").map(Number)]
}

/** Stops all processes of a server for a time, as a machine without processor or disk does. */
const freeze = async (database: Database, millis: number) => {
  const pids = processesOf(database)
  const signal = (name: "SIGSTOP" | "SIGCONT") => {
    for (const pid of pids) {
      try {
        process.kill(pid, name)
      } catch {
        // The process has ended.
      }
    }
  }
  signal("SIGSTOP")
  await pause(millis)
  signal("SIGCONT")
}

/** Faults of a database of its own. `returned` is called when the database is back. */
const databaseFaults = (database: Database, returned: () => void): ReadonlyArray<Fault> => [
  ["database crashes", async () => {
    // PostgreSQL ends all connections and recovers from its log if one of its processes is killed.
    const child = processesOf(database).at(-1)!
    process.kill(child, "SIGKILL")
    await pause(awayMillis)
    returned()
  }],
  ["database is paused", async () => {
    await freeze(database, pausedMillis)
    returned()
  }],
  ["database is slow", async () => {
    for (let n = 0; n < 4; n++) {
      await freeze(database, 1000)
      await pause(500)
    }
    returned()
  }],
  ["no connection is left", async () => {
    await onServer(database.url, "ALTER DATABASE postgres ALLOW_CONNECTIONS false").catch(() => undefined)
    const admin = new URL("/template1", database.url).href
    await onServer(
      admin,
      "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a WHERE a.datname = 'postgres'",
    )
    await pause(awayMillis)
    await onServer(admin, "ALTER DATABASE postgres ALLOW_CONNECTIONS true")
    returned()
  }],
]

/**
 * Kills and pauses nodes, and cuts nodes off from the database: one, all, or all while one is killed. With `database`,
 * kills and pauses that as well.
 */
export const makeFaults = (
  nodes: ReadonlyArray<TestNode>,
  killed: Set<string>,
  starts: Map<TestNode, number>,
  database: Database | undefined,
) => {
  const returns: Array<number> = []
  const processOf = (node: TestNode) => `${node.name}.${starts.get(node) ?? 0}`
  const kill = async (node: TestNode) => {
    killed.add(processOf(node))
    const victim = node.service!
    node.service = undefined
    victim.kill("SIGKILL")
    await victim.ended
  }
  const start = async (node: TestNode) => {
    starts.set(node, (starts.get(node) ?? 0) + 1)
    await node.start()
  }
  const restart = async (node: TestNode) => {
    await kill(node)
    await start(node)
  }
  const cutOff = async (some: ReadonlyArray<TestNode>, meanwhile: () => Promise<void>) => {
    for (const { toDatabase } of some) toDatabase.block()
    await pause(awayMillis)
    await meanwhile()
    for (const { toDatabase } of some) toDatabase.unblock()
    returns.push(now())
  }
  const faults: ReadonlyArray<Fault> = [
    ["node is killed", restart],
    ["node is cut off", (victim) => cutOff([victim], () => Promise.resolve())],
    ["all nodes are cut off", (_) => cutOff(nodes, () => Promise.resolve())],
    ["node is killed while all are cut off", async (victim) => {
      await cutOff(nodes, () => kill(victim))
      await start(victim)
    }],
    ...(database === undefined ? [] : [
      ["node is paused", async ({ service }: TestNode) => {
        process.kill(service!.pid, "SIGSTOP")
        await pause(pausedMillis)
        process.kill(service!.pid, "SIGCONT")
        returns.push(now())
      }] as const,
      ...databaseFaults(database, () => void returns.push(now())),
    ]),
  ]
  return { processOf, returns, faults }
}
