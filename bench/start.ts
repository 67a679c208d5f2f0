// Measures the start of the service on its embedded database: deno task bench start [--rounds 5]. Prints wall time and
// processor time (of all processes) of `npx -y deno@2.9.6 task start` until the service is ready: for a first start
// without compiled modules and without a database, for a later start, and for each phase alone. Prints the median and
// the minimum of the rounds.
import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import * as Files from "../src/store/bundled/Files.ts"
import { prepare, removeDatabase, sharedFolder } from "../src/store/bundled/Folders.ts"
import { find } from "../src/store/bundled/Programs.ts"
import * as ServerProcess from "../src/store/bundled/ServerProcess.ts"
import { freePort, waitUntil } from "../test/support/service.ts"

const { values: flags } = parseArgs({ args: Deno.args.slice(1), options: { rounds: { type: "string", default: "5" } } })
const rounds = Number(flags.rounds)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error("--rounds is a whole number above 0")
  Deno.exit(1)
}

const root = fileURLToPath(new URL("../", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "parlance-start-"))
const denoDir = join(folder, "deno")
const dataDir = join(folder, "data")

/** Wall time and processor time. Unit: milliseconds. */
interface Time {
  readonly wall: number
  readonly cpu: number
}

const times = new Map<string, Array<Time>>()
const note = (name: string, time: Time) => times.set(name, [...times.get(name) ?? [], time])

/**
 * Returns the id, the parent and the processor time in milliseconds of every process. The time includes child processes
 * that have ended.
 */
const processes = () =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ").map(Number)
      return [{
        pid: Number(pid),
        parent: fields[1]!,
        cpu: 10 * (fields[11]! + fields[12]! + fields[13]! + fields[14]!),
      }]
    } catch {
      return []
    }
  })

/** Returns the processor time of a process and its descendants. */
const cpuOf = (pid: number): number => {
  const all = processes()
  const sum = (one: number): number =>
    all.filter(({ parent }) => parent === one).reduce(
      (total, child) => total + sum(child.pid),
      all.find((process) => process.pid === one)?.cpu ?? 0,
    )
  return sum(pid)
}

const environment = () => {
  const { DATABASE_URL: _, ...inherited } = process.env
  return { ...inherited, DENO_DIR: denoDir, DATA_DIR: dataDir, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" }
}

const npx = ["npx", "-y", "deno@2.9.6"] as const

/** Runs a command to its end, and records its times. */
const measure = (name: string, [command, ...args]: ReadonlyArray<string>) => {
  const [began, before] = [performance.now(), cpuOf(process.pid)]
  const { status, stderr } = spawnSync(command!, args, { cwd: root, env: environment(), encoding: "utf8" })
  if (status !== 0) throw new Error(`${name}: ${stderr}`)
  note(name, { wall: performance.now() - began, cpu: cpuOf(process.pid) - before })
}

/** Starts the service as in the README, and measures until it is ready. */
const start = async (name: string) => {
  const port = await freePort()
  const began = performance.now()
  const child = spawn(npx[0], [...npx.slice(1), "task", "start"], {
    cwd: root,
    env: { ...environment(), PORT: String(port), LOG_LEVEL: "Error" },
    detached: true,
    stdio: "ignore",
  })
  const ended = new Promise((resolve) => child.on("exit", resolve))
  await waitUntil("the service is ready", () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      (response) => response.body?.cancel().then(() => response.ok) ?? false,
      () => false,
    ))
  note(name, { wall: performance.now() - began, cpu: cpuOf(child.pid!) })
  process.kill(-child.pid!, "SIGTERM")
  await ended
}

/** Creates the files of a database and starts a server on them, as the service does. */
const database = Effect.scoped(Effect.gen(function* () {
  const folders = yield* prepare(dataDir)
  const programs = yield* find({
    forAnotherUser: folders.user !== undefined,
    installations: folders.user === undefined ? folders.root : sharedFolder,
  })
  const timed = Effect.fnUntraced(function* <A, E, R>(name: string, effect: Effect.Effect<A, E, R>) {
    const [began, before] = [performance.now(), cpuOf(process.pid)]
    const result = yield* effect
    note(name, { wall: performance.now() - began, cpu: cpuOf(process.pid) - before })
    return result
  })
  yield* timed("files of the database (initdb)", Files.ensure(folders, programs))
  yield* timed("server", ServerProcess.start(folders, programs))
}))

/** Removes compiled modules, as in a clone of the repository that has never run. */
const forgetCompiled = () => {
  for (const name of readdirSync(denoDir)) {
    if (name !== "npm") rmSync(join(denoDir, name), { recursive: true, force: true })
  }
}

const install = ["install", "--prod", "--frozen", "--entrypoint", "src/packages.ts"]
const run = ["run", "-A", "--no-prompt", "--unstable-no-legacy-abort", "src/main.ts"]

try {
  spawnSync(Deno.execPath(), install, { cwd: root, env: environment() })
  for (let round = 0; round < rounds; round++) {
    forgetCompiled()
    await start("first start")
    await start("later start")
    removeDatabase(dataDir)
    measure("npx", [...npx, "--version"])
    measure("deno install, nothing missing", [Deno.execPath(), ...install])
    measure("modules before the database, compiled", [Deno.execPath(), ...run, "serve", "--help"])
    measure("all modules, compiled", [Deno.execPath(), ...run, "--version"])
    forgetCompiled()
    measure("all modules, not compiled", [Deno.execPath(), ...run, "--version"])
    await Effect.runPromise(database)
    measure("migrations, with modules and server", [Deno.execPath(), ...run, "migrate"])
    measure("the same, nothing to migrate", [Deno.execPath(), ...run, "migrate"])
    removeDatabase(dataDir)
  }
} finally {
  removeDatabase(dataDir)
  rmSync(folder, { recursive: true, force: true })
}

const sorted = (name: string, of: keyof Time) => times.get(name)!.map((time) => time[of]).sort((a, b) => a - b)
const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(2).padStart(6)
console.log(`${"seconds".padEnd(40)}  wall: median  least   processor: median  least`)
for (const name of times.keys()) {
  const [wall, cpu] = [sorted(name, "wall"), sorted(name, "cpu")]
  const middle = Math.floor(rounds / 2)
  console.log(
    `${name.padEnd(40)}        ${seconds(wall[middle]!)} ${seconds(wall[0]!)}             ${seconds(cpu[middle]!)} ${
      seconds(cpu[0]!)
    }`,
  )
}
