import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "node:net"
import { withPlainPath } from "../../src/api/server/PathText.ts"
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
          const body = JSON.stringify({ template_id: "nothing" })
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

describe("A path with a semicolon or a number sign", () => {
  it("has them as characters, and queries stay as they are", () => {
    assert.strictEqual(withPlainPath("/a;b/c#d?x=1;y#z"), "/a%3Bb/c%23d?x=1;y#z")
    for (const url of ["/a?x=1;y", "/a%3Bb", "*", ""]) assert.strictEqual(withPlainPath(url), url)
  })

  it.live(
    "is not taken for the path before them",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { service } = yield* startWith()
        yield* Effect.promise(async () => {
          const key = await makeOrganization(service, "acme")
          const templates = "/organizations/acme/templates"
          for (const id of ["a", "a;b"]) await service.manage("POST", templates, { id, name: id, variants: [] })
          const generate = (path: string) =>
            service.request(path, {
              method: "POST",
              headers: { "x-api-key": key, "content-type": "application/json" },
              body: JSON.stringify({ template_id: "a" }),
            })
          assert.strictEqual((await generate("/api/generate/acme")).status, 200)
          // As for every organization that is not the key's.
          assert.strictEqual((await generate("/api/generate/acme;x=1")).status, 403)
          assert.strictEqual((await service.request("/healthz;x=1")).status, 404)
          assert.strictEqual((await service.manage("GET", `${templates}/a;b`)).body.id, "a;b")
          assert.strictEqual((await service.manage("GET", `${templates}/a;c`)).status, 404)
        })
      })),
    60_000,
  )
})
