import { Clock, Context, Effect, Layer, Metric, Queue, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { DecisionLog } from "../decisions/DecisionLog.ts"
import type { Erasure, NormalizedEvent, ProfileUpdate, SkippedItem } from "../domain/Event.ts"
import { segmentOf } from "../domain/Source.ts"
import { Inflow } from "../learning/Inflow.ts"
import { Profiles } from "../profiles/Profiles.ts"
import { isDataFault } from "../store/DataFault.ts"
import { Store } from "../store/Store.ts"
import { append, LedgerSum, timedOutcomes } from "../learning/Ledger.ts"
import {
  attribute,
  type DecisionRef,
  isAttributable,
  isTellable,
  resolveLinks,
  waitsForLink,
  windowDays,
} from "./Attribution.ts"
import { contributionOf, readEvents } from "./DecisionEvents.ts"
import { Erasures } from "./Erasures.ts"
import { lockEvents } from "./EventLock.ts"
import { Inbox } from "./Inbox.ts"
import { type Contribution, difference } from "./Outcomes.ts"
import { WebhookSources } from "./WebhookSources.ts"

const hourMillis = 3_600_000

/** Bytes of bodies in one transaction at most: on the embedded store decisions wait as long as one lasts. */
const batchBytes = { postgres: 256 * 1024, embedded: 48 * 1024 }

/** Bodies that come in within this time are taken together, which halves the work per event. */
const gathering = "25 millis"
const batchBodies = 500

/** Waiting events looked at in one transaction at most. */
const batchWaiting = 1000

/** For how long an event that names its message waits for another to say whose that is, before its user may tell. */
const linkHours = 1

/** Faults kept of one body at most, so that a hostile one does not grow many times its size. */
const keptFaults = 100

/** Events by what became of them: `attributed`, `waiting`, `unattributable`, `duplicate`. */
const outcomes = Metric.counter("parlance_events_total", { incremental: true })
const outcomeCounters = {
  attributed: Metric.withAttributes(outcomes, { outcome: "attributed" }),
  waiting: Metric.withAttributes(outcomes, { outcome: "waiting" }),
  duplicate: Metric.withAttributes(outcomes, { outcome: "duplicate" }),
}

interface Body {
  readonly id: number
  readonly orgSlug: string
  readonly source: string
  readonly receivedAt: Date
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** One event on its way into the store. */
interface Incoming extends NormalizedEvent {
  readonly org: string
  readonly source: string
  readonly inboxId: number
  readonly receivedAt: number
  readonly hasWaited?: boolean
}

/** What a body turned into, to be noted with it. */
interface Report {
  events: number
  duplicates: number
  ignored: number
  faults: Array<Omit<SkippedItem, "expected">>
}

const decisionKey = ({ org, templateId, trackingId }: DecisionRef) => `${org}\0${trackingId}\0${templateId}`
const eventKey = (org: string, source: string, key: string) => `${org}\0${source}\0${key}`

/**
 * When an event that found no decision is looked at again: after as long as it has waited, after the first ten minutes
 * three times that; undefined once 7 days are over. About twenty looks in all, and one at the end for an event that waits
 * for another one to say whose it is, which finds it by itself.
 */
const retryAt = (event: Incoming, now: number): number | undefined => {
  const age = Math.max(500, now - event.receivedAt)
  if (age > windowDays * 24 * hourMillis) return undefined
  if (waitsForLink(event)) {
    const hours = age < linkHours * hourMillis && isTellable(event) ? linkHours : windowDays * 24 + 1
    return event.receivedAt + hours * hourMillis
  }
  return now + (age < hourMillis / 6 ? age : 3 * age)
}

/**
 * Takes stored bodies from the inbox: normalizes them, leaves out what is known already, finds the decisions the events
 * belong to, and appends what they change to the ledger; each batch in one transaction, so that it is done or not done
 * whatever crashes. Several nodes may take at the same time.
 *
 *     inbox (pending) ──► events (attributed) ──► ledger ──► tallies
 *                            ▲
 *                  waiting ──┘ when the decision comes, or when looked at again
 */
export class Intake extends Context.Service<Intake, {
  /** Takes all that is pending now. Fails when the store does. */
  readonly drain: Effect.Effect<void, SqlError>
  /** Takes what comes in, for ever. */
  readonly run: Effect.Effect<never>
}>()("parlance/events/Intake") {
  static readonly layer = Layer.effect(
    Intake,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const inbox = yield* Inbox
      const { awaited } = yield* DecisionLog
      const inflow = yield* Inflow
      const webhooks = yield* WebhookSources
      const profiles = yield* Profiles
      const erasures = yield* Erasures
      const { kind } = yield* Store
      const one = yield* Semaphore.make(1)

      /** Events of `incoming` that are not in the store yet, each once. */
      const unknown = Effect.fnUntraced(function* (incoming: ReadonlyArray<Incoming>) {
        const first = new Map<string, Incoming>()
        for (const event of incoming) {
          const key = eventKey(event.org, event.source, event.key)
          if (!first.has(key)) first.set(key, event)
        }
        const rows = [...first.values()].map(({ key, org, source }) => ({ org_slug: org, source, event_key: key }))
        const known = yield* sql<{ orgSlug: string; source: string; eventKey: string }>`
          SELECT e.org_slug, e.source, e.event_key
          FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS r(org_slug text, source text, event_key text)
          CROSS JOIN LATERAL (
            SELECT * FROM events e
            WHERE e.org_slug = r.org_slug AND e.source = r.source AND e.event_key = r.event_key
            ORDER BY e.org_slug, e.source, e.event_key LIMIT 1) e`
        for (const row of known) first.delete(eventKey(row.orgSlug, row.source, row.eventKey))
        return [...first.values()]
      })

      const insert = (
        rows: ReadonlyArray<{ readonly event: Incoming; readonly decision: DecisionRef | undefined }>,
        now: number,
      ) => {
        const values = rows.map(({ decision, event }) => ({
          org_slug: event.org,
          source: event.source,
          event_key: event.key,
          template_id: decision?.templateId ?? "",
          tracking_id: decision?.trackingId ?? event.trackingId ?? null,
          named_template_id: event.templateId ?? null,
          user_id: event.user ?? null,
          message_key: event.messageKey ?? null,
          inbox_id: event.inboxId,
          event: event.event,
          occurred_at: event.occurredAt,
          received_at: event.receivedAt,
          automated: event.automated,
          link: event.link ?? null,
          status: decision === undefined ? "waiting" : "attributed",
          retry_at: decision === undefined ? retryAt(event, now) ?? now : null,
        }))
        return sql`
          INSERT INTO events (org_slug, source, event_key, template_id, tracking_id, named_template_id, user_id, message_key,
            inbox_id, event, occurred_at, received_at, automated, link, status, retry_at)
          SELECT r.org_slug, r.source, r.event_key, r.template_id, r.tracking_id, r.named_template_id, r.user_id,
            r.message_key, r.inbox_id, r.event, to_timestamp(r.occurred_at / 1000.0), to_timestamp(r.received_at / 1000.0), r.automated,
            r.link, r.status, to_timestamp(r.retry_at / 1000.0)
          FROM json_to_recordset(${JSON.stringify(values)}::text::json) AS r(org_slug text, source text, event_key text,
            template_id text, tracking_id text, named_template_id text, user_id text, message_key text, inbox_id bigint, event text,
            occurred_at float8, received_at float8, automated boolean, link text, status text, retry_at float8)`
      }

      /** Appends to the ledger what the decisions' `fresh` events, which are in the store by now, change. */
      const count = Effect.fnUntraced(function* (
        fresh: ReadonlyArray<{ readonly decision: DecisionRef; readonly source: string; readonly key: string }>,
      ) {
        if (fresh.length === 0) return
        const decisions = new Map<string, { readonly decision: DecisionRef; readonly keys: Set<string> }>()
        for (const { decision, key, source } of fresh) {
          const id = decisionKey(decision)
          let entry = decisions.get(id)
          if (entry === undefined) decisions.set(id, entry = { decision, keys: new Set() })
          entry.keys.add(`${source}\0${key}`)
        }
        const list = [...decisions.values()]
        const events = yield* readEvents(sql, list.map(({ decision }) => decision), (place) => list[place]!.keys.size)
        const sum = new LedgerSum()
        list.forEach(({ decision, keys }, place) => {
          const all = events[place]!
          const before = all.filter(({ key, source }) => !keys.has(`${source}\0${key}`))
          addChange(sum, decision, contributionOf(decision, before), contributionOf(decision, all))
        })
        yield* append(sql, sum)
      })

      /** Remembers which tracking id a platform's own name of a message stands for; the events that wait for it are due. */
      const link = Effect.fnUntraced(function* (events: ReadonlyArray<Incoming>, now: number) {
        const links = events.flatMap(({ messageKey, org, source, trackingId }) =>
          messageKey === undefined || trackingId === undefined
            ? []
            : [{ org_slug: org, source, message_key: messageKey, tracking_id: trackingId }]
        )
        if (links.length === 0) return
        yield* sql`
          WITH given AS MATERIALIZED (
            SELECT DISTINCT ON (r.org_slug, r.source, r.message_key) r.*
            FROM json_to_recordset(${JSON.stringify(links)}::text::json) AS r(org_slug text, source text,
              message_key text, tracking_id text)
          ), made AS (
            INSERT INTO attribution_links (org_slug, source, message_key, tracking_id, created_at)
            SELECT g.org_slug, g.source, g.message_key, g.tracking_id, ${new Date(now)}::timestamptz FROM given g
            ON CONFLICT DO NOTHING
            RETURNING org_slug, source, message_key
          )
          UPDATE events e SET retry_at = ${new Date(now)} FROM made m
          WHERE e.org_slug = m.org_slug AND e.source = m.source AND e.message_key = m.message_key
            AND e.status = 'waiting'`
      })

      /** Stores new events with the decisions they belong to; under the lock of their organizations. */
      const store = Effect.fnUntraced(function* (incoming: ReadonlyArray<Incoming>, now: number) {
        if (incoming.length === 0) return []
        const news = yield* unknown(incoming)
        yield* link(news, now)
        const fresh = yield* resolveLinks(sql, news)
        const found = yield* attribute(sql, fresh)
        const rows: Array<{ readonly event: Incoming; readonly decision: DecisionRef | undefined }> = []
        fresh.forEach((event, i) => {
          for (const decision of found[i]!) rows.push({ event, decision })
          if (found[i]!.length === 0) rows.push({ event, decision: undefined })
        })
        if (rows.length > 0) yield* insert(rows, now)
        yield* count(
          rows.flatMap(({ decision, event: { key, source } }) =>
            decision === undefined ? [] : [{ decision, source, key }]
          ),
        )
        const waiting = found.filter(({ length }) => length === 0).length
        yield* Metric.update(outcomeCounters.waiting, waiting)
        yield* Metric.update(outcomeCounters.attributed, fresh.length - waiting)
        yield* Metric.update(outcomeCounters.duplicate, incoming.length - fresh.length)
        return fresh
      })

      /** Takes one batch of at most so many bodies; answers how many there were. */
      const takeBodies = (most: number) =>
        sql.withTransaction(Effect.gen(function* () {
          const bodies = yield* sql<Body>`
          SELECT i.id::float8 AS id, i.org_slug, i.source, i.received_at, i.headers, i.body FROM inbox i
          WHERE i.status = 'pending' AND i.id IN (
            SELECT s.id FROM (
              SELECT p.id, sum(octet_length(p.body)) OVER (ORDER BY p.id) - octet_length(p.body) AS before
              FROM (SELECT q.id, q.body FROM inbox q WHERE q.status = 'pending' ORDER BY q.id LIMIT ${most}) p
            ) s WHERE s.before < ${batchBytes[kind]})
          ORDER BY i.id FOR UPDATE SKIP LOCKED`
          if (bodies.length === 0) return 0
          const now = clock.currentTimeMillisUnsafe()
          const profileUpdates: Array<ProfileUpdate & { readonly org: string }> = []
          const erased: Array<Erasure & { readonly org: string }> = []
          const reports = new Map<number, Report>()
          const incoming: Array<Incoming> = []
          for (const body of bodies) {
            const report: Report = { events: 0, duplicates: 0, ignored: 0, faults: [] }
            reports.set(body.id, report)
            const receivedAt = body.receivedAt.getTime()
            const segment = segmentOf(body.source)
            const normalized = segment === undefined
              ? { reason: `This release knows no source ${JSON.stringify(body.source)}` }
              : webhooks.normalize(body.orgSlug, segment)(body.body, body.headers, receivedAt)
            if ("reason" in normalized) {
              report.faults.push({ pointer: "", reason: normalized.reason })
              continue
            }
            for (const { expected, pointer, reason } of normalized.skipped) {
              if (expected) report.ignored++
              else if (report.faults.length < keptFaults) report.faults.push({ pointer, reason })
            }
            for (const profile of normalized.profiles ?? []) profileUpdates.push({ ...profile, org: body.orgSlug })
            for (const person of normalized.erasures ?? []) erased.push({ ...person, org: body.orgSlug })
            for (const event of normalized.events) {
              const one = { ...event, org: body.orgSlug, source: body.source, inboxId: body.id, receivedAt }
              if (isAttributable(one)) {
                incoming.push(one)
                report.duplicates++
              } else {
                report.ignored++
              }
            }
          }
          yield* lockEvents(sql, bodies.map(({ orgSlug }) => orgSlug))
          yield* profiles.apply(profileUpdates)
          for (const { inboxId } of yield* store(incoming, now)) {
            const report = reports.get(inboxId)!
            report.events++
            report.duplicates--
          }
          const rows = Array.from(reports, ([id, { duplicates, events, faults, ignored }]) => ({
            id,
            events,
            duplicates,
            ignored,
            faults: faults.length === 0 ? null : JSON.stringify(faults),
            status: faults.length === 0 ? "done" : events + duplicates + ignored === 0 ? "rejected" : "partial",
          }))
          yield* sql`
          UPDATE inbox i SET status = r.status, events = r.events, duplicates = r.duplicates, ignored = r.ignored,
            faults = r.faults::json
          FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS r(id bigint, events int, duplicates int,
            ignored int, faults text, status text)
          WHERE i.id = r.id AND i.id = ANY(${rows.map(({ id }) => id)}::bigint[])`
          // After everything else of these bodies, which then is forgotten with the rest.
          for (const person of erased) yield* erasures.erase(person)
          return bodies.length
        }))

      /** Sets the first body aside that the store will not have: it must not hold up the others for ever. */
      const setAside = (error: SqlError) => {
        const faults = [{ pointer: "", reason: `It could not be stored: ${error.message}` }]
        return Effect.andThen(
          Effect.logError("A body of the inbox could not be taken in and was set aside", error),
          sql`
            UPDATE inbox i SET status = 'rejected', events = 0, duplicates = 0, ignored = 0,
              faults = ${JSON.stringify(faults)}::text::json
            WHERE i.id = (SELECT min(p.id) FROM inbox p WHERE p.status = 'pending')`,
        )
      }

      /** Takes what is pending; where a batch fails for its data, body by body. */
      const takeAll = Effect.gen(function* () {
        let most = batchBodies
        for (let left = 0;; left--) {
          if (left === 0) most = batchBodies
          const taken: number = yield* takeBodies(most).pipe(
            Effect.catch((error): Effect.Effect<number, SqlError> => {
              if (!isDataFault(error)) return Effect.fail(error)
              if (most > 1) {
                most = 1
                left = batchBodies
                return Effect.succeed(1)
              }
              return Effect.as(setAside(error), 1)
            }),
          )
          if (taken === 0) return
        }
      })

      interface Waiting {
        readonly orgSlug: string
        readonly source: string
        readonly eventKey: string
        readonly trackingId: string | null
        readonly namedTemplateId: string | null
        readonly userId: string | null
        readonly messageKey: string | null
        readonly inboxId: number
        readonly event: NormalizedEvent["event"]
        readonly occurredAt: Date
        readonly receivedAt: Date
        readonly automated: boolean
        readonly link: string | null
      }

      /** Looks for the decisions of waiting events: those that are due, or those of tracking ids just decided. */
      const matchWaiting = (just: ReadonlyArray<{ readonly org: string; readonly trackingId: string }> | undefined) =>
        sql.withTransaction(Effect.gen(function* () {
          const now = clock.currentTimeMillisUnsafe()
          const wanted = just?.map(({ org, trackingId }) => ({ org_slug: org, tracking_id: trackingId }))
          const due = wanted === undefined
            ? sql`e.status = 'waiting' AND e.retry_at <= ${new Date(now)}`
            : sql`e.status = 'waiting' AND (e.org_slug, e.tracking_id) IN (
                SELECT r.org_slug, r.tracking_id
                FROM json_to_recordset(${JSON.stringify(wanted)}::text::json) AS r(org_slug text, tracking_id text))`
          const orgs = yield* sql<{ orgSlug: string }>`
            SELECT DISTINCT w.org_slug FROM (SELECT e.org_slug FROM events e WHERE ${due} LIMIT ${batchWaiting}) w`
          if (orgs.length === 0) return 0
          const slugs = orgs.map(({ orgSlug }) => orgSlug)
          yield* lockEvents(sql, slugs)
          // Read only now: until then another node may have matched them.
          const rows = yield* sql<Waiting>`
            SELECT e.org_slug, e.source, e.event_key, e.tracking_id, e.named_template_id, e.user_id, e.message_key,
              e.inbox_id::float8 AS inbox_id, e.event, e.occurred_at, e.received_at, e.automated, e.link
            FROM events e WHERE ${due} AND e.org_slug IN ${sql.in(slugs)}
            ORDER BY e.retry_at LIMIT ${batchWaiting}`
          if (rows.length === 0) return 0
          const events = yield* resolveLinks(
            sql,
            rows.map((row): Incoming => ({
              org: row.orgSlug,
              source: row.source,
              key: row.eventKey,
              trackingId: row.trackingId ?? undefined,
              templateId: row.namedTemplateId ?? undefined,
              user: row.userId ?? undefined,
              messageKey: row.messageKey ?? undefined,
              hasWaited: now - row.receivedAt.getTime() >= linkHours * hourMillis,
              inboxId: row.inboxId,
              event: row.event,
              occurredAt: row.occurredAt.getTime(),
              receivedAt: row.receivedAt.getTime(),
              automated: row.automated,
              link: row.link ?? undefined,
            })),
          )
          const found = yield* attribute(sql, events)
          const updates = events.map((event, i) => {
            const first = found[i]![0]
            const next = first === undefined ? retryAt(event, now) : undefined
            return {
              org_slug: event.org,
              source: event.source,
              event_key: event.key,
              template_id: first?.templateId ?? "",
              tracking_id: first?.trackingId ?? event.trackingId ?? null,
              status: first !== undefined ? "attributed" : next === undefined ? "unmatched" : "waiting",
              retry_at: next ?? null,
            }
          })
          yield* sql`
            UPDATE events e SET template_id = r.template_id, tracking_id = r.tracking_id, status = r.status,
              retry_at = to_timestamp(r.retry_at / 1000.0)
            FROM json_to_recordset(${JSON.stringify(updates)}::text::json) AS r(org_slug text, source text,
              event_key text, template_id text, tracking_id text, status text, retry_at float8)
            WHERE e.org_slug = r.org_slug AND e.source = r.source AND e.event_key = r.event_key AND e.template_id = ''`
          const others = events.flatMap((event, i) => found[i]!.slice(1).map((decision) => ({ event, decision })))
          if (others.length > 0) yield* insert(others, now)
          const matched = events.flatMap(({ key, source }, i) =>
            found[i]!.map((decision) => ({ decision, source, key }))
          )
          yield* count(matched)
          yield* Metric.update(outcomeCounters.attributed, found.filter(({ length }) => length > 0).length)
          return rows.length
        }))

      const drain = one.withPermits(1)(Effect.gen(function* () {
        yield* takeAll
        const just = yield* Queue.clear(awaited)
        if (just.length > 0) { while ((yield* matchWaiting(just)) === batchWaiting); }
        while ((yield* matchWaiting(undefined)) === batchWaiting);
      }))

      /** Bodies stored by now that are pending, wherever they are being taken in. */
      const settled = Effect.gen(function* () {
        const [last] = yield* sql<{ id: number | null }>`
          SELECT max(i.id)::float8 AS id FROM inbox i WHERE i.status = 'pending'`
        yield* drain
        if (last!.id === null) return
        while (true) {
          const [left] = yield* sql`SELECT 1 FROM inbox i WHERE i.status = 'pending' AND i.id <= ${last!.id} LIMIT 1`
          if (left === undefined) return
          // Another node holds it, and is about to be done.
          yield* Effect.sleep("10 millis")
          yield* drain
        }
      })

      // Who asks for what has been received gives up waiting by himself.
      yield* inflow.register(settled)

      // Woken by what this node stores and decides; the pause finds what other nodes left and what waits.
      const woken = Effect.raceFirst(
        Effect.raceFirst(Queue.take(inbox.arrived), Effect.asVoid(Queue.peek(awaited))),
        Effect.sleep("1 second"),
      )
      const run = Effect.andThen(woken, Effect.delay(drain, gathering)).pipe(
        Effect.catchCause((cause) =>
          Effect.andThen(
            Effect.logWarning("Events could not be taken from the inbox, they wait", cause),
            Effect.sleep("1 second"),
          )
        ),
        Effect.forever,
      )

      return Intake.of({ drain, run })
    }),
  )

  /** Takes bodies from the inbox as they come in. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(Intake, ({ run }) => Effect.forkScoped(run)),
  )
}

/** Adds what turns one contribution of a decision into another. */
const addChange = (sum: LedgerSum, decision: DecisionRef, before: Contribution, after: Contribution): void => {
  const at = {
    org: decision.org,
    templateId: decision.templateId,
    copyId: decision.copyId,
    segment: decision.segment,
    hour: Math.floor(decision.decidedAt / hourMillis) * hourMillis,
  }
  const delays: Record<string, number> = {}
  for (const outcome of timedOutcomes) {
    const from = before.delays[outcome]
    const to = after.delays[outcome]
    if (from === to) continue
    if (from !== undefined) delays[`${outcome}:${from}`] = -1
    if (to !== undefined) delays[`${outcome}:${to}`] = 1
  }
  sum.add({
    ...at,
    track: decision.forced ? "forced" : "learned",
    counts: difference(before.learned, after.learned) ?? {},
    // Nothing is learned from forced decisions, neither how good their variant is nor how slow their users are.
    delays: decision.forced ? undefined : delays,
  })
  const automated = difference(before.automated, after.automated)
  if (automated !== undefined) sum.add({ ...at, track: "automated", counts: automated, delays: undefined })
}
