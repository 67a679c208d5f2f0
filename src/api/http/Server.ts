import { ByteSize, Effect, Layer } from "effect"
import { HttpIncomingMessage, HttpMiddleware, HttpRouter, HttpServer } from "effect/http"
import { Settings } from "../../settings/Settings.ts"
import { AccessLog } from "../../telemetry/AccessLog.ts"
import * as Body from "./Body.ts"
import { LoadGate } from "../admission/LoadGate.ts"
import * as LoadShedding from "../admission/LoadShedding.ts"
import { PublicCalls } from "./PublicCalls.ts"
import * as WebServer from "./WebServer.ts"

/** The HTTP server of `HOST` and `PORT`, which drains when its scope closes. */
export const layerServer = Layer.effect(
  HttpServer.HttpServer,
  Effect.gen(function* () {
    const { gate } = yield* LoadGate
    const { respond } = yield* PublicCalls
    const logAccess = yield* AccessLog
    const { host, port, requestTimeout, shutdownTimeout } = yield* Settings
    return yield* WebServer.make({
      host,
      port,
      shutdownTimeout,
      requestTimeout,
      admit: LoadShedding.make(gate, { logAccess }),
      isEnding: () => gate.isEnding,
      respond,
    })
  }),
).pipe(Layer.merge(HttpServer.layerServices))

/** How paths are matched: to the letter, so that `/docs` and `/docs/` are two. */
export const routerConfig = {
  maxParamLength: 2000,
  ignoreTrailingSlash: false,
  ignoreDuplicateSlashes: false,
  caseSensitive: true,
}

/** Serves `routes`. Envelope.ts has the common parts of responses and logs requests where `ACCESS_LOG` says so. */
export const serve = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  HttpRouter.serve(routes, {
    disableLogger: true,
    disableListenLog: true,
    routerConfig,
  }).pipe(
    Layer.provide(Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(Body.maxBodyBytes))),
    // The server's own spans would say whole URLs and addresses of clients: Envelope.ts has others.
    Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)),
  )
