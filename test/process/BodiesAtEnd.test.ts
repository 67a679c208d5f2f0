import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "node:net"
import { describe } from "vitest"
import { makeOrganization, scopedProcess, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { makeTemplate, terminate } from "./support.ts"

describe("a request body in transit at shutdown", () => {
  it.live("is awaited, and its call is answered", () =>
    Effect.scoped(Effect.gen(function* () {
      const service = yield* scopedProcess({ ...(yield* temporaryEnvironment), SHUTDOWN_TIMEOUT: "60 seconds" })
      yield* Effect.promise(async () => {
        const key = await makeOrganization(service, "acme")
        await makeTemplate(service, "acme", "offer")
        const body = JSON.stringify({ template_id: "offer", fields: { name: "Ann", more: "x".repeat(200_000) } })
        const socket = connect(Number(new URL(service.url).port), "127.0.0.1")
        const answered = new Promise<string>((resolve) =>
          socket.setEncoding("latin1").once("data", (text) => resolve(String(text)))
        )
        await new Promise((resolve) => socket.once("connect", resolve))
        socket.write(
          `POST /api/generate/acme HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Api-Key: ${key}\r\n` +
            `Content-Length: ${body.length}\r\n\r\n${body.slice(0, 100_000)}`,
        )
        await waitUntil("the first half has arrived", async () => {
          const text = await (await service.request("/metrics")).text()
          return text.includes(`parlance_bodies_bytes ${body.length}`)
        })
        const ended = terminate(service)
        await waitUntil("it is ending", async () => (await service.request("/readyz")).status === 503)
        socket.write(body.slice(100_000))
        assert.match(await answered, /^HTTP\/1\.1 200 /)
        assert.deepStrictEqual(await ended, { code: 0, signal: null })
      })
    })))
})
