import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { receiver, signingSecret } from "../delivery/receiver.ts"
import { scopedNodes } from "../process/clusterNodes.ts"
import { makeTemplate } from "../process/support.ts"
import { makeOrganization, waitUntil } from "../support/service.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"
import { lineOf, type Span, startCollector, traceparent } from "./collector.ts"

/** Enough for both nodes to have some. */
const templates = Array.from({ length: 6 }, (_, n) => `offer${n * 7919}`)

const nodeOf = ({ resource }: Span) => resource["parlance.node"]

describe("Traces over two nodes", () => {
  it.live(
    "go on to the fold and to the way out of a message on whichever node they come about",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const collector = yield* startCollector()
        const env = yield* temporaryEnvironment
        let faults = 0
        const platform = yield* receiver({ fault: () => faults-- > 0 ? { status: 503 } : undefined })
        const own = (node: string) => ({
          env: {
            OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
            OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
            OTEL_RESOURCE_ATTRIBUTES: `parlance.node=${node}`,
            OTEL_TRACES_SAMPLER_ARG: "0",
            SECRET_KEY: "5e".repeat(32),
            OUTBOUND_ALLOW: "127.0.0.1/32",
            DELIVERY_RETRY_DELAY: "20 millis",
          },
        })
        const [one, two] = (yield* scopedNodes(env, [own("one"), own("two")])).map(({ service }) => service!)
        const stored = yield* Layer.build(layerMigrated(Effect.succeed({ ...env, DATABASE_POOL_SIZE: "2" })))
        yield* Effect.promise(async () => {
          const key = await makeOrganization(one!, "acme", ["generate", "events", "deliver"])
          for (const id of templates) await makeTemplate(one!, "acme", id)
          await one!.manage("PUT", "/organizations/acme/connections/main", {
            platform: "webhook",
            settings: { url: platform.url },
            secrets: { signing_secret: signingSecret },
          })
          let last = 0
          const asked: Array<string> = []
          const post = async (service: typeof one, path: string, body: unknown, sampled?: boolean) => {
            const traceId = (++last).toString(16).padStart(32, "a")
            if (sampled === true) asked.push(traceId)
            const response = await service!.request(path, {
              method: "POST",
              headers: {
                "x-api-key": key,
                "content-type": "application/json",
                ...(sampled === undefined ? {} : { traceparent: traceparent(traceId, sampled) }),
              },
              body: JSON.stringify(body),
            })
            await response.body?.cancel()
            return { status: response.status, traceId }
          }
          const deliver = (service: typeof one, n: number, sampled?: boolean) =>
            post(service, "/api/deliver/acme", { template_id: templates[0], email: `p${n}@person.example` }, sampled)
          const found = (name: string, traceId: string) =>
            collector.spans().filter((span) => span.name === name && span.traceId === traceId)

          let queued = 0
          await waitUntil("both know the organization", async () => {
            const answers = await Promise.all([one, two].map((node, n) => deliver(node, n)))
            const taken = answers.filter(({ status }) => status === 200).length
            queued += taken
            return taken === 2
          })
          await platform.until(() => platform.arrivals.length === queued)

          // The lane stays with one node. Messages accepted by the other node leave through it, the first at its second
          // attempt.
          faults = 1
          const sent: Array<string> = []
          for (const [n, node] of [one, two, one, two].entries()) {
            const { status, traceId } = await deliver(node, 10 + n, true)
            assert.strictEqual(status, 200)
            sent.push(traceId)
          }
          await deliver(one, 20, false)
          const attempts = () => sent.flatMap((traceId) => found("send webhook", traceId))
          await waitUntil(
            "all have left",
            () =>
              sent.every((traceId) =>
                found("POST /api/deliver/:org", traceId).length === 1 &&
                found("send webhook", traceId).some(({ status }) => status.code === 1)
              ) && attempts().length === 5,
          )
          const requests = attempts().map((span) => lineOf(collector.spans(), span)[0]!)
          assert.deepStrictEqual([...new Set(requests.map(({ name }) => name))], ["POST /api/deliver/:org"])
          assert.isTrue(attempts().some((span, i) => nodeOf(span) !== nodeOf(requests[i]!)))
          const failed = attempts().find(({ status }) => status.code === 2)!
          assert.deepStrictEqual(
            found("send webhook", failed.traceId).map(({ attributes }) => [
              Number(attributes["parlance.delivery.attempt"]),
              attributes["parlance.delivery.outcome"],
            ]).sort(),
            [[1, "retry"], [2, "accepted"]],
          )

          // Events are taken in by one or the other, and folded by the node that has the actor of their template.
          const folds = () => collector.spans().filter(({ name }) => name === "fold")
          const intakeOf = (span: Span) => lineOf(collector.spans(), span).find(({ name }) => name === "intake")
          let n = 0
          await waitUntil("the sweep of another node has come first", async () => {
            for (const template of templates) {
              const tracking_id = `t${n++}`
              await one!.generate("acme", key, { template_id: template, tracking_id })
              await post(one, "/api/webhook/events/acme", { event: "click", tracking_id }, true)
            }
            return folds().some((fold) => {
              const parent = lineOf(collector.spans(), fold).at(-2)
              return parent?.name === "intake" && nodeOf(parent) !== nodeOf(fold)
            })
          })
          await waitUntil("every trace has reached a fold that follows from an intake", () => {
            if (!folds().every((fold) => intakeOf(fold) !== undefined)) return false
            const reached = new Set(
              folds().flatMap((fold) => [fold.traceId, ...fold.links.map(({ traceId }) => traceId)]),
            )
            return collector.spans().filter(({ name }) => name === "intake").every(({ traceId }) =>
              reached.has(traceId)
            )
          })
          assert.deepStrictEqual(
            collector.spans().map(({ traceId }) => traceId).filter((traceId) => !asked.includes(traceId)),
            [],
          )
          assert.notInclude(collector.text(), "person.example")
        })
        const [kept] = yield* Effect.provideContext(
          Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql<{ n: number }>`SELECT count(*)::int AS n FROM deliveries d WHERE d.traceparent IS NOT NULL`,
          ),
          stored,
        )
        assert.strictEqual(kept?.n, 4, "nothing is kept of a request that is not sampled")
      })),
    120_000,
  )
})
