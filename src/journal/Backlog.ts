import { Effect, Metric } from "effect"
import type { SqlClient } from "effect/sql"

/** Received bodies that have not been processed. */
const inboxPending = Metric.gauge("parlance_inbox_pending")
/** Events whose decision has not been recorded yet. */
const eventsWaiting = Metric.gauge("parlance_events_waiting")
/** Changes of counts that no model has learned from. */
const ledgerRows = Metric.gauge("parlance_tally_ledger_rows")

/** Updates the gauges of queue lengths in the journal. Fails with `SqlError` if the database does not respond. */
export const measureJournal = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [row] = yield* sql<{ readonly inbox: number; readonly waiting: number; readonly ledger: number }>`
    SELECT (SELECT count(*)::int FROM inbox i WHERE i.status = 'pending') AS inbox,
      (SELECT count(*)::int FROM events e WHERE e.status = 'waiting') AS waiting,
      (SELECT count(*)::int FROM tally_ledger) AS ledger`
  yield* Metric.update(inboxPending, row!.inbox)
  yield* Metric.update(eventsWaiting, row!.waiting)
  yield* Metric.update(ledgerRows, row!.ledger)
})
