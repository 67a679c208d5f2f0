import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { dayMillis } from "../../bandit/Window.ts"
import type { NormalizedEvent } from "../../domain/Event.ts"
import { SeededMap, SeededSet } from "../../json/SeededMap.ts"
import { Settings } from "../../settings/Settings.ts"
import { bounded } from "../../store/bounded.ts"
import * as GroupCommit from "../../store/GroupCommit.ts"
import { plannedFor, recordset } from "../../store/Recordset.ts"
import * as SharedLookUp from "../../store/SharedLookUp.ts"

/** An event's identity, and the times that determine its possible partitions. */
interface EventRef extends Pick<NormalizedEvent, "key" | "occurredAt"> {
  readonly org: string
  readonly source: string
  /** Unit: Unix milliseconds. */
  readonly receivedAt: number
}

/** Maximum error of a platform's clock. Unit: days. */
const toleranceDays = 7

/**
 * Finds the events that are already stored, with one primary-key lookup for each. The ORDER BY includes `template_id`,
 * which only the primary key can serve. Without it, PostgreSQL 18 uses the index by arrival for a partition that was
 * empty when the plan was made, and skips through all events of the organization until the partition is analyzed.
 */
export const findKnown = (sql: SqlClient.SqlClient, events: ReadonlyArray<EventRef>) => {
  const rows = events.map(({ key, occurredAt, org, receivedAt, source }) => ({
    org_slug: org,
    source,
    event_key: key,
    // An event is received after it happened. An event without a time of its own may have been received at any time.
    since: occurredAt < receivedAt ? occurredAt - toleranceDays * dayMillis : 0,
  }))
  return sql<{ orgSlug: string; source: string; eventKey: string }>`
    SELECT e.org_slug, e.source, e.event_key
    FROM ${recordset(rows, { org_slug: "text", source: "text", event_key: "text", since: "float8" })}
    CROSS JOIN LATERAL (
      SELECT * FROM events e
      WHERE e.org_slug = r.org_slug AND e.source = r.source AND e.event_key = r.event_key
        AND e.received_at >= to_timestamp(r.since / 1000.0)
      ORDER BY e.org_slug, e.source, e.event_key, e.template_id LIMIT 1) e`
}

/**
 * Requests with up to this many events share a statement with other requests. Larger requests use their own statement.
 */
const sharedEvents = 500

/** Maximum number of events that one statement searches. */
const atOnce = 1_000

/**
 * How long an event that this process acknowledged is kept in memory: at least this time, at most twice as long. By
 * then it is stored, unless the intake is delayed. Unit: milliseconds.
 */
const recentMillis = 10_000

/** Maximum number of events in memory in each of two generations. Each needs about 200 bytes. */
const maxRecent = 20_000

/**
 * Recently received events, in two generations. The older generation is dropped as a whole, so entries need no timers.
 */
const makeRecent = () => {
  let younger = new SeededMap<string, number>()
  let older = younger
  let began = 0
  return {
    has: (name: string): boolean => younger.has(name) || older.has(name),
    /** Begins a new generation if the younger generation is old or full. */
    age: (now: number): void => {
      if (now - began < recentMillis && younger.size < maxRecent) return
      older = now - began < 2 * recentMillis ? younger : new SeededMap()
      younger = new SeededMap()
      began = now
    },
    add: (name: string, entry: number): void => void younger.set(name, entry),
    /** Removes the events added as `entry`. */
    remove: (name: string, entry: number): void => {
      for (const events of [younger, older]) if (events.get(name) === entry) events.delete(name)
    },
  }
}

/** The events that were received before. `forget` removes the other events from memory if their body is not stored. */
interface EarlierEvents {
  readonly keys: SeededSet<string>
  readonly forget: Effect.Effect<void>
}

/**
 * Finds events that were received before: stored events, and events that this process acknowledged recently. Events
 * that another process acknowledged are found after they are stored, a fraction of a second later.
 */
export class KnownEvents extends Context.Service<KnownEvents, {
  /**
   * Finds the events that were received before. All must belong to one organization and source. With `enter`, keeps the
   * other events in memory as received. Fails with `BufferFull` if the database does not respond.
   */
  readonly find: (
    events: ReadonlyArray<EventRef>,
    options: { readonly enter: boolean },
  ) => Effect.Effect<EarlierEvents, GroupCommit.BufferFull>
}>()("parlance/journal/events/KnownEvents") {
  static readonly layer = Layer.effect(
    KnownEvents,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings
      const recent = makeRecent()
      // Distinguishes several entries of one event.
      let entered = 0

      const nameOf = ({ key, org, source }: EventRef) => `${org}\0${source}\0${key}`

      const lookUp = (groups: ReadonlyArray<ReadonlyArray<EventRef>>) => {
        const events = groups.flat()
        return Effect.map(plannedFor(events.length, findKnown(sql, events)), (rows) => {
          const names = new SeededSet(rows.map((row) => `${row.orgSlug}\0${row.source}\0${row.eventKey}`))
          return groups.map((group) => group.filter((event) => names.has(nameOf(event))))
        })
      }

      const shared = yield* SharedLookUp.make({
        write: lookUp,
        maxWeight: {
          limit: atOnce,
          held: 100 * atOnce,
          of: (group: ReadonlyArray<EventRef>) => group.length,
        },
      })

      const inStore = Effect.fnUntraced(function* (events: ReadonlyArray<EventRef>) {
        if (events.length === 0) return []
        if (events.length <= sharedEvents) return yield* shared(events)
        const found: Array<EventRef> = []
        for (let from = 0; from < events.length; from += atOnce) {
          const [known] = yield* lookUp([events.slice(from, from + atOnce)]).pipe(
            bounded(settings.storeTimeout),
            Effect.mapError(() => new GroupCommit.BufferFull()),
          )
          found.push(...known!)
        }
        return found
      })

      /** Keeps events in memory as received. */
      const enterAll = (events: ReadonlyArray<EventRef>) => {
        const entry = ++entered
        for (const event of events) recent.add(nameOf(event), entry)
        return entry
      }

      const forgetAll = (events: ReadonlyArray<EventRef>, entry: number) => {
        for (const event of events) recent.remove(nameOf(event), entry)
      }

      const find = (events: ReadonlyArray<EventRef>, { enter }: { readonly enter: boolean }) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          recent.age(now)
          const keys = new SeededSet<string>()
          const others: Array<EventRef> = []
          for (const event of events) {
            if (recent.has(nameOf(event))) keys.add(event.key)
            else others.push(event)
          }
          // Runs before the first asynchronous step, so that exactly one of two concurrent requests is first.
          const entry = enter ? enterAll(others) : 0
          const forget = Effect.sync(() => forgetAll(others, entry))
          return inStore(others).pipe(
            Effect.map((found): EarlierEvents => {
              for (const { key } of found) keys.add(key)
              return { keys, forget }
            }),
            Effect.onError(() => forget),
          )
        })

      return KnownEvents.of({ find })
    }),
  )
}
