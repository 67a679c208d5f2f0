// Limits of work in another process. On a busy machine, a process gets little processor time, so work is limited by its
// processor time, and by elapsed time only to detect a process that hangs.

/** Limits of the time of a process's work. Unit: milliseconds. */
export interface WorkLimits {
  /** Processor time of all its threads. */
  readonly processor: number
  /**
   * Elapsed time after which the process counts as hanging, for example because it was suspended. Far above
   * `processor`.
   */
  readonly clock: number
}

/** Time that a process has spent on its work. Unit: milliseconds. */
interface WorkSpent {
  /** Undefined if the operating system does not report it. */
  readonly processor: number | undefined
  readonly clock: number
}

/** If the processor time is unknown, the limit of the elapsed time is the processor limit times this factor. */
const unknownFactor = 4

/** Minimum time until the next check. Linux counts processor time in steps of 10 ms. Unit: milliseconds. */
const leastPause = 20

/**
 * Returns `overrun` if the work exceeded its processor time, `stalled` if it hangs, otherwise the milliseconds until
 * the next check.
 */
export const judgeWork = (spent: WorkSpent, limits: WorkLimits): "overrun" | "stalled" | number => {
  if (spent.processor === undefined) {
    const left = Math.min(limits.processor * unknownFactor, limits.clock) - spent.clock
    return left <= 0 ? "overrun" : left
  }
  if (spent.processor >= limits.processor) return "overrun"
  if (spent.clock >= limits.clock) return "stalled"
  return Math.max(leastPause, Math.min(limits.processor - spent.processor, limits.clock - spent.clock))
}

/** Length of a clock tick in `/proc`, equal on all Linux systems. Unit: milliseconds. */
const tickMillis = 10

/**
 * Returns the processor time in the text of `/proc/PID/stat`, in milliseconds. The program's name, in parentheses, may
 * contain any characters.
 */
export const processorMillisIn = (stat: string): number | undefined => {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const ticks = Number(fields[11]) + Number(fields[12])
  return Number.isFinite(ticks) ? ticks * tickMillis : undefined
}

/**
 * Returns the processor time that a process has used, in milliseconds. Undefined outside of Linux, and for a process
 * that has ended.
 */
const processorMillisOf = (pid: number): number | undefined => {
  if (Deno.build.os !== "linux") return undefined
  try {
    return processorMillisIn(Deno.readTextFileSync(`/proc/${pid}/stat`))
  } catch {
    return undefined
  }
}

/** Watches the work of process `pid` until the returned function is called. Calls `onEnd` at most once. */
export const watchWork = (
  pid: number,
  limits: WorkLimits,
  onEnd: (verdict: "overrun" | "stalled") => void,
): () => void => {
  const before = processorMillisOf(pid)
  const startedAt = performance.now()
  const look = () => {
    const now = before === undefined ? undefined : processorMillisOf(pid)
    const processor = before === undefined || now === undefined ? undefined : now - before
    const verdict = judgeWork({ processor, clock: performance.now() - startedAt }, limits)
    if (typeof verdict === "number") timer = setTimeout(look, verdict)
    else onEnd(verdict)
  }
  let timer = setTimeout(look, limits.processor)
  return () => clearTimeout(timer)
}
