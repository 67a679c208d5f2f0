// Measures the speed of the intake with a full inbox, and the cost of an event. With `--profile` or `--allocations`,
// also prints the places in the sources with the highest cost.
//
//   deno task bench intake [--quick] [--profile | --allocations]
//
// The server runs on core 0, and PostgreSQL on any core. The most expensive statements are printed.
import { adminToken, freePort, makeOrganization, serviceAt } from "../test/support/service.ts"
import { startPostgres } from "../test/support/throwawayPostgres.ts"
import { allocationsDuring } from "./support/Allocations.ts"
import { cpuMicrosByThread, cpuMicrosOf, printColumns, startServer } from "./support/Bench.ts"
import { createDatabase, onStore, statements } from "./support/Databases.ts"
import { templates, trackingId, variants } from "./support/Events.ts"
import { profileDuring } from "./support/Profile.ts"
import { bareInserts, fill } from "./support/StoredEvents.ts"

const isQuick = Deno.args.includes("--quick")
const isProfiled = Deno.args.includes("--profile")
const isAllocations = Deno.args.includes("--allocations")
const decisions = isQuick ? 20_000 : 100_000
const events = isQuick ? 40_000 : 200_000
const rounds = 3
const shownPlaces = 50
const org = "bench"
const tiers = ["gold", "silver", "none"]
const countries = ["NO", "SE", "DK", "FI"]

const postgres = await startPostgres({ settings: { shared_preload_libraries: "pg_stat_statements" } })
const database = await createDatabase(postgres.url)
const environment = { DATABASE_URL: database.url }
const inspector = await freePort()
const start = async () =>
  await startServer(
    [...(isProfiled || isAllocations ? [`--inspect=127.0.0.1:${inspector}`] : []), "src/main.ts", "serve"],
    await freePort(),
    { ADMIN_TOKEN: adminToken, LOG_LEVEL: "Warn", ...environment },
  )

/** Creates the templates and decisions of the events. */
const decide = async () => {
  const server = await start()
  const service = serviceAt(server.url)
  const key = await makeOrganization(service, org, ["generate"])
  for (let t = 0; t < templates; t++) {
    await service.manage("POST", `/organizations/${org}/templates`, {
      id: `t${t}`,
      name: `t${t}`,
      variants: Array.from({ length: variants }, (_, i) => ({ id: `v${i}`, vars: { subject: `Offer ${i}` } })),
    })
  }
  let next = 0
  const client = async () => {
    while (next < decisions) {
      const first = next
      next += templates
      const response = await service.request(`/api/batch-generate/${org}`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify({
          requests: Array.from({ length: templates }, (_, t) => ({
            template_id: `t${t}`,
            tracking_id: trackingId(first + t),
          })),
          attrs: { tier: tiers[first / templates % 3], country: countries[first / templates % 4] },
        }),
      })
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
      await response.body?.cancel()
    }
  }
  await Promise.all(Array.from({ length: 16 }, client))
  await server.stop()
}

/** Prints the places with the largest amounts in `by`, per event. */
const printPlaces = (title: string, by: ReadonlyMap<string, number>, count: number) => {
  console.log(`\n${title}`)
  for (const [place, amount] of [...by].sort((a, b) => b[1] - a[1]).slice(0, shownPlaces)) {
    console.log(`${(amount / count).toFixed(2).padStart(10)} ${place}`)
  }
}

/** Measures the intake of a full inbox. Returns a row of the table. */
const takeIn = async (round: number) => {
  const base = Date.now() - 30 * 60_000
  const filling = { first: (round - 1) * events, events, perBody: 20, decisions, base }
  await onStore(environment, (sql) => fill(sql, filling))
  await statements(environment, false)
  const server = await start()
  const look = async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text()
    const counted = /^parlance_events_total\{[^}]*attributed[^}]*\} (\S+)/m.exec(text)
    return {
      events: Number(counted?.[1] ?? 0),
      at: performance.now(),
      micros: cpuMicrosOf(server.pid),
      threads: cpuMicrosByThread(server.pid),
    }
  }
  let from = await look()
  let to = from
  /**
   * Measures from the first counted events to the last. The intake begins up to a second after the start of the
   * service.
   */
  const drain = async () => {
    while (to.events < events) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      to = await look()
      if (from.events === 0) from = to
    }
  }
  const profile = isProfiled ? await profileDuring(inspector, drain) : undefined
  const allocations = isAllocations ? await allocationsDuring(inspector, drain, { surviving: round === 2 }) : undefined
  if (profile === undefined && allocations === undefined) await drain()
  const count = to.events - from.events
  if (profile !== undefined) {
    printPlaces("µs for each event, in the function itself", profile.self, count)
    printPlaces("µs for each event, with what it calls", profile.total, count)
  }
  if (allocations !== undefined) {
    const title = round === 2 ? "surviving bytes for each event" : "bytes for each event"
    printPlaces(`${title}: ${(allocations.bytes / count).toFixed(0)}`, allocations.byPlace, count)
  }
  for (const line of await statements(environment, true)) console.log(line)
  await server.stop()
  const main = (to.threads.get("deno") ?? NaN) - (from.threads.get("deno") ?? NaN)
  return [`round ${round}`, count * 1000 / (to.at - from.at), (to.micros - from.micros) / count, main / count] as const
}

await decide()
const bare = await onStore(environment, (sql) => bareInserts(sql, 20_000, decisions))
const rows: Array<readonly [string, number, number, number]> = [["bare inserts, 1,000 each", bare, NaN, NaN]]
for (let round = 1; round <= rounds; round++) rows.push(await takeIn(round))
printColumns(
  "The inbox at full speed",
  ["", "events/s", "over bare inserts", "CPU µs/event", "of it the main thread"],
  rows.map(([name, rate, micros, main]) => [name, [rate, 0], [rate / bare, 3], [micros, 0], [main, 0]]),
)
await database.drop()
await postgres.stop()
