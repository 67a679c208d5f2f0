import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { sourceIdOf } from "../../domain/Source.ts"
import { parseTimelineCursor, type Timeline, type TimelineEvent, Timelines } from "../../people/Timelines.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { isSandbox } from "../../domain/Sandbox.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { addressKey } from "../../suppressions/AddressKey.ts"
import type { SuppressionEntry } from "../../suppressions/Suppression.ts"
import { Suppressions } from "../../suppressions/Suppressions.ts"
import { ServedApi } from "../Api.ts"
import { deliveryToWire } from "../deliveries/DeliveryRoutes.ts"
import * as Parameters from "../server/Parameters.ts"
import { existing, invalid, lookedUp, toProblems } from "../server/Requests.ts"
import type * as Wire from "./TimelinesApi.ts"
import { suppressionToWire } from "../suppressions/SuppressionsRoutes.ts"

const eventToWire = (event: TimelineEvent) => ({
  source: event.source,
  event_id: event.eventId,
  event: event.event,
  occurred_at: event.occurredAt.toISOString(),
  received_at: event.receivedAt.toISOString(),
  automated: event.automated,
  link: event.link,
  value: event.value,
  currency: event.currency,
  effect: event.effect,
  reason: event.reason,
})

const toWire = (
  org: OrgSlug,
  timeline: Timeline,
  foundAs: "tracking_id" | "person" | null,
  suppressions: ReadonlyArray<SuppressionEntry>,
): Wire.TimelineResource => ({
  test: isSandbox(org),
  found_as: foundAs,
  names: timeline.names,
  profiles: timeline.profiles.map(({ email, traits, updatedAt, userId }) => ({
    user_id: userId,
    email,
    traits,
    updated_at: updatedAt.toISOString(),
  })),
  decisions: timeline.decisions.map((decision) => ({
    tracking_id: decision.trackingId,
    template_id: decision.templateId,
    copy_id: decision.copyId,
    user_id: decision.user,
    segment: decision.segment,
    mode: decision.mode as "bandit",
    propensity: decision.propensity,
    weights: decision.weights,
    ...(decision.failed === null ? {} : { failed: decision.failed }),
    policy: decision.policy,
    lookback_days: decision.lookbackDays,
    offset_days: decision.offsetDays,
    decided_at: decision.decidedAt.toISOString(),
    delivery: decision.delivery === null ? null : deliveryToWire(decision.delivery),
    events: decision.events.map(eventToWire),
    more_events: decision.moreEvents,
  })),
  repeats: timeline.repeats.map(deliveryToWire),
  loose: timeline.loose.map(eventToWire),
  advice: timeline.advice.map(({ advisedAt, basis, copyId, explored, givenAt, person }) => ({
    person,
    copy_id: copyId,
    given_at: givenAt.toISOString(),
    advised_at: advisedAt.toISOString(),
    explored,
    basis,
  })),
  suppressions: suppressions.map(suppressionToWire),
  next: timeline.next,
})

const asks = ["tracking_id", "user_id", "email", "q"] as const

/** A search term: 1 to 400 characters. */
const name = Parameters.text("must be 1 to 400 characters", ({ length }) => length > 0 && length <= 400)

export const layer = HttpApiBuilder.group(
  ServedApi,
  "stories",
  Effect.fnUntraced(function* (handlers) {
    const organizations = yield* Organizations
    const timelines = yield* Timelines
    const list = yield* Suppressions

    /** Of the addresses that the person of a story is known by; several spellings of one have the same entries. */
    const suppressionsOf = Effect.fnUntraced(function* (org: OrgSlug, { names }: Timeline, cursor: string | undefined) {
      if (cursor !== undefined) return []
      const keys = new Set(names.flatMap((name) => addressKey(name) ?? []))
      return (yield* Effect.forEach([...keys], (key) => list.find(org, key))).flat()
    })

    return handlers
      .handleRaw("findStory", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { after: cursor, limit, ...names } = yield* Parameters.parameters(request, {
            limit: Parameters.limit(100, 20),
            after: Parameters.cursor(undefined, (text) => parseTimelineCursor(text) !== undefined),
            tracking_id: name,
            user_id: name,
            email: Parameters.ofAddress(name),
            q: name,
          })
          const given = asks.flatMap((name) => names[name] === undefined ? [] : [{ name, text: names[name] }])
          const [first, second] = given
          if (first === undefined || second !== undefined) {
            return yield* invalid([{
              pointer: "tracking_id",
              detail: `exactly one of ${asks.join(", ")} is required`,
            }])
          }
          const { name: kind, text } = first
          const page = { cursor, limit }
          if (kind === "q") {
            const { as, timeline } = yield* timelines.search(org, text, page)
            return toWire(org, timeline, as, yield* suppressionsOf(org, timeline, cursor))
          }
          const ask = kind === "tracking_id"
            ? { trackingId: text }
            : kind === "user_id"
            ? { userId: text }
            : { email: text }
          const timeline = yield* timelines.find(org, ask, page)
          return toWire(org, timeline, null, yield* suppressionsOf(org, timeline, cursor))
        }).pipe(toProblems))
      .handleRaw("recentEvents", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { limit } = yield* Parameters.parameters(request, { limit: Parameters.limit(200, 50) })
          const found = yield* timelines.recent(org, sourceIdOf(params.segment) ?? lookedUp(params.segment), limit)
          return {
            events: found.map((one) => ({
              event: one.event,
              tracking_id: one.trackingId,
              template_id: one.templateId,
              copy_id: one.copyId,
              user: one.user,
              automated: one.automated,
              occurred_at: one.occurredAt.toISOString(),
              received_at: one.receivedAt.toISOString(),
              status: one.status,
            })),
          }
        }).pipe(toProblems))
  }),
)
