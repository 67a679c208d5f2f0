import { readdirSync, readFileSync } from "node:fs"

/** A process and all its descendants, by their numbers. Empty where the system has no `/proc`. */
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
 * Proportional memory (PSS) of processes in MiB: a page that several of them share counts once in all. A process that has
 * ended counts 0.
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
