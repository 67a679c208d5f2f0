import { spawn, spawnSync } from "node:child_process"
import { createInterface } from "node:readline"
import { createReadStream, readdirSync, readFileSync } from "node:fs"

/** A system call that has returned. Calls are listed in the order in which they returned. */
export interface SystemCall {
  readonly pid: number
  readonly name: string
  /** The file or socket of its first argument. */
  readonly path: string
  /** The data of calls that send, receive or write. */
  readonly data: Buffer
  /** Its last argument: the offset of a write in its file. */
  readonly last: number
  readonly result: number
  /** Number of the line where the call began, and of the line where it returned. */
  readonly began: number
  readonly ended: number
}

/** Whether this machine allows tracing of running processes. If not, prints why the suite `name` is skipped. */
export const canTrace = (name: string): boolean => {
  const process = spawn("sleep", ["10"], { stdio: "ignore" })
  const { error, status, stderr } = spawnSync(
    "timeout",
    ["--signal=INT", "1", "strace", "-o", "/dev/null", "-p", `${process.pid}`],
    { encoding: "utf8" },
  )
  process.kill()
  // The status 124 means that `timeout` ended the trace, so tracing works.
  if (status === 124) return true
  const reason = error?.message ?? stderr.trim().split("\n").at(-1)
  console.warn(`${name}: skipped, strace cannot trace a process here (${reason})`)
  return false
}

/** Returns `pid` and all its descendants. */
export const familyOf = (pid: number): ReadonlyArray<number> => {
  const parents = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      const status = readFileSync(`/proc/${name}/status`, "utf8")
      return [[Number(name), Number(/^PPid:\s+(\d+)/m.exec(status)![1])] as const]
    } catch {
      return []
    }
  })
  const below = (one: number): ReadonlyArray<number> =>
    parents.filter(([, parent]) => parent === one).flatMap(([child]) => [child, ...below(child)])
  return [pid, ...below(pid)]
}

/**
 * Sends a signal to processes. Ignores processes that have ended since they were listed, such as workers of a
 * PostgreSQL server.
 */
export const signalAll = (pids: ReadonlyArray<number>, name: "SIGSTOP" | "SIGCONT") => {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
    }
  }
}

/**
 * Traces processes and their future child processes, and writes calls with the given names to `file`. Resolves when all
 * processes are traced, with a function that ends the trace.
 */
export const trace = async (
  pids: ReadonlyArray<number>,
  names: ReadonlyArray<string>,
  file: string,
): Promise<() => Promise<void>> => {
  const child = spawn(
    "strace",
    [
      "-f",
      "-y",
      "-xx",
      "-s",
      "1000000",
      "-e",
      `trace=${names.join(",")}`,
      "-o",
      file,
      ...pids.flatMap((pid) => ["-p", `${pid}`]),
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  )
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()))
  await new Promise<void>((resolve, reject) => {
    let attached = 0
    createInterface({ input: child.stderr }).on("line", (line) => {
      if (/Process \d+ attached/.test(line) && ++attached === pids.length) resolve()
    })
    void ended.then(() => reject(new Error("strace ended")))
  })
  return () => {
    child.kill("SIGINT")
    return ended
  }
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll("\\x", ""), "hex")

const callOf = (pid: number, text: string, began: number, ended: number): SystemCall | undefined => {
  const match = /^(\w+)\(\d+<([^>]*)>(.*)\)\s+= (-?\d+)/s.exec(text)
  if (match === null) return undefined
  const [, name, path, rest, result] = match
  return {
    pid,
    name: name!,
    path: path!.startsWith("\\x") ? hex(path!).toString() : path!,
    data: hex(/"([^"]*)"/.exec(rest!)?.[1] ?? ""),
    last: Number(/, (\d+)$/.exec(rest!)?.[1] ?? -1),
    result: Number(result),
    began,
    ended,
  }
}

/** Reads the calls that `trace` wrote to a file. */
export const readCalls = async (file: string): Promise<ReadonlyArray<SystemCall>> => {
  const calls: Array<SystemCall> = []
  const unfinished = new Map<number, { readonly text: string; readonly began: number }>()
  let number = 0
  for await (const line of createInterface({ input: createReadStream(file) })) {
    number++
    const [, digits, whole] = /^(\d+)\s+(.*)$/.exec(line)!
    // A call that the end of the trace interrupted. Its result is not known.
    const text = whole!.replace(/ ?<detached \.\.\.>$/, ") = -1")
    const pid = Number(digits)
    const begun = / <unfinished \.\.\.>$/.exec(text)
    const resumed = /^<\.\.\. \w+ resumed>/.exec(text)
    if (begun !== null) {
      unfinished.set(pid, { text: text.slice(0, begun.index), began: number })
      continue
    }
    const start = resumed === null ? { text: "", began: number } : unfinished.get(pid)
    // A call that began before the trace.
    if (start === undefined) continue
    unfinished.delete(pid)
    const call = callOf(pid, start.text + text.slice(resumed?.[0].length ?? 0), start.began, number)
    if (call !== undefined) calls.push(call)
  }
  // Calls in progress when the trace ended. The other side may have received their data already.
  for (const [pid, { began, text }] of unfinished) {
    const call = callOf(pid, `${text}) = -1`, began, number + 1)
    if (call !== undefined) calls.push(call)
  }
  return calls
}
