import { Effect, type Layer, type Schema, type Scope } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { type HttpApi, HttpApiBuilder, type HttpApiEndpoint, type HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { type Actor, CurrentActor } from "../../accounts/Actor.ts"
import type { OrganizationNotFound } from "../../domain/Errors.ts"
import { type Decode, decoder } from "../../domain/Faults.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { withWarnings } from "../../store/WarningTrail.ts"
import type { AdminRequired } from "../admission/AdminRequired.ts"
import { ServedApi } from "../Api.ts"
import type * as Problems from "../Problems.ts"
import { type DomainErrorOf, problemOf } from "./DomainProblems.ts"
import * as Body from "./Body.ts"
import { withNextCursor } from "./Cursors.ts"
import type { ReadParameter, ValuesOf } from "./Parameters.ts"
import { body, lookedUp, readQuery } from "./Requests.ts"
import { ofContent, warn } from "./Warnings.ts"
import { type Sendable, wireForm } from "./WireForm.ts"

type Groups = typeof ServedApi extends HttpApi.HttpApi<string, infer G> ? G : never

type GroupOf<Id> = HttpApiGroup.WithIdentifier<Groups, Id & HttpApiGroup.Identifier<Groups>>

type QueryOf<E extends HttpApiEndpoint.ConstraintRequest> = E["~Query"] extends
  { readonly schema: { readonly fields: infer Fields } } ? ValuesOf<Fields> : never

type BodyOf<E extends HttpApiEndpoint.ConstraintRequest> = E["~Payload"]["Type"]

/** The parts of a request that need no decoding. */
type Named<E extends HttpApiEndpoint.ConstraintRequest> =
  & ([E["~Params"]] extends [never] ? unknown : { readonly params: E["~Params"]["Type"] })
  & {
    /** The sender of the request. */
    readonly actor: Actor
    readonly request: HttpServerRequest.HttpServerRequest
  }

type OrgOf<E extends HttpApiEndpoint.ConstraintRequest, Org> = [E["~Params"]] extends [never] ? unknown
  : "org" extends keyof E["~Params"]["Type"] ? { readonly org: Org }
  : unknown

/** A decoded request. `org` is the organization of the path. */
type Call<E extends HttpApiEndpoint.ConstraintRequest> =
  & Named<E>
  & OrgOf<E, OrgSlug>
  & ([E["~Query"]] extends [never] ? unknown : { readonly query: QueryOf<E> })
  & ([E["~Payload"]] extends [never] ? unknown : { readonly body: BodyOf<E> })

type BodyProblem =
  | Problems.InvalidRequest
  | Problems.PayloadTooLarge
  | Problems.Unavailable
  | Problems.UnsupportedMediaType

/**
 * A request whose parts are looked up and decoded when the handler runs their effects. `slug` is the organization in
 * the path, which may not exist.
 */
type Steps<E extends HttpApiEndpoint.ConstraintRequest> =
  & Named<E>
  & OrgOf<E, Effect.Effect<OrgSlug, OrganizationNotFound>>
  & { readonly slug: OrgSlug }
  & ([E["~Query"]] extends [never] ? unknown : { readonly query: Effect.Effect<QueryOf<E>, Problems.InvalidRequest> })
  & ([E["~Payload"]] extends [never] ? unknown : { readonly body: Effect.Effect<BodyOf<E>, BodyProblem> })

/** The result of a handler: the response, without the cursor of a page. */
type Answer<Response> = Response extends { readonly next_cursor: unknown } ? Omit<Response, "next_cursor"> : Response

type SuccessOf<E extends HttpApiEndpoint.ConstraintRequest> =
  | HttpServerResponse.HttpServerResponse
  | Sendable<Answer<E["~Success"]["Type"]>>

type ProblemsOf<E extends HttpApiEndpoint.ConstraintRequest> =
  | E["~Error"]["Type"]
  | HttpApiEndpoint.MiddlewareError<E>

type Handled<E extends HttpApiEndpoint.ConstraintRequest> = Effect.Effect<
  SuccessOf<E>,
  ProblemsOf<E> | DomainErrorOf<ProblemsOf<E>>,
  CurrentActor
>

/** Answers a decoded request, or decodes the request in an order of its own (`inSteps`). */
type Handler<E> = E extends HttpApiEndpoint.ConstraintRequest
  ? ((call: Call<E>) => Handled<E>) | { readonly inSteps: (steps: Steps<E>) => Handled<E> }
  : never

/** The handlers of a group, by the names of its endpoints. */
type ManagedHandlers<Id> = {
  readonly [Name in keyof GroupOf<Id>["endpoints"]]: Handler<GroupOf<Id>["endpoints"][Name]>
}

/**
 * When the organization in the path is looked up: before the body and the query are decoded, after the body and before
 * the query, or only by the services that the handlers call.
 */
type Lookup = "first" | "after the body" | "by the services"

/** Returns the schema as written in the contract, before `HttpApiEndpoint` derived a codec from it. */
const writtenSchema = <S extends Schema.Top>(schema: S): S => "schema" in schema ? schema.schema as S : schema

type Readers = Readonly<Record<string, { readonly read: ReadParameter<unknown>; readonly list?: string }>>

const parametersOf = ({ query }: HttpApiEndpoint.Top): Readers | undefined =>
  query === undefined ? undefined : (writtenSchema(query) as Schema.Top & { readonly fields: Readers }).fields

const decoderOf = ({ payload }: HttpApiEndpoint.Top): Decode<unknown> | undefined => {
  const [first] = payload.values()
  return first === undefined ? undefined : decoder(writtenSchema(first.schemas[0]) as Schema.ConstraintDecoder<unknown>)
}

/** Returns the function that brings results into their wire form. It returns undefined if the response has no body. */
const formOf = (endpoint: HttpApiEndpoint.Top) => {
  const [schema] = endpoint.success
  if (schema === undefined || HttpApiSchema.isNoContent(schema.ast)) return () => undefined
  const form = wireForm(writtenSchema(schema)) as (value: unknown) => unknown
  const list = parametersOf(endpoint)?.["cursor"]?.list
  return list === undefined ? form : (page: unknown) => form(withNextCursor({ list }, page))
}

/** The groups whose bodies contain the content of templates. Such a body has up to 8 MiB, any other up to 1 MiB. */
const groupsWithContent: ReadonlySet<string> = new Set(["templates", "variants", "drafts", "snippets", "copy"])

interface AnyCall {
  readonly params?: Readonly<Record<string, string>>
  readonly request: HttpServerRequest.HttpServerRequest
}

type AnyHandler =
  | ((call: object) => Effect.Effect<unknown, unknown, CurrentActor>)
  | { readonly inSteps: (steps: object) => Effect.Effect<unknown, unknown, CurrentActor> }

/** Returns the function that answers requests of an endpoint. */
const answerer = (
  organizations: Organizations["Service"],
  endpoint: HttpApiEndpoint.Top,
  handler: AnyHandler,
  { lookup, maxBytes }: { readonly lookup: Lookup; readonly maxBytes: number },
) => {
  const decode = decoderOf(endpoint)
  const parameters = parametersOf(endpoint)
  const form = formOf(endpoint)
  const hasOrganization = endpoint.path.includes("/:org")

  const answer = Effect.fnUntraced(function* ({ params: given = {}, request }: AnyCall) {
    const params = Object.fromEntries(Object.entries(given).map(([name, text]) => [name, lookedUp(text)]))
    const slug = (params["org"] ?? "") as OrgSlug
    const named = { actor: yield* CurrentActor, params, request }
    const organization = Effect.map(organizations.get(slug), (found) => found.slug)
    const readBody = decode && body(request, decode, [], maxBytes)
    const query = parameters && Effect.suspend(() => readQuery(request, parameters))
    if (typeof handler !== "function") {
      return yield* handler.inSteps({ ...named, slug, org: organization, body: readBody, query })
    }
    const isChecked = hasOrganization && lookup !== "by the services"
    if (isChecked && lookup === "first") yield* organization
    const decoded = readBody && (yield* readBody)
    if (isChecked && lookup === "after the body") yield* organization
    return yield* handler({ ...named, org: slug, body: decoded, query: query && (yield* query) })
  })

  return (call: AnyCall) =>
    withWarnings(answer(call)).pipe(
      Effect.flatMap(({ value, warnings }) => Effect.as(warn(call.request, ofContent(warnings)), value)),
      Effect.map((value) => HttpServerResponse.isHttpServerResponse(value) ? value : form(value)),
      Effect.mapError((error) => problemOf(error, call.request)),
    )
}

/**
 * Serves a group of the management API. Decodes the path, the query and the body by the contract, looks up the
 * organization, turns domain errors into problems, and brings results into their wire form. Warnings about saved content
 * become the header `Parlance-Warnings`.
 */
export const managed = <const Id extends HttpApiGroup.Identifier<Groups>, E, R>(
  group: Id,
  handlers: Effect.Effect<ManagedHandlers<Id>, E, R>,
  lookup: Lookup = "first",
): Layer.Layer<
  HttpApiGroup.Service<"parlance", Id>,
  E,
  Exclude<R, Scope.Scope> | Organizations | AdminRequired
> =>
  HttpApiBuilder.group(
    ServedApi,
    group,
    ((unhandled: { readonly handleRaw: (name: string, answer: (call: AnyCall) => unknown) => void }) =>
      Effect.gen(function* () {
        const organizations = yield* Organizations
        const maxBytes = groupsWithContent.has(group) ? Body.maxLargeBytes : Body.maxBodyBytes
        const { endpoints } = ServedApi.groups[group] as unknown as HttpApiGroup.Top
        for (const [name, handler] of Object.entries<AnyHandler>((yield* handlers) as never)) {
          unhandled.handleRaw(name, answerer(organizations, endpoints[name]!, handler, { lookup, maxBytes }))
        }
        return unhandled
      })) as never,
  ) as never
