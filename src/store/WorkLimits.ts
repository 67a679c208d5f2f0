// Limits of work in another process. A busy machine gives a process little processor time, so its work is judged by the time
// that it used, and by the clock only if it hangs.

/** Limits of the time that a process spends on its work. Unit: milliseconds. */
export interface WorkLimits {
  /** Processor time of all its threads. */
  readonly processor: number
  /** Time by the clock after which it hangs, such as a process that was stopped. Far above `processor`. */
  readonly clock: number
}

/** Time that a process has spent on its work. Unit: milliseconds. */
export interface WorkSpent {
  /** Undefined where the operating system does not say. */
  readonly processor: number | undefined
  readonly clock: number
}

/** Factor of the processor limit that limits the time by the clock where the processor time is unknown. */
const unknownFactor = 4

/** Shortest time until the next check. Linux counts processor time in steps of 10 ms. Unit: milliseconds. */
const leastPause = 20

/** `overrun`: the work took too much processor time. `stalled`: it hangs. Otherwise the milliseconds until the next check. */
export const judgeWork = (spent: WorkSpent, limits: WorkLimits): "overrun" | "stalled" | number => {
  if (spent.processor === undefined) {
    const left = Math.min(limits.processor * unknownFactor, limits.clock) - spent.clock
    return left <= 0 ? "overrun" : left
  }
  if (spent.processor >= limits.processor) return "overrun"
  if (spent.clock >= limits.clock) return "stalled"
  return Math.max(leastPause, Math.min(limits.processor - spent.processor, limits.clock - spent.clock))
}

/** Length of a clock tick of `/proc`, which is the same for all of Linux. Unit: milliseconds. */
const tickMillis = 10

/** Processor time in the text of `/proc/PID/stat`, in milliseconds. The name of the program, in parentheses, may contain anything. */
export const processorMillisIn = (stat: string): number | undefined => {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const ticks = Number(fields[11]) + Number(fields[12])
  return Number.isFinite(ticks) ? ticks * tickMillis : undefined
}

/** Processor time that a process has used, in milliseconds. Undefined outside Linux, and for a process that has ended. */
export const processorMillisOf = (pid: number): number | undefined => {
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
