import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { decoder } from "../../domain/Faults.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { type Endpoint, Endpoints, type OutgoingWebhook } from "../../webhooks/Endpoints.ts"
import { ServedApi } from "../Api.ts"
import type { InvalidRequest } from "../Problems.ts"
import * as Parameters from "../server/Parameters.ts"
import { body, existing, invalid, lookedUp, toProblems } from "../server/Requests.ts"
import { EndpointInput, EndpointPatch, ReplayInput, type SentEvent, type WebhookEndpoint } from "./EndpointsApi.ts"

const decodeInput = decoder(EndpointInput)
const decodePatch = decoder(EndpointPatch)
const decodeReplay = decoder(ReplayInput)

/** An endpoint as the API shows it. */
export const endpointToWire = (endpoint: Endpoint): WebhookEndpoint => ({
  id: endpoint.id,
  url: endpoint.url,
  description: endpoint.description,
  events: endpoint.events,
  enabled: endpoint.enabled,
  disabled_reason: endpoint.disabledReason,
  failing_since: endpoint.failingSince?.toISOString() ?? null,
  created_at: endpoint.createdAt.toISOString(),
  updated_at: endpoint.updatedAt.toISOString(),
})

const eventToWire = ({ body, createdAt, dueAt, finishedAt, id, log, state, type }: OutgoingWebhook): SentEvent => ({
  id,
  type,
  state,
  created_at: createdAt.toISOString(),
  next_attempt_at: state === "pending" ? dueAt.toISOString() : null,
  finished_at: finishedAt?.toISOString() ?? null,
  body,
  attempts: log,
})

/** The events that a replay is about; a fault if it names none, or both. */
const chosen = (
  { event_id: message, since }: typeof ReplayInput.Type,
): Effect.Effect<{ readonly message: string } | { readonly since: Date }, InvalidRequest> => {
  const at = new Date(since ?? NaN)
  if ((message === undefined) === (since === undefined)) {
    return Effect.fail(invalid([{ pointer: "", detail: "must have either event_id or since" }]))
  }
  if (message !== undefined) return Effect.succeed({ message: lookedUp(message) })
  return Number.isNaN(at.getTime())
    ? Effect.fail(invalid([{ pointer: "/since", detail: "must be an ISO 8601 time, such as 2026-05-04T09:30:00Z" }]))
    : Effect.succeed({ since: at })
}

export const layer = HttpApiBuilder.group(
  ServedApi,
  "endpoints",
  Effect.fnUntraced(function* (handlers) {
    const organizations = yield* Organizations
    const endpoints = yield* Endpoints

    return handlers
      .handle("listWebhookEndpoints", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          return { endpoints: (yield* endpoints.list(org)).map(endpointToWire) }
        }).pipe(toProblems))
      .handleRaw("createWebhookEndpoint", ({ params, request }) =>
        Effect.gen(function* () {
          const input = yield* body(request, decodeInput)
          const org = yield* existing(organizations, params)
          const { endpoint, secret } = yield* endpoints.create(org, {
            description: "",
            events: [],
            enabled: true,
            ...input,
          })
          return { ...endpointToWire(endpoint), secret }
        }).pipe(toProblems))
      .handle("getWebhookEndpoint", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          return endpointToWire(yield* endpoints.get(org, lookedUp(params.endpoint)))
        }).pipe(toProblems))
      .handleRaw("updateWebhookEndpoint", ({ params, request }) =>
        Effect.gen(function* () {
          const change = yield* body(request, decodePatch)
          const org = yield* existing(organizations, params)
          return endpointToWire(yield* endpoints.update(org, lookedUp(params.endpoint), change))
        }).pipe(toProblems))
      .handle("deleteWebhookEndpoint", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          yield* endpoints.remove(org, lookedUp(params.endpoint))
        }).pipe(toProblems))
      .handle("rotateWebhookSecret", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          return { secret: yield* endpoints.rotate(org, lookedUp(params.endpoint)) }
        }).pipe(toProblems))
      .handle("pingWebhookEndpoint", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          return { event_id: yield* endpoints.ping(org, lookedUp(params.endpoint)) }
        }).pipe(toProblems))
      .handleRaw("listWebhookEvents", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { before, limit } = yield* Parameters.parameters(request, {
            before: Parameters.cursor(),
            limit: Parameters.limit(100, 25),
          })
          const found = yield* endpoints.messages(org, lookedUp(params.endpoint), { before, limit: limit + 1 })
          const page = found.slice(0, limit)
          return { events: page.map(eventToWire), next: found.length > page.length ? page.at(-1)!.id : null }
        }).pipe(toProblems))
      .handleRaw("replayWebhookEvents", ({ params, request }) =>
        Effect.gen(function* () {
          const which = yield* Effect.flatMap(body(request, decodeReplay), chosen)
          const org = yield* existing(organizations, params)
          return { replayed: yield* endpoints.replay(org, lookedUp(params.endpoint), which) }
        }).pipe(toProblems))
  }),
)
