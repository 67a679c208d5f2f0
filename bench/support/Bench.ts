import { execFileSync, spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { startEnvironment, startFlags } from "../../test/support/service.ts"
import { unlimited } from "./unlimited.ts"

// Shared by the benchmarks: processes pinned to cores, load from another process, and processor time per request.

/**
 * One measurement of a server under load. Times are in milliseconds. `cpuMicros` is processor time per request, in
 * microseconds.
 */
export interface Measured {
  readonly name: string
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly cpuMicros: number
  readonly requests: number
  readonly statuses: Readonly<Record<string, number>>
}

const hasTaskset = (() => {
  try {
    execFileSync("taskset", ["-c", "0", "true"])
    return navigator.hardwareConcurrency > 1
  } catch {
    return false
  }
})()

/** Returns a command that runs on one core if the system supports it. Servers run on core 0, and load on core 1. */
const pinned = (core: number, command: ReadonlyArray<string>): ReadonlyArray<string> =>
  hasTaskset ? ["taskset", "-c", String(core), ...command] : command

const root = fileURLToPath(new URL("../../", import.meta.url))

/** A server process of the benchmark. */
export interface ServerProcess {
  readonly url: string
  readonly pid: number
  readonly stop: () => Promise<void>
}

/**
 * Starts `deno run FILE …` on core 0. Resolves when the server responds at `path`. `folder` is the checkout to run.
 * Default: this one.
 */
export const startServer = async (
  args: ReadonlyArray<string>,
  port: number,
  environment: Readonly<Record<string, string>>,
  { folder = root, path = "/healthz" }: { readonly folder?: string | undefined; readonly path?: string } = {},
): Promise<ServerProcess> => {
  const [command, ...rest] = pinned(0, [
    Deno.execPath(),
    "run",
    ...startFlags,
    ...args,
  ])
  const child = spawn(command!, rest, {
    cwd: folder,
    env: { ...process.env, ...startEnvironment, PORT: String(port), ...unlimited, ...environment } as Record<
      string,
      string
    >,
    stdio: ["ignore", "ignore", "inherit"],
  })
  const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()))
  const url = `http://127.0.0.1:${port}`
  for (let tries = 0;; tries++) {
    const ready = await fetch(`${url}${path}`).then((response) => response.body?.cancel().then(() => true), () => false)
    if (ready) break
    if (tries > 600) throw new Error(`No server answered at ${url}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  // taskset replaces itself by the server, so the pid is the server's.
  return {
    url,
    pid: child.pid!,
    stop: async () => {
      child.kill("SIGTERM")
      await ended
    },
  }
}

/** Returns the processor time of a process so far. NaN if the system does not report it. Unit: microseconds. */
export const cpuMicrosOf = (pid: number): number => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")
    return (Number(fields[11]) + Number(fields[12])) * 10_000
  } catch {
    return NaN
  }
}

/** Returns all descendants of a process. */
const offspringOf = (pid: number): ReadonlyArray<number> => {
  const parents = new Map<number, Array<number>>()
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue
    try {
      const parent = Number(readFileSync(`/proc/${name}/stat`, "utf8").split(") ")[1]!.split(" ")[1])
      parents.set(parent, [...parents.get(parent) ?? [], Number(name)])
    } catch {
      // The process ended during the search.
    }
  }
  const all = (parent: number): ReadonlyArray<number> =>
    (parents.get(parent) ?? []).flatMap((child) => [child, ...all(child)])
  return all(pid)
}

/**
 * Returns the processor time of a process and its descendants. NaN if the system does not report it. Unit:
 * microseconds.
 */
export const treeMicrosOf = (pid: number): number => {
  try {
    return [pid, ...offspringOf(pid)].reduce((sum, one) => sum + (cpuMicrosOf(one) || 0), 0)
  } catch {
    return NaN
  }
}

/**
 * Returns the processor time of a process's main thread so far, which runs the event loop. NaN if the system does not
 * report it. Unit: microseconds.
 */
export const loopMicrosOf = (pid: number): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1000
  } catch {
    return NaN
  }
}

/**
 * Returns the processor time of all threads of a process so far, more exactly than `cpuMicrosOf`. NaN if the system
 * does not report it. Unit: microseconds.
 */
export const threadMicrosOf = (pid: number): number => {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce(
      (sum, task) => sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]) / 1000,
      0,
    )
  } catch {
    return NaN
  }
}

/**
 * Returns the processor time of a process by the names of its threads. Empty if the system does not report it. Unit:
 * microseconds.
 */
export const cpuMicrosByThread = (pid: number): ReadonlyMap<string, number> => {
  const times = new Map<string, number>()
  try {
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      const [, name, rest] = /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(`/proc/${pid}/task/${task}/stat`, "utf8"))!
      const fields = rest!.split(" ")
      times.set(name!, (times.get(name!) ?? 0) + (Number(fields[11]) + Number(fields[12])) * 10_000)
    }
  } catch {
    // A thread ended during the search, or the system has no `/proc`.
  }
  return times
}

/** Runs a load generator on `core`. Returns the JSON that it prints. */
export const runLoad = <A>(name: string, file: string, options: unknown, core = 1): Promise<A> =>
  new Promise((resolve, reject) => {
    const [command, ...rest] = pinned(core, [
      Deno.execPath(),
      "run",
      "-A",
      "--no-prompt",
      file,
      JSON.stringify(options),
    ])
    const child = spawn(command!, rest, { cwd: root, stdio: ["ignore", "pipe", "inherit"] })
    let output = ""
    child.stdout.on("data", (chunk) => output += String(chunk))
    child.on(
      "exit",
      (code) => code === 0 ? resolve(JSON.parse(output)) : reject(new Error(`The load failed for ${name}`)),
    )
  })

/** Measures a server under load from core 1. The first seconds are a warm-up. */
export const measure = async (
  name: string,
  server: Pick<ServerProcess, "pid">,
  request: { readonly url: string; readonly headers?: Readonly<Record<string, string>>; readonly body: unknown },
  options: {
    readonly seconds?: number
    readonly connections?: number
    readonly rate?: number
    readonly warmUp?: number
  } = {},
): Promise<Measured> => {
  const load = (seconds: number) =>
    runLoad<Omit<Measured, "name" | "cpuMicros">>(name, "bench/support/load.ts", {
      url: request.url,
      headers: request.headers ?? {},
      body: JSON.stringify(request.body),
      seconds,
      connections: options.connections ?? 64,
      rate: options.rate ?? 0,
    })
  const warmUp = options.warmUp ?? 4
  if (warmUp > 0) await load(warmUp)
  const before = cpuMicrosOf(server.pid)
  const measured = await load(options.seconds ?? 6)
  return { name, ...measured, cpuMicros: (cpuMicrosOf(server.pid) - before) / measured.requests }
}

const number = (value: number, digits: number) => !Number.isFinite(value) ? "–" : value.toFixed(digits)

/** Prints a table. The first column is a name. A number without a number of digits is printed unchanged. */
export const printColumns = (
  title: string,
  columns: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string | number | readonly [value: number, digits: number]>>,
): void => {
  console.log(`\n${title}\n`)
  console.log(`| ${columns.join(" | ")} |`)
  console.log(`| --- |${" ---: |".repeat(columns.length - 1)}`)
  for (const row of rows) {
    const cells = row.map((cell) => typeof cell === "object" ? number(cell[0], cell[1]) : String(cell))
    console.log(`| ${cells.join(" | ")} |`)
  }
}

/** Prints measurements with their ratios to the first measurement with the name `baseline`. */
export const printTable = (title: string, rows: ReadonlyArray<Measured>, baseline: string): void => {
  const base = rows.find(({ name }) => name === baseline)!
  console.log(`\n${title}\n`)
  console.log(`| | requests/s | p50 ms | p99 ms | CPU µs/request | rate / ${baseline} | CPU / ${baseline} | answers |`)
  console.log("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
  for (const row of rows) {
    const answers = Object.entries(row.statuses).map(([status, count]) => `${count} × ${status}`).join(", ")
    console.log(
      `| ${row.name} | ${number(row.perSecond, 0)} | ${number(row.p50, 2)} | ${number(row.p99, 2)} | ${
        number(row.cpuMicros, 1)
      } | ${number(row.perSecond / base.perSecond, 2)} | ${number(row.cpuMicros / base.cpuMicros, 2)} | ${answers} |`,
    )
  }
}
