import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { makeWatch } from "../support/platformServers/Watch.ts"
import { onServer } from "../support/onServer.ts"
import { scopedProcess, startProcess, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

/** A server that never answers its first request, and takes the others. */
const startServer = async () => {
  const ids: Array<string> = []
  const { changed, until } = makeWatch()
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      ids.push(String(request.headers["webhook-id"]))
      if (ids.length > 1) response.writeHead(204).end()
      changed()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${port}/hook`, ids, until, close }
}

describe("a node killed while it sends an event to a webhook endpoint", () => {
  it.live(
    "loses no event: another node sends it after the lease has ended",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* temporaryEnvironment
        const server = yield* Effect.acquireRelease(Effect.promise(startServer), ({ close }) => Effect.promise(close))
        const settings = { ...env, SECRET_KEY: "5e".repeat(32), OUTBOUND_ALLOW: "127.0.0.1/32", LOG_LEVEL: "Error" }
        const first = yield* Effect.promise(() => startProcess(settings))
        const at = "/organizations/acme/webhook-endpoints"
        const { endpoint, event } = yield* Effect.promise(async () => {
          await first.manage("POST", "/organizations", { slug: "acme", name: "Acme" })
          const { body: { id } } = await first.manage("POST", at, { url: server.url })
          const { body: { event_id } } = await first.manage("POST", `${at}/${id}/ping`)
          await server.until(() => server.ids.length === 1)
          first.kill("SIGKILL")
          await first.ended
          return { endpoint: id as string, event: event_id as string }
        })
        assert.deepStrictEqual(server.ids, [event])
        const second = yield* scopedProcess(settings)
        const stateOf = async () => {
          const { body } = await second.manage("GET", `${at}/${endpoint}/events`)
          return body.events[0]
        }
        yield* Effect.promise(async () => {
          const held = await stateOf()
          assert.deepInclude(held, { id: event, state: "pending", attempts: [] })
          // A later event is sent at once, so the node has looked, and has left the held one alone.
          const { body: { event_id: later } } = await second.manage("POST", `${at}/${endpoint}/ping`)
          await server.until(() => server.ids.length === 2)
          assert.deepStrictEqual(server.ids, [event, later])
          // The lease ends.
          await onServer(env["DATABASE_URL"]!, `UPDATE outgoing_webhooks SET due_at = now() WHERE id = '${event}'`)
          await server.until(() => server.ids.length === 3)
          assert.deepStrictEqual(server.ids, [event, later, event])
          await waitUntil("it is delivered", async () => {
            const { body } = await second.manage("GET", `${at}/${endpoint}/events`)
            const found = body.events.find(({ id }: { id: string }) => id === event)
            if (found.state !== "delivered") return false
            assert.deepStrictEqual(found.attempts.map(({ status }: { status: number }) => status), [204])
            return true
          })
        })
      })),
    180_000,
  )
})
