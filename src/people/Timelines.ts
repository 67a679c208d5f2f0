import { Buffer } from "node:buffer"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Delivery } from "../delivery/Delivery.ts"
import { isStorable } from "../domain/Attributes.ts"
import type { EventName } from "../domain/EventKinds.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { t } from "../languages/Language.ts"
import * as Json from "../json/Json.ts"
import * as JournalTimeline from "../journal/Timeline.ts"
import type { EventRow, PersonDecision, Position, RecentEvent } from "../journal/Timeline.ts"
import { deliveriesOf, deliveryIdsTo } from "../delivery/DeliveriesOfPeople.ts"
import { profilesOf, type StoredProfile } from "../profiles/ProfileRows.ts"
import { adviceOf, type GivenAdvice } from "../sendtime/AdviceRows.ts"
import { Store } from "../store/Store.ts"
import { isForced } from "../journal/decisions/Track.ts"
import { effectsOf, type EventEffect } from "../journal/events/EventEffects.ts"

/** An event and its effect. */
export interface TimelineEvent {
  readonly source: string
  /** The event's id at its source. Null if the event is identified by its content. */
  readonly eventId: string | null
  readonly event: EventName
  readonly occurredAt: Date
  readonly receivedAt: Date
  readonly automated: boolean
  readonly link: string | null
  /** The value of a conversion. Null without a value. */
  readonly value: number | null
  readonly currency: string | null
  /** The list, group, channel or type of messages that an opt-out or opt-in concerns. Null: all messages. */
  readonly group: string | null
  /**
   * `waiting`: its decision is not known yet. `unmatched`: no decision was found in time. `person`: the event names a
   * person and no message.
   */
  readonly effect: EventEffect | "waiting" | "unmatched" | "person"
  /** Explanation of the effect, if it needs one. */
  readonly reason: string | null
}

/** A decision with its events. */
export interface TimelineDecision extends PersonDecision {
  readonly delivery: Delivery | null
  /** Events, earliest first. */
  readonly events: ReadonlyArray<TimelineEvent>
  /** Whether there are more events than these. */
  readonly moreEvents: boolean
}

/** The data about a message, or about a person. */
export interface Timeline {
  /** The names by which the person was searched. Empty for a message without a user. */
  readonly names: ReadonlyArray<string>
  readonly profiles: ReadonlyArray<StoredProfile>
  /** Decisions, latest first. */
  readonly decisions: ReadonlyArray<TimelineDecision>
  /** Messages that repeat an earlier sticky choice and so have no decision of their own. */
  readonly repeats: ReadonlyArray<Delivery>
  /** Events under the tracking id, or of the person, that have no decision, or none yet. */
  readonly loose: ReadonlyArray<TimelineEvent>
  readonly advice: ReadonlyArray<GivenAdvice>
  /** Cursor of the next page of decisions. Null on the last page. */
  readonly next: string | null
}

/** The search: one of these identifiers. */
type TimelineQuery =
  | { readonly trackingId: string }
  | { readonly userId: string }
  | { readonly email: string }

/** Maximum number of messages without a decision, and of recommendations. */
const shownOthers = 20

const cursorOf = ({ decidedAt, templateId, trackingId }: PersonDecision): string =>
  Buffer.from(JSON.stringify([decidedAt.getTime(), trackingId, templateId])).toString("base64url")

/** Returns the position of a cursor. Undefined for an invalid cursor. */
export const parseTimelineCursor = (cursor: string): Position | undefined => {
  try {
    const parsed: unknown = Json.parse(Buffer.from(cursor, "base64url").toString("utf8"))
    if (!Array.isArray(parsed) || parsed.length !== 3) return undefined
    const [at, trackingId, templateId] = parsed as ReadonlyArray<unknown>
    return typeof at === "number" && Number.isSafeInteger(at) && Math.abs(at) < 8e15 &&
        typeof trackingId === "string" && isStorable(trackingId) && typeof templateId === "string" &&
        isStorable(templateId)
      ? [at, trackingId, templateId]
      : undefined
  } catch {
    return undefined
  }
}

const keyOf = ({ templateId, trackingId }: { readonly trackingId: string | null; readonly templateId: string }) =>
  `${trackingId}\0${templateId}`

const eventId = (key: string) => key.startsWith("id:") ? key.slice(3) : null

/** Returns the events of one decision with their effects, earliest first. */
const explained = (decision: PersonDecision, rows: ReadonlyArray<EventRow>): ReadonlyArray<TimelineEvent> => {
  const effects = effectsOf(
    decision.decidedAt.getTime(),
    rows.map(({ automated, event, key, link, occurredAt, source, value }) => ({
      automated,
      event,
      key,
      source,
      occurredAt: occurredAt.getTime(),
      link: link ?? undefined,
      value: value ?? undefined,
    })),
  )
  return rows.map((row, place): TimelineEvent => ofGroup({ ...shown(row), ...effectOf(effects[place]!, decision) }))
}

const effectOf = (
  { effect, reason }: ReturnType<typeof effectsOf>[number],
  decision: Pick<PersonDecision, "failed" | "mode" | "propensity">,
) => ({
  effect,
  reason: effect !== "counted" || !isForced(decision)
    ? reason ?? null
    : decision.failed !== null
    ? t`Counted separately: the variant was sent in place of one that could not be rendered, so the event is not learned from`
    : decision.mode === "forced"
    ? t`Counted separately: the caller named the variant, so the event is not learned from`
    : t`Counted apart: the person is held out, and nothing was drawn that could be learned from`,
})

const shown = ({ automated, currency, event, group, key, link, occurredAt, receivedAt, source, value }: EventRow) => ({
  source,
  eventId: eventId(key),
  event,
  occurredAt,
  receivedAt,
  automated,
  link,
  value,
  currency,
  group,
})

/** Adds the group of an opt-out to its reason. */
const ofGroup = (event: TimelineEvent): TimelineEvent => {
  if (event.group === null) return event
  const reason = t`It concerns only the group ${JSON.stringify(event.group)}`
  return { ...event, reason: event.reason === null ? reason : `${event.reason}. ${reason}` }
}

/** Returns an event without a decision, with the reason. */
const loosened = (row: EventRow): TimelineEvent => ofGroup(withoutDecision(row))

const withoutDecision = (row: EventRow): TimelineEvent => {
  if (row.status === "person") {
    return {
      ...shown(row),
      effect: "person",
      reason: t`It names the person but no message, so it counts for no decision`,
    }
  }
  const ofPerson = row.trackingId === null
  return row.status === "unmatched"
    ? {
      ...shown(row),
      effect: "unmatched",
      reason: ofPerson
        ? t`No decision for this person was found in time`
        : t`No decision under this tracking id was found in time`,
    }
    : {
      ...shown(row),
      effect: "waiting",
      reason: ofPerson
        ? t`No decision for this person is known yet. The service keeps looking`
        : t`No decision under this tracking id is known yet. The service keeps looking`,
    }
}

/** The timeline of one message or one person, found only through indexes. */
export class Timelines extends Context.Service<Timelines, {
  /** Returns the data about a tracking id, a user or an e-mail address, with up to `limit` decisions after `cursor`. */
  readonly find: (
    org: OrgSlug,
    ask: TimelineQuery,
    page: { readonly cursor: string | undefined; readonly limit: number },
  ) => Effect.Effect<Timeline>
  /** Returns the timeline for an identifier of unknown kind: a tracking id if one matches, otherwise a person. */
  readonly search: (
    org: OrgSlug,
    text: string,
    page: { readonly cursor: string | undefined; readonly limit: number },
  ) => Effect.Effect<{ readonly as: "tracking_id" | "person"; readonly timeline: Timeline }>
  /** Returns up to `limit` events of a source, starting with the latest body. */
  readonly recent: (org: OrgSlug, source: string, limit: number) => Effect.Effect<ReadonlyArray<RecentEvent>>
}>()("parlance/people/Timelines") {
  static readonly layer = Layer.effect(
    Timelines,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* Store

      /** Returns messages to these addresses that have no decision of their own, latest first. */
      const repeatsOf = Effect.fnUntraced(function* (org: OrgSlug, emails: ReadonlyArray<string>) {
        const ids = yield* deliveryIdsTo(sql, org, emails)
        if (ids.length === 0) return []
        const repeats = new Set(yield* JournalTimeline.undecided(sql, org, ids))
        const found = yield* deliveriesOf(sql, org, ids.filter((id) => repeats.has(id)).slice(0, shownOthers))
        return found.toSorted((a, b) => a.id < b.id ? 1 : -1)
      })

      /** Returns decisions with their events and deliveries. */
      const told = Effect.fnUntraced(function* (org: OrgSlug, decisions: ReadonlyArray<PersonDecision>) {
        if (decisions.length === 0) return []
        const events = new Map<string, Array<EventRow>>()
        for (const row of yield* JournalTimeline.eventsOf(sql, org, decisions)) {
          const own = events.get(keyOf(row))
          if (own === undefined) events.set(keyOf(row), [row])
          else own.push(row)
        }
        const ids = [...new Set(decisions.map(({ trackingId }) => trackingId))]
        const deliveries = new Map((yield* deliveriesOf(sql, org, ids)).map((one) => [one.id, one]))
        return decisions.map((decision): TimelineDecision => {
          const own = events.get(keyOf(decision)) ?? []
          const delivery = deliveries.get(decision.trackingId)
          return {
            ...decision,
            delivery: delivery?.templateId === decision.templateId ? delivery : null,
            events: explained(decision, own.slice(0, JournalTimeline.shownEvents)),
            moreEvents: own.length > JournalTimeline.shownEvents,
          }
        })
      })

      /** Returns the profiles of a person, and every name that their decisions may have. */
      const personOf = Effect.fnUntraced(function* (
        org: OrgSlug,
        ask: { readonly userId: string } | { readonly email: string },
      ): Effect.fn.Return<
        { readonly names: ReadonlyArray<string>; readonly profiles: ReadonlyArray<StoredProfile> },
        SqlError
      > {
        const profiles = yield* profilesOf(sql, org, ask)
        const given = "userId" in ask ? ask.userId : ask.email
        const names = [given, ...profiles.flatMap(({ email, userId }) => email === null ? [userId] : [userId, email])]
        return { names: [...new Set(names)], profiles }
      })

      const message = Effect.fnUntraced(function* (
        org: OrgSlug,
        id: string,
      ): Effect.fn.Return<Timeline, SqlError> {
        const rows = yield* JournalTimeline.byTrackingId(sql, org, id)
        const decisions = yield* told(org, rows)
        const loose = yield* JournalTimeline.looseEvents(sql, org, id)
        const [delivery] = yield* deliveriesOf(sql, org, [id])
        const isRepeat = delivery !== undefined && !decisions.some((one) => one.delivery?.id === delivery.id)
        const user = rows.find((row) => row.user !== null)?.user ?? undefined
        const person = user === undefined ? { names: [], profiles: [] } : yield* personOf(org, { userId: user })
        return {
          ...person,
          decisions,
          repeats: isRepeat ? [delivery] : [],
          loose: loose.map(loosened),
          advice: [],
          next: null,
        }
      })

      const person = Effect.fnUntraced(function* (
        org: OrgSlug,
        ask: { readonly userId: string } | { readonly email: string },
        { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
      ): Effect.fn.Return<Timeline, SqlError> {
        const { names, profiles } = yield* personOf(org, ask)
        const rows = yield* JournalTimeline.byNames(
          sql,
          org,
          names,
          cursor === undefined ? undefined : parseTimelineCursor(cursor),
          limit + 1,
        )
        const page = rows.slice(0, limit)
        const isFirst = cursor === undefined
        return {
          names,
          profiles,
          decisions: yield* told(org, page),
          repeats: isFirst ? yield* repeatsOf(org, names) : [],
          loose: isFirst ? (yield* JournalTimeline.looseEventsOf(sql, org, names)).map(loosened) : [],
          advice: isFirst ? yield* adviceOf(sql, org, names) : [],
          next: rows.length > page.length ? cursorOf(page.at(-1)!) : null,
        }
      })

      const find = Effect.fn("Timelines.find")(
        (org: OrgSlug, ask: TimelineQuery, page: { readonly cursor: string | undefined; readonly limit: number }) =>
          store.read(Effect.orDie("trackingId" in ask ? message(org, ask.trackingId) : person(org, ask, page))),
      )

      const search = Effect.fn("Timelines.search")(
        function* (
          org: OrgSlug,
          text: string,
          page: { readonly cursor: string | undefined; readonly limit: number },
        ) {
          if (page.cursor === undefined) {
            const timeline = yield* message(org, text)
            if (!isEmpty(timeline)) return { as: "tracking_id" as const, timeline }
          }
          const asUser = yield* personOf(org, { userId: text })
          // A caller's id may be an e-mail address. If it is not the id of a profile, it may be a profile's address.
          const ask = asUser.profiles.length > 0 || !text.includes("@") ? { userId: text } : { email: text }
          return { as: "person" as const, timeline: yield* person(org, ask, page) }
        },
        Effect.orDie,
        store.read,
      )

      const recent = Effect.fn("Timelines.recent")((org: OrgSlug, source: string, limit: number) =>
        Effect.orDie(JournalTimeline.recentEvents(sql, org, source, limit))
      )

      return Timelines.of({ find, search, recent })
    }),
  )
}

/** Whether nothing was found. */
export const isEmpty = ({ advice, decisions, loose, profiles, repeats }: Timeline): boolean =>
  decisions.length + loose.length + profiles.length + repeats.length + advice.length === 0
