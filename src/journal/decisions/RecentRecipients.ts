import { Clock, Context, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { decodeContext, ownNames } from "../../bandit/Contexts.ts"
import { noMessage } from "./Decision.ts"

/** A recent recipient of a template. */
export interface RecentRecipient {
  readonly user: string
  readonly variant: string
  readonly decidedAt: Date
  /**
   * The request's attributes as far as they are stored with the decision, without the attributes that the service adds.
   */
  readonly attrs: ReadonlyMap<string, string>
}

/** Maximum number of recipients in a list. */
const listed = 20

/** Maximum number of decisions that are read. More than recipients, because a user may have several decisions. */
const read = 200

/** Periods that are searched in turn until there are enough recipients. */
const windows = (["1 minute", "10 minutes", "1 hour", "6 hours", "1 day", "7 days", "30 days"] as const).map(
  (window) => Duration.toMillis(window),
)

/**
 * If a search takes longer, it is the last, because the next would take about six times as long. Unit: milliseconds.
 */
const patience = 200

/** Attributes that the service adds to the attributes of a request. */

interface Row {
  readonly userId: string
  readonly copyId: string
  readonly decidedAt: Date
  readonly segment: string
  readonly further: string | null
}

const recipientOf = ({ copyId, decidedAt, further, segment, userId }: Row): RecentRecipient => ({
  user: userId,
  variant: copyId,
  decidedAt,
  attrs: new Map(
    [...decodeContext(segment), ...decodeContext(further ?? "")].filter(([name]) => !ownNames.has(name)),
  ),
})

/** Returns the latest decision of each user, latest user first. */
const latestOf = (rows: ReadonlyArray<Row>): ReadonlyArray<Row> => {
  const users = new Map<string, Row>()
  for (const row of rows) if (!users.has(row.userId)) users.set(row.userId, row)
  return [...users.values()].slice(0, listed)
}

/** The last 20 recipients of a template. A database failure is a defect. */
export class RecentRecipients extends Context.Service<RecentRecipients, {
  /**
   * Lists recipients, latest first. Searches the last 30 days, or fewer days if there are too many decisions to search
   * quickly.
   */
  readonly list: (org: string, template: string) => Effect.Effect<ReadonlyArray<RecentRecipient>>
}>()("parlance/journal/decisions/RecentRecipients") {
  static readonly layer = Layer.effect(
    RecentRecipients,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const list = Effect.fn("RecentRecipients.list")(
        function* (org: string, template: string) {
          let found: ReadonlyArray<Row> = []
          for (const window of windows) {
            const begun = yield* Clock.currentTimeMillis
            const rows = yield* sql<Row>`
              SELECT d.user_id, d.copy_id, d.decided_at, d.segment, d.further FROM decisions d
              WHERE d.org_slug = ${org} AND d.template_id = ${template} AND d.user_id IS NOT NULL
                AND d.copy_id <> ${noMessage} AND d.decided_at >= ${new Date(begun - window)}
              ORDER BY d.decided_at DESC LIMIT ${read}`
            found = latestOf(rows)
            if (found.length === listed || (yield* Clock.currentTimeMillis) - begun > patience) break
          }
          return found.map(recipientOf)
        },
        Effect.catchTag("SqlError", Effect.die),
      )
      return RecentRecipients.of({ list })
    }),
  )
}
