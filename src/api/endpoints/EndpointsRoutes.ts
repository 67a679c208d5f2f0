import { Effect } from "effect"
import { type OutgoingWebhook, WebhookEndpoints } from "../../webhooks/WebhookEndpoints.ts"
import type { InvalidRequest } from "../Problems.ts"
import { managed } from "../http/Managed.ts"
import { pageOf } from "../http/Paging.ts"
import { invalid, lookedUp } from "../http/Requests.ts"
import type { ReplayInput } from "./EndpointsApi.ts"

const sentEvent = (event: OutgoingWebhook) => ({
  ...event,
  nextAttemptAt: event.state === "pending" ? event.dueAt : null,
  attempts: event.log,
  eventCount: event.batch?.count ?? null,
})

/** Returns the events to replay. Fails unless the request has exactly one of `event_id` and `since`. */
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

/** Serves `EndpointsGroup`. */
export const layer = managed(
  "endpoints",
  Effect.gen(function* () {
    const endpoints = yield* WebhookEndpoints
    return {
      listWebhookEndpoints: ({ org }) => Effect.map(endpoints.list(org), (all) => ({ endpoints: all })),
      createWebhookEndpoint: Effect.fnUntraced(function* ({ body, org }) {
        const input = { description: "", events: [], enabled: true, ...body }
        const { endpoint, secret } = yield* endpoints.create(org, input)
        return { ...endpoint, secret }
      }),
      getWebhookEndpoint: ({ org, params }) => endpoints.get(org, params.endpoint),
      updateWebhookEndpoint: ({ body, org, params }) => endpoints.update(org, params.endpoint, body),
      deleteWebhookEndpoint: ({ org, params }) => endpoints.remove(org, params.endpoint),
      rotateWebhookSecret: ({ org, params }) =>
        Effect.map(endpoints.rotate(org, params.endpoint), (secret) => ({ secret })),
      pingWebhookEndpoint: ({ org, params }) =>
        Effect.map(endpoints.ping(org, params.endpoint), (id) => ({ event_id: id })),
      listWebhookEvents: Effect.fnUntraced(function* ({ org, params, query: { cursor, limit } }) {
        const { next, page } = yield* pageOf(
          limit,
          (limit) => endpoints.messages(org, params.endpoint, { before: cursor, limit }),
        )
        return { events: page.map(sentEvent), next }
      }),
      replayWebhookEvents: {
        inSteps: Effect.fnUntraced(function* ({ body, org, params }) {
          const which = yield* chosen(yield* body)
          return { replayed: yield* endpoints.replay(yield* org, params.endpoint, which) }
        }),
      },
    }
  }),
  "after the body",
)
