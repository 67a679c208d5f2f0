import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { adminToken, makeOrganization, startInProcess, waitUntil } from "../support/service.ts"
import { layerSettings, temporaryEnvironment } from "../support/stores.ts"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { signedIn } from "../console/furnished.ts"
import { assertProblem, parallel, pointersOf, read, suiteOnService, variants } from "./harness.ts"

/** The numbers in the `RateLimit` header of an answer. */
const standingOf = (headers: Headers) => {
  const [, remaining, reset] = /^"default";r=(\d+);t=(\d+)$/.exec(headers.get("ratelimit") ?? "") ?? []
  return { remaining: Number(remaining), reset: Number(reset) }
}

suiteOnService("Limits of keys", (bench) => {
  const keyOf = async (slug: string, body: unknown) => {
    const { body: key, status } = await bench.service.manage("POST", `/organizations/${slug}/keys`, body)
    assert.strictEqual(status, 201, JSON.stringify(key))
    return key
  }

  it("apply to every call with the key, appear in each answer, and result in a 429", async () => {
    const org = await bench.organization("limited")
    await org.template({ id: "t", variants: variants("a") })
    await org.template({ id: "u", variants: variants("b") })
    const { id, key, rate_limit } = await keyOf(org.slug, {
      name: "limited",
      scopes: ["generate", "events", "deliver"],
      rate_limit: { requests: 10, per: "minute" },
    })
    assert.deepStrictEqual(rate_limit, { requests: 10, per: "minute" })
    const call = async (method: string, path: string, body?: unknown) =>
      read(
        await bench.service.request(path, {
          method,
          headers: { "x-api-key": key, "content-type": "application/json" },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      )
    const generate = () => call("POST", `/api/generate/${org.slug}`, { template_id: "t" })
    const batch = (count: number) =>
      call("POST", `/api/batch-generate/${org.slug}`, {
        requests: Array.from({ length: count }, (_, i) => ({ template_id: ["t", "u"][i] ?? `x${i}` })),
      })

    const first = await generate()
    assert.strictEqual(first.status, 200)
    assert.strictEqual(first.headers.get("ratelimit-policy"), '"default";q=10;w=60')
    assert.strictEqual(standingOf(first.headers).remaining, 9)
    assert.isTrue(standingOf(first.headers).reset > 50 && standingOf(first.headers).reset <= 63)
    // Other calls, including failed calls, count as one each. A batch counts as the number of its items.
    assert.strictEqual(standingOf((await call("GET", `/api/generate/${org.slug}`)).headers).remaining, 8)
    const event = await call("POST", `/api/webhook/events/${org.slug}`, [
      { event: "open", tracking_id: "unknown" },
      { event: "click", tracking_id: "unknown" },
    ])
    assert.strictEqual(event.status, 200)
    assert.strictEqual(standingOf(event.headers).remaining, 7)
    const two = await batch(2)
    assert.strictEqual(two.status, 200)
    assert.strictEqual(standingOf(two.headers).remaining, 5)
    // A key that may not do it has used nothing up.
    assertProblem(await call("POST", "/api/generate/other", { template_id: "t" }), 403, "forbidden")

    const tooLarge = await batch(20)
    assertProblem(tooLarge, 429, "rate-limited")
    assert.match(tooLarge.json.detail, /Send fewer items/)
    const statuses = (await parallel(6, generate)).map(({ status }) => status).sort()
    assert.deepStrictEqual(statuses, [200, 200, 200, 200, 429, 429])
    const refused = await call("POST", `/api/deliver/${org.slug}`, {})
    assertProblem(refused, 429, "rate-limited")
    assert.strictEqual(standingOf(refused.headers).remaining, 0)
    const wait = Number(refused.headers.get("retry-after"))
    assert.isTrue(Number.isInteger(wait) && wait >= 1 && wait <= 63, String(wait))

    // Other keys are not limited and get no headers.
    const other = await org.post({ template_id: "t" })
    assert.strictEqual(other.status, 200)
    assert.isNull(other.headers.get("ratelimit"))
    assert.isNull(other.headers.get("ratelimit-policy"))

    const path = `/organizations/${org.slug}/keys/${id}`
    const raised = await bench.service.manage("PATCH", path, { rate_limit: { requests: 500, per: "second" } })
    assert.strictEqual(raised.status, 200)
    assert.deepInclude(raised.body, { name: "limited", rate_limit: { requests: 500, per: "second" } })
    const again = await generate()
    assert.strictEqual(again.status, 200)
    assert.strictEqual(again.headers.get("ratelimit-policy"), '"default";q=500;w=1')
    const freed = await bench.service.manage("PATCH", path, { name: "free", rate_limit: null })
    assert.deepInclude(freed.body, { name: "free", rate_limit: null })
    assert.isNull((await generate()).headers.get("ratelimit"))
    const { body: listed } = await bench.service.manage("GET", `/organizations/${org.slug}/keys`)
    assert.deepInclude(listed.keys.find((one: { id: string }) => one.id === id), { name: "free", rate_limit: null })
  })

  it("are set in the console with the key, and shown in the list", async () => {
    const org = await bench.organization("limits-console")
    const admin = await signedIn(bench.service, "limits@example.com")
    const at = `/console/o/${org.slug}/settings/keys`
    const refused = await admin.post(`${at}/new`, { name: "", scopes: "generate", rate_limit: "5 a day" })
    assert.strictEqual(refused.status, 400)
    assert.include(refused.text, `href="#name"`)
    assert.include(refused.text, `href="#rate_limit"`)
    const made = await admin.post(`${at}/new`, { name: "Shop", scopes: "generate", rate_limit: " 5/minute " })
    assert.strictEqual(made.status, 200, made.text)
    assert.include((await admin.get(at)).text, "5/minute")
  })

  it("are rejected with all faults if they are invalid", async () => {
    const org = await bench.organization("limits-faulty")
    const path = `/organizations/${org.slug}/keys`
    const refused = async (method: string, path: string, body: unknown) =>
      read(
        await bench.service.request(`/console/api${path}`, {
          method,
          headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
          body: JSON.stringify(body),
        }),
      )
    const made = await refused("POST", path, { name: "", rate_limit: { requests: 0, per: "hour" } })
    assertProblem(made, 400, "invalid-request")
    assert.deepStrictEqual(pointersOf(made), ["/name", "/rate_limit/per", "/rate_limit/requests"])
    const { id } = await keyOf(org.slug, { name: "k" })
    assertProblem(await refused("PATCH", `${path}/${id}`, { rate_limit: { requests: 1.5, per: "second" } }), 400)
    assertProblem(await refused("PATCH", `${path}/none`, { rate_limit: null }), 404, "key-not-found")
  })
})

describe("Limits of keys on two nodes with one Postgres", () => {
  it.live("apply to both nodes together for every key", () =>
    Effect.scoped(Effect.gen(function* () {
      const environment = yield* temporaryEnvironment
      const [one, two] = yield* Effect.all([0, 1].map(() => startInProcess(Effect.succeed(environment))))
      const sql = yield* Effect.map(
        Layer.build(StoreFromSettings.layer.pipe(Layer.provide(layerSettings(environment)))),
        (context) => Effect.provideContext(SqlClient.SqlClient, context),
      ).pipe(Effect.flatten)
      yield* Effect.promise(async () => {
        await makeOrganization(one!, "pair")
        await one!.manage("POST", "/organizations/pair/templates", { id: "t", name: "T", variants: variants("a") })
        const keyOf = async () =>
          (await one!.manage("POST", "/organizations/pair/keys", {
            name: "k",
            rate_limit: { requests: 40, per: "minute" },
          })).body.key as string
        const [shared, moving] = [await keyOf(), await keyOf()]
        const ask = async (node: typeof one, key: string) =>
          (await node!.generate("pair", key, { template_id: "t" })).status
        const served = async (node: typeof one, key: string, times: number) =>
          (await parallel(times, () => ask(node, key))).filter((status) => status === 200).length

        /** Waits until both nodes know each other's current use. */
        const exchanged = async () => {
          const [row] = await Effect.runPromise(sql<{ at: Date }>`SELECT clock_timestamp() AS at`)
          await waitUntil("both nodes have exchanged their uses", async () => {
            const rows = await Effect.runPromise(sql`
              SELECT u.node_id FROM key_uses u WHERE u.key_id = '' AND u.reported_at > ${row!.at}::timestamptz`)
            return rows.length === 2
          })
        }
        await exchanged()
        await exchanged()

        // Each node gets half, because neither had requests before. It is more only if they exchange figures meanwhile.
        const both = await Promise.all([served(one, shared, 40), served(two, shared, 40)])
        assert.isAtMost(both[0] + both[1], 60)
        assert.isAtLeast(Math.min(...both), 15)

        // If only one node has requests, it gets the whole limit within a few seconds, and the other node gets none.
        let alone = await served(one, moving, 40)
        assert.isAtMost(alone, 40)
        await waitUntil("the node has the whole limit", async () => {
          alone += await served(one, moving, 5)
          return alone >= 36
        })
        await exchanged()
        await exchanged()
        alone += await served(two, moving, 10)
        assert.isAtMost(alone, 42)
      })
    })), 180_000)
})
