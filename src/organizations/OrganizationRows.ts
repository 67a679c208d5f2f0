import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrganizationHoldout } from "../domain/Holdout.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { AllowedDays, QuietHours, TemplateApproval } from "../domain/Organization.ts"
import type { OrganizationTracking, UnsubscribePage } from "../domain/Tracking.ts"
import { followSettings } from "./Sandboxes.ts"

/** Columns of organizations that statements of other folders read. */
type SharedColumn =
  | "conversion_events"
  | "delivery_failure_threshold"
  | "group_opt_outs"
  | "inbox_retention_days"
  | "require_second_factor"
  | "retention_days"
  | "sandbox_of"
  | "soft_bounce_limit"
  | "suppression"
  | "webhook_daily_bytes"

/**
 * Returns SQL for organizations as a table `o` within a larger statement, with the column `slug` and `columns`.
 * PostgreSQL merges it into the statement and plans it like the table itself.
 */
export const organizationRows = (...columns: ReadonlyArray<SharedColumn>): string =>
  `(SELECT ${["slug", ...columns].map((name) => `g.${name}`).join(", ")} FROM organizations g) o`

/** Settings that affect decisions and send times. */
export interface DecisionSettings {
  readonly timeZone: string
  /** Share of traffic chosen uniformly, 0 to 0.2. */
  readonly explorationFloor: number
  /** Applies to templates without their own holdout. */
  readonly holdout: OrganizationHoldout
  /** Whether addresses on the suppression list receive nothing. */
  readonly suppression: boolean
  /** Maximum time from now to a send time. Unit: hours, 1 to 168. */
  readonly delayHorizonHours: number
  /** Hours in which nothing is sent, in the recipient's local time. Null: no quiet hours. */
  readonly quietHours: QuietHours | null
  /** Days on which messages may be sent. Null: every day. */
  readonly allowedDays: AllowedDays | null
  /** ISO 4217 code of the currency of its revenue. Null: values count in any currency. */
  readonly currency: string | null
}

/**
 * Reads the settings that affect decisions. Undefined for an unknown organization. Fails with `SqlError` if the
 * database does not respond.
 */
export const readDecisionSettings = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
): Effect.Effect<DecisionSettings | undefined, SqlError> =>
  Effect.map(
    sql<DecisionSettings>`
      SELECT o.time_zone, o.exploration_floor, o.holdout, o.delay_horizon_hours, o.quiet_hours, o.allowed_days,
        o.suppression, o.currency
      FROM organizations o WHERE o.slug = ${org}`,
    ([row]) => row,
  )

/** Settings of the service's own links, opens and unsubscribes. */
export interface TrackingSettings {
  readonly name: string
  readonly tracking: OrganizationTracking
  readonly unsubscribePage: UnsubscribePage | null
}

/**
 * Reads the tracking settings. Undefined for an unknown organization. Fails with `SqlError` if the database does not
 * respond.
 */
export const readTrackingSettings = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
): Effect.Effect<TrackingSettings | undefined, SqlError> =>
  Effect.map(
    sql<TrackingSettings>`
      SELECT o.name, o.tracking, o.unsubscribe_page FROM organizations o WHERE o.slug = ${org}`,
    ([row]) => row,
  )

/**
 * Sets the webhook bytes that an organization and its sandbox may receive in a day. Null removes the limit. Call it
 * inside the transaction of the change. Fails with `SqlError` if the database does not respond.
 */
export const writeWebhookQuota = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  bytes: number | null,
): Effect.Effect<void, SqlError> =>
  Effect.andThen(
    sql`UPDATE organizations o SET webhook_daily_bytes = ${bytes}::float8::bigint WHERE o.slug = ${org}`,
    followSettings(sql, org),
  )

/**
 * Reads who approves changes to live templates. Returns `none` for an unknown organization. Fails with `SqlError` if
 * the database does not respond.
 */
export const readTemplateApproval = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
): Effect.Effect<TemplateApproval, SqlError> =>
  Effect.map(
    sql<{ templateApproval: TemplateApproval }>`
      SELECT o.template_approval FROM organizations o WHERE o.slug = ${org}`,
    ([row]) => row?.templateApproval ?? "none",
  )

/**
 * Locks an organization's content until the transaction ends, so that changes of content run one after the other. Fails
 * with `SqlError` if the database does not respond.
 */
export const lockContent = (sql: SqlClient.SqlClient, org: OrgSlug): Effect.Effect<void, SqlError> =>
  Effect.asVoid(sql`SELECT 1 FROM organizations o WHERE o.slug = ${org} FOR NO KEY UPDATE`)
