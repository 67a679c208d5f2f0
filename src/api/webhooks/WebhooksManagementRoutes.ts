import { Effect } from "effect"
import { ErasureNotFound } from "../../domain/Errors.ts"
import { eventKinds } from "../../domain/EventKinds.ts"
import { decoder } from "../../domain/Faults.ts"
import * as Json from "../../json/Json.ts"
import { platforms, type SourceId } from "../../domain/Source.ts"
import type { Erasure } from "../../erasure/ErasureQueue.ts"
import { Erasures } from "../../people/Erasures.ts"
import { EventHistory, type PastEvent, type SourceActivity } from "../../journal/events/EventHistory.ts"
import { MappingTrials } from "../../intake/mapping/MappingTrials.ts"
import { type SourceSetup, WebhookSources } from "../../intake/WebhookSources.ts"
import { managed } from "../http/Managed.ts"
import { body, invalid, sourceOf } from "../http/Requests.ts"
import { DryRunBody } from "./WebhooksApi.ts"

const decodeDryRun = decoder(DryRunBody)

const toWire = (
  org: string,
  sourceId: SourceId,
  setup: SourceSetup | undefined,
  activity: SourceActivity | undefined,
) => ({
  segment: sourceId,
  platform: platforms[sourceId],
  path: `/api/webhook/${sourceId}/${org}`,
  setUp: setup !== undefined,
  enabled: setup?.enabled ?? sourceId === "events",
  settings: setup?.settings ?? {},
  secrets: setup?.secrets ?? [],
  lastReceivedAt: activity?.lastReceivedAt,
  bodies: activity?.bodies ?? 0,
  events: activity?.events ?? 0,
  duplicates: activity?.duplicates ?? 0,
  ignored: activity?.ignored ?? 0,
  notUnderstood: activity?.notUnderstood ?? 0,
  pending: activity?.pending ?? 0,
  lagSeconds: activity?.lagSeconds ?? 0,
})

const eventToWire = (event: PastEvent) => ({
  ...event,
  category: eventKinds[event.event].category,
  eventId: event.key.startsWith("id:") ? event.key.slice(3) : null,
})

const report = ({ finishedAt, requestedAt, ...erasure }: Erasure) => ({
  ...erasure,
  requested_at: requestedAt,
  finished_at: finishedAt,
})

/** Serves `WebhooksManagementGroup`. */
export const layer = managed(
  "sources",
  Effect.gen(function* () {
    const sources = yield* WebhookSources
    const history = yield* EventHistory
    const erasures = yield* Erasures
    const mappings = yield* MappingTrials

    return {
      listSources: Effect.fnUntraced(function* ({ org }) {
        const setups = new Map((yield* sources.list(org)).map((setup) => [setup.sourceId, setup]))
        const activities = new Map((yield* history.activity(org)).map((one) => [one.source, one]))
        const shown = (Object.keys(platforms) as ReadonlyArray<SourceId>)
          .filter((sourceId) => sourceId === "events" || setups.has(sourceId) || activities.has(sourceId))
        return {
          webhooks: shown.map((sourceId) => toWire(org, sourceId, setups.get(sourceId), activities.get(sourceId))),
        }
      }),
      putSource: Effect.fnUntraced(function* ({ body, org, params }) {
        const sourceId = yield* sourceOf(params.segment)
        const setup = yield* sources.put(org, sourceId, body)
        const activity = (yield* history.activity(org)).find(({ source }) => source === sourceId)
        return toWire(org, sourceId, setup, activity)
      }),
      deleteSource: ({ org, params }) =>
        Effect.flatMap(sourceOf(params.segment), (sourceId) => sources.remove(org, sourceId)),
      dryRun: {
        inSteps: Effect.fnUntraced(function* ({ org, params, request }) {
          const input = yield* body(request, decodeDryRun, ["body"])
          const sourceId = yield* sourceOf(params.segment)
          const text = typeof input.body === "string" ? input.body : JSON.stringify(input.body)
          if (input.mapping === undefined) {
            return Json.parse(JSON.stringify(yield* mappings.read(yield* org, sourceId, text, input.headers)))
          }
          if (sourceId !== "events") {
            return yield* invalid([{ pointer: "/mapping", detail: "is only for custom events. Leave it out" }])
          }
          const tried = yield* mappings.run(yield* org, JSON.stringify(input.mapping), text, input.headers)
          if ("faults" in tried) {
            return yield* invalid(
              tried.faults.map(({ detail, pointer }) => ({ pointer: `/mapping${pointer}`, detail })),
            )
          }
          // Converted to JSON, which omits the undefined members of events.
          return Json.parse(JSON.stringify(tried.run))
        }),
      },
      erasePerson: ({ body, org }) =>
        Effect.map(erasures.eraseNow({ org, user: body.user_id, email: body.email }), report),
      getErasure: Effect.fnUntraced(function* ({ org, params: { id } }) {
        const found = /^\d{1,15}$/.test(id) ? yield* erasures.find(org, Number(id)) : undefined
        return report(found ?? (yield* new ErasureNotFound({ id: id.slice(0, 100) })))
      }),
      listEvents: Effect.fnUntraced(
        function* ({ org, query: { cursor, latest, limit, tracking_id: trackingId } }) {
          const found = yield* history.list(org, { cursor, limit, trackingId, latest })
          return { events: found.map(eventToWire), next: found.at(-1)?.cursor ?? null }
        },
      ),
    }
  }),
  "after the body",
)
