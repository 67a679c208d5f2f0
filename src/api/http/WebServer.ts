import { Context, Duration, Effect, Fiber, Option, Schema, Scope } from "effect"
import { Cookies, type HttpBody, HttpEffect, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { ClientAbort } from "effect/http/HttpServerError"
import * as NetAddress from "effect/net/NetAddress"
import type { Admit } from "../admission/LoadShedding.ts"
import { arrivedOf } from "./Body.ts"
import { headFault } from "./Head.ts"
import { CurrentArrival, RequestArrival } from "./RequestArrival.ts"
import { unref } from "../../runtime/unref.ts"

/** The service cannot listen at the address in `HOST` and `PORT`. */
class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", {
  host: Schema.String,
  port: Schema.Int,
  reason: Schema.String,
}) {
  override get message() {
    return `HOST, PORT: nothing can listen at ${this.host}:${this.port}: ${this.reason}. ` +
      "Stop the process that listens there, or set another PORT (0 picks a free port)."
  }
}

interface WebServerOptions {
  readonly host: string
  readonly port: number
  /** Maximum time to close the server: until then, it finishes requests that have arrived. */
  readonly shutdownTimeout: Duration.Duration
  /** Maximum time for a request's body to arrive. */
  readonly requestTimeout: Duration.Duration
  readonly admit: Admit
  /** Whether connections are closed with their next response. */
  readonly isEnding: () => boolean
  /** Responds to a request without the router. Returns undefined if the router must handle the request. */
  readonly respond: (arrival: RequestArrival) => Promise<Response> | undefined
}

/** Creates the response to a request. */
export type App = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  unknown,
  HttpServerRequest.HttpServerRequest | Scope.Scope
>

/** Responds to a request. */
type Route = (arrival: RequestArrival) => Promise<Response>

/**
 * Returns a request in Effect's form. `url` is the path with the query, and `remoteAddress` the address of the
 * connection.
 */
export const requestOf = (
  { headers, peer, request, url }: RequestArrival,
): HttpServerRequest.HttpServerRequest =>
  HttpServerRequest.fromWeb(request).modify({
    url,
    headers: headers as HttpServerRequest.HttpServerRequest["headers"],
    remoteAddress: Option.some(peer),
  })

/**
 * Size from which a body is sent as a stream, because `Response` copies bytes and is slow with long texts beyond
 * Latin-1. Unit: bytes.
 */
const streamedFrom = 16 * 1024

const bodyOf = ({ body, contentLength, text }: HttpBody.Uint8Array): BodyInit =>
  contentLength < streamedFrom ? (text ?? body) as BodyInit : new ReadableStream({
    pull: (controller) => {
      controller.enqueue(body)
      controller.close()
    },
  })

/** Returns a response in the form that `Deno.serve` requires. */
const webOf = (
  request: HttpServerRequest.HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse,
  services: Context.Context<never>,
): Response => {
  const withoutBody = request.method === "HEAD"
  const { body, cookies, headers, status } = response
  // Nearly every response takes this path, which avoids two copies of the headers that Effect would make.
  if (
    body._tag === "Uint8Array" && !withoutBody && Cookies.isEmpty(cookies) && !HttpServerResponse.omitsBody(response)
  ) {
    return new Response(bodyOf(body), { status, headers })
  }
  if (body._tag !== "Stream") return HttpServerResponse.toWeb(response, { withoutBody, context: services })
  // The transferred scope closes when an abort interrupts the body, even if it is no longer read.
  const sent = HttpServerResponse.omitsBody(response, withoutBody)
    ? response
    : HttpEffect.scopeTransferToStream(response)
  const { signal } = request.source as Request
  return HttpServerResponse.toWeb(sent, { withoutBody, context: services, signal })
}

/** Runs an effect that creates a response, and responds with it to the request of the fiber. */
export const replying = (app: App, services: Context.Context<never>) =>
  HttpEffect.toHandled(
    app,
    (request, response) =>
      Effect.withFiber((fiber) => {
        const arrival = Context.getUnsafe(fiber.context, CurrentArrival)
        try {
          arrival.respond(webOf(request, response, services))
          return Effect.void
        } catch (defect) {
          // A header may have characters that HTTP does not allow. Without a response, the gate would count the request
          // forever.
          arrival.respond(new Response(null, { status: 500, headers: { "x-request-id": arrival.requestId } }))
          return Effect.logError("A response could not be sent", defect)
        }
      }),
  )

/** Runs requests through `app` in fibers that end with `scope`, or when the client disconnects. */
const routing = (app: App, services: Context.Context<never>, scope: Scope.Scope): Route => {
  const handled = replying(app, services)
  return (arrival) =>
    new Promise((resolve) => {
      const { signal } = arrival.request
      arrival.respond = resolve
      const context = services.pipe(
        Context.add(CurrentArrival, arrival),
        Context.add(HttpServerRequest.HttpServerRequest, requestOf(arrival)),
      )
      const fiber = Fiber.runIn(Effect.runForkWith(context)(handled), scope)
      if (fiber.pollUnsafe() !== undefined) return
      const abort = () => fiber.interruptUnsafe(undefined, ClientAbort.annotation)
      if (signal.aborted) return abort()
      signal.addEventListener("abort", abort, { once: true })
      fiber.addObserver(() => signal.removeEventListener("abort", abort))
    })
}

/** Ends a server once, and resolves when it has ended. */
const endingOnce = () => {
  let ending: Promise<void> | undefined
  return (server: Deno.HttpServer<Deno.NetAddr>): Promise<void> => ending ??= server.shutdown()
}

/**
 * Time for a client to read a response before the service closes a connection with an unread body. Unit: milliseconds.
 */
const lingerMillis = 1000

/**
 * Closes the connection 1 second after the response if the body was not read completely. Otherwise Deno would read and
 * discard the remainder without a limit.
 */
const leaveUnread = ({ method, request, unread }: RequestArrival): void => {
  if (method === "GET") return
  const reader = unread ?? (request.bodyUsed ? undefined : request.body?.getReader())
  if (reader === undefined) return
  const timer: unknown = setTimeout(() => reader.cancel().catch(() => {}), lingerMillis)
  unref(timer)
}

/** Starts a server that listens immediately. Its first requests are answered as soon as the routes exist. */
export const make = Effect.fnUntraced(function* (options: WebServerOptions) {
  const { admit, host, isEnding, port, requestTimeout, respond, shutdownTimeout } = options
  const requestTimeoutMillis = Duration.toMillis(requestTimeout)
  const ended = endingOnce()
  let hasRoutes: (route: Route) => void
  let route: Route | undefined
  const routes = new Promise<Route>((resolve) => hasRoutes = resolve)

  const serve = async (arrival: RequestArrival): Promise<Response> => {
    const response = headFault(arrival) ?? await (respond(arrival) ?? (route ?? await routes)(arrival))
    if (isEnding()) response.headers.set("connection", "close")
    return response
  }

  const log = Effect.runForkWith(yield* Effect.context<never>())
  const onError = (error: unknown) => {
    // The log entry omits the message of the error, which may quote personal data.
    const kind = error instanceof Error ? error.name : typeof error
    log(Effect.logError("A response ended with an error", { kind }))
    return new Response(null, { status: 500 })
  }

  const server = yield* Effect.acquireRelease(
    Effect.try({
      try: () =>
        Deno.serve(
          { hostname: host, port, onListen: () => {}, onError },
          async (request, { remoteAddr }) => {
            const arrival = new RequestArrival(request, remoteAddr.hostname, requestTimeoutMillis, isEnding)
            const response = await admit(arrival, serve)
            leaveUnread(arrival)
            return response
          },
        ),
      catch: (cause) =>
        new ListenFailed({ host, port, reason: cause instanceof Error ? cause.message : String(cause) }),
    }),
    (server) => Effect.sync(() => void ended(server)),
  )
  // Connections that are open after the timeout end with the process, because aborting Deno's server during its
  // shutdown causes an uncaught error.
  const shutdown = Effect.promise(async () => {
    // A shutdown of Deno's server would cut off bodies that are still arriving.
    await arrivedOf((arrival) => arrival.isEnding === isEnding)
    await ended(server)
  }).pipe(Effect.timeoutOption(shutdownTimeout), Effect.asVoid)
  const address = yield* Effect.orDie(
    Effect.fromResult(NetAddress.inetAddressFromIpString(server.addr.hostname, server.addr.port)),
  )

  return HttpServer.make({
    address,
    serve: Effect.fnUntraced(function* (app) {
      const services = yield* Effect.context<never>()
      const fibers = Scope.forkUnsafe(yield* Effect.scope, "parallel")
      // Added after the scope of the fibers, so the shutdown runs before the fibers end.
      yield* Effect.addFinalizer(() => shutdown)
      route = routing(app as App, services, fibers)
      hasRoutes(route)
    }),
  })
})
