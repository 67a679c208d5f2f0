// Measures overload: a closed loop finds the sustainable rate of Generate, and an open loop then sends one, two and
// three times that rate. Repeats both with batches, for which one core can generate three times the load that another
// core can serve: deno task bench overload [--quick] [--only postgres|embedded] [--rounds N] [--items 1,10]
// [--connections 4000].
import { rmSync } from "node:fs"
import { parseArgs } from "node:util"
import { adminToken, freePort, makeOrganization, serviceAt } from "../test/support/service.ts"
import { openFolder, startPostgres } from "../test/support/throwawayPostgres.ts"
import { cpuMicrosOf, measure, printColumns, runLoad, startServer } from "./support/Bench.ts"
import { offer, person } from "./support/offer.ts"

const { values: flags } = parseArgs({
  args: Deno.args.slice(1),
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    rounds: { type: "string" },
    items: { type: "string", default: "1,10" },
    connections: { type: "string", default: "4000" },
  },
})
const seconds = flags.quick ? 3 : 8
const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 3))
/** Numbers of messages in a request: 1 is Generate, and larger numbers are batches. */
const sizes = flags.items.split(",").map(Number)
// Each connection awaits its response. With few connections, the load could not reach three times the rate while
// responses take half a second.
const connections = Number(flags.connections)
if ([rounds, connections, ...sizes].some((number) => !Number.isInteger(number) || number < 1)) {
  console.error("--rounds, --items and --connections are whole numbers above 0")
  Deno.exit(1)
}

/** Result of the open loop. Times are in milliseconds. They apply to served requests, except `refusedP99`. */
interface Seen {
  readonly perSecond: number
  readonly served: number
  readonly p50: number
  readonly p99: number
  readonly refusedP99: number
  readonly statuses: Readonly<Record<string, number>>
}

const folder = openFolder("parlance-bench-")
const postgres = flags.only === "embedded" ? undefined : await startPostgres()
const stores: Array<readonly [string, Readonly<Record<string, string>>]> = []
if (postgres !== undefined) stores.push(["Postgres", { DATABASE_URL: postgres.url }])
if (flags.only !== "postgres") stores.push(["embedded", { DATA_DIR: folder }])

for (const [store, environment] of stores) {
  const server = await startServer(["src/main.ts", "serve"], await freePort(), {
    ADMIN_TOKEN: adminToken,
    ...environment,
  })
  const service = serviceAt(server.url)
  const key = await makeOrganization(service, "bench")
  for (let n = 0; n < Math.max(...sizes); n++) {
    await service.manage("POST", "/organizations/bench/templates", offer(`t${n}`, false))
  }
  const requestOf = (size: number) => {
    const shared = { user_id: "u1", ...person }
    const requests = Array.from({ length: size }, (_, n) => ({ template_id: `t${n}` }))
    return {
      url: `${server.url}/api/${size === 1 ? "generate" : "batch-generate"}/bench`,
      headers: { "X-Api-Key": key },
      body: size === 1 ? { ...shared, ...requests[0] } : { ...shared, requests },
    }
  }
  for (const size of sizes) {
    const request = requestOf(size)
    await measure("warm-up", server, request, { seconds: 1, warmUp: 4 })
    const rows: Array<ReadonlyArray<string | number | readonly [number, number]>> = []
    for (let round = 1; round <= rounds; round++) {
      const closed = await measure("closed loop", server, request, { seconds, warmUp: 0 })
      const most = closed.perSecond
      rows.push(["closed loop, 64 connections", [most, 0], [most, 0], [1, 2], [closed.p50, 1], [closed.p99, 1], "–", [
        100 * (closed.statuses["503"] ?? 0) / closed.requests,
        1,
      ], [closed.cpuMicros, 1]])
      for (const times of [1, 2, 3]) {
        const before = cpuMicrosOf(server.pid)
        const seen = await runLoad<Seen>(`${times}x`, "bench/support/openLoad.ts", {
          ...request,
          body: JSON.stringify(request.body),
          seconds,
          connections,
          rate: Math.round(most * times),
        })
        const { "200": served = 0, "503": shed = 0 } = seen.statuses
        const others = Object.entries(seen.statuses).filter(([status]) => status !== "200" && status !== "503")
        if (others.length > 0) console.log(`Also answered: ${JSON.stringify(Object.fromEntries(others))}`)
        rows.push([
          `open loop, ${times}x`,
          [seen.perSecond, 0],
          [seen.served, 0],
          [seen.served / most, 2],
          [seen.p50, 1],
          [seen.p99, 1],
          [seen.refusedP99, 1],
          [100 * shed / (served + shed), 1],
          [(cpuMicrosOf(server.pid) - before) / (served + shed), 1],
        ])
      }
    }
    printColumns(
      `Overload, ${store}, ${
        size === 1 ? "Generate" : `batches of ${size}`
      }, ${connections} connections in the open loop, the server on one core`,
      [
        "",
        "asked/s",
        "served/s",
        "served / maximum",
        "p50 ms",
        "p99 ms",
        "p99 ms of refusals",
        "shed %",
        "CPU µs per answer",
      ],
      rows,
    )
  }
  await server.stop()
}

await postgres?.stop()
rmSync(folder, { recursive: true, force: true })
