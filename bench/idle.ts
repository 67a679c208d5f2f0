// Memory and processor time of an idle service with its embedded database, by process.
//
//   deno task bench idle [--settle 120] [--seconds 60] [--main src/main.ts] [--folder .]
//
// Starts a new installation with the settings of `deno task start`, sends one Generate, waits `--settle` seconds, and
// measures for `--seconds`. `--main bundle/main.js` runs the bundle of the container image, which
// `scripts/package/Service.ts` writes. `--folder` is another checkout. The service runs on a copy of Deno, because other
// programs on the same file would share its pages and lower the figure.
import { spawn } from "node:child_process"
import { copyFileSync, readFileSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import {
  adminToken,
  freePort,
  makeOrganization,
  serviceAt,
  startEnvironment,
  startFlags,
  waitUntil,
} from "../test/support/service.ts"
import { openFolder } from "../test/support/throwawayPostgres.ts"
import { printColumns, treeMicrosOf } from "./support/Bench.ts"
import { familyOf, memoryOf } from "./support/Memory.ts"

const { values: flags } = parseArgs({
  args: Deno.args.filter((argument) => argument !== "idle"),
  options: {
    settle: { type: "string", default: "120" },
    seconds: { type: "string", default: "60" },
    main: { type: "string", default: "src/main.ts" },
    folder: { type: "string", default: new URL("..", import.meta.url).pathname },
  },
})

/** Returns what a process is for, from its command line. */
const purposeOf = (pid: number): string => {
  const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")
  const [, worker] = /([a-z]+)\.process\.[jt]s/.exec(command) ?? []
  if (worker !== undefined) return `process that runs ${worker}.process`
  if (command.startsWith("/bin/sh")) return "shells that end the database with the service"
  const [, kind] = /^postgres: (?:postgres postgres \S+ )?([a-z ]*[a-z])/.exec(command) ?? []
  if (kind !== undefined) return command.includes("[local]") ? "PostgreSQL, connections" : `PostgreSQL, ${kind}`
  return command.includes("/postgres ") ? "PostgreSQL, server" : "service"
}

const folder = openFolder("parlance-idle-")
const deno = join(folder, "deno")
copyFileSync(Deno.execPath(), deno)
const url = `http://127.0.0.1:${await freePort()}`
const child = spawn(deno, ["run", ...startFlags, flags.main, "serve"], {
  cwd: resolve(flags.folder),
  env: {
    ...process.env,
    ...startEnvironment,
    PORT: new URL(url).port,
    ADMIN_TOKEN: adminToken,
    DATA_DIR: join(folder, "data"),
  } as Record<string, string>,
  stdio: ["ignore", "ignore", "inherit"],
})
const ended = new Promise((done) => child.on("exit", done))
const pause = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1000))
try {
  const service = serviceAt(url)
  await waitUntil("the service is ready", () =>
    service.request("/readyz").then(
      (response) => response.body?.cancel().then(() => response.ok) ?? false,
      () => false,
    ), 120)
  const key = await makeOrganization(service, "bench")
  const variants = ["a", "b"].map((id) => ({ id, vars: { subject: `Offer ${id}` } }))
  await service.manage("POST", "/organizations/bench/templates", { id: "welcome", name: "Welcome", variants })
  await service.generate("bench", key, { template_id: "welcome", user_id: "u1" })
  await pause(Number(flags.settle))
  const before = treeMicrosOf(child.pid!)
  await pause(Number(flags.seconds))
  const share = (treeMicrosOf(child.pid!) - before) / Number(flags.seconds) / 10_000
  const rows = familyOf(child.pid!).map((pid) => ({ purpose: purposeOf(pid), ...memoryOf(pid) }))
  const columns = ["all", "own", "files", "shared"] as const
  printColumns(
    `Memory of an idle service, ${flags.main}, MiB (PSS)`,
    ["", "processes", ...columns],
    [...Map.groupBy(rows, ({ purpose }) => purpose), ["all", rows] as const].map(([purpose, of]) => [
      purpose,
      of.length,
      ...columns.map((column) => [of.reduce((sum, row) => sum + row[column], 0), 1] as const),
    ]),
  )
  console.log(`\nProcessor time: ${share.toFixed(2)} % of a core`)
} finally {
  child.kill("SIGTERM")
  await ended
  rmSync(folder, { recursive: true, force: true })
}
