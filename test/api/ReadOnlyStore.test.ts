import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { messageOf } from "../../src/cli/Report.ts"
import { DisplayName } from "../../src/domain/Ids.ts"
import { Api } from "../../src/api/Api.ts"
import { Unavailable } from "../../src/api/Problems.ts"
import { adminToken, makeOrganization, startInProcess, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

describe("a read-only database, such as a standby", () => {
  it.live("is treated as unavailable until it accepts writes", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      const service = yield* startInProcess(Effect.succeed(env))
      const url = env["DATABASE_URL"]!
      const admin = yield* Layer.build(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))
      /** Close all connections, as a failover does. */
      const setReadOnly = (isReadOnly: boolean) =>
        Effect.flatMap(SqlClient.SqlClient, (sql) =>
          Effect.andThen(
            sql.unsafe(
              `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = ${isReadOnly}`,
            ),
            sql`SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
                WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()`,
          )).pipe(Effect.provideContext(admin), Effect.orDie)

      const rename = (name: string) => service.manage("PATCH", "/organizations/acme", { name })
      const key = yield* Effect.promise(async () => {
        const key = await makeOrganization(service, "acme")
        await service.manage("POST", "/organizations/acme/templates", {
          id: "offer",
          name: "offer",
          variants: [{ id: "only", vars: { subject: "Hello" } }],
        })
        await service.manage("POST", "/organizations/acme/templates", {
          id: "either",
          name: "either",
          variants: ["a", "b"].map((id) => ({ id, vars: { subject: id } })),
        })
        return key
      })
      const decide = async (tracking: string) => {
        const { headers, status } = await service.generate("acme", key, { template_id: "offer", tracking_id: tracking })
        return status === 200 ? headers.get("decision-durable") ?? "true" : String(status)
      }
      const choose = async (tracking?: string) => {
        const { body } = await service.generate("acme", key, { template_id: "either", tracking_id: tracking })
        return { trackingId: body.tracking_id as string, copyId: body.copy.id as string }
      }
      const chosen: Array<{ readonly trackingId: string; readonly copyId: string }> = []
      yield* Effect.promise(() => waitUntil("decisions are durable", async () => await decide("first") === "true"))

      yield* setReadOnly(true)
      yield* Effect.promise(async () => {
        // More often than there are connections, each of which may have been ended.
        for (let i = 0; i < 6; i++) {
          const refused = await service.request("/console/api/organizations/acme", {
            method: "PATCH",
            headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
            body: JSON.stringify({ name: "Refused" }),
          })
          assert.strictEqual(refused.status, 503)
          assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
          assert.strictEqual((await refused.json()).type, "/problems/unavailable")
        }
        assert.strictEqual(await decide("second"), "false")
        for (let i = 0; i < 8; i++) chosen.push(await choose())
        // An id of the service's own that comes back names the decision in memory.
        for (const one of chosen) assert.deepStrictEqual(await choose(one.trackingId), one)
        assert.strictEqual((await service.request("/readyz?accept=memory")).status, 200)
      })
      // The status is documented, so that a generated client can distinguish it from a fault of the service.
      const client = yield* HttpApiClient.make(Api, {
        baseUrl: service.url,
        transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(adminToken)),
      }).pipe(Effect.provide(FetchHttpClient.layer))
      const refused = yield* Effect.flip(
        client.organizations.updateOrganization({
          params: { org: "acme" },
          payload: { name: DisplayName.make("Refused") },
        }),
      )
      assert.instanceOf(refused, Unavailable)
      assert.strictEqual(yield* messageOf(refused), "The database is unreachable")

      yield* setReadOnly(false)
      yield* Effect.promise(async () => {
        await waitUntil("decisions are durable again", async () => await decide(crypto.randomUUID()) === "true")
        await waitUntil("changes are taken again", async () => (await rename("Acme & Co")).status === 200)
      })
      const rows = yield* Effect.flatMap(SqlClient.SqlClient, (sql) =>
        sql<{ n: number }>`SELECT count(*)::int AS n FROM decisions d WHERE d.tracking_id IN ('first', 'second')`).pipe(
          Effect.provideContext(admin),
        )
      assert.deepStrictEqual(rows, [{ n: 2 }])
      const stored = yield* Effect.flatMap(SqlClient.SqlClient, (sql) =>
        sql<{ trackingId: string; copyId: string }>`
          SELECT d.tracking_id AS "trackingId", d.copy_id AS "copyId" FROM decisions d WHERE d.template_id = 'either'`)
        .pipe(Effect.provideContext(admin))
      assert.sameDeepMembers([...stored], chosen)
    })))
})
