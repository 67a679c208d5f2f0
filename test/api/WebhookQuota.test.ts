import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { WebhookQuota } from "../../src/intake/WebhookQuota.ts"
import { signedIn } from "../console/furnished.ts"
import { makeOrganization, startInProcess, waitUntil } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import type { Service } from "../support/service.ts"
import { assertProblem, read } from "./harness.ts"

/** A body of custom events of `bytes` bytes. */
const bodyOf = (bytes: number) => {
  const text = JSON.stringify([{ event: "open", tracking_id: "t", note: "" }])
  return text.replace(`""`, JSON.stringify("x".repeat(bytes - text.length)))
}

const report = async (service: Service, org: string, key: string, bytes: number) =>
  read(
    await service.request(`/api/webhook/events/${org}`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: bodyOf(bytes),
    }),
  )

const usageOf = async (service: Service, org: string) =>
  (await service.manage("GET", `/organizations/${org}/usage`)).body

describe("the daily quota of webhook bodies", () => {
  it.live("rejects bodies beyond it with a remedy, is shown, and can be raised for one organization", () =>
    Effect.scoped(Effect.gen(function* () {
      const { run, service } = yield* startWith({ WEBHOOK_DAILY_BYTES: "10000" })
      yield* Effect.promise(async () => {
        const key = await makeOrganization(service, "acme", ["events"])
        const other = await makeOrganization(service, "other", ["events"])
        const admin = await signedIn(service, "quota@example.com")
        const overview = async () => (await admin.get("/console/o/acme")).text

        assert.strictEqual((await report(service, "acme", key, 7000)).status, 200)
        assert.notInclude(await overview(), "Webhook quota")
        assert.strictEqual((await report(service, "acme", key, 2000)).status, 200)
        const used = await usageOf(service, "acme")
        assert.isTrue(used.webhook_bytes >= 9000 && used.webhook_bytes < 9500, String(used.webhook_bytes))
        assert.deepInclude(used, { webhook_daily_bytes: 10_000, webhook_refused: 0 })
        assert.match(await overview(), /Webhook quota: 9\d % used/)

        // A body that starts below the quota is stored whole.
        assert.strictEqual((await report(service, "acme", key, 3000)).status, 200)
        const refused = await report(service, "acme", key, 200)
        assertProblem(refused, 429, "quota-exceeded")
        const seconds = Number(refused.headers.get("retry-after"))
        assert.isTrue(Number.isInteger(seconds) && seconds >= 1 && seconds <= 3600, String(seconds))
        assert.strictEqual((await report(service, "other", other, 3000)).status, 200)
        assert.deepInclude(await usageOf(service, "acme"), { webhook_refused: 1 })
        const reached = await overview()
        assert.include(reached, "Webhook quota reached")
        assert.include(reached, "1 request was refused")
        const metrics = await (await service.request("/metrics")).text()
        assert.match(metrics, /^parlance_webhook_quota_refused_total [1-9]/m)
        assert.match(metrics, /^parlance_webhook_bytes_total [1-9]\d{4}/m)

        const raised = await service.manage("PUT", "/organizations/acme/quota", { webhook_daily_bytes: 50_000 })
        assert.strictEqual(raised.status, 200)
        assert.deepInclude(raised.body, { webhook_daily_bytes: 50_000 })
        assert.strictEqual((await report(service, "acme", key, 200)).status, 200)
        const { body: log } = await service.manage("GET", "/organizations/acme/audit")
        assert.include(JSON.stringify(log), "/webhook_daily_bytes")
        await service.manage("PUT", "/organizations/acme/quota", { webhook_daily_bytes: null })
        assertProblem(await report(service, "acme", key, 200), 429, "quota-exceeded")

        // After the exchange, the table has the received bytes, so that a new process knows them.
        await run(Effect.flatMap(WebhookQuota, ({ exchange }) => exchange))
        assertProblem(await report(service, "acme", key, 200), 429, "quota-exceeded")
        for (const bytes of [0, -1, 1.5, "much", undefined]) {
          const faulty = await service.manage("PUT", "/organizations/acme/quota", { webhook_daily_bytes: bytes })
          assert.strictEqual(faulty.status, 400, String(bytes))
        }
        assert.strictEqual((await service.manage("GET", "/organizations/none/usage")).status, 404)
        assert.strictEqual(
          (await service.manage("PUT", "/organizations/none/quota", { webhook_daily_bytes: 1 })).status,
          404,
        )
      })
    })))

  it.live("is kept over a restart", () =>
    Effect.scoped(Effect.gen(function* () {
      const environment = { ...(yield* temporaryEnvironment), WEBHOOK_DAILY_BYTES: "1000" }
      const key = yield* Effect.scoped(Effect.gen(function* () {
        const service = yield* startInProcess(Effect.succeed(environment))
        return yield* Effect.promise(async () => {
          const key = await makeOrganization(service, "acme", ["events"])
          assert.strictEqual((await report(service, "acme", key, 1500)).status, 200)
          return key
        })
      }))
      const service = yield* startInProcess(Effect.succeed(environment))
      assertProblem(yield* Effect.promise(() => report(service, "acme", key, 100)), 429, "quota-exceeded")
    })))
})

describe("the daily quota on two nodes with one Postgres", () => {
  it.live("counts the bodies of both nodes", () =>
    Effect.scoped(Effect.gen(function* () {
      const environment = { ...(yield* temporaryEnvironment), WEBHOOK_DAILY_BYTES: "5000" }
      const [one, two] = yield* Effect.all([0, 1].map(() => startInProcess(Effect.succeed(environment))))
      yield* Effect.promise(async () => {
        const key = await makeOrganization(one!, "pair", ["events"])
        await waitUntil("both know the key", async () => (await report(two!, "pair", key, 100)).status === 200)
        assert.strictEqual((await report(one!, "pair", key, 6000)).status, 200)
        await waitUntil("the other node knows", async () => (await report(two!, "pair", key, 100)).status === 429)
        await one!.manage("PUT", "/organizations/pair/quota", { webhook_daily_bytes: 100_000 })
        await waitUntil(
          "the other node lets through",
          async () => (await report(two!, "pair", key, 100)).status === 200,
        )
      })
    })))
})
