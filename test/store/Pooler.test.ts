import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { StartPatience } from "../../src/store/FirstConnection.ts"
import { migrate } from "../../src/store/Migrations.ts"
import { OpensWholePool } from "../../src/store/Pooler.ts"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { hasPgbouncer, pgbouncerVersion, scopedPgbouncer } from "../support/pgbouncer.ts"
import { onServer } from "../support/onServer.ts"
import { buildInProcess, makeOrganization, type Service, startInProcess } from "../support/service.ts"
import { emptyEnvironment, type Environment, layerSettings, temporaryEnvironment } from "../support/stores.ts"

const calls = 2_000
const atOnce = 16

/** The calls of a mix, by the remainder of their number. Each succeeds with 200 or 201. */
const mix = (service: Service, key: string, testKey: string) => {
  const headers = { "x-api-key": key, "content-type": "application/json" }
  const post = (path: string, body: unknown, sender = key) =>
    service.request(path, { method: "POST", headers: { ...headers, "x-api-key": sender }, body: JSON.stringify(body) })
  const event = (n: number, name: string) =>
    post("/api/webhook/events/pool", { event: name, tracking_id: `t-${n - (n % 10)}`, event_id: `${name}-${n}` })
  const manage = async (method: string, path: string, body?: unknown) => {
    const { body: answer, status } = await service.manage(method, `/organizations/pool${path}`, body)
    return new Response(JSON.stringify(answer ?? null), { status })
  }
  const kinds: ReadonlyArray<(n: number) => Promise<Response>> = [
    (n) => post("/api/generate/pool", { template_id: "t", tracking_id: `t-${n}`, user_id: `u-${n}` }),
    (n) => event(n, "open"),
    (n) => event(n, "click"),
    (n) => event(n, "sent"),
    (n) => post("/api/generate/pool", { template_id: "t", attrs: { plan: "pro" }, user_id: `u-${n}` }),
    () => post("/api/batch-generate/pool", { requests: [{ template_id: "t" }], user_id: "u" }),
    (n) => service.request(`/api/delay/pool?delay_id=a&user_id=u-${n}`, { headers }),
    (n) => post("/api/deliver/pool", { template_id: "t", email: `u-${n}@example.com` }, testKey),
    (n) =>
      n % 100 === 8
        ? manage("POST", "/templates", { id: `t-${n}`, name: "T", variants: [{ id: "a", vars: { subject: "A" } }] })
        : manage("GET", "/templates/t"),
    (n) => n % 100 === 9 ? manage("GET", "/templates/t/results") : manage("GET", "/deliveries?limit=1"),
  ]
  return (n: number) => kinds[n % kinds.length]!(n)
}

/** Sends the mix of calls, and returns the number of answers by status. */
const sendAll = async (call: (n: number) => Promise<Response>) => {
  const statuses = new Map<number, number>()
  let next = 0
  const client = async () => {
    while (next < calls) {
      const response = await call(next++)
      await response.arrayBuffer()
      const kind = response.ok ? 200 : response.status
      statuses.set(kind, (statuses.get(kind) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, client))
  return Object.fromEntries(statuses)
}

/** Migrates the store of an environment, and returns the message of the failure. */
const refusalOf = (environment: Environment) =>
  migrate.pipe(
    Effect.provide(Layer.fresh(StoreFromSettings.layer.pipe(Layer.provide(layerSettings(environment))))),
    Effect.flip,
    Effect.map(({ message }) => message),
    Effect.provideService(StartPatience, Duration.zero),
  )

describe.runIf(hasPgbouncer("poolers"))(
  `Parlance behind PgBouncer ${hasPgbouncer("poolers") && pgbouncerVersion()}`,
  () => {
    for (const mode of ["session", "transaction"] as const) {
      it.live(`answers ${calls} of ${calls} mixed calls in ${mode} mode, and matches every event`, () =>
        Effect.scoped(Effect.gen(function* () {
          const env = yield* temporaryEnvironment
          const pooled = yield* scopedPgbouncer(env["DATABASE_URL"]!, mode)
          const { context, service } = yield* buildInProcess(
            Effect.succeed({ ...env, DATABASE_URL: pooled, DATABASE_DIRECT_URL: env["DATABASE_URL"]! }),
          )
          const sql = Context.get(context, SqlClient.SqlClient)
          yield* Effect.promise(async () => {
            const key = await makeOrganization(service, "pool", ["generate", "events"])
            const { body } = await service.manage("POST", "/organizations/pool/keys", { name: "test", kind: "test" })
            await service.manage("POST", "/organizations/pool/templates", {
              id: "t",
              name: "T",
              variants: ["a", "b"].map((id) => ({ id, vars: { subject: id, body: id } })),
            })
            assert.deepStrictEqual(await sendAll(mix(service, key, body.key)), { 200: calls })
            const stored = Effect.map(
              sql<{ event: string; count: number }>`
                SELECT e.event, count(*)::int AS count FROM events e WHERE e.org_slug = 'pool' AND e.status <> 'waiting'
                GROUP BY 1 ORDER BY 1`,
              (rows) => rows.map(({ count, event }) => `${count} ${event}`).join(),
            )
            const expected = ["click", "open", "sent"].map((event) => `${calls / 10} ${event}`).join()
            await service.untilStored(
              "every event is matched",
              ["events"],
              async () => await Effect.runPromise(stored) === expected,
            )
          })
        })))
    }

    it.live("migrates and writes in transaction mode without another address", () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* emptyEnvironment
        const pooled = yield* scopedPgbouncer(env["DATABASE_URL"]!, "transaction")
        const service = yield* startInProcess(Effect.succeed({ ...env, DATABASE_URL: pooled }))
        yield* Effect.promise(async () => {
          const key = await makeOrganization(service, "bare")
          const template = { id: "t", name: "T", variants: [{ id: "a", vars: { subject: "A" } }] }
          await service.manage("POST", "/organizations/bare/templates", template)
          const { headers, status } = await service.generate("bare", key, { template_id: "t" })
          assert.deepStrictEqual([status, headers.get("decision-durable")], [200, null])
        })
      })))

    it.live("limits idle transactions, and leaves no setting on connections of the pooler", () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* emptyEnvironment
        const pooled = yield* scopedPgbouncer(env["DATABASE_URL"]!, "transaction", { default_pool_size: "3" })
        const context = yield* Layer.build(
          StoreFromSettings.layer.pipe(Layer.provide(layerSettings({ ...env, DATABASE_URL: pooled }))),
        )
        const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
        const limit = Effect.map(
          sql<{ timeout: string }>`SELECT current_setting('idle_in_transaction_session_timeout') AS timeout`,
          ([row]) => row!.timeout,
        )
        const inner = sql.withTransaction(limit)
        const [outer, nested] = yield* sql.withTransaction(
          Effect.andThen(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`, Effect.all([limit, inner])),
        )
        assert.deepStrictEqual([outer, nested], ["8s", "8s"])
        assert.deepStrictEqual(yield* Effect.replicateEffect(limit, 4), ["0", "0", "0", "0"])
      })))

    it.live("is refused by a serving node, not by a command, if it gives too few connections at once", () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* emptyEnvironment
        const url = env["DATABASE_URL"]!
        const few = { default_pool_size: "4" }
        const session = { DATABASE_URL: yield* scopedPgbouncer(url, "session", few), DATABASE_POOL_SIZE: "3" }
        const start = (environment: Environment) =>
          Effect.scoped(Layer.build(
            Layer.fresh(StoreFromSettings.layerMigrated.pipe(Layer.provide(layerSettings(environment)))),
          ))
        yield* start(session)
        yield* Effect.gen(function* () {
          assert.match(
            yield* refusalOf(session),
            /^DATABASE_URL: .*lets 4 of the 5 connections of this node work at once.*Set DATABASE_POOL_SIZE to 2 or less/,
          )
          yield* start({ ...session, DATABASE_POOL_SIZE: "2" })
          yield* start({ ...session, DATABASE_URL: yield* scopedPgbouncer(url, "transaction", few) })
          const full = { DATABASE_URL: yield* scopedPgbouncer(url, "transaction", { max_client_conn: "4" }) }
          assert.match(yield* refusalOf(full), /no more connections allowed.*raise max_client_conn/)
        }).pipe(Effect.provideService(OpensWholePool, true))
      })))

    it.live("ends at the start with the remedy where the pooler cannot work", () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* emptyEnvironment
        const url = env["DATABASE_URL"]!
        const [statement, transaction, session] = [
          yield* scopedPgbouncer(url, "statement"),
          yield* scopedPgbouncer(url, "transaction"),
          yield* scopedPgbouncer(url, "session"),
        ]
        assert.match(
          yield* refusalOf({ DATABASE_URL: statement }),
          /^DATABASE_URL: .*statement mode.*Set pool_mode = transaction/,
        )
        assert.match(
          yield* refusalOf({ DATABASE_URL: `${transaction}?prepare=true` }),
          /^DATABASE_URL: .*loses prepared statements. Remove prepare=true, or use PgBouncer 1\.21/,
        )
        assert.match(
          yield* refusalOf({ DATABASE_URL: `${transaction}?options=-csearch_path%3Dshop` }),
          /^DATABASE_URL: .*refuses the parameter options.*ALTER ROLE "postgres" IN DATABASE "test_\w+" SET search_path/,
        )
        assert.match(
          yield* refusalOf({ DATABASE_URL: transaction, DATABASE_DIRECT_URL: transaction }),
          /^DATABASE_DIRECT_URL: .*each transaction another connection.*Set DATABASE_DIRECT_URL to the server itself/,
        )
        assert.match(
          yield* refusalOf({ DATABASE_URL: transaction, DATABASE_DIRECT_URL: new URL("/postgres", url).href }),
          /^DATABASE_DIRECT_URL: .*not the database that DATABASE_URL leads to/,
        )
        yield* Effect.promise(() => onServer(url, "CREATE SCHEMA shop"))
        assert.match(
          yield* refusalOf({ DATABASE_URL: transaction, DATABASE_DIRECT_URL: `${url}?options=-csearch_path%3Dshop` }),
          /^DATABASE_DIRECT_URL: .*its tables are in the schema shop, and those of DATABASE_URL in the schema public\. Set/,
        )
        const wrong = new URL(session)
        wrong.username = "nobody"
        assert.match(yield* refusalOf({ DATABASE_URL: wrong.href }), /^DATABASE_URL: .*pooler.*auth_file/)
        // A pooler in session mode keeps prepared statements, and can be the direct address.
        const context = yield* Layer.build(
          StoreFromSettings.layerMigrated.pipe(
            Layer.provide(layerSettings({ DATABASE_URL: `${session}?prepare=true`, DATABASE_DIRECT_URL: session })),
          ),
        )
        const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
        const prepared = yield* sql<{ count: number }>`SELECT count(*)::int AS count FROM pg_prepared_statements`
        assert.isAbove(prepared[0]!.count, 0)
      })))
  },
)
