import { Clock, Effect, Metric } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { isSandbox } from "../domain/Sandbox.ts"
import type { Profiles } from "../profiles/Profiles.ts"
import { type BodyChunk, type ItemFault, maxUnused, type Unused } from "./BodyReading.ts"
import type { OnSuppressed } from "../suppressions/OnSuppressed.ts"
import type { Projections } from "../journal/Projection.ts"
import type { ErasureQueue } from "../erasure/ErasureQueue.ts"
import { lockArrivals } from "../journal/events/EventLock.ts"
import { type IncomingEvent, storeEvents } from "../journal/events/EventStore.ts"
import type { Body } from "../journal/inbox/IntakeBatches.ts"
import { noteCompleted } from "../journal/inbox/Completed.ts"
import { moveTestEvents } from "../journal/events/TestEvents.ts"

const statuses = ["done", "partial", "rejected"] as const
type Status = typeof statuses[number]
/** Counts bodies with a final status. */
const processedAs = (status: Status) =>
  Metric.counter("parlance_inbox_processed_total", { incremental: true, attributes: { status } })
const processed = { done: processedAs("done"), partial: processedAs("partial"), rejected: processedAs("rejected") }

/** Initialises the counters to 0, because an alert on a rate needs a series before the first increment. */
export const initializeMetrics = Effect.forEach(statuses, (status) => Metric.update(processed[status], 0), {
  discard: true,
})

/** Counts and faults of a body so far. */
interface Report {
  events: number
  duplicates: number
  ignored: number
  unused: ReadonlyArray<Unused>
  faults: ReadonlyArray<ItemFault>
}

const statusOf = ({ duplicates, events, faults, ignored }: Report): Status =>
  faults.length === 0 ? "done" : events + duplicates + ignored === 0 ? "rejected" : "partial"

/** Reports an event whose time does not count for its decision. */
const noteIgnored = (report: Report, { event, key, trackingId }: IncomingEvent, reason: string): void => {
  report.ignored++
  if (report.unused.length >= maxUnused) return
  const name = key.startsWith("id:") ? key.slice("id:".length) : trackingId ?? ""
  report.unused = [...report.unused, { reason: `${event} ${JSON.stringify(name)}: ${reason}`, count: 1, pointer: "" }]
}

/** The result of one transaction. */
export interface StoredSlice {
  /** Bodies that are completely stored. */
  readonly done: ReadonlyArray<Body>
  /** Organizations and templates of counted events. */
  readonly templates: ReadonlyMap<string, readonly [org: string, template: string]>
  /** Events that did not fit into the transaction. Their bodies are complete after these events are stored. */
  readonly left: ReadonlyArray<IncomingEvent>
}

/** Stores the content of bodies slice by slice, and records the status of each body once it is complete. */
export const make = (
  sql: SqlClient.SqlClient,
  profiles: Profiles["Service"],
  erasures: ErasureQueue,
  bodies: ReadonlyArray<Body>,
) => {
  const byId = new Map(bodies.map((body) => [body.id, body]))
  const reports = new Map<number, Report>(
    bodies.map(({ id }) => [id, { events: 0, duplicates: 0, ignored: 0, unused: [], faults: [] }]),
  )

  const note = (done: ReadonlyArray<Body>) => {
    const since = done.reduce((least, { receivedAt }) => Math.min(least, receivedAt.getTime()), Infinity)
    return noteCompleted(
      sql,
      done.map(({ id }) => ({ id, status: statusOf(reports.get(id)!), ...reports.get(id)! })),
      new Date(since),
    )
  }

  /** Returns the events of a slice. They are reported as duplicates until the database confirms that they are new. */
  const eventsOf = (chunks: ReadonlyArray<BodyChunk>): ReadonlyArray<IncomingEvent> =>
    chunks.flatMap(({ events, faults, id, ignored, unused }) => {
      const { orgSlug, receivedAt, source } = byId.get(id)!
      const report = reports.get(id)!
      report.ignored += ignored
      report.unused = [...report.unused, ...unused]
      report.faults = [...report.faults, ...faults]
      report.duplicates += events.length
      const at = receivedAt.getTime()
      return events.map((event): IncomingEvent => ({ ...event, org: orgSlug, source, inboxId: id, receivedAt: at }))
    })

  const profilesOf = (chunks: ReadonlyArray<BodyChunk>) =>
    chunks.flatMap((chunk) => chunk.profiles.map((one) => ({ ...one, org: byId.get(chunk.id)!.orgSlug })))

  /** Stores requests to erase people, after all other content of their body. They are carried out later. */
  const requestErasures = (chunks: ReadonlyArray<BodyChunk>) =>
    erasures.request(
      chunks.flatMap((chunk) => chunk.erasures.map((person) => ({ ...person, org: byId.get(chunk.id)!.orgSlug }))),
    )

  /**
   * Stores events of a slice. After the last event, also stores the other content of `chunks`. Call this in a
   * transaction, repeatedly until `left` is empty.
   */
  const store = Effect.fnUntraced(function* (
    chunks: ReadonlyArray<BodyChunk>,
    events: ReadonlyArray<IncomingEvent>,
  ): Effect.fn.Return<StoredSlice, SqlError, Projections | OnSuppressed> {
    const now = yield* Clock.currentTimeMillis
    const templates = new Map<string, readonly [string, string]>()
    const sorted = yield* moveTestEvents(sql, events)
    const updates = profilesOf(chunks)
    const orgs = [...chunks.map(({ id }) => byId.get(id)!.orgSlug), ...sorted.map(({ org }) => org)]
    yield* lockArrivals(sql, orgs, sorted, updates)
    const { left, stored } = yield* storeEvents(sql, sorted, now)
    for (const { event, ignored, templates: named } of stored) {
      const { inboxId, org } = event
      const report = reports.get(inboxId)!
      report.duplicates--
      if (ignored === undefined) report.events++
      else noteIgnored(report, event, ignored)
      // Sandboxes have no tallies.
      if (isSandbox(org)) continue
      for (const template of named) templates.set(`${org}/${template}`, [org, template])
    }
    if (left.length > 0) return { done: [], templates, left }
    yield* profiles.apply(updates)
    const done = chunks.filter(({ isLast }) => isLast).map(({ id }) => byId.get(id)!)
    if (done.length > 0) yield* note(done)
    yield* requestErasures(chunks)
    return { done, templates, left }
  })

  /** Counts complete bodies in the metrics. Call this after the commit. */
  const count = (done: ReadonlyArray<Body>) =>
    Effect.forEach(done, ({ id }) => Metric.update(processed[statusOf(reports.get(id)!)], 1), { discard: true })

  return { eventsOf, store, count }
}
