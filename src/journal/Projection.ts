import { Context, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { StoredEvent } from "./events/DecisionEvents.ts"
import type { DecisionRef } from "./events/DecisionRef.ts"

// Tables that are derived from decisions and events, and kept up to date as events are stored.

/** A decision with newly stored events. */
export interface ReportedDecision {
  readonly decision: DecisionRef
  /** Its events that were stored earlier. */
  readonly before: ReadonlyArray<StoredEvent>
  /** All its events. */
  readonly events: ReadonlyArray<StoredEvent>
}

/** The time zone that an event gave for a person. */
export interface ZoneReport {
  readonly org: string
  readonly person: string
  /** As the source names it; may be no IANA time zone. */
  readonly zone: string
  /** Unix milliseconds. */
  readonly occurredAt: number
}

/** The rows that one transaction adds to the journal. */
export interface JournalChanges {
  readonly decisions: ReadonlyArray<ReportedDecision>
  readonly zones: ReadonlyArray<ZoneReport>
}

/** Derives rows of its own tables from the journal. */
export interface Projection {
  readonly name: string
  /**
   * Derives rows from newly stored events. Runs in the transaction that stores them and holds the lock of their
   * organizations (see `lockEvents`). May be called again for the same events, with the same result.
   */
  readonly apply: (sql: SqlClient.SqlClient, changes: JournalChanges) => Effect.Effect<void, SqlError>
}

/** All projections; the journal calls them in their order. */
export class Projections extends Context.Service<Projections, ReadonlyArray<Projection>>()(
  "parlance/journal/Projections",
) {}

/** Calls every projection with the rows just stored. */
export const applyProjections = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  changes: JournalChanges,
): Effect.fn.Return<void, SqlError, Projections> {
  if (changes.decisions.length === 0 && changes.zones.length === 0) return
  for (const { apply } of yield* Projections) yield* apply(sql, changes)
})
