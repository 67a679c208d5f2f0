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

/** Options of the router: paths match exactly, so `/docs` and `/docs/` are different paths. */
export const routerConfig = {
  maxParamLength: 2000,
  ignoreTrailingSlash: false,
  ignoreDuplicateSlashes: false,
  caseSensitive: true,
}

/** Serves `routes`. Envelope.ts adds the common parts of responses, and logs requests if `ACCESS_LOG` is on. */
export const serve = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  HttpRouter.serve(routes, {
    disableLogger: true,
    disableListenLog: true,
    routerConfig,
  }).pipe(
    Layer.provide(Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(Body.maxBodyBytes))),
    // Spans of Effect's server would contain whole URLs and client addresses. Envelope.ts creates spans without them.
    Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)),
  )
