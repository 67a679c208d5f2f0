import { NodeHttpServer } from "@effect/platform-node"
import { ByteSize, Duration, Effect, Layer } from "effect"
import { HttpIncomingMessage, HttpRouter } from "effect/http"
import { createServer } from "node:http"
import { Settings } from "../Settings.ts"
import * as Body from "./Body.ts"

// `node:http` rather than `Deno.serve`, which never cuts a client that sends its headers or body slowly: see
// docs/decisions/0002.

/** The HTTP server of `HOST` and `PORT`, cutting slow clients and draining when its scope closes. */
export const layerServer = Layer.unwrap(Effect.gen(function* () {
  const { headersTimeout, host, port, requestTimeout, shutdownTimeout } = yield* Settings
  const headersTimeoutMillis = Duration.toMillis(headersTimeout)
  const requestTimeoutMillis = Math.max(headersTimeoutMillis, Duration.toMillis(requestTimeout))
  return NodeHttpServer.layer(
    () =>
      createServer({
        headersTimeout: headersTimeoutMillis,
        requestTimeout: requestTimeoutMillis,
        // How often Node looks for clients past these limits.
        connectionsCheckingInterval: Math.max(100, Math.min(1000, headersTimeoutMillis / 5)),
        keepAliveTimeout: 65_000,
        maxHeaderSize: 16 * 1024,
      }),
    { host, port, gracefulShutdownTimeout: shutdownTimeout },
  )
}))

/** Serves `routes`. Nothing is logged per request; see Envelope.ts for what every answer carries. */
export const serve = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  HttpRouter.serve(routes, {
    disableLogger: true,
    disableListenLog: true,
    routerConfig: { maxParamLength: 2000, ignoreTrailingSlash: false, caseSensitive: true },
  }).pipe(
    Layer.provide(Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(Body.maxBodyBytes))),
  )
