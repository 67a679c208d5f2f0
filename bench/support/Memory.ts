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
 * Returns the proportional memory (PSS) of a process: the sum, private pages, pages of files, and shared memory. A page
 * that several processes share counts once in total. A process that has ended counts 0. Unit: MiB.
 */
export const memoryOf = (pid: number) => {
  let text = ""
  try {
    text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")
  } catch {
    // The process has ended.
  }
  const mebibytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0) / 1024
  return {
    all: mebibytes("Pss"),
    own: mebibytes("Pss_Anon"),
    files: mebibytes("Pss_File"),
    shared: mebibytes("Pss_Shmem"),
  }
}

/** Returns the proportional memory (PSS) of processes together. Unit: MiB. */
export const proportionalMemory = (pids: ReadonlyArray<number>): number =>
  pids.reduce((sum, pid) => sum + memoryOf(pid).all, 0)
