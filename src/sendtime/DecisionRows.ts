import type { SqlClient } from "effect/sql"
import type { SentDecision } from "../journal/decisions/DecisionPages.ts"
import { readEvents } from "../journal/events/DecisionEvents.ts"

/** Reads the events of each of these decisions of an organization, in order. */
export const eventsOf = (sql: SqlClient.SqlClient, org: string, rows: ReadonlyArray<SentDecision>) =>
  readEvents(
    sql,
    rows.map(({ copyId, decidedAt, templateId, trackingId }) => ({
      org,
      trackingId,
      templateId,
      copyId,
      // Context and track are irrelevant to the times at which people open messages.
      context: "",
      forced: false,
      user: undefined,
      decidedAt: decidedAt.getTime(),
    })),
  )
