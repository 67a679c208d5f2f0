import type { SqlClient } from "effect/sql"
import { readEvents } from "../journal/events/DecisionEvents.ts"

/** The columns of a decision from which histories are computed. */
export interface SettledDecision {
  readonly trackingId: string
  readonly templateId: string
  readonly copyId: string
  readonly userId: string | null
  readonly decidedAt: Date
}

/** Reads the events of each of these decisions of an organization, in order. */
export const eventsOf = (sql: SqlClient.SqlClient, org: string, rows: ReadonlyArray<SettledDecision>) =>
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
