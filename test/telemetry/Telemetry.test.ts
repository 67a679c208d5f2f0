import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { receiver, signingSecret } from "../delivery/receiver.ts"
import { makeTemplate, terminate } from "../process/support.ts"
import { adminToken, makeOrganization, scopedProcess, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { lineOf, startCollector, traceparent } from "./collector.ts"

/** Values that no log, span or metric may contain. */
const personal = {
  user: "Zephyrine-Quill-4711",
  email: "zephyrine.quill@personal.example",
  attribute: "left-handed-cellist",
  field: "Dear-Zephyrine",
  trackingId: "tracked-zephyrine-0815",
  query: "zephyrine-in-the-query",
  poison: "zephyrine-poison",
}

describe("Telemetry", () => {
  it.live("shows a collector one trace from a webhook to the fit, without personal data", () =>
    Effect.scoped(Effect.gen(function* () {
      const collector = yield* startCollector()
      const platform = yield* receiver()
      const env = yield* temporaryEnvironment
      const service = yield* scopedProcess({
        ...env,
        SECRET_KEY: "5e".repeat(32),
        OUTBOUND_ALLOW: "127.0.0.1/32",
        LOG_LEVEL: "Debug",
        ACCESS_LOG: "1",
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=one%20two",
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=trial",
        OTEL_TRACES_SAMPLER_ARG: "0",
      })
      yield* Effect.promise(async () => {
        const key = await makeOrganization(service, "acme", ["generate", "events", "deliver"])
        await makeTemplate(service, "acme", "offer")
        const post = (path: string, body: string, headers: Record<string, string> = {}) =>
          service.request(path, {
            method: "POST",
            headers: { "x-api-key": key, "content-type": "application/json", ...headers },
            body,
          })
        const ask = JSON.stringify({
          template_id: "offer",
          user_id: personal.user,
          tracking_id: personal.trackingId,
          attrs: { email: personal.email, hobby: personal.attribute },
          fields: { name: personal.field },
        })
        const click = JSON.stringify({ event: "click", tracking_id: personal.trackingId, user_id: personal.user })
        const [generated, hooked, unwanted, delivered] = ["1", "2", "3", "5"].map((digit) => digit.repeat(32)) as [
          string,
          string,
          string,
          string,
        ]

        assert.strictEqual(
          (await post("/api/generate/acme", ask, { traceparent: traceparent(generated, true) })).status,
          200,
        )
        const answer = await post("/api/webhook/events/acme", click, {
          traceparent: traceparent(hooked, true),
          "x-request-id": "request-of-the-webhook",
        })
        assert.strictEqual(answer.headers.get("x-request-id"), "request-of-the-webhook")
        assert.strictEqual(answer.status, 200)
        const { status } = await service.manage("PUT", "/organizations/acme/connections/main", {
          platform: "webhook",
          settings: { url: platform.url },
          secrets: { signing_secret: signingSecret },
        })
        assert.strictEqual(status, 200)
        const message = { template_id: "offer", email: personal.email, fields: { name: personal.field } }
        const taken = await post("/api/deliver/acme", JSON.stringify(message), {
          traceparent: traceparent(delivered, true),
        })
        assert.strictEqual(taken.status, 200)
        const named = (traceId: string, name: string) =>
          collector.spans().find((span) => span.traceId === traceId && span.name === name)
        await waitUntil(
          "the traces are there",
          () =>
            ["Learner.Wake", "fit"].every((name) => named(hooked, name) !== undefined) &&
            named(generated, "commit") !== undefined && named(delivered, "send webhook") !== undefined,
        ).catch((error) => {
          throw new Error(`${error.message}: ${collector.spans().map(({ name }) => name).join(", ")}`)
        })

        const spans = collector.spans()
        const line = lineOf(spans, named(hooked, "fit")!).map(({ name }) => name)
        assert.deepStrictEqual(line.filter((name) => !name.startsWith("Learner")), [
          "POST /api/webhook/:segment/:org",
          "store",
          "intake",
          "fold",
          "fit",
        ])
        const request = named(hooked, line[0]!)!
        assert.strictEqual(request.parentSpanId, "b".repeat(16))
        assert.strictEqual(request.attributes["parlance.request_id"], "request-of-the-webhook")
        assert.strictEqual(Number(request.attributes["http.response.status_code"]), 200)
        const send = named(delivered, "send webhook")!
        assert.strictEqual(lineOf(spans, send)[0]?.name, "POST /api/deliver/:org")
        assert.strictEqual(send.attributes["parlance.delivery.outcome"], "accepted")
        for (const name of ["auth", "decide"]) {
          assert.deepStrictEqual(lineOf(spans, named(generated, name)!).map((span) => span.name), [
            "POST /api/generate/:org",
            name,
          ])
        }
        assert.deepStrictEqual(lineOf(spans, named(generated, "commit")!).map(({ name }) => name).slice(-2), [
          "decide",
          "commit",
        ])
        assert.deepStrictEqual(
          ["service.name", "deployment.environment.name"].map((name) => collector.resource()[name]),
          ["parlance", "trial"],
        )
        assert.isString(collector.resource()["service.version"])
        assert.isString(collector.resource()["service.instance.id"])
        assert.strictEqual(collector.headers()["x-tenant"], "one two")

        // Failures whose errors contain a person's data. The store refuses the poison, and its error quotes it.
        const traced = { traceparent: traceparent("4".repeat(32), true) }
        await post("/api/generate/acme", `{"template_id": ["${personal.user}"], "user_id": 7}`, traced)
        await post(`/api/generate/acme?email=${personal.query}`, `{"${personal.email}`, traced)
        await post("/api/deliver/acme", JSON.stringify({ template_id: "offer", to: personal.email }), traced)
        await post(`/api/generate/${personal.user}`, ask, traced)
        await post(`/nowhere/${personal.email}`, "{}", traced)
        await service.request(`/api/generate/acme?template_id=offer&user_id=${personal.query}`, {
          headers: { "x-api-key": key, ...traced },
        })
        await service.manage("GET", `/organizations/acme/people/${personal.email}`)
        await post(
          "/api/webhook/events/acme",
          JSON.stringify({
            event: "click",
            tracking_id: `${personal.poison}\u0000`,
            user_id: `${personal.poison}\u0000`,
          }),
          { ...traced, "x-request-id": "request-with-poison" },
        )
        await post("/api/webhook/events/acme", click, { traceparent: traceparent(unwanted, false) })
        await waitUntil("the inbox is empty", async () => {
          const { body } = await service.manage("GET", "/organizations/acme/webhooks/events/inbox?all=true")
          return body.inbox.every(({ status }: { readonly status: string }) => status !== "pending")
        })
        const scraped = await (await service.request("/metrics")).text()

        assert.deepStrictEqual(await terminate(service), { code: 0, signal: null })
        const names = new Set([...scraped.matchAll(/^# TYPE (parlance_\S+) /gm)].map(([, name]) => name!))
        assert.isAbove(names.size, 15)
        for (const name of names) assert.isTrue(collector.metrics().has(name), name)
        const bodies = collector.logs().map(({ body }) => JSON.parse(String(body)))
        for (const body of bodies) assert.hasAllKeys(body, ["stringValue"])
        assert.isTrue(bodies.some(({ stringValue }) => stringValue.startsWith("Parlance answers at")))
        // Only requests with a trace header are traced.
        assert.deepStrictEqual(
          [...new Set(collector.spans().map(({ traceId }) => traceId))].sort(),
          [generated, hooked, "4".repeat(32), delivered],
        )
        const seen = `${collector.text()}\n${service.output()}\n${scraped}`
        assert.include(seen, "Parlance answers at")
        for (const [what, text] of Object.entries({ ...personal, key, adminToken })) {
          const at = seen.indexOf(text)
          assert.isTrue(at < 0, `${what}: ${seen.slice(Math.max(0, at - 600), at + 200)}`)
        }
      })
    })))

  it.live("answers and ends as it should while the collector hangs", () =>
    Effect.scoped(Effect.gen(function* () {
      const collector = yield* startCollector(true)
      const env = yield* temporaryEnvironment
      const service = yield* scopedProcess({
        ...env,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_TRACES_SAMPLER_ARG: "1",
      })
      yield* Effect.promise(async () => {
        await waitUntil("it was sent something", async () => {
          const { status } = await service.request("/readyz")
          assert.strictEqual(status, 200)
          // The first batch is all it gets for a minute, and may have been made while it was waited for.
          return collector.text().includes("GET /")
        })
        assert.match(String(collector.headers()["content-type"]), /protobuf/)
        assert.strictEqual((await service.request("/readyz")).status, 200)
        assert.deepStrictEqual(await terminate(service), { code: 0, signal: null })
      })
    })))
})
