// Measures the rows and bytes of decisions, and whether the cost of a request grows with the number of decisions.
//
//   deno task bench growth [--sizes 100000,1000000,10000000] [--requests 3000] [--postgres-url URL]
//
// Decisions are in partitions of 400 days, and half of them have tracking ids of callers. The server runs on core 0,
// and PostgreSQL on any core. The numbers of blocks that PostgreSQL reads per request are exact. Times depend on the
// current load of this machine.
import { parseArgs } from "node:util"
import { Agent, request as httpRequest } from "node:http"
import { adminToken, freePort, makeOrganization, serviceAt } from "../test/support/service.ts"
import { shrinkIndexes } from "../src/journal/retention/Indexes.ts"
import { startPostgres } from "../test/support/throwawayPostgres.ts"
import { cpuMicrosOf, printColumns, startServer } from "./support/Bench.ts"
import { createDatabase, onStore } from "./support/Databases.ts"
import { blocks, fill, mix, org, type Part, parts, preparePartitions, sizes } from "./support/growthStore.ts"

const { values: flags } = parseArgs({
  args: Deno.args.slice(1),
  options: {
    sizes: { type: "string", default: "100000,1000000,10000000" },
    requests: { type: "string", default: "3000" },
    "postgres-url": { type: "string" },
  },
})
const wanted = flags.sizes.split(",").map(Number).sort((a, b) => a - b)
const requests = Number(flags.requests)
if (wanted.some((size) => !Number.isInteger(size) || size < 1) || !Number.isInteger(requests) || requests < 1) {
  console.error("--sizes and --requests are whole numbers above 0")
  Deno.exit(1)
}
const days = 400
const connections = 16

const server = flags["postgres-url"] === undefined ? await startPostgres() : undefined
const database = await createDatabase(flags["postgres-url"] ?? server!.url)
const environment = { DATABASE_URL: database.url }

const agent = new Agent({ keepAlive: true, maxSockets: connections })
const post = (url: string, key: string, body: unknown): Promise<void> =>
  new Promise((resolve, reject) => {
    const sent = httpRequest(url, {
      agent,
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
    }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url} answered ${response.statusCode}`))
      response.resume().on("end", () => resolve())
    })
    sent.on("error", reject)
    sent.end(JSON.stringify(body))
  })

interface Cost {
  readonly p50: number
  readonly cpu: number
  readonly blocks: number
}

/** Sends requests over several connections. Returns the cost of one request. */
const cost = async (pid: number, send: (n: number) => Promise<void>): Promise<Cost> => {
  for (let n = 0; n < 300; n++) await send(-1 - n)
  const settled = async () => {
    // A connection of PostgreSQL reports its counters once a second.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    return await onStore(environment, blocks)
  }
  const before = await settled()
  const cpu = cpuMicrosOf(pid)
  const times: Array<number> = []
  let next = 0
  await Promise.all(Array.from({ length: connections }, async () => {
    while (next < requests) {
      const n = next++
      const start = performance.now()
      await send(n)
      times.push(performance.now() - start)
    }
  }))
  const used = cpuMicrosOf(pid) - cpu
  return {
    p50: times.sort((a, b) => a - b)[times.length >> 1]!,
    cpu: used / requests,
    blocks: (await settled() - before) / requests,
  }
}

let key = ""
let filled = 0
const rows: Array<readonly [size: number, name: string, cost: Cost]> = []
let bytes: ReadonlyArray<{ name: string; rows: number; heap: number; indexes: number }> = []
let costs: ReadonlyArray<Part> = []
await onStore(environment, (sql) => preparePartitions(sql, days))
for (const size of wanted) {
  const started = performance.now()
  await onStore(environment, (sql) => fill(sql, filled, size, days))
  filled = size
  console.log(`${size} decisions stored, after ${((performance.now() - started) / 1000).toFixed(0)} s`)
  bytes = await onStore(environment, sizes)
  costs = await onStore(environment, parts)
  const process = await startServer(["src/main.ts", "serve"], await freePort(), {
    ADMIN_TOKEN: adminToken,
    ...environment,
  })
  const service = serviceAt(process.url)
  if (key === "") {
    key = await makeOrganization(service, org, ["generate", "events"])
    await service.manage("POST", `/organizations/${org}/templates`, {
      id: "welcome",
      name: "welcome",
      variants: Array.from({ length: 5 }, (_, i) => ({ id: `v${i}`, vars: { subject: `Hi {{ name }}, offer ${i}` } })),
    })
  }
  const ask = { template_id: "welcome", user_id: "u1", fields: { name: "Ann" }, attrs: { tier: "gold" } }
  const generate = `${process.url}/api/generate/${org}`
  rows.push([size, "Generate", await cost(process.pid, () => post(generate, key, ask))])
  rows.push([
    size,
    "Generate, caller's tracking id",
    await cost(process.pid, (n) => post(generate, key, { ...ask, tracking_id: `order/${size}/${n}` })),
  ])
  rows.push([
    size,
    "the same again (retries)",
    await cost(process.pid, (n) => post(generate, key, { ...ask, tracking_id: `order/${size}/${n}` })),
  ])
  rows.push([
    size,
    "webhook, one click",
    await cost(
      process.pid,
      (n) =>
        post(`${process.url}/api/webhook/events/${org}`, key, {
          event: "click",
          tracking_id: `order/${size}/${n}`,
          event_id: `${size}/${n}`,
        }),
    ),
  ])
  await process.stop()
}

const perMillion = filled / 1_000_000
const printSizes = (title: string, tables: typeof bytes) =>
  printColumns(
    title,
    ["table", "rows", "MB", "of it indexes", "bytes per row"],
    [
      ...tables.map(({ heap, indexes, name, rows }) =>
        [name, [rows / perMillion, 0], [(heap + indexes) / perMillion / 1e6, 0], [indexes / perMillion / 1e6, 0], [
          (heap + indexes) / Math.max(1, rows),
          0,
        ]] as const
      ),
      ["all", "", [tables.reduce((sum, { heap, indexes }) => sum + heap + indexes, 0) / perMillion / 1e6, 0], "", ""],
    ],
  )
printSizes(
  `Per million decisions: ${mix.given} under callers' ids, ${mix.delivered} delivered, ${mix.open} opens, ${mix.click} clicks, ` +
    `${mix.eventsPerBody} events in a body of 1.7 kB`,
  bytes,
)
await onStore(environment, (sql) => shrinkIndexes(sql, Date.now()))
printSizes("Per million decisions, with rebuilt indexes of closed partitions", await onStore(environment, sizes))
printColumns(
  "Bytes of a row by column and index, without headers and alignment",
  ["table", "column or index", "bytes"],
  costs.map(({ bytes, name, part }) => [name, part, [bytes, 1]] as const),
)
const first = (name: string) => rows.find((row) => row[1] === name)![2]
printColumns(
  "Per request, and as a ratio to that with the fewest decisions",
  ["decisions", "request", "blocks in Postgres", "ratio", "CPU µs in the service", "ratio", "p50 ms", "ratio"],
  rows.map(([size, name, { blocks, cpu, p50 }]) => [
    String(size),
    name,
    [blocks, 1],
    [blocks / first(name).blocks, 2],
    [cpu, 0],
    [cpu / first(name).cpu, 2],
    [p50, 1],
    [p50 / first(name).p50, 2],
  ]),
)
agent.destroy()
await database.drop()
if (server !== undefined) await server.stop()
