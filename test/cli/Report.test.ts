import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { HttpClientError, HttpClientRequest } from "effect/http"
import { createServer, type OutgoingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import * as Connection from "../../src/cli/Connection.ts"
import { causeOfSilence, inProcessUrl, messageOf } from "../../src/cli/Report.ts"
import { adminToken } from "../support/service.ts"
import { layerSettings } from "../support/settings.ts"

/** What a command says where everything is answered with `status`, `headers` and `body`. */
const said = Effect.fnUntraced(function* (status: number, headers: OutgoingHttpHeaders, body: string, scheme = "http") {
  const server = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((_, response) => response.writeHead(status, headers).end(body))
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)).closeAllConnections()),
  )
  const { port } = server.address() as AddressInfo
  const env = { PARLANCE_URL: `${scheme}://127.0.0.1:${port}`, ADMIN_TOKEN: adminToken }
  const error = yield* Effect.flatMap(Connection.ManagementClient, (client) => client.listOrganizations())
    .pipe(
      Effect.provide(Layer.provide(Connection.layer, layerSettings(env))),
      Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env }))),
      Effect.flip,
    )
  return yield* messageOf(error)
}, Effect.scoped)

const problem = { "content-type": "application/problem+json", "x-request-id": "r-1" }

describe("the message for an unexpected answer", () => {
  it.live("contains the problem, and the time to retry if the service is overloaded", () =>
    Effect.gen(function* () {
      const full = JSON.stringify({ type: "/problems/unavailable", status: 503, detail: "There is too much to do" })
      assert.strictEqual(
        yield* said(503, { ...problem, "retry-after": "4" }, full),
        "There is too much to do. Try again in 4 s.",
      )
      assert.strictEqual(yield* said(503, problem, full), "There is too much to do. Try again later.")
      assert.match(yield* said(503, { "content-type": "text/html" }, "<p>no server</p>"), /503.*\. Try again later\.$/)
      assert.strictEqual(
        yield* said(500, problem, JSON.stringify({ detail: "It broke under r-1" })),
        "It broke under r-1",
      )
    }))

  it.live("names the status and the request if the answer is unreadable", () =>
    Effect.gen(function* () {
      for (const headers of [problem, { ...problem, "content-type": "text/plain" }]) {
        assert.match(yield* said(500, headers, "{"), /status 500\. .* request id r-1 in its logs\.$/)
      }
    }))

  it.live("says that the service has no TLS if the address begins with https:// by mistake", () =>
    Effect.gen(function* () {
      assert.match(
        yield* said(200, {}, "{}", "https"),
        /did not answer: it answers without TLS, so its address begins with http:/,
      )
    }))

  it("names the setting for the certificate of a company", () => {
    for (const message of ["self-signed certificate in certificate chain", "invalid peer certificate: UnknownIssuer"]) {
      const cause = causeOfSilence(new TypeError("fetch failed", { cause: new Error(message) }))
      assert.include(cause, `${message}. Trust the certificate of its authority: NODE_EXTRA_CA_CERTS`)
    }
  })

  it.effect("names the failure, and whether it was local or at PARLANCE_URL", () =>
    Effect.gen(function* () {
      const failed = (url: string) =>
        new HttpClientError.HttpClientError({
          reason: new HttpClientError.TransportError({
            request: HttpClientRequest.get(`${url}/console/api/organizations`),
            cause: new TypeError("fetch failed", { cause: new Error("connection refused") }),
          }),
        })
      assert.strictEqual(
        yield* messageOf(failed(inProcessUrl)),
        "The command failed within this process: connection refused. " +
          "Check that the database of DATABASE_URL or DATA_DIR is available, then repeat the command.",
      )
      assert.strictEqual(
        yield* messageOf(failed("https://parlance.example")),
        "The service at https://parlance.example did not answer: connection refused. " +
          "Check that it runs and that this is its address, which comes from PARLANCE_URL, a profile of `parlance login` " +
          "or DATA_DIR/address.",
      )
    }))
})
