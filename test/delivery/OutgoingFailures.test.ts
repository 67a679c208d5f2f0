import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as OutgoingWebhooks from "../../src/delivery/OutgoingWebhooks.ts"
import { announce } from "../../src/webhooks/Announce.ts"
import { WebhookEndpoints } from "../../src/webhooks/WebhookEndpoints.ts"
import { makeOrg, org } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { layerQueue } from "./support.ts"

/** A server that answers with `status()` and counts requests. */
const server = (status: () => number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let requests = 0
      const server = createServer((request, response) => {
        requests++
        request.resume().on("end", () => response.writeHead(status()).end("The CRM is away"))
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const { port } = server.address() as AddressInfo
      return { url: `http://127.0.0.1:${port}/hook`, requests: () => requests, server }
    }),
    ({ server }) =>
      Effect.promise(() =>
        new Promise<void>((resolve) => {
          server.close(() => resolve())
          server.closeAllConnections()
        })
      ),
  )

/** Lets hours pass for an endpoint: all its times are times of the database, and move back by that many hours. */
const passHours = Effect.fnUntraced(function* (slug: string, hours: number) {
  const sql = yield* SqlClient.SqlClient
  const span = sql`${hours} * interval '1 hour'`
  yield* sql`
    UPDATE outgoing_webhooks w SET due_at = w.due_at - ${span}, created_at = w.created_at - ${span},
      first_failed_at = w.first_failed_at - ${span} WHERE w.org_slug = ${slug}`
  yield* sql`UPDATE webhook_endpoints e SET failing_since = e.failing_since - ${span} WHERE e.org_slug = ${slug}`
})

describe("a webhook endpoint that only fails", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, (env) => layerQueue(env))), { excludeTestServices: true })(
    (it) => {
      const furnish = Effect.fnUntraced(function* (slug: string, url: string) {
        yield* makeOrg(slug)
        const endpoints = yield* WebhookEndpoints
        const { endpoint } = yield* endpoints.create(org(slug), { url, description: "", events: [], enabled: true })
        const sql = yield* SqlClient.SqlClient
        return {
          drain: yield* OutgoingWebhooks.make,
          current: endpoints.get(org(slug), endpoint.id),
          events: endpoints.messages(org(slug), endpoint.id, { before: undefined, limit: 100 }),
          happen: announce(sql, [{
            type: "suppression.added",
            data: {
              org: slug,
              address: "ann@example.com",
              reason: "manual",
              suppressed_at: "2026-05-04T09:30:00.000Z",
            },
          }]),
          enable: endpoints.update(org(slug), endpoint.id, { enabled: true }),
        }
      })

      it.effect(
        "is disabled with a reason after five days, and receives no event until it is enabled",
        () =>
          Effect.scoped(Effect.gen(function* () {
            const { requests, url } = yield* server(() => 500)
            const { current, drain, enable, events, happen } = yield* furnish("dead", url)
            yield* happen
            yield* drain
            assert.strictEqual(requests(), 1)
            let hours = 0
            while ((yield* current).enabled && hours < 200) {
              yield* passHours("dead", 1)
              hours++
              // An event is given up after 28 hours, so that a later one keeps failing.
              if (hours % 20 === 0) yield* happen
              yield* drain
            }
            assert.isTrue(hours >= 120 && hours <= 122, `disabled after ${hours} hours`)
            const disabled = yield* current
            assert.include(disabled.disabledReason, "failed for 5 days")
            assert.include(disabled.disabledReason, "It answered 500: The CRM is away")
            const [first] = (yield* events).toReversed()
            assert.strictEqual(first!.state, "failed", "28 hours after its first failure")
            assert.lengthOf(first!.log, 20)

            const before = requests()
            const stored = (yield* events).length
            yield* passHours("dead", 2)
            yield* happen
            yield* drain
            assert.strictEqual(requests(), before)
            assert.lengthOf(yield* events, stored)
            assert.deepInclude(yield* enable, { enabled: true, disabledReason: null, failingSince: null })
            yield* drain
            assert.isAbove(requests(), before, "events that waited are sent now")
            assert.isTrue((yield* current).enabled, "the five days begin again")
          })),
        120_000,
      )

      it.effect("stays enabled if deliveries succeed in between", () =>
        Effect.scoped(Effect.gen(function* () {
          let status = 500
          const { url } = yield* server(() => status)
          const { current, drain, happen } = yield* furnish("shaky", url)
          for (let day = 0; day < 8; day++) {
            yield* happen
            status = day % 4 === 3 ? 204 : 500
            for (let hour = 0; hour < 24; hour += 2) {
              yield* drain
              yield* passHours("shaky", 2)
            }
          }
          assert.deepInclude(yield* current, { enabled: true, disabledReason: null, failingSince: null })
        })), 120_000)
    },
  )
})
