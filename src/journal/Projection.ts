import { Context, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { StoredEvent } from "./events/DecisionEvents.ts"
import type { DecisionRef } from "./events/DecisionRef.ts"

// Projections: tables that are derived from decisions and events, and updated when events are stored.

/** A decision with newly stored events. */
export interface ReportedDecision {
  readonly decision: DecisionRef
  /** Events of the decision that were stored earlier. */
  readonly before: ReadonlyArray<StoredEvent>
  /** All events of the decision. */
  readonly events: ReadonlyArray<StoredEvent>
}

/** The time zone of a person, reported by an event. */
export interface ZoneReport {
  readonly org: string
  readonly person: string
  /** The zone as the source reports it. It may be no IANA time zone. */
  readonly zone: string
  /** Unit: Unix milliseconds. */
  readonly occurredAt: number
}

/** The rows that one transaction adds to the journal. */
interface JournalChanges {
  readonly decisions: ReadonlyArray<ReportedDecision>
  readonly zones: ReadonlyArray<ZoneReport>
}

/** Derives rows of its own tables from the journal. */
export interface Projection {
  readonly name: string
  /**
   * Derives rows from newly stored events. Runs in the transaction that stores the events and holds the locks of the
   * people (see `lockPeople`). Must be idempotent: it may be called again for stored events.
   */
  readonly apply: (sql: SqlClient.SqlClient, changes: JournalChanges) => Effect.Effect<void, SqlError>
}

/** All projections. The journal calls them in this order. */
export class Projections extends Context.Service<Projections, ReadonlyArray<Projection>>()(
  "parlance/journal/Projections",
) {}

/** Calls every projection with newly stored rows. Fails with `SqlError` if the database does not respond. */
export const applyProjections = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  changes: JournalChanges,
): Effect.fn.Return<void, SqlError, Projections> {
  if (changes.decisions.length === 0 && changes.zones.length === 0) return
  for (const { apply } of yield* Projections) yield* apply(sql, changes)
})
