// Measures Generate under load: one process on one core, with 64 connections from another process. Compares it with a
// bare handler and an empty Effect route that respond with equal bytes in this run.
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { rmSync } from "node:fs"
import { adminToken, freePort, makeOrganization, type Service, serviceAt } from "../test/support/service.ts"
import * as StoreFromSettings from "../src/store/StoreFromSettings.ts"
import { layerSettings } from "../test/support/settings.ts"
import { openFolder, startPostgres } from "../test/support/throwawayPostgres.ts"
import { measure, type Measured, printTable, startServer } from "./support/Bench.ts"
import { offer, person } from "./support/offer.ts"

const ask = { template_id: "welcome", user_id: "u1", ...person }

const importTemplates = async (service: Service, count: number) => {
  for (let at = 0; at < count; at += 400) {
    const templates = Array.from({ length: Math.min(400, count - at) }, (_, i) => offer(`t${at + i}`))
    const { status } = await service.manage("POST", "/organizations/bench/templates/import", { templates })
    if (status !== 200) throw new Error(`Import answered ${status}`)
  }
}

/** Fills the table of decisions. No service may use it at this time. */
const storeDecisions = (environment: Readonly<Record<string, string>>, count: number) =>
  Effect.runPromise(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const step = 100_000
      for (let at = 0; at < count; at += step) {
        yield* sql`
          INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, user_id, mode, propensity, weights, segment,
            policy, decided_at)
          SELECT 'bench', gen_random_uuid()::text, 'welcome', 'v1', 'u' || i, 'bandit', 0.2,
            '{"v0":0.2,"v1":0.2,"v2":0.2,"v3":0.2,"v4":0.2}', 'daypart=morning&weekend=weekday', 'welcome:0', now()
          FROM generate_series(${at + 1}::int, ${Math.min(count, at + step)}::int) AS i`
      }
    }).pipe(
      Effect.provide(StoreFromSettings.layerMigrated.pipe(Layer.provide(layerSettings(environment)))),
    ),
  )

const quick = Deno.args.includes("--quick")
const seconds = quick ? 2 : 6
const rows: Array<Measured> = []
const more: Array<Measured> = []
const batches: Array<Measured> = []
const baseline = "empty Effect route"

for (const [name, mode] of [["bare Deno.serve", "bare"], [baseline, "effect"]] as const) {
  const server = await startServer(["bench/support/baselines.ts", mode], await freePort(), {})
  rows.push(await measure(name, server, { url: `${server.url}/api/generate/bench`, body: ask }, { seconds }))
  if (mode === "effect") {
    const rate = 2000
    more.push(
      await measure(baseline, server, { url: `${server.url}/api/generate/bench`, body: ask }, { seconds, rate }),
    )
  }
  await server.stop()
}

const folder = openFolder("parlance-bench-")
const postgres = await startPostgres()
const stores: ReadonlyArray<readonly [string, Readonly<Record<string, string>>]> = [
  ["Postgres", { DATABASE_URL: postgres.url }],
  ["embedded", { DATA_DIR: folder }],
]

for (const [store, environment] of stores) {
  const server = await startServer(["src/main.ts", "serve"], await freePort(), {
    ADMIN_TOKEN: adminToken,
    ...environment,
  })
  const service = serviceAt(server.url)
  const key = await makeOrganization(service, "bench")
  await service.manage("POST", "/organizations/bench/templates", offer("welcome"))
  const request = { url: `${server.url}/api/generate/bench`, headers: { "X-Api-Key": key }, body: ask }
  rows.push(await measure(`Generate, ${store}`, server, request, { seconds }))
  more.push(await measure(`Generate, ${store}`, server, request, { seconds, rate: 2000 }))

  await importTemplates(service, 20)
  const batch = {
    ...request,
    url: `${server.url}/api/batch-generate/bench`,
    body: {
      requests: Array.from({ length: 20 }, (_, i) => ({ template_id: `t${i}` })),
      user_id: "u1",
      ...person,
    },
  }
  batches.push(await measure(`Generate, ${store}`, server, request, { seconds }))
  batches.push(await measure(`Batch of 20, ${store}`, server, batch, { seconds }))

  await importTemplates(service, quick ? 500 : 10_000)
  const last = { ...request, body: { ...ask, template_id: quick ? "t499" : "t9999" } }
  batches.push(await measure(`Generate, 10,000 templates, ${store}`, server, last, { seconds }))
  await server.stop()

  await storeDecisions(environment, quick ? 10_000 : 1_000_000)
  const again = await startServer(["src/main.ts", "serve"], await freePort(), {
    ADMIN_TOKEN: adminToken,
    ...environment,
  })
  const full = { ...request, url: `${again.url}/api/generate/bench` }
  batches.push(await measure(`Generate, 1,000,000 decisions stored, ${store}`, again, full, { seconds }))
  await again.stop()
}

await postgres.stop()
rmSync(folder, { recursive: true, force: true })
printTable("Closed loop, 64 connections, server on one core", rows, baseline)
printTable("Open loop, 2,000 requests a second", more, baseline)
printTable("Batches and many templates", batches, `Generate, ${stores[0]![0]}`)
