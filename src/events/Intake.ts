import { Clock, Context, Effect, Layer, Metric, Queue, Semaphore, type Tracer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { DecisionLog } from "../decisions/DecisionLog.ts"
import type { Erasure, ProfileUpdate, SkippedItem } from "../domain/Event.ts"
import { segmentOf } from "../domain/Source.ts"
import { Inflow } from "../learning/Inflow.ts"
import { Learning } from "../learning/Learning.ts"
import { Profiles } from "../profiles/Profiles.ts"
import { isDataFault } from "../store/DataFault.ts"
import { Store } from "../store/Store.ts"
import { current, linksTo, spanOf, stepOf, TraceShare } from "../telemetry/Tracing.ts"
import { isAttributable } from "./Attribution.ts"
import { Erasures } from "./Erasures.ts"
import { lockEvents } from "./EventLock.ts"
import { type Incoming, storeEvents } from "./EventStore.ts"
import { Inbox } from "./Inbox.ts"
import { type JustDecided, matchWaiting } from "./Matching.ts"
import { deliverSource, type Normalize, normalizeReports } from "./Sources.ts"
import { WebhookSources } from "./WebhookSources.ts"

/** Bytes of bodies in one transaction at most: on the embedded store decisions wait as long as one lasts. */
const batchBytes = { postgres: 256 * 1024, embedded: 48 * 1024 }

/** Bodies that come in within this time are taken together, which halves the work per event. */
const gathering = "25 millis"
const batchBodies = 500

/** Faults kept of one body at most, so that a hostile one does not grow many times its size. */
const keptFaults = 100

/** From the receipt of a body until what it says is stored and counted. Unit: seconds. */
const lag = Metric.histogram("parlance_event_lag_seconds", {
  boundaries: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600],
})

/** For the sake of a trace a template's actor is woken this often at most; the sweep comes anyway. Unit: milliseconds. */
const wakeEvery = 1000
const wokenTemplates = 1000

interface Body {
  readonly id: number
  readonly orgSlug: string
  readonly source: string
  readonly receivedAt: Date
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** What a body turned into, to be noted with it. */
interface Report {
  events: number
  duplicates: number
  ignored: number
  faults: Array<Omit<SkippedItem, "expected">>
}

/** What a batch was. */
interface Taken {
  readonly bodies: ReadonlyArray<Body>
  /** Organization and template of what was counted; with the span of doing so, if it is part of a trace. */
  readonly templates: ReadonlyMap<string, readonly [org: string, template: string]>
  readonly span: Tracer.AnySpan | undefined
}

/** What is in a batch of bodies. */
interface Contents {
  readonly events: Array<Incoming>
  readonly profiles: Array<ProfileUpdate & { readonly org: string }>
  readonly erasures: Array<Erasure & { readonly org: string }>
}

/** Adds what is in a body to `contents`; its events are reported as duplicates until they turn out to be new. */
const readInto = (contents: Contents, body: Body, normalize: Normalize | undefined): Report => {
  const report: Report = { events: 0, duplicates: 0, ignored: 0, faults: [] }
  const { id: inboxId, orgSlug: org, source } = body
  const receivedAt = body.receivedAt.getTime()
  const normalized = normalize === undefined
    ? { reason: `This release knows no source ${JSON.stringify(source)}` }
    : normalize(body.body, body.headers, receivedAt)
  if ("reason" in normalized) {
    report.faults.push({ pointer: "", reason: normalized.reason })
    return report
  }
  for (const { expected, pointer, reason } of normalized.skipped) {
    if (expected) report.ignored++
    else if (report.faults.length < keptFaults) report.faults.push({ pointer, reason })
  }
  for (const profile of normalized.profiles ?? []) contents.profiles.push({ ...profile, org })
  for (const person of normalized.erasures ?? []) contents.erasures.push({ ...person, org })
  for (const event of normalized.events) {
    const incoming = { ...event, org, source, inboxId, receivedAt }
    if (isAttributable(incoming)) {
      contents.events.push(incoming)
      report.duplicates++
    } else {
      report.ignored++
    }
  }
  return report
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
      const learning = yield* Learning
      const share = yield* TraceShare
      const scope = yield* Effect.scope
      const one = yield* Semaphore.make(1)
      const wokenAt = new Map<string, number>()

      /** Lets the actors of traced events fold at once, in the trace; those just woken have to wait for the sweep. */
      const wake = ({ span, templates }: Taken): Effect.Effect<void> => {
        if (span === undefined) return Effect.void
        const now = clock.currentTimeMillisUnsafe()
        if (wokenAt.size > wokenTemplates) wokenAt.clear()
        const due = [...templates].filter(([key]) => now - (wokenAt.get(key) ?? 0) >= wakeEvery)
        for (const [key] of due) wokenAt.set(key, now)
        return Effect.forEach(due, ([, [org, template]]) => learning.wake(org, template, false), { discard: true })
          .pipe(
            Effect.forkIn(scope),
            Effect.asVoid,
          )
      }

      /** What is done once a batch is committed; answers how many bodies there were. */
      const finish = (taken: Taken) => {
        const now = clock.currentTimeMillisUnsafe()
        return Effect.forEach(
          taken.bodies,
          ({ receivedAt }) => Metric.update(lag, Math.max(0, now - receivedAt.getTime()) / 1000),
          { discard: true },
        ).pipe(Effect.andThen(wake(taken)), Effect.as(taken.bodies.length))
      }

      /** Notes with each body what it turned into. */
      const note = (bodies: ReadonlyArray<Body>, reports: ReadonlyMap<number, Report>) => {
        // In a whole millisecond, which is what a time is read in; it tells which partition they are in.
        const since = bodies.reduce((least, { receivedAt }) => Math.min(least, receivedAt.getTime()), Infinity)
        const rows = Array.from(reports, ([id, { duplicates, events, faults, ignored }]) => ({
          id,
          events,
          duplicates,
          ignored,
          faults: faults.length === 0 ? null : JSON.stringify(faults),
          status: faults.length === 0 ? "done" : events + duplicates + ignored === 0 ? "rejected" : "partial",
        }))
        return sql`
          UPDATE inbox i SET status = r.status, events = r.events, duplicates = r.duplicates, ignored = r.ignored,
            faults = r.faults::json
          FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS r(id bigint, events int, duplicates int,
            ignored int, faults text, status text)
          WHERE i.id = r.id AND i.id = ANY(${rows.map(({ id }) => id)}::bigint[])
            AND i.received_at >= ${new Date(since)}`
      }

      const take = Effect.fnUntraced(function* (bodies: ReadonlyArray<Body>) {
        const contents: Contents = { events: [], profiles: [], erasures: [] }
        const reports = new Map<number, Report>()
        const templates = new Map<string, readonly [string, string]>()
        for (const body of bodies) {
          const segment = segmentOf(body.source)
          const normalize = body.source === deliverSource
            ? normalizeReports
            : segment && webhooks.normalize(body.orgSlug, segment)
          reports.set(body.id, readInto(contents, body, normalize))
        }
        yield* lockEvents(sql, bodies.map(({ orgSlug }) => orgSlug))
        yield* profiles.apply(contents.profiles)
        for (const event of yield* storeEvents(sql, contents.events, clock.currentTimeMillisUnsafe())) {
          const report = reports.get(event.inboxId)!
          report.events++
          report.duplicates--
          for (const template of event.templates) templates.set(`${event.org}/${template}`, [event.org, template])
        }
        yield* note(bodies, reports)
        // Stored, and carried out after everything else of these bodies.
        yield* erasures.request(contents.erasures)
        const span = yield* current
        // Before the commit, after which the sweep may be first to wake them.
        if (span !== undefined) {
          for (const [org, template] of templates.values()) learning.traceWake(org, template, span)
        }
        return { bodies, templates, span }
      })

      /** Takes one batch of at most so many bodies, which it tells before; answers how many there were. */
      const takeBodies = (most: number, tell?: (bodies: ReadonlyArray<Body>) => void) =>
        Effect.flatMap(
          sql.withTransaction(Effect.gen(function* () {
            const bodies = yield* sql<Body>`
            SELECT i.id::float8 AS id, i.org_slug, i.source, i.received_at, i.headers, i.body FROM inbox i
            WHERE i.status = 'pending' AND i.id IN (
              SELECT s.id FROM (
                SELECT p.id, sum(octet_length(p.body)) OVER (ORDER BY p.id) - octet_length(p.body) AS before
                FROM (SELECT q.id, q.body FROM inbox q WHERE q.status = 'pending' ORDER BY q.id LIMIT ${most}) p
              ) s WHERE s.before < ${batchBytes[kind]})
            ORDER BY i.id FOR UPDATE SKIP LOCKED`
            tell?.(bodies)
            if (bodies.length === 0) return { bodies, templates: new Map(), span: undefined } satisfies Taken
            // A batch has many requests' bodies: it belongs to the trace of the first that has one, and is linked to the others.
            const [first, ...others] = share === undefined ? [] : bodies.flatMap(({ headers }) => spanOf(headers) ?? [])
            return yield* stepOf(first, "intake", {
              kind: "consumer",
              links: linksTo(others),
              attributes: { bodies: bodies.length },
            })(take(bodies))
          })),
          finish,
        )

      /** Sets a body aside that the store will not have: it must not hold up the others for ever. */
      const setAside = (id: number, error: SqlError) => {
        const faults = [{ pointer: "", reason: `It could not be stored: ${error.message}` }]
        return Effect.andThen(
          Effect.logError("A body of the inbox could not be taken in and was set aside", error),
          sql`
            UPDATE inbox i SET status = 'rejected', events = 0, duplicates = 0, ignored = 0,
              faults = ${JSON.stringify(faults)}::text::json
            WHERE i.id = ${id} AND i.status = 'pending'`,
        )
      }

      /** Runs `otherwise` when a batch fails for its data; any other failure is one of the store, which may pass. */
      const onDataFault =
        (otherwise: (error: SqlError) => Effect.Effect<number, SqlError>) =>
        (taking: Effect.Effect<number, SqlError>) =>
          Effect.catch(taking, (error) => isDataFault(error) ? otherwise(error) : Effect.fail(error))

      /** Takes as many bodies as a batch has, but each in a transaction of its own; answers 0 when none are left. */
      const takeSingly = Effect.gen(function* () {
        for (let i = 0; i < batchBodies; i++) {
          // Not whichever is first afterwards: another node may have been at it meanwhile.
          let id: number | undefined
          const taken = yield* takeBodies(1, ([body]) => id = body?.id).pipe(
            onDataFault((error) => id === undefined ? Effect.fail(error) : Effect.as(setAside(id, error), 1)),
          )
          if (taken === 0) return 0
        }
        return batchBodies
      })

      const takeBatch = takeBodies(batchBodies).pipe(onDataFault(() => takeSingly))

      const takeAll = Effect.gen(function* () {
        while ((yield* takeBatch) > 0);
      })

      const matchAll = Effect.fnUntraced(function* (just?: ReadonlyArray<JustDecided>) {
        while (yield* matchWaiting(sql, clock.currentTimeMillisUnsafe(), just));
      })

      const drain = one.withPermits(1)(Effect.gen(function* () {
        yield* takeAll
        const just = yield* Queue.clear(awaited)
        if (just.length > 0) yield* matchAll(just)
        yield* matchAll()
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
