// Measures the bytes that a Generate request allocates, and the bytes that survive collections of the young generation,
// compared with an empty Effect route. Other work on the machine affects these figures less than times, but the objects
// of slower requests survive more often.
//
//   deno task bench allocations [--places 40]
import { adminToken, freePort, makeOrganization, serviceAt } from "../test/support/service.ts"
import { startPostgres } from "../test/support/throwawayPostgres.ts"
import { type Allocations, allocationsDuring } from "./support/Allocations.ts"
import { printColumns, runLoad, startServer } from "./support/Bench.ts"
import { offer, person } from "./support/offer.ts"

const places = Number(/--places[ =](\d+)/.exec(Deno.args.join(" "))?.[1] ?? 0)
const seconds = 3
const body = { template_id: "welcome", user_id: "u1", ...person }

/** Measures the bytes that a request allocates and the bytes that survive, by place in the sources. */
const measure = async (
  script: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>,
  prepare: (url: string) => Promise<Readonly<Record<string, string>>>,
) => {
  const inspector = await freePort()
  const server = await startServer([`--inspect=127.0.0.1:${inspector}`, ...script], await freePort(), environment)
  const headers = await prepare(server.url)
  const load = (seconds: number) =>
    runLoad<{ readonly requests: number }>("allocations", "bench/support/load.ts", {
      url: `${server.url}/api/generate/bench`,
      headers,
      body: JSON.stringify(body),
      seconds,
      connections: 64,
      rate: 0,
    })
  await load(4)
  const sampled = async (surviving: boolean) => {
    let requests = 0
    const all = await allocationsDuring(inspector, async () => void ({ requests } = await load(seconds)), { surviving })
    return {
      bytes: all.bytes / requests,
      byPlace: new Map([...all.byPlace].map(([place, bytes]) => [place, bytes / requests])),
    } satisfies Allocations
  }
  const measured = { all: await sampled(false), surviving: await sampled(true) }
  await server.stop()
  return measured
}

const empty = await measure(["bench/support/baselines.ts", "effect"], {}, () => Promise.resolve({}))
const postgres = await startPostgres()
const generate = await measure(
  ["src/main.ts", "serve"],
  { ADMIN_TOKEN: adminToken, DATABASE_URL: postgres.url },
  async (url) => {
    const service = serviceAt(url)
    const key = await makeOrganization(service, "bench")
    await service.manage("POST", "/organizations/bench/templates", offer("welcome"))
    return { "X-Api-Key": key }
  },
)
await postgres.stop()
const row = (name: string, { all, surviving }: typeof empty) =>
  [name, [all.bytes, 0], [surviving.bytes, 0]] as [string, [number, number], [number, number]]
printColumns("Bytes per request, 64 connections", ["", "allocated", "surviving"], [
  row("empty Effect route", empty),
  row("Generate", generate),
])
if (places > 0) {
  for (const [title, { byPlace }] of [["Allocated", generate.all], ["Surviving", generate.surviving]] as const) {
    const most = [...byPlace].sort(([, a], [, b]) => b - a).slice(0, places)
    printColumns(`${title} by a Generate`, ["place", "bytes"], most.map(([place, bytes]) => [place, [bytes, 0]]))
  }
}
