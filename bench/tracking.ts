// Redirect and pixel under load: one process on one core, 64 connections from another process, next to what an empty Effect
// route costs that is asked in the same way. Each message is opened or clicked once, so that every request is recorded, or
// again and again, as scanners do.
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as StoreFromSettings from "../src/store/StoreFromSettings.ts"
import { targetKey } from "../src/tracking/Token.ts"
import { adminToken, freePort, makeOrganization, serviceAt } from "../test/support/service.ts"
import { layerSettings } from "../test/support/settings.ts"
import { startPostgres } from "../test/support/throwawayPostgres.ts"
import { cpuMicrosOf, type Measured, printTable, runLoad, type ServerProcess, startServer } from "./support/Bench.ts"

const quick = Deno.args.includes("--quick")
const seconds = quick ? 2 : 6
const baseline = "empty Effect route"
const target = "https://shop.example/sale"
const link = targetKey(target)

/** Stores the target that is clicked; answers the key of tokens. */
const furnish = (environment: Readonly<Record<string, string>>) =>
  Effect.runPromise(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO tracked_links (org_slug, key, target, used_on) VALUES ('bench', ${link}, ${target}, now()::date)`
      const [row] = yield* sql<{ key: string }>`SELECT s.key FROM signing_keys s WHERE s.name = 'tracking'`
      return row!.key
    }).pipe(Effect.provide(StoreFromSettings.layerMigrated.pipe(Layer.provide(layerSettings(environment))))),
  )

const measure = async (
  name: string,
  server: ServerProcess,
  load: { readonly path?: string; readonly route: string; readonly secret: string; readonly messages: number },
  rate = 0,
): Promise<Measured> => {
  const { path = "/", ...more } = load
  const options = { ...more, url: `${server.url}${path}`, org: "bench", link, rate, connections: 64 }
  const run = (seconds: number) =>
    runLoad<Omit<Measured, "name" | "cpuMicros">>(name, "bench/support/trackingLoad.ts", { ...options, seconds })
  await run(quick ? 2 : 4)
  const before = cpuMicrosOf(server.pid)
  const measured = await run(seconds)
  return { name, ...measured, cpuMicros: (cpuMicrosOf(server.pid) - before) / measured.requests }
}

const closed: Array<Measured> = []
const empty = await startServer(["bench/support/baselines.ts", "effect"], await freePort(), {})
const nothing = { path: "/healthz", route: "", secret: "", messages: 1 }
closed.push(await measure(baseline, empty, nothing))
await empty.stop()

const postgres = await startPostgres()
const environment = { DATABASE_URL: postgres.url }
const server = await startServer(["src/main.ts", "serve"], await freePort(), {
  ADMIN_TOKEN: adminToken,
  ...environment,
})
await makeOrganization(serviceAt(server.url), "bench")
const secret = await furnish(environment)
const kinds = [
  ["Redirect, each message once", "c", 150_000],
  ["Redirect, repeated", "c", 100],
  ["Pixel, each message once", "o", 150_000],
  ["Pixel, repeated", "o", 100],
] as const
for (const [name, route, messages] of kinds) closed.push(await measure(name, server, { route, secret, messages }))

const half: Array<Measured> = []
for (const [n, [name, route, messages]] of kinds.entries()) {
  const rate = Math.floor(closed[n + 1]!.perSecond / 2)
  half.push(await measure(`${name}, ${rate} a second`, server, { route, secret, messages }, rate))
}
await server.stop()
await postgres.stop()
printTable("Closed loop, 64 connections, server on one core", closed, baseline)
printTable("Open loop at half of that", half, half[0]!.name)
