import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { organizationRows } from "../organizations/OrganizationRows.ts"
import type { OrgSlug, TemplateId } from "../domain/Ids.ts"
import type { BrakeState } from "./Brake.ts"
import { countEnded, report } from "./EndReports.ts"

/** A lane that this process owns: no other process sends for the organization. */
export interface Lane {
  readonly org: OrgSlug
  readonly fence: number
}

/** Refusals through a connection, stored for the next owner of the lane. */
export interface RememberedBrake {
  /** Version of the connection's configuration at that time. */
  readonly version: string
  readonly state: BrakeState | null
}

/** A lane that was just claimed. */
export interface TakenLane extends Lane {
  readonly quietMillis: number
  /** Number of messages that failed because they were interrupted too often. */
  readonly failed: number
  /** State of the previous owner. */
  readonly brake: RememberedBrake | null
}

/** Duration of a lane's lease after each renewal. Unit: seconds. */
export const leaseSeconds = 4

/**
 * A message with this many consecutive interrupted attempts is suspected of causing the interruptions. It moves behind
 * all other due messages and is sent alone, so that the next interruption counts against this message only.
 */
export const suspectAfter = 2

/** A message fails after this many consecutive interrupted attempts. */
const interruptionsAtMost = 5

const interruptedReason =
  `The service stopped, or lost contact with its store, ${interruptionsAtMost} times in a row while it sent this message. ` +
  "The platform may have accepted it: look there before you retry the delivery"

/** The leases of lanes. */
export const makeLeases = (sql: SqlClient.SqlClient) => {
  // A lease that ends at this instant has expired.
  const idle = Effect.map(
    sql<{ slug: OrgSlug }>`
      SELECT o.slug FROM ${sql.literal(organizationRows())}
      LEFT JOIN dispatch_lanes l ON l.org_slug = o.slug
      WHERE (l.org_slug IS NULL OR l.lease_until <= now()) AND (
        EXISTS (SELECT 1 FROM deliveries d WHERE d.org_slug = o.slug AND d.state = 'sending')
        OR EXISTS (SELECT 1 FROM deliveries d
          WHERE d.org_slug = o.slug AND d.state = 'queued' AND d.due_at <= now()))`,
    (rows) => rows.map(({ slug }) => slug),
  )

  const take = Effect.fn("Outbox.take")((org: OrgSlug, owner: string) =>
    sql.withTransaction(Effect.gen(function* () {
      // Read the previous lease in a separate statement: RETURNING of the upsert sees only the new row.
      const [before] = yield* sql<{ quietMillis: number }>`
        SELECT (1000 * (1 - extract(epoch FROM now() - b.lease_until)))::float8 AS quiet_millis
        FROM dispatch_lanes b WHERE b.org_slug = ${org} FOR UPDATE`
      const [taken] = yield* sql<{ fence: number; brake: RememberedBrake | null }>`
        INSERT INTO dispatch_lanes AS l (org_slug, fence, owner, lease_until)
        VALUES (${org}, 1, ${owner}, now() + ${leaseSeconds} * interval '1 second')
        ON CONFLICT (org_slug) DO UPDATE SET fence = l.fence + 1, owner = EXCLUDED.owner,
          lease_until = EXCLUDED.lease_until, sent_per_second = 0
          WHERE l.lease_until <= now()
        RETURNING l.fence::float8 AS fence, l.brake`
      if (taken === undefined) return undefined
      const failed = yield* interrupt({ org, fence: taken.fence })
      return { org, ...taken, quietMillis: Math.max(0, before?.quietMillis ?? 0), failed }
    }))
  )

  /** Ends attempts of all earlier owners. Returns the number of messages that failed because of it. */
  const interrupt = Effect.fnUntraced(function* ({ fence, org }: Lane) {
    const failed = yield* sql<{ id: string; templateId: TemplateId }>`
      WITH updated AS (
        UPDATE deliveries d SET interruptions = d.interruptions + 1,
          state = CASE WHEN d.email IS NULL THEN 'cancelled'
            WHEN d.interruptions + 1 >= ${interruptionsAtMost} THEN 'failed' ELSE 'queued' END,
          reason = CASE WHEN d.interruptions + 1 >= ${interruptionsAtMost} THEN ${interruptedReason} ELSE d.reason END,
          due_at = CASE WHEN d.interruptions + 1 >= ${suspectAfter} THEN now() ELSE d.due_at END,
          finished_at = CASE WHEN d.email IS NULL OR d.interruptions + 1 >= ${interruptionsAtMost} THEN now() END
        WHERE d.org_slug = ${org} AND d.state = 'sending' AND d.fence < ${fence}
        RETURNING d.id, d.template_id, d.state, 0 AS burned
      ), ${countEnded(sql, org)}
      SELECT u.id, u.template_id FROM updated u WHERE u.state = 'failed'`
    yield* report(sql, org, failed.map((one) => ({ ...one, _tag: "failed" })))
    return failed.length
  })

  const renew = ({ fence, org }: Lane, sentPerSecond: number) =>
    Effect.map(
      sql`
        UPDATE dispatch_lanes l SET lease_until = now() + ${leaseSeconds} * interval '1 second',
          sent_per_second = ${sentPerSecond}
        WHERE l.org_slug = ${org} AND l.fence = ${fence} RETURNING l.fence`,
      (rows) => rows.length > 0,
    )

  const release = ({ fence, org }: Lane) =>
    Effect.asVoid(sql`
      UPDATE dispatch_lanes l SET lease_until = now(), sent_per_second = 0
      WHERE l.org_slug = ${org} AND l.fence = ${fence}`)
  return { idle, release, renew, take }
}
