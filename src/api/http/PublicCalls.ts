import { Context, Effect, Exit, Layer, References, Result } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { referencesIn } from "../../runtime/withoutServices.ts"
import { Refusals } from "../admission/Refusals.ts"
import { RequestTimeout } from "../Problems.ts"
import { CurrentArrival, type RequestArrival } from "./RequestArrival.ts"
import * as Body from "./Body.ts"
import * as Envelope from "./Envelope.ts"
import type { PublicRoute, Steps } from "./PublicCall.ts"
import { warn } from "./Warnings.ts"
import { type App, replying, requestOf } from "./WebServer.ts"

type Answering = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  unknown,
  HttpServerRequest.HttpServerRequest | HttpRouter.RouteContext | Refusals
>

/** A request, and the parameter of its path. */
interface Called {
  readonly arrival: RequestArrival
  readonly parameter: string
}

/** A route, found by its method and by the beginning of its path, up to the parameter. */
interface Entry {
  readonly method: string
  readonly prefix: string
  readonly run: (called: Called) => Promise<Response>
}

/** A parameter without characters that the router would have to decode. */
const plain = /^[\w.~-]{1,200}$/

/** Returns the parameter of a path that begins with `prefix`. Undefined if the router must decode it. */
const parameterIn = (url: string, prefix: string): string | undefined => {
  const at = url.indexOf("?", prefix.length)
  const parameter = url.slice(prefix.length, at === -1 ? undefined : at)
  return plain.test(parameter) ? parameter : undefined
}

/** Returns the value of an effect that has already succeeded. Undefined for any other effect. */
const successOf = <A, E, R>(effect: Effect.Effect<A, E, R>): A | undefined =>
  Exit.isExit(effect) && Exit.isSuccess(effect) ? effect.value as A : undefined

/**
 * Creates the two ways to respond: `whole` runs the complete effect of a route, and `shortly` runs the steps of a call.
 */
const makeWays = Effect.gen(function* () {
  const { begin, envelop, isTracing, responseOf } = yield* Envelope.make
  // The services of the process are omitted, because each request copies its context.
  const services = referencesIn(yield* Effect.context<never>()).pipe(
    Context.add(Refusals, yield* Refusals),
    Context.add(HttpMiddleware.TracerDisabledWhen, () => true),
  ) as Context.Context<never>

  /**
   * Responds with an effect. The effect continues if the client disconnects, because the decision may already be
   * stored.
   */
  const whole = ({ method, path, response }: PublicRoute) => {
    const name = path.slice(path.lastIndexOf(":") + 1)
    const route = HttpRouter.route(method, path, response) as HttpRouter.Route<unknown, unknown>
    return ({ arrival, parameter }: Called, response: Answering): Promise<Response> =>
      new Promise((resolve) => {
        arrival.respond = resolve
        const context = services.pipe(
          Context.add(CurrentArrival, arrival),
          Context.add(HttpServerRequest.HttpServerRequest, requestOf(arrival)),
          Context.add(HttpRouter.RouteContext, { route, params: { [name]: parameter } }),
        )
        Effect.runForkWith(context)(replying(envelop(response) as App, services))
      })
  }

  /** Runs `answer` in a fiber. */
  const exitOf = (
    arrival: RequestArrival,
    answer: Effect.Effect<unknown, unknown>,
  ): Promise<Exit.Exit<unknown, unknown>> =>
    new Promise((resolve) => {
      const context = Context.add(services, References.CurrentLogAnnotations, { requestId: arrival.requestId })
      Effect.runForkWith(context)(answer).addObserver(resolve)
    })

  /**
   * Responds to a request by the steps of its call. If tracing is on, or a step fails or has to wait, the remaining
   * effect runs as with `whole`.
   */
  const shortly = (steps: Steps, route: PublicRoute) => {
    const { answered, authorized, call, counted, counting, decoded, grantOf } = steps
    const wholly = whole(route)

    const respond = async (called: Called): Promise<Response> => {
      const { arrival, parameter } = called
      const { headers, url } = arrival
      if (isTracing || call.refuseEarly?.(headers) !== undefined) return wholly(called, route.response)
      begin(arrival)
      const request = requestOf(arrival)
      const authorizing = grantOf(request, parameter)
      // Undefined if the key must be read from the database, or is refused.
      const grant = successOf(authorizing)
      if (grant === undefined) return wholly(called, authorized(request, authorizing))
      const body = call.takesBody ? await Body.arrivedJson(arrival, Body.maxBodyBytes) : Body.none
      // Every route that reads a body can time out. As a defect, the timeout needs no declaration in the contracts.
      if (body instanceof RequestTimeout) return wholly(called, Effect.die(body))
      if (!("json" in body)) return wholly(called, Effect.fail(body))
      const decoding = call.decode({ url, headers, bytes: body.bytes, json: body.json })
      const { input, warnings } = decoding
      if (Result.isFailure(input)) return wholly(called, decoded(request, grant, decoding))
      const count = counting(request, grant, input.success)
      // Not yet done if the key has reached its limit.
      if (!Exit.isExit(count)) return wholly(called, counted(request, grant, input.success, warnings, count))
      const exit = await exitOf(arrival, call.answer(grant.dataOrg, input.success))
      const responded = Exit.isSuccess(exit) ? call.respond(exit.value, input.success) : undefined
      if (responded === undefined || Result.isFailure(responded.body)) {
        return wholly(called, Effect.andThen(warn(request, warnings), answered(request, grant, input.success, exit)))
      }
      return responseOf(arrival, request, { route: call.path, org: parameter }, {
        body: responded.body.success,
        headers: responded.headers,
        warnings: responded.warnings === undefined ? warnings : [...warnings, ...responded.warnings],
      })
    }

    return (called: Called): Promise<Response> => respond(called).catch((defect) => wholly(called, Effect.die(defect)))
  }

  return { shortly, whole }
})

/**
 * Responds to public calls without a search in the router. The router has the same routes, and handles all other
 * requests: other methods, and parameters that must be decoded.
 */
export class PublicCalls extends Context.Service<PublicCalls, {
  /** Adds a route to the router and to this service. */
  readonly add: <E>(
    router: HttpRouter.HttpRouter,
    route: PublicRoute<E>,
  ) => ReturnType<typeof addToRouter<E>>
  /** Responds to a request. Returns undefined if the router must handle the request. */
  readonly respond: (arrival: RequestArrival) => Promise<Response> | undefined
}>()("parlance/api/http/PublicCalls") {
  static readonly layer = Layer.effect(
    PublicCalls,
    Effect.gen(function* () {
      const { shortly, whole } = yield* makeWays
      const entries: Array<Entry> = []

      const entryOf = (route: PublicRoute): Entry => {
        const { method, path, response, steps } = route
        const wholly = whole(route)
        return {
          method,
          prefix: path.slice(0, path.lastIndexOf(":")),
          run: steps === undefined ? (called) => wholly(called, response) : shortly(steps, route),
        }
      }

      return PublicCalls.of({
        add: (router, route) => {
          entries.push(entryOf(route as PublicRoute))
          return addToRouter(router, route)
        },
        respond: (arrival) => {
          const { method, url } = arrival
          for (const entry of entries) {
            if (entry.method !== method || !url.startsWith(entry.prefix)) continue
            const parameter = parameterIn(url, entry.prefix)
            return parameter === undefined ? undefined : entry.run({ arrival, parameter })
          }
          return undefined
        },
      })
    }),
  )
}

const addToRouter = <E>(router: HttpRouter.HttpRouter, { method, path, response }: PublicRoute<E>) =>
  router.add(method, path, response)
