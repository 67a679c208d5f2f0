import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "node:net"
import { makeOrganization, waitUntil } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"

describe("A client that would rather speak HTTP/2, as Java's does by default", () => {
  it.live(
    "is answered over HTTP/1.1, also when the body comes later than the headers",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { service } = yield* startWith()
        yield* Effect.promise(async () => {
          const key = await makeOrganization(service, "acme")
          const { hostname, port } = new URL(service.url)
          const socket = connect(Number(port), hostname)
          let received = ""
          socket.setEncoding("latin1").on("data", (text) => received += String(text))
          const body = JSON.stringify({ template_id: "none" })
          for (let n = 1; n <= 2; n++) {
            received = ""
            socket.write(
              `POST /api/generate/acme HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\nContent-Length: ${body.length}\r\n` +
                "Content-Type: application/json\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" +
                "HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA\r\n\r\n",
            )
            // A server that handles requests by their headers would have been called by now.
            assert.strictEqual((await service.request("/healthz")).status, 200)
            socket.write(body)
            await waitUntil("it is answered", () => received.includes("template_not_found") || received.includes("404"))
            assert.match(received, /^HTTP\/1\.1 404 /)
          }
          socket.destroy()
        })
      })),
    60_000,
  )
})
