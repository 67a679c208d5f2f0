import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

/** How a bystander was answered in one period. */
export interface Waits {
  /** Requests that were answered. */
  readonly answered: number
  /** Statuses other than 200; 0 for a connection that was cut. */
  readonly failed: ReadonlyArray<number>
  /** The longest time from a request to its answer. Unit: milliseconds. */
  readonly longestMillis: number
  /**
   * The most processor time that the service's main thread used during one of these requests: unlike the time, it does
   * not rise on a busy machine. NaN where the system has no such figure. Unit: milliseconds.
   */
  readonly longestWorkMillis: number
  /**
   * Physical memory of the service and its child processes, in which a page that they share counts once: at the start
   * of the period, and the most in it. Unit: bytes.
   */
  readonly memoryBefore: number
  readonly memoryPeak: number
}

export interface ProbeOptions {
  readonly url: string
  readonly pid: number
  readonly org: string
  readonly key: string
  readonly templateId: string
}

/** A bystander that calls Generate about a hundred times a second, from a process that no attack holds up. */
export interface Probe {
  /** Ends the period and begins the next one, once at least `least` more requests have been answered. */
  readonly next: (least: number) => Promise<Waits>
  readonly stop: () => Promise<void>
}

export const startProbe = (options: ProbeOptions): Probe => {
  const child = spawn(Deno.execPath(), [
    "run",
    "-A",
    "--no-prompt",
    "--cached-only",
    fileURLToPath(new URL("probe.process.ts", import.meta.url)),
    JSON.stringify(options),
  ], { stdio: ["pipe", "pipe", "inherit"] })
  const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()))
  const waiting: Array<(waits: Waits) => void> = []
  let rest = ""
  child.stdout.on("data", (chunk) => {
    const lines = (rest + String(chunk)).split("\n")
    rest = lines.pop()!
    for (const line of lines) waiting.shift()?.(JSON.parse(line) as Waits)
  })
  return {
    next: (least) =>
      new Promise((resolve, reject) => {
        waiting.push(resolve)
        void ended.then(() => reject(new Error("The probe ended")))
        child.stdin.write(`${least}\n`)
      }),
    stop: async () => {
      child.stdin.end()
      await ended
    },
  }
}
