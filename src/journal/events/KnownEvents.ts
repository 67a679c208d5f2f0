import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { dayMillis } from "../../bandit/Window.ts"
import type { NormalizedEvent } from "../../domain/Event.ts"
import { SeededMap, SeededSet } from "../../domain/SeededMap.ts"
import { Settings } from "../../Settings.ts"
import { bounded } from "../../store/bounded.ts"
import * as GroupCommit from "../../store/GroupCommit.ts"
import { recordset } from "../../store/Recordset.ts"
import * as SharedLookUp from "../../store/SharedLookUp.ts"

/** An event's identity, and the times that determine its possible partitions. */
export interface EventRef extends Pick<NormalizedEvent, "key" | "occurredAt"> {
  readonly org: string
  readonly source: string
  /** Unix milliseconds. */
  readonly receivedAt: number
}

/** How wrong the clock of a platform may be. Unit: days. */
const toleranceDays = 7

/**
 * Finds those of some events that are in the store: one look-up by primary key for each. Only that index has the order of
 * `template_id`. Without it PostgreSQL takes the index by arrival for a partition that was empty when the plan was made, and
 * skips through all events of the organization (version 18) until the partition is analyzed.
 */
export const findKnown = (sql: SqlClient.SqlClient, events: ReadonlyArray<EventRef>) => {
  const rows = events.map(({ key, occurredAt, org, receivedAt, source }) => ({
    org_slug: org,
    source,
    event_key: key,
    // It cannot have come in before it happened. One that does not say when that was may have come in at any time.
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
 * Most events of a request whose look-up shares a statement with other requests. Larger requests use their own
 * statement.
 */
const sharedEvents = 500

/** Events looked up by one statement. */
const atOnce = 1_000

/**
 * How long an event that this process has acknowledged is remembered at least, and at most twice as long. By then it is in the
 * store, unless the intake lags. Unit: milliseconds.
 */
const recentMillis = 10_000

/** Events remembered at most, in each of two generations. About 200 bytes each. */
const maxRecent = 20_000

/** Events that came in lately, in two generations: the older one is dropped as a whole, so that no entry has to be aged. */
const makeRecent = () => {
  let younger = new SeededMap<string, number>()
  let older = younger
  let began = 0
  return {
    has: (name: string): boolean => younger.has(name) || older.has(name),
    /** Begins a new generation if the younger one is old or full. */
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

/** The events received before, and a function that forgets the others if their body is not stored. */
export interface EarlierEvents {
  readonly keys: SeededSet<string>
  readonly forget: Effect.Effect<void>
}

/**
 * Finds events received before: those in the store, and those that this process acknowledged recently. Events
 * acknowledged by another process are found once they are stored, a fraction of a second later.
 */
export class KnownEvents extends Context.Service<KnownEvents, {
  /**
   * Finds the events, all of one organization and source, that were received before. With `enter`, remembers the others
   * as being received. Fails with `BufferFull` when the database cannot be asked.
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
      // Tells one entry of a key from another.
      let entered = 0

      const nameOf = ({ key, org, source }: EventRef) => `${org}\0${source}\0${key}`

      const lookUp = (groups: ReadonlyArray<ReadonlyArray<EventRef>>) =>
        Effect.map(findKnown(sql, groups.flat()), (rows) => {
          const names = new SeededSet(rows.map((row) => `${row.orgSlug}\0${row.source}\0${row.eventKey}`))
          return groups.map((group) => group.filter((event) => names.has(nameOf(event))))
        })

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

      /** Remembers events as coming in. */
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
          // Runs before the first wait, so that of two concurrent requests exactly one comes first.
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
