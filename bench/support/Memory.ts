import { readdirSync, readFileSync } from "node:fs"

/** Returns the ids of a process and all its descendants. Empty if the system has no `/proc`. */
export const familyOf = (pid: number): ReadonlyArray<number> => {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter((child) => child !== "").map(Number)
    )
    return [pid, ...children.flatMap(familyOf)]
  } catch {
    return []
  }
}

/**
 * Returns the proportional memory (PSS) of processes. A page that several processes share counts once in total. A
 * process that has ended counts 0. Unit: MiB.
 */
export const proportionalMemory = (pids: ReadonlyArray<number>): number =>
  pids.reduce((sum, pid) => {
    try {
      const kibibytes = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))
      return sum + Number(kibibytes?.[1] ?? 0) / 1024
    } catch {
      return sum
    }
  }, 0)
