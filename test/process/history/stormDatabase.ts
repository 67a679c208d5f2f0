import { readFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import type { Environment } from "../../support/stores.ts"
import type { TestNode } from "../clusterNodes.ts"
import { pause } from "../deliverStorm.ts"

/** A node of a storm. A node with an embedded database has no way to the database that could be cut. */
export type StormNode = Pick<TestNode, "name" | "service" | "start"> & Partial<Pick<TestNode, "toDatabase">>

/** A fault by its name. Ends before the next one. */
export type Fault = readonly [name: string, strike: (victim: StormNode) => Promise<void>]

/** Faults of nodes that the faults of a database use. */
interface NodeFaults {
  /** Kills a node and starts it again. */
  readonly restart: (victim: StormNode, meanwhile?: () => void) => Promise<void>
  /** Pauses a node for longer than its leases. */
  readonly pauseNode: Fault
}

/** How long a database is away. Unit: milliseconds. */
export const awayMillis = 3000
/** How long a process is paused, longer than its leases. Unit: milliseconds. */
export const pausedMillis = 9000

/** The database of a storm, and its faults, each of which returns when the database is back or about to return. */
export interface StormDatabase {
  readonly env: Environment
  readonly faults: (ofNodes: NodeFaults) => ReadonlyArray<Fault>
}

/** The processes of a server by its data folder: the first one, and its children. */
export const processesOf = (data: string): ReadonlyArray<number> => {
  const first = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]!
  const children = readFileSync(`/proc/${first}/task/${first}/children`, "utf8").trim().split(" ")
  return [Number(first), ...children.filter((pid) => pid !== "").map(Number)]
}

export const signal = (pids: ReadonlyArray<number>, name: "SIGSTOP" | "SIGCONT" | "SIGKILL") => {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // The process has ended.
    }
  }
}

/** Stops all processes of a server for a time, as a machine without processor or disk does. */
export const freeze = async (data: string, millis: number) => {
  const pids = processesOf(data)
  signal(pids, "SIGSTOP")
  await pause(millis)
  signal(pids, "SIGCONT")
}
