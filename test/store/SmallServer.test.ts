import { assert, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { Retention } from "../../src/journal/retention/Retention.ts"
import { layerNodeServices } from "../../src/service/App.ts"
import { onServer } from "../support/onServer.ts"
import { buildInProcess, makeOrganization, waitUntil } from "../support/service.ts"
import { startPostgres } from "../support/throwawayPostgres.ts"

/** Connections of a small managed server, of which 3 are reserved for superusers. */
const connections = 25

describe("a small managed server", () => {
  it.live("carries three nodes, and a fourth during an upgrade, for a role with the documented rights", () =>
    Effect.scoped(Effect.gen(function* () {
      const { url } = yield* Effect.acquireRelease(
        Effect.promise(() => startPostgres({ settings: { max_connections: String(connections) } })),
        ({ stop }) => Effect.promise(stop),
      )
      const statements = [
        "CREATE DATABASE shop",
        "REVOKE ALL ON DATABASE shop FROM PUBLIC",
        "CREATE ROLE parlance LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE",
        "GRANT CONNECT ON DATABASE shop TO parlance",
      ]
      const database = new URL("/shop", url)
      yield* Effect.promise(async () => {
        for (const statement of statements) await onServer(url, statement)
        await onServer(database.href, "REVOKE ALL ON SCHEMA public FROM PUBLIC")
        await onServer(database.href, "GRANT USAGE, CREATE ON SCHEMA public TO parlance")
      })
      database.username = "parlance"
      const env = { DATABASE_URL: database.href, DATABASE_POOL_SIZE: "3", SECRET_KEY: "0".repeat(64) }
      const node = buildInProcess(Effect.succeed(env), {}, undefined, layerNodeServices)
      const [first, ...others] = yield* Effect.replicateEffect(node, 4)
      const nodes = [first!, ...others]
      const sql = Context.get(first!.context, SqlClient.SqlClient)
      yield* Context.get(first!.context, Retention).prepare
      yield* Effect.promise(async () => {
        const { service } = first!
        const key = await makeOrganization(service, "shop", ["generate", "events"])
        const variants = ["a", "b"].map((id) => ({ id, vars: { subject: id } }))
        await service.manage("POST", "/organizations/shop/templates", { id: "t", name: "T", variants })
        const headers = { "x-api-key": key, "content-type": "application/json" }
        const call = async (n: number) => {
          const { request } = nodes[n % nodes.length]!.service
          const generate = JSON.stringify({ template_id: "t", tracking_id: `t-${n}`, user_id: `u-${n}` })
          const event = JSON.stringify({ event: "click", tracking_id: `t-${n}`, event_id: `e-${n}` })
          return [
            (await request("/api/generate/shop", { method: "POST", headers, body: generate })).status,
            (await request("/api/webhook/events/shop", { method: "POST", headers, body: event })).status,
          ].join()
        }
        // Other nodes find the new template within a second.
        for (const { service } of nodes) {
          await waitUntil(
            "the node knows the template",
            async () => (await service.generate("shop", key, { template_id: "t", user_id: "first" })).status === 200,
          )
        }
        const answers = await Promise.all(Array.from({ length: 400 }, (_, n) => call(n)))
        assert.deepStrictEqual([...new Set(answers)], ["200,200"])
        const counted = Effect.map(
          sql<{ count: number }>`SELECT count(*)::int AS count FROM events e WHERE e.status = 'attributed'`,
          ([row]) => row!.count,
        )
        await service.untilStored(
          "each click is counted",
          ["events"],
          async () => await Effect.runPromise(counted) === 400,
        )
        const used = await Effect.runPromise(
          sql<{ count: number }>`SELECT count(*)::int AS count FROM pg_stat_activity a WHERE a.usename = 'parlance'`,
        )
        // Two connections for administrators are left, in addition to the reserved ones.
        assert.isAtMost(used[0]!.count, connections - 3 - 2)
      })
    })))
})
