// Measures the redirect and the pixel under load: one process on one core, with 64 connections from another process,
// compared with an empty Effect route. All kinds are measured in rotation, in several short rounds of one run, because
// other work on the machine affects the cost of a request. Each message is opened or clicked once, so that every
// request is recorded, or repeatedly, as by scanners.
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as StoreFromSettings from "../src/store/StoreFromSettings.ts"
import { targetKey } from "../src/tracking/Token.ts"
import { adminToken, freePort, makeOrganization, serviceAt } from "../test/support/service.ts"
import { layerSettings } from "../test/support/settings.ts"
import { startPostgres } from "../test/support/throwawayPostgres.ts"
import { loopMicrosOf, type Measured, printTable, runLoad, type ServerProcess, startServer } from "./support/Bench.ts"

const quick = Deno.args.includes("--quick")
const seconds = quick ? 2 : 4
const rounds = quick ? 2 : 3
const baseline = "empty Effect route"
const target = "https://shop.example/sale"
const link = targetKey(target)

/** Number of messages that are requested repeatedly. */
const repeated = 100
/** Number of messages of a load that opens or clicks each message once. */
const perLoad = 15_000 * seconds
/** Number of messages of all loads. */
const messages = repeated + perLoad * (2 + 2 * 2 * rounds)

/** Stores the target of the clicks and the decisions of the messages. Returns the signing key of tokens. */
const furnish = (environment: Readonly<Record<string, string>>) =>
  Effect.runPromise(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO tracked_links (org_slug, key, target, used_on) VALUES ('bench', ${link}, ${target}, now()::date)`
      yield* sql`
        INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, user_id, mode, propensity, weights, segment,
          policy, decided_at)
        SELECT 'bench', md5(i::text)::uuid::text, 't', 'v1', 'u' || i, 'bandit', 0.5, '{"v0":0.5,"v1":0.5}',
          'daypart=morning&weekend=weekday', 't:0', now()
        FROM generate_series(0, ${messages}::int - 1) AS i`
      yield* sql`ANALYZE decisions`
      const [row] = yield* sql<{ key: string }>`SELECT s.key FROM signing_keys s WHERE s.name = 'tracking'`
      return row!.key
    }).pipe(Effect.provide(StoreFromSettings.layerMigrated.pipe(Layer.provide(layerSettings(environment))))),
  )

interface Kind {
  readonly name: string
  readonly server: ServerProcess
  readonly path: string
  readonly route: "" | "c" | "o"
  readonly secret: string
  /** Whether each message is requested only once. */
  readonly once: boolean
}

let unused = repeated

/** Measures one load of one kind. The processor time is the time of the main thread, which runs the event loop. */
const load = async (
  { name, once, path, route, secret, server }: Kind,
  seconds: number,
  rate = 0,
): Promise<Measured> => {
  const first = once ? unused : 0
  if (once) unused += perLoad
  const before = loopMicrosOf(server.pid)
  const measured = await runLoad<Omit<Measured, "name" | "cpuMicros">>(name, "bench/support/trackingLoad.ts", {
    url: `${server.url}${path}`,
    route,
    secret,
    org: "bench",
    link,
    first,
    messages: once ? perLoad : repeated,
    rate,
    connections: 64,
    seconds,
  })
  return { name, ...measured, cpuMicros: (loopMicrosOf(server.pid) - before) / measured.requests }
}

const medianOf = (values: ReadonlyArray<number>): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!

/** Returns the medians of the rounds of each kind. */
const mediansOf = (rows: ReadonlyArray<ReadonlyArray<Measured>>): ReadonlyArray<Measured> =>
  rows.map((some) => {
    const median = (of: (one: Measured) => number) => medianOf(some.map(of))
    const statuses: Record<string, number> = {}
    for (const one of some) {
      for (const [status, count] of Object.entries(one.statuses)) statuses[status] = (statuses[status] ?? 0) + count
    }
    return {
      name: some[0]!.name,
      requests: median(({ requests }) => requests),
      perSecond: median(({ perSecond }) => perSecond),
      p50: median(({ p50 }) => p50),
      p99: median(({ p99 }) => p99),
      cpuMicros: median(({ cpuMicros }) => cpuMicros),
      statuses,
    }
  })

/** Measures all kinds in rotation. `rates` are the requests per second of each kind in an open loop. */
const inTurns = async (kinds: ReadonlyArray<Kind>, rates?: ReadonlyArray<number>) => {
  const rows: Array<Array<Measured>> = kinds.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [n, kind] of kinds.entries()) rows[n]!.push(await load(kind, seconds, rates?.[n]))
  }
  return mediansOf(rows)
}

const empty = await startServer(["bench/support/baselines.ts", "effect"], await freePort(), {})
const postgres = await startPostgres()
const environment = { DATABASE_URL: postgres.url }
const server = await startServer(["src/main.ts", "serve"], await freePort(), {
  ADMIN_TOKEN: adminToken,
  ...environment,
})
const service = serviceAt(server.url)
await makeOrganization(service, "bench")
await service.manage("POST", "/organizations/bench/templates", {
  id: "t",
  name: "T",
  variants: ["v0", "v1"].map((id) => ({ id, vars: { subject: id } })),
})
const secret = await furnish(environment)
const ours = { server, path: "/", secret }
const kinds: ReadonlyArray<Kind> = [
  { name: baseline, server: empty, path: "/healthz", route: "", secret: "00", once: false },
  { name: "Redirect, repeated", ...ours, route: "c", once: false },
  { name: "Pixel, repeated", ...ours, route: "o", once: false },
  { name: "Redirect, each message once", ...ours, route: "c", once: true },
  { name: "Pixel, each message once", ...ours, route: "o", once: true },
]
for (const kind of kinds) await load(kind, quick ? 2 : 4)
const closed = await inTurns(kinds)
const rates = closed.map(({ perSecond }) => Math.floor(perSecond / 2))
const half = await inTurns(kinds, rates)
await Promise.all([empty.stop(), server.stop()])
await postgres.stop()
const columns = "processor time of the main thread"
printTable(`Closed loop, 64 connections, servers on one core, ${columns}`, closed, baseline)
printTable(`Open loop at half of that, ${columns}`, half, baseline)
