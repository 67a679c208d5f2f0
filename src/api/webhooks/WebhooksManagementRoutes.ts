import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { isStorable } from "../../domain/Attributes.ts"
import { ErasureNotFound } from "../../domain/Errors.ts"
import { eventKinds } from "../../domain/EventKinds.ts"
import { decoder } from "../../domain/Faults.ts"
import * as Json from "../../domain/Json.ts"
import { platforms, type SourceId } from "../../domain/Source.ts"
import { type Erasure, Erasures } from "../../people/Erasures.ts"
import { EventHistory, parseCursor, type PastEvent, type SourceActivity } from "../../journal/events/EventHistory.ts"
import { MappingTrials } from "../../intake/mapping/MappingTrials.ts"
import { SourceInput, type SourceSetup, WebhookSources } from "../../intake/WebhookSources.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { ServedApi } from "../Api.ts"
import * as Parameters from "../server/Parameters.ts"
import { body, existing, invalid, slugOf, sourceOf, toProblems } from "../server/Requests.ts"
import { DryRunBody, ErasureBody, type ListedEvent, type WebhookSource } from "./WebhooksApi.ts"

const decodeSource = decoder(SourceInput)
const decodeDryRun = decoder(DryRunBody)
const decodeErasure = decoder(ErasureBody)

const toWire = (
  org: string,
  sourceId: SourceId,
  setup: SourceSetup | undefined,
  activity: SourceActivity | undefined,
): WebhookSource => ({
  segment: sourceId,
  platform: platforms[sourceId],
  path: `/api/webhook/${sourceId}/${org}`,
  set_up: setup !== undefined,
  enabled: setup?.enabled ?? sourceId === "events",
  settings: setup?.settings ?? {},
  secrets: (setup?.secrets ?? []).map(({ acceptedUntil }) => ({
    accepted_until: acceptedUntil?.toISOString() ?? null,
  })),
  last_received_at: activity?.lastReceivedAt?.toISOString() ?? null,
  bodies: activity?.bodies ?? 0,
  events: activity?.events ?? 0,
  duplicates: activity?.duplicates ?? 0,
  ignored: activity?.ignored ?? 0,
  not_understood: activity?.notUnderstood ?? 0,
  pending: activity?.pending ?? 0,
  lag_seconds: activity?.lagSeconds ?? 0,
})

const eventToWire = (event: PastEvent): ListedEvent => ({
  source: event.source,
  category: eventKinds[event.event].category,
  event: event.event,
  tracking_id: event.trackingId,
  user: event.user,
  email: event.email,
  event_id: event.key.startsWith("id:") ? event.key.slice(3) : null,
  occurred_at: event.occurredAt.toISOString(),
  received_at: event.receivedAt.toISOString(),
  automated: event.automated,
  template_id: event.templateId,
  copy_id: event.copyId,
  segment: event.segment,
  status: event.status,
})

const erasureToWire = ({ finishedAt, requestedAt, ...erasure }: Erasure) => ({
  ...erasure,
  requested_at: requestedAt.toISOString(),
  finished_at: finishedAt?.toISOString() ?? null,
})

export const layer = HttpApiBuilder.group(
  ServedApi,
  "sources",
  Effect.fnUntraced(function* (handlers) {
    const organizations = yield* Organizations
    const sources = yield* WebhookSources
    const history = yield* EventHistory
    const erasures = yield* Erasures
    const mappings = yield* MappingTrials

    return handlers
      .handle("listSources", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const setups = new Map((yield* sources.list(org)).map((setup) => [setup.sourceId, setup]))
          const activities = new Map((yield* history.activity(org)).map((one) => [one.source, one]))
          const shown = (Object.keys(platforms) as ReadonlyArray<SourceId>)
            .filter((sourceId) => sourceId === "events" || setups.has(sourceId) || activities.has(sourceId))
          return {
            webhooks: shown.map((sourceId) => toWire(org, sourceId, setups.get(sourceId), activities.get(sourceId))),
          }
        }).pipe(toProblems))
      .handleRaw("putSource", ({ params, request }) =>
        Effect.gen(function* () {
          const input = yield* body(request, decodeSource)
          const org = yield* existing(organizations, params)
          const sourceId = yield* sourceOf(params.segment)
          const setup = yield* sources.put(org, sourceId, input)
          const activity = (yield* history.activity(org)).find(({ source }) => source === sourceId)
          return toWire(org, sourceId, setup, activity)
        }).pipe(toProblems))
      .handle("deleteSource", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          yield* sources.remove(org, yield* sourceOf(params.segment))
        }).pipe(toProblems))
      .handleRaw("dryRun", ({ params, request }) =>
        Effect.gen(function* () {
          const input = yield* body(request, decodeDryRun, ["body"])
          yield* existing(organizations, params)
          const tried = yield* mappings.run(
            slugOf(params),
            JSON.stringify(input.mapping ?? null),
            typeof input.body === "string" ? input.body : JSON.stringify(input.body),
            input.headers,
          )
          if ("faults" in tried) {
            return yield* invalid(
              tried.faults.map(({ detail, pointer }) => ({ pointer: `/mapping${pointer}`, detail })),
            )
          }
          // As JSON, which leaves out the members that an event does not have.
          return Json.parse(JSON.stringify(tried.run))
        }).pipe(toProblems))
      .handleRaw("erasePerson", ({ params, request }) =>
        Effect.gen(function* () {
          const { email, user_id } = yield* body(request, decodeErasure)
          const org = yield* existing(organizations, params)
          return erasureToWire(yield* erasures.eraseNow({ org, user: user_id, email }))
        }).pipe(toProblems))
      .handle("getErasure", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const found = /^\d{1,15}$/.test(params.id) ? yield* erasures.find(org, Number(params.id)) : undefined
          if (found === undefined) return yield* new ErasureNotFound({ id: params.id.slice(0, 100) })
          return erasureToWire(found)
        }).pipe(toProblems))
      .handleRaw("listEvents", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { after: cursor, latest, limit, tracking_id: trackingId } = yield* Parameters.parameters(request, {
            limit: Parameters.limit(1000, 100),
            after: Parameters.cursor(undefined, (text) => parseCursor(text)?.every(isStorable) === true),
            tracking_id: Parameters.text("must be a tracking id"),
            latest: Parameters.flag,
          })
          const found = yield* history.list(org, { cursor, limit, trackingId, latest })
          return { events: found.map(eventToWire), next: found.at(-1)?.cursor ?? null }
        }).pipe(toProblems))
  }),
)
