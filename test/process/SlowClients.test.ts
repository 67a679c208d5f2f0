import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { connect, type Socket } from "node:net"
import { makeOrganization, scopedProcess, waitUntil } from "../support/service.ts"
import { describe } from "vitest"
import { temporaryEnvironment } from "../support/stores.ts"
import { makeTemplate, scopedLoad, targetAt } from "./support.ts"

const perKind = 200

/** A connection that sends `text` one byte at a time and ends only when the server cuts it. */
const trickle = (port: number, prefix: string, text: string) => {
  let answer = ""
  let cut = false
  let at = 0
  const socket: Socket = connect({ port, host: "127.0.0.1" }, () => void socket.write(prefix))
  const timer = setInterval(() => {
    if (!cut && at < text.length) socket.write(text[at++]!)
  }, 100)
  socket.on("data", (chunk) => answer += String(chunk)).on("error", () => {}).on("close", () => {
    cut = true
    clearInterval(timer)
  })
  return {
    cut: () => cut,
    answer: () => answer,
    unsent: () => text.length - at,
    end: () => {
      clearInterval(timer)
      socket.destroy()
    },
  }
}

describe("Clients that send byte by byte", () => {
  it.live("are cut, while others are answered", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      const service = yield* scopedProcess({ ...env, HEADERS_TIMEOUT: "1 second", REQUEST_TIMEOUT: "2 seconds" })
      const key = yield* Effect.promise(async () => {
        const key = await makeOrganization(service, "acme")
        await makeTemplate(service, "acme", "offer")
        return key
      })
      const load = yield* scopedLoad("good", 4, { pauseMillis: 10 })
      load.aim(targetAt(service, key))

      const port = Number(new URL(service.url).port)
      const head = `POST /api/generate/acme HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\n`
      const body = JSON.stringify({ template_id: "offer", tracking_id: "slow", filler: "x".repeat(1000) })
      const clients = yield* Effect.acquireRelease(
        Effect.sync(() =>
          Array.from({ length: 2 * perKind }, (_, i) =>
            i % 2 === 0
              ? trickle(port, "", `${head}X-Filler: ${"x".repeat(1000)}`)
              : trickle(port, `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`, body))
        ),
        (clients) =>
          Effect.sync(() =>
            clients.forEach((client) => client.end())
          ),
      )
      yield* Effect.promise(async () => {
        await waitUntil("all slow clients are cut", () => clients.every((client) => client.cut()))
        const answered = load.calls.length
        await waitUntil("good calls go on", () => load.calls.length >= answered + 20)
        await load.stop()
      })
      console.info(`slow clients: ${clients.length} cut, ${load.calls.length} good calls meanwhile`)
      assert.isTrue(clients.every((client) => client.unsent() > 0), "each was cut before it had sent everything")
      assert.deepStrictEqual(clients.filter((client) => /^HTTP\/1\.1 [^4]/.test(client.answer())), [])
      assert.deepStrictEqual(load.calls.filter((call) => call.status !== 200), [])
    })))
})
