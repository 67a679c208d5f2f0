import type { SqlClient } from "effect/sql"
import { readEvents } from "../journal/events/DecisionEvents.ts"

/** The columns of a decision from which histories are made. */
export interface SettledDecision {
  readonly trackingId: string
  readonly templateId: string
  readonly copyId: string
  readonly userId: string | null
  readonly decidedAt: Date
}

/** The events of each of these decisions of an organization, in order. */
export const eventsOf = (sql: SqlClient.SqlClient, org: string, rows: ReadonlyArray<SettledDecision>) =>
  readEvents(
    sql,
    rows.map(({ copyId, decidedAt, templateId, trackingId }) => ({
      org,
      trackingId,
      templateId,
      copyId,
      // The keys of tallies carry no information about when people open messages.
      context: "",
      forced: false,
      user: undefined,
      decidedAt: decidedAt.getTime(),
    })),
  )
