import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ByteSize, Duration, Effect, Layer, Schema } from "effect"
import { HttpIncomingMessage, HttpMiddleware, HttpRouter } from "effect/http"
import { Buffer } from "node:buffer"
import { randomUUID } from "node:crypto"
import { createServer, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { Settings } from "../../Settings.ts"
import { AccessLog } from "../../telemetry/AccessLog.ts"
import * as Body from "./Body.ts"
import { ClientConnections } from "./ClientConnections.ts"
import { DirectRoutes } from "./DirectRoutes.ts"
import * as PlainConnections from "./PlainConnections.ts"
import { LoadGate } from "../admission/LoadGate.ts"
import * as LoadShedding from "../admission/LoadShedding.ts"
import { HeadersTooLarge, InvalidRequest, RequestTimeout } from "../Problems.ts"

/** The service cannot listen where its settings say. */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", {
  host: Schema.String,
  port: Schema.Int,
  reason: Schema.String,
}) {
  override get message() {
    return `HOST, PORT: nothing can listen at ${this.host}:${this.port}: ${this.reason}. ` +
      "Stop the process that listens there, or set another PORT (0 picks a free port)."
  }
}

const maxHeaderBytes = 16 * 1024

// `node:http` rather than `Deno.serve`, which never cuts a client that sends its headers or body slowly: see
// docs/decisions/0002.

/** The problem for data that Node's parser or timeouts refuse before there is a request. */
const refusalOf = (code: unknown) => {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new RequestTimeout({ detail: "The request did not arrive within the time limit" })
    case "HPE_HEADER_OVERFLOW":
      return new HeadersTooLarge({ detail: `The headers have more than ${maxHeaderBytes} bytes` })
    default:
      return new InvalidRequest({
        detail: "The data received is not valid HTTP/1.1",
        errors: [{ pointer: "", detail: "is not valid HTTP/1.1" }],
      })
  }
}

/** Sends a problem over a connection whose data could not be parsed as a request, and closes the connection. */
const refuse = (error: Error, socket: Duplex) => {
  if (!socket.writable) return void socket.destroy()
  const { detail, status, title, type, ...rest } = refusalOf("code" in error ? error.code : undefined)
  const errors = "errors" in rest ? { errors: rest.errors } : {}
  const body = JSON.stringify({ detail, ...errors, type, status, title })
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${randomUUID()}\r\nConnection: close\r\n\r\n${body}`,
  )
}

/** The HTTP server of `HOST` and `PORT`, cutting slow clients and draining when its scope closes. */
export const layerServer = Layer.unwrap(Effect.gen(function* () {
  const { gate } = yield* LoadGate
  const { respond } = yield* DirectRoutes
  const connections = yield* ClientConnections
  const logAccess = yield* AccessLog
  const { headersTimeout, host, port, requestTimeout, shutdownTimeout } = yield* Settings
  const headersTimeoutMillis = Duration.toMillis(headersTimeout)
  const requestTimeoutMillis = Math.max(headersTimeoutMillis, Duration.toMillis(requestTimeout))
  const listening = NodeHttpServer.layer(
    () => {
      const server = createServer({
        headersTimeout: headersTimeoutMillis,
        requestTimeout: requestTimeoutMillis,
        // How often Node looks for clients past these limits.
        connectionsCheckingInterval: Math.max(100, Math.min(1000, headersTimeoutMillis / 5)),
        // Idle connections are closed in ClientConnections.
        keepAliveTimeout: 0,
        maxHeaderSize: maxHeaderBytes,
        // Only HTTP/1.1 is served. Java's client offers an upgrade to HTTP/2 in every request. It is answered over
        // HTTP/1.1, so that time and load limits apply, which an upgraded connection would escape.
        shouldUpgradeCallback: () => false,
      })
      server.on("clientError", refuse)
      const { busy, offer } = LoadShedding.install(server, gate, { respond, logAccess })
      PlainConnections.install(server, offer, headersTimeoutMillis)
      connections.install(server, busy)
      return server
    },
    { host, port, gracefulShutdownTimeout: shutdownTimeout },
  )
  return Layer.catchTag(listening, "ServeError", ({ cause }) => {
    const reason = cause instanceof Error ? cause.message : String(cause)
    return Layer.effectContext<Layer.Success<typeof listening>, ListenFailed, never>(
      new ListenFailed({ host, port, reason }),
    )
  })
}))

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
