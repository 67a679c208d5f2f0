import { Console, Context, Effect, flow, Layer, Redacted, Schema } from "effect"
import {
  FetchHttpClient,
  HttpClient,
  HttpClientError,
  HttpClientRequest,
  type HttpClientResponse,
  type HttpMethod,
} from "effect/http"
import type { HttpApi, HttpApiClient, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { Api } from "../api/Api.ts"
import endpoints from "./endpoints.json" with { type: "json" }
import { jsonOf } from "./ResponseJson.ts"

// `HttpApiClient` would load the schemas of the whole API, which takes longer than the rest of a command. In the
// management API, the encoded and the decoded form are the same JSON (a test checks this), so paths and types are
// enough.

/** A command cannot be carried out. The message names the next step. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String,
}) {}

type Groups = typeof Api extends HttpApi.HttpApi<infer _Id, infer Groups> ? Groups : never

/**
 * The name of an operation of the management API. `endpoints.json` has its method and path, and for a request with a body,
 * its query and media type.
 */
export type Operation = keyof typeof endpoints

/** The response of an operation. */
export type ResponseOf<Name extends Operation> = HttpApiEndpoint.SuccessWithIdentifier<
  HttpApiGroup.Endpoints<Groups>,
  Name
>

type EndpointOf<Name extends Operation> = Extract<HttpApiGroup.Endpoints<Groups>, { readonly identifier: Name }>

type NamesOf<Members> = Members extends unknown ? keyof Members : never

/** The names of an operation's parameters: of its path, query, header for conditions, and body. */
export type ParameterOf<Name extends Operation> =
  | NamesOf<EndpointOf<Name>["~Params"]["Type"]>
  | NamesOf<EndpointOf<Name>["~Query"]["Type"]>
  | NamesOf<EndpointOf<Name>["~Payload"]["Type"]>
  | "if-match"

type MethodOf<Name extends Operation, Group> = Group extends { readonly [name in Name]: infer Method } ? Method : never

type ByGroup = HttpApiClient.ForApi<typeof Api>

/** A client of the management API, of this process or of a service elsewhere: a method for each operation. */
export class ManagementClient extends Context.Service<
  ManagementClient,
  { readonly [Name in Operation]: MethodOf<Name, ByGroup[keyof ByGroup]> }
>()("parlance/cli/ManagementClient") {}

/** Called with the warnings of a response that is not a failure. Default: prints each warning to standard error. */
export const OnWarnings = Context.Reference("parlance/cli/OnWarnings", {
  defaultValue: () => (warnings: ReadonlyArray<string>) =>
    Effect.forEach(warnings, (warning) => Console.error(`warning: ${warning}`), { discard: true }),
})

/** Requests outside of the management API, to the service of the command: `fetch` with a path of the service. */
export class ServiceFetch extends Context.Service<
  ServiceFetch,
  (path: string, init: RequestInit) => Promise<Response>
>()("parlance/cli/ServiceFetch") {}

interface Input {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  readonly payload?: unknown
}

/** The name of a problem's class, such as `KeyNotFound` of `/problems/key-not-found`. */
const tagOf = (type: string): string =>
  type.replace(/^.*\//, "").replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())

const isProblem = (value: unknown): value is { readonly type: string } =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"

/**
 * The failure for a response: its problem, or the response itself if it has no problem or the status 503. The headers
 * of such a response contain the time of the next attempt.
 */
const failureOf = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
  const problem = response.status !== 503 && response.headers["content-type"]?.startsWith("application/problem+json")
    ? yield* Effect.orElseSucceed(jsonOf(response), () => undefined)
    : undefined
  return isProblem(problem) ? { ...problem, _tag: tagOf(problem.type) } : new HttpClientError.HttpClientError({
    reason: new HttpClientError.StatusCodeError({ request: response.request, response }),
  })
})

/** The parts of an endpoint. */
const partsOf = (endpoint: string) => {
  const [method, target, media] = endpoint.split(" ") as [HttpMethod.HttpMethod, string, string | undefined]
  const [path, query = ""] = target.split("?") as [string, string?]
  return { method, path, query: query.split("&"), media }
}

/** Whether the path of an operation has the organization. */
export const namesOrganization = (operation: Operation): boolean => /:org\b/.test(endpoints[operation])

/**
 * Distributes the members of a request over its path, query and body. Members without a value are omitted, and false in
 * a query. The member `if-match` is a header.
 */
export const inputOf = (operation: Operation, members: Readonly<Record<string, unknown>>) => {
  const { media, path, query: ofQuery } = partsOf(endpoints[operation])
  const params: Record<string, string> = {}
  const query: Record<string, string> = {}
  const headers: Record<string, string> = {}
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined) continue
    if (name === "if-match") headers[name] = `"${value}"`
    else if (new RegExp(`:${name}\\b`).test(path)) params[name] = String(value)
    else if (media !== undefined && !ofQuery.includes(name)) body[name] = value
    else if (value !== false) query[name] = String(value)
  }
  return { params, query, headers, payload: media === undefined ? undefined : body }
}

const requestOf = (endpoint: string, { headers = {}, params = {}, payload, query = {} }: Input) => {
  const { media, method, path } = partsOf(endpoint)
  const url = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name]!))
  const request = HttpClientRequest.make(method)(url).pipe(
    HttpClientRequest.setUrlParams(query),
    HttpClientRequest.setHeaders(headers),
  )
  if (payload === undefined) return request
  if (payload instanceof Uint8Array) return HttpClientRequest.bodyUint8Array(request, payload, media)
  return media === "json"
    ? HttpClientRequest.bodyJsonUnsafe(request, payload)
    : HttpClientRequest.bodyText(request, String(payload), media)
}

const contentOf = (
  response: HttpClientResponse.HttpClientResponse,
): Effect.Effect<unknown, HttpClientError.HttpClientError> => {
  if (response.status === 204) return Effect.void
  return response.headers["content-type"]?.startsWith("application/json") ? jsonOf(response) : response.text
}

/** Adds the variable or profile of the token to a refusal, because the token may come from an unexpected place. */
const namingToken = (failure: object, tokenFrom: string | undefined): object =>
  "_tag" in failure && failure._tag === "Unauthorized" && "detail" in failure && tokenFrom !== undefined
    ? { ...failure, detail: `${failure.detail}. The command read it from ${tokenFrom}` }
    : failure

/**
 * A client of the management API at `baseUrl`. Each method fails with the problem of the response or `HttpClientError`.
 */
export const clientFor = (
  baseUrl: string,
  token: Redacted.Redacted<string>,
  { fetch, tokenFrom }: { readonly fetch?: typeof globalThis.fetch; readonly tokenFrom?: string } = {},
) =>
  Effect.map(HttpClient.HttpClient, (http): ManagementClient["Service"] => {
    const { execute } = http.pipe(
      HttpClient.mapRequest(flow(HttpClientRequest.prependUrl(baseUrl), HttpClientRequest.bearerToken(token))),
    )
    const call = (endpoint: string) =>
      Effect.fnUntraced(function* (input: Input = {}): Effect.fn.Return<unknown, unknown> {
        const response = yield* execute(requestOf(endpoint, input))
        if (response.status < 300) {
          const warnings = response.headers["parlance-warnings"]
          if (warnings !== undefined) yield* (yield* OnWarnings)(warnings.split("; "))
          return yield* contentOf(response)
        }
        return yield* Effect.fail(namingToken(yield* failureOf(response), tokenFrom))
      })
    return Object.fromEntries(Object.entries(endpoints).map(([name, endpoint]) => [name, call(endpoint)])) as never
  }).pipe(
    Effect.provide(
      fetch === undefined
        ? FetchHttpClient.layer
        : FetchHttpClient.layer.pipe(Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetch))),
    ),
  )
