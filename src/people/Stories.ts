import { Buffer } from "node:buffer"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Delivery } from "../delivery/Delivery.ts"
import { isStorable } from "../domain/Attributes.ts"
import type { EventName } from "../domain/Event.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import * as Json from "../domain/Json.ts"
import { effectsOf, type EventEffect } from "../journal/events/EventEffects.ts"

/** An event, and what it did. */
export interface StoryEvent {
  readonly source: string
  /** The source's id of it; null where its content is its name. */
  readonly eventId: string | null
  readonly event: EventName
  readonly occurredAt: Date
  readonly receivedAt: Date
  readonly automated: boolean
  readonly link: string | null
  /** The value of a conversion; null where none was given. */
  readonly value: number | null
  readonly currency: string | null
  /** `waiting` for its decision; `unmatched`: none was found in time; `person`: it names a person and no message. */
  readonly effect: EventEffect | "waiting" | "unmatched" | "person"
  /** Why, where that needs saying. */
  readonly reason: string | null
}

/** A decision and all that came of it. */
export interface StoryDecision {
  readonly trackingId: string
  readonly templateId: string
  readonly copyId: string
  /** Null where none was given, and once the person has been erased. */
  readonly user: string | null
  readonly segment: string
  /** `bandit`, `epsilon`, `single` or `forced`. */
  readonly mode: string
  /** How likely the variant was to be chosen; null when it was asked for. */
  readonly propensity: number | null
  /** The same for each variant that could be chosen. */
  readonly weights: Readonly<Record<string, number>> | null
  /** The model that decided. */
  readonly policy: string
  /** The window that was asked for, in days; null for the adaptive one. */
  readonly lookbackDays: number | null
  readonly offsetDays: number | null
  readonly decidedAt: Date
  readonly delivery: Delivery | null
  /** The earliest first. */
  readonly events: ReadonlyArray<StoryEvent>
  /** There are more events than these. */
  readonly moreEvents: boolean
}

/** What is known of a person. */
export interface StoryProfile {
  readonly userId: string
  readonly email: string | null
  readonly traits: Readonly<Record<string, unknown>>
  readonly updatedAt: Date
}

/** What was advised about when to send somebody a variant, while it is kept. */
export interface StoryAdvice {
  readonly person: string
  readonly copyId: string
  readonly givenAt: Date
  readonly advisedAt: Date
  readonly explored: boolean
  readonly basis: string
}

/** Everything there is about a message, or about a person. */
export interface Story {
  /** Under which names the person was looked for; none for a message without a user. */
  readonly names: ReadonlyArray<string>
  readonly profiles: ReadonlyArray<StoryProfile>
  /** The latest first. */
  readonly decisions: ReadonlyArray<StoryDecision>
  /** Messages that repeat an earlier, sticky choice, which is no new decision. */
  readonly repeats: ReadonlyArray<Delivery>
  /** Events under the tracking id, or of the person, that belong to no decision (yet). */
  readonly loose: ReadonlyArray<StoryEvent>
  readonly advice: ReadonlyArray<StoryAdvice>
  /** Where the next page of decisions begins; null on the last. */
  readonly next: string | null
}

/** What to look for: one of them. */
export type StoryAsk =
  | { readonly trackingId: string }
  | { readonly userId: string }
  | { readonly email: string }

/** An event of a source, with the decision it belongs to, where that is known. */
export interface RecentEvent {
  readonly event: EventName
  readonly trackingId: string | null
  readonly templateId: string | null
  readonly copyId: string | null
  readonly user: string | null
  readonly automated: boolean
  readonly occurredAt: Date
  readonly receivedAt: Date
  readonly status: "attributed" | "waiting" | "unmatched" | "person"
}

/** Events shown of one decision at most, the earliest. */
const shownEvents = 200

/** Templates decided under one tracking id that are shown at most. */
const shownTemplates = 100

/** Messages without a decision, and pieces of advice, that are shown at most. */
const shownOthers = 20

/** Messages to one address among which those are looked for. */
const searchedDeliveries = 1000

/** Profiles that may share one e-mail address; more are left out. */
const shownProfiles = 10

/** Events of one body that are shown among the recent ones of its source. */
const eventsPerBody = 50

/** Bodies that the recent events of a source are looked for in: the latest. */
const recentBodies = 200

type DecisionRow = Omit<StoryDecision, "delivery" | "events" | "moreEvents">

interface EventRow {
  readonly trackingId: string | null
  readonly templateId: string
  readonly source: string
  readonly key: string
  readonly event: EventName
  readonly occurredAt: Date
  readonly receivedAt: Date
  readonly automated: boolean
  readonly link: string | null
  /** The value of a conversion; null where none was given. */
  readonly value: number | null
  readonly currency: string | null
  readonly status: "attributed" | "waiting" | "unmatched" | "person"
}

type Position = readonly [decidedAt: number, trackingId: string, templateId: string]

const cursorOf = ({ decidedAt, templateId, trackingId }: DecisionRow): string =>
  Buffer.from(JSON.stringify([decidedAt.getTime(), trackingId, templateId])).toString("base64url")

/** The position a cursor stands for; undefined for a text that is none. */
export const parseStoryCursor = (cursor: string): Position | undefined => {
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

/** The events of one decision with what they did, the earliest first. */
const explained = (decision: DecisionRow, rows: ReadonlyArray<EventRow>): ReadonlyArray<StoryEvent> => {
  const effects = effectsOf(
    decision.decidedAt.getTime(),
    rows.map(({ link, occurredAt, ...row }) => ({
      ...row,
      occurredAt: occurredAt.getTime(),
      link: link ?? undefined,
    })),
  )
  return rows.map((row, place): StoryEvent => ({ ...shown(row), ...effectOf(effects[place]!, decision) }))
}

const effectOf = (
  { effect, reason }: ReturnType<typeof effectsOf>[number],
  { mode, propensity }: Pick<DecisionRow, "mode" | "propensity">,
) => ({
  effect,
  reason: effect !== "counted" || (mode !== "forced" && (mode !== "control" || propensity !== null))
    ? reason ?? null
    : mode === "forced"
    ? "Counted apart: the variant was asked for by name, so nothing is learned from it"
    : "Counted apart: the person is held out, and nothing was drawn that could be learned from",
})

const shown = ({ automated, currency, event, key, link, occurredAt, receivedAt, source, value }: EventRow) => ({
  source,
  eventId: eventId(key),
  event,
  occurredAt,
  receivedAt,
  automated,
  link,
  value,
  currency,
})

/** An event that belongs to no decision, and why. */
const loosened = (row: EventRow): StoryEvent => {
  if (row.status === "person") {
    return { ...shown(row), effect: "person", reason: "It names the person and no message, so no decision is counted" }
  }
  const sought = row.trackingId === null ? "for this person" : "under this tracking id"
  return row.status === "unmatched"
    ? { ...shown(row), effect: "unmatched", reason: `No decision ${sought} was found in time` }
    : { ...shown(row), effect: "waiting", reason: `No decision ${sought} is known yet; it is looked for again` }
}

/** What became of one message or one person, found by indexes alone. */
export class Stories extends Context.Service<Stories, {
  /** Everything about a tracking id, a user or an e-mail address; `limit` decisions at most, behind `after`. */
  readonly find: (
    org: OrgSlug,
    ask: StoryAsk,
    page: { readonly after: string | undefined; readonly limit: number },
  ) => Effect.Effect<Story>
  /** The same for a text of which it is not known what it names: a tracking id if there is one, or else a person. */
  readonly search: (
    org: OrgSlug,
    text: string,
    page: { readonly after: string | undefined; readonly limit: number },
  ) => Effect.Effect<{ readonly as: "tracking_id" | "person"; readonly story: Story }>
  /** The latest events of a source, at most `limit`, those of the latest body first. */
  readonly recent: (org: OrgSlug, source: string, limit: number) => Effect.Effect<ReadonlyArray<RecentEvent>>
}>()("parlance/events/Stories") {
  static readonly layer = Layer.effect(
    Stories,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const decisionColumns = sql`d.tracking_id, d.template_id, d.copy_id, d.user_id AS "user", d.segment, d.mode,
        d.propensity, d.weights, d.policy, d.lookback_days, d.offset_days, d.decided_at`
      const deliveryColumns = sql`v.id, v.template_id, v.copy_id, v.email, v.state, v.due_at, v.queued_at, v.attempts,
        v.connection, v.message_id, v.reason, v.finished_at, v.expires_at,
        CASE WHEN v.is_transactional THEN 'transactional' ELSE 'bulk' END AS priority`

      /** Decisions under a tracking id, and those that it repeats. */
      const byTrackingId = (org: OrgSlug, id: string) =>
        sql<DecisionRow>`
          SELECT ${decisionColumns} FROM (
            SELECT * FROM decisions d WHERE d.org_slug = ${org} AND d.tracking_id = ${id}
            ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT ${shownTemplates}) d
          UNION ALL
          SELECT ${decisionColumns} FROM (
            SELECT * FROM tracking_aliases a WHERE a.org_slug = ${org} AND a.alias = ${id}
            ORDER BY a.org_slug, a.alias, a.template_id LIMIT ${shownTemplates}) a
          CROSS JOIN LATERAL (
            SELECT * FROM decisions d
            WHERE d.org_slug = a.org_slug AND d.tracking_id = a.tracking_id AND d.template_id = a.template_id
            ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1) d
          WHERE d.tracking_id <> ${id}`

      /** Decisions for any of the names, the latest first. */
      const byNames = (org: OrgSlug, names: ReadonlyArray<string>, after: string | undefined, limit: number) => {
        const position = after === undefined ? undefined : parseStoryCursor(after)
        const behind = position === undefined ? sql`TRUE` : sql`d.decided_at <= ${new Date(position[0])}
              AND (d.decided_at, d.tracking_id, d.template_id) < (${new Date(position[0])}, ${position[1]}, ${
          position[2]
        })`
        return sql<DecisionRow>`
          SELECT ${decisionColumns} FROM unnest(${names}::text[]) AS n(name)
          CROSS JOIN LATERAL (
            SELECT * FROM decisions d WHERE d.org_slug = ${org} AND d.user_id = n.name AND ${behind}
            ORDER BY d.decided_at DESC, d.tracking_id DESC, d.template_id DESC LIMIT ${limit}) d
          ORDER BY d.decided_at DESC, d.tracking_id DESC, d.template_id DESC LIMIT ${limit}`
      }

      /** Events of decisions, the earliest first, at most `shownEvents` and one of each. */
      const eventsOf = (org: OrgSlug, decisions: ReadonlyArray<DecisionRow>) => {
        const wanted = decisions.map(({ templateId, trackingId }) => ({
          tracking_id: trackingId,
          template_id: templateId,
        }))
        return sql<EventRow>`
          SELECT r.tracking_id, r.template_id, e.source, e.event_key AS key, e.event, e.occurred_at, e.received_at,
            e.automated, e.link, e.value, e.currency, e.status
          FROM json_to_recordset(${JSON.stringify(wanted)}::text::json) AS r(tracking_id text, template_id text)
          CROSS JOIN LATERAL (
            SELECT * FROM events e
            WHERE e.org_slug = ${org} AND e.tracking_id = r.tracking_id AND e.template_id = r.template_id
            ORDER BY e.occurred_at, e.source, e.event_key LIMIT ${shownEvents + 1}) e`
      }

      const looseEvents = (org: OrgSlug, id: string) =>
        sql<EventRow>`
          SELECT e.tracking_id, e.template_id, e.source, e.event_key AS key, e.event, e.occurred_at, e.received_at,
            e.automated, e.link, e.value, e.currency, e.status
          FROM events e WHERE e.org_slug = ${org} AND e.tracking_id = ${id} AND e.template_id = ''
          ORDER BY e.occurred_at, e.source, e.event_key LIMIT ${shownEvents}`

      /** The latest events that name a person and belong to no decision, the earliest first. */
      const looseEventsOf = (org: OrgSlug, names: ReadonlyArray<string>) => {
        const columns = sql`e.tracking_id, e.template_id, e.source, e.event_key AS key, e.event, e.occurred_at,
          e.received_at, e.automated, e.link, e.value, e.currency, e.status`
        return Effect.map(
          sql<EventRow>`
            SELECT ${columns} FROM unnest(${names}::text[]) AS n(name)
            CROSS JOIN LATERAL (
              SELECT * FROM events e WHERE e.org_slug = ${org} AND e.user_id = n.name AND e.template_id = ''
              ORDER BY e.occurred_at DESC LIMIT ${shownEvents}) e
            UNION
            SELECT ${columns} FROM unnest(${names}::text[]) AS n(name)
            CROSS JOIN LATERAL (
              SELECT * FROM events e WHERE e.org_slug = ${org} AND lower(e.email) = lower(n.name) AND e.template_id = ''
                AND e.email IS NOT NULL
              ORDER BY e.occurred_at DESC LIMIT ${shownEvents}) e
            ORDER BY occurred_at DESC, source, key LIMIT ${shownEvents}`,
          (rows) => rows.toReversed(),
        )
      }

      const deliveriesOf = (org: OrgSlug, ids: ReadonlyArray<string>) =>
        sql<Delivery>`
          SELECT ${deliveryColumns} FROM unnest(${ids}::text[]) AS n(id)
          CROSS JOIN LATERAL (
            SELECT * FROM deliveries v WHERE v.org_slug = ${org} AND v.id = n.id ORDER BY v.org_slug, v.id LIMIT 1) v`

      /** Messages to these addresses that are no decision of their own, the latest first. */
      const repeatsOf = (org: OrgSlug, emails: ReadonlyArray<string>) =>
        sql<Delivery>`
          SELECT ${deliveryColumns} FROM unnest(${emails}::text[]) AS n(email)
          CROSS JOIN LATERAL (
            SELECT * FROM deliveries v WHERE v.org_slug = ${org} AND v.email = n.email
            ORDER BY v.org_slug, v.email LIMIT ${searchedDeliveries}) v
          LEFT JOIN LATERAL (
            SELECT true AS decided FROM decisions d WHERE d.org_slug = v.org_slug AND d.tracking_id = v.id
            ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1) d ON TRUE
          WHERE d.decided IS NULL
          ORDER BY v.id DESC LIMIT ${shownOthers}`

      const profilesOf = (org: OrgSlug, { email, userId }: { readonly userId?: string; readonly email?: string }) =>
        sql<StoryProfile>`
          SELECT p.user_id, p.email, p.traits, p.updated_at FROM profiles p
          WHERE p.org_slug = ${org} AND ${
          userId === undefined
            ? sql`lower(p.email) = lower(${email!}) AND p.email IS NOT NULL`
            : sql`p.user_id = ${userId}`
        }
          ORDER BY p.updated_at DESC LIMIT ${shownProfiles}`

      const adviceOf = (org: OrgSlug, names: ReadonlyArray<string>) =>
        sql<StoryAdvice>`
          SELECT a.person, a.copy_id, a.given_at, a.advised_at, a.explored, a.basis FROM send_advice a
          WHERE a.org_slug = ${org} AND a.person = ANY(${names}::text[])
          ORDER BY a.given_at DESC LIMIT ${shownOthers}`

      /** Decisions with their events and deliveries. */
      const told = Effect.fnUntraced(function* (org: OrgSlug, decisions: ReadonlyArray<DecisionRow>) {
        if (decisions.length === 0) return []
        const events = new Map<string, Array<EventRow>>()
        for (const row of yield* eventsOf(org, decisions)) {
          const own = events.get(keyOf(row))
          if (own === undefined) events.set(keyOf(row), [row])
          else own.push(row)
        }
        const ids = [...new Set(decisions.map(({ trackingId }) => trackingId))]
        const deliveries = new Map((yield* deliveriesOf(org, ids)).map((one) => [one.id, one]))
        return decisions.map((decision): StoryDecision => {
          const own = events.get(keyOf(decision)) ?? []
          const delivery = deliveries.get(decision.trackingId)
          return {
            ...decision,
            delivery: delivery?.templateId === decision.templateId ? delivery : null,
            events: explained(decision, own.slice(0, shownEvents)),
            moreEvents: own.length > shownEvents,
          }
        })
      })

      /** The profiles of somebody, and every name that decisions may call them by. */
      const personOf = Effect.fnUntraced(function* (
        org: OrgSlug,
        ask: { readonly userId: string } | { readonly email: string },
      ): Effect.fn.Return<
        { readonly names: ReadonlyArray<string>; readonly profiles: ReadonlyArray<StoryProfile> },
        SqlError
      > {
        const profiles = yield* profilesOf(org, ask)
        const given = "userId" in ask ? ask.userId : ask.email
        const names = [given, ...profiles.flatMap(({ email, userId }) => email === null ? [userId] : [userId, email])]
        return { names: [...new Set(names)], profiles }
      })

      const message = Effect.fnUntraced(function* (
        org: OrgSlug,
        id: string,
      ): Effect.fn.Return<Story, SqlError> {
        const rows = yield* byTrackingId(org, id)
        const decisions = yield* told(org, rows)
        const loose = yield* looseEvents(org, id)
        const [delivery] = yield* deliveriesOf(org, [id])
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
        { after, limit }: { readonly after: string | undefined; readonly limit: number },
      ): Effect.fn.Return<Story, SqlError> {
        const { names, profiles } = yield* personOf(org, ask)
        const rows = yield* byNames(org, names, after, limit + 1)
        const page = rows.slice(0, limit)
        const isFirst = after === undefined
        return {
          names,
          profiles,
          decisions: yield* told(org, page),
          repeats: isFirst ? yield* repeatsOf(org, names) : [],
          loose: isFirst ? (yield* looseEventsOf(org, names)).map(loosened) : [],
          advice: isFirst ? yield* adviceOf(org, names) : [],
          next: rows.length > page.length ? cursorOf(page.at(-1)!) : null,
        }
      })

      const find = Effect.fn("Stories.find")(
        (org: OrgSlug, ask: StoryAsk, page: { readonly after: string | undefined; readonly limit: number }) =>
          Effect.orDie("trackingId" in ask ? message(org, ask.trackingId) : person(org, ask, page)),
      )

      const search = Effect.fn("Stories.search")(function* (
        org: OrgSlug,
        text: string,
        page: { readonly after: string | undefined; readonly limit: number },
      ) {
        if (page.after === undefined) {
          const story = yield* message(org, text)
          if (!isEmpty(story)) return { as: "tracking_id" as const, story }
        }
        const asUser = yield* personOf(org, { userId: text })
        // A caller's id may be an e-mail address; one that no profile is called by may be that of a profile.
        const ask = asUser.profiles.length > 0 || !text.includes("@") ? { userId: text } : { email: text }
        return { as: "person" as const, story: yield* person(org, ask, page) }
      }, Effect.orDie)

      const recent = Effect.fn("Stories.recent")((org: OrgSlug, source: string, limit: number) =>
        Effect.orDie(sql<RecentEvent>`
          SELECT e.event, e.tracking_id, d.template_id, d.copy_id, e.user_id AS "user", e.automated, e.occurred_at,
            e.received_at, e.status
          FROM (
            SELECT i.id FROM inbox i WHERE i.org_slug = ${org} AND i.source = ${source}
            ORDER BY i.id DESC LIMIT ${recentBodies}) i
          CROSS JOIN LATERAL (
            SELECT * FROM events e WHERE e.org_slug = ${org} AND e.inbox_id = i.id AND e.source = ${source}
            ORDER BY e.org_slug, e.inbox_id, e.source, e.event_key, e.template_id LIMIT ${eventsPerBody}) e
          LEFT JOIN LATERAL (
            SELECT d.template_id, d.copy_id FROM decisions d
            WHERE d.org_slug = e.org_slug AND d.tracking_id = e.tracking_id AND d.template_id = e.template_id
            ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1) d ON TRUE
          ORDER BY i.id DESC, e.occurred_at DESC, e.event_key LIMIT ${limit}`)
      )

      return Stories.of({ find, search, recent })
    }),
  )
}

/** Whether nothing at all was found. */
export const isEmpty = ({ advice, decisions, loose, profiles, repeats }: Story): boolean =>
  decisions.length + loose.length + profiles.length + repeats.length + advice.length === 0
