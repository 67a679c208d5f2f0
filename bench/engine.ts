// Compares the bundled PostgreSQL with an external server of the same release: Generate over 64 connections, and the
// memory of the service and its database, after the first start and under load.
//
//   deno task bench engine [--rounds 3] [--seconds 6]
import { execFileSync } from "node:child_process"
import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { adminToken, freePort, makeOrganization, serviceAt } from "../test/support/service.ts"
import { openFolder, startPostgres } from "../test/support/throwawayPostgres.ts"
import { measure, type Measured, printColumns, startServer } from "./support/Bench.ts"
import { familyOf, proportionalMemory } from "./support/Memory.ts"

const { values: flags } = parseArgs({
  args: Deno.args.filter((argument) => argument !== "engine"),
  options: { rounds: { type: "string", default: "3" }, seconds: { type: "string", default: "6" } },
})
const seconds = Number(flags.seconds)

const template = {
  id: "welcome",
  name: "Welcome",
  variants: ["a", "b", "c"].map((id) => ({ id, vars: { subject: `Hi {{ name }}, offer ${id} for you` } })),
}

interface Outcome extends Measured {
  readonly firstStart: number
  readonly underLoad: number
  readonly serviceUnderLoad: number
}

/** Starts and measures the service. `database` returns the processes of an external database. */
const tryOn = async (
  name: string,
  environment: Readonly<Record<string, string>>,
  database: () => ReadonlyArray<number>,
): Promise<Outcome> => {
  const server = await startServer(["src/main.ts", "serve"], await freePort(), {
    ADMIN_TOKEN: adminToken,
    ...environment,
  })
  const memory = () => proportionalMemory([...familyOf(server.pid), ...database()])
  const service = serviceAt(server.url)
  const key = await makeOrganization(service, "bench")
  await service.manage("POST", "/organizations/bench/templates", template)
  const body = { template_id: "welcome", user_id: "u1", fields: { name: "Ann" } }
  await service.generate("bench", key, body)
  const firstStart = memory()
  let underLoad = 0
  let serviceUnderLoad = 0
  const sampling = setInterval(() => {
    underLoad = Math.max(underLoad, memory())
    serviceUnderLoad = Math.max(serviceUnderLoad, proportionalMemory([server.pid]))
  }, 500)
  const measured = await measure(
    name,
    server,
    { url: `${server.url}/api/generate/bench`, headers: { "X-Api-Key": key }, body },
    { seconds },
  )
  clearInterval(sampling)
  await server.stop()
  return { ...measured, firstStart, underLoad, serviceUnderLoad }
}

const embedded = async (): Promise<Outcome> => {
  const folder = openFolder("parlance-bench-")
  try {
    return await tryOn("bundled", { DATA_DIR: join(folder, "data") }, () => [])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const external = async (): Promise<Outcome> => {
  const postgres = await startPostgres()
  try {
    const pid = Number(readFileSync(join(postgres.data, "postmaster.pid"), "utf8").split("\n")[0])
    // Runs on the core of the service. The bundled server inherits this core.
    execFileSync("taskset", ["-p", "-c", "0", String(pid)], { stdio: "ignore" })
    return await tryOn("external", { DATABASE_URL: postgres.url }, () => familyOf(pid))
  } finally {
    await postgres.stop()
  }
}

const outcomes: Array<Outcome> = []
for (let round = 0; round < Number(flags.rounds); round++) outcomes.push(await embedded(), await external())

const median = (name: string, of: (outcome: Outcome) => number): number => {
  const values = outcomes.filter((outcome) => outcome.name === name).map(of).sort((a, b) => a - b)
  return values[Math.floor(values.length / 2)]!
}
printColumns(
  "Generate on the bundled and on an external PostgreSQL, 64 connections, service and database on one core",
  ["", "requests/s", "p50 ms", "p99 ms", "MiB at first start (PSS)", "MiB under load (PSS)", "of these the service"],
  outcomes.map(({ firstStart, name, p50, p99, perSecond, serviceUnderLoad, underLoad }) => [
    name,
    [perSecond, 0],
    [p50, 2],
    [p99, 2],
    [firstStart, 0],
    [underLoad, 0],
    [serviceUnderLoad, 0],
  ]),
)
const rate = (name: string) => median(name, ({ perSecond }) => perSecond)
console.log(`\nMedian rate, bundled over external: ${(rate("bundled") / rate("external")).toFixed(2)}`)
