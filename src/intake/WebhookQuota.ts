import { Clock, Context, Effect, Layer, Metric, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { OrganizationNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { sandboxOf } from "../domain/Sandbox.ts"
import type { Usage } from "../domain/Usage.ts"
import { organizationRows, writeWebhookQuota } from "../organizations/OrganizationRows.ts"
import { Settings } from "../settings/Settings.ts"
import { tell } from "../store/ChangeTrail.ts"
import { recordset } from "../store/Recordset.ts"
import { DailyBytes, dayOf, nextDay } from "./DailyBytes.ts"

/** The organization has reached its daily quota of webhook bytes. */
export class QuotaReached extends Schema.TaggedError<QuotaReached>()("QuotaReached", {
  quota: Schema.Int,
  /** Unit: seconds. */
  retryAfterSeconds: Schema.Int,
}) {
  override get message() {
    return `The organization has stored the ${this.quota} bytes of webhook bodies that it may store in a day (UTC)`
  }
}

/** Interval at which each node adds its bytes to the table and reads the total of all nodes. */
const exchangeEvery = "1 second"

/** How long usage is kept. Unit: days. */
const keptDays = 35

/**
 * Maximum time after which a sender should retry, even if the day lasts longer, because the quota may be raised. Unit:
 * seconds.
 */
const longestRetry = 3600

/** Bytes of webhook bodies and their headers that this process stored. */
const storedBytes = Metric.counter("parlance_webhook_bytes_total", { incremental: true })
/** Webhook bodies that this process refused with 429 because of their organization's quota. */
const refusedBodies = Metric.counter("parlance_webhook_quota_refused_total", { incremental: true })

/** Adds the bytes of this node to the table. Returns the use of each organization on all nodes, with its own quota. */
const addUse = (sql: SqlClient.SqlClient, reports: ReturnType<DailyBytes["takeReports"]>) =>
  sql<{ org: string; day: string; bytes: number; quota: number | null }>`
    WITH given AS MATERIALIZED (
      SELECT r.* FROM ${recordset(reports, { org: "text", day: "date", bytes: "bigint", refused: "bigint" })}
    ), added AS (
      INSERT INTO webhook_usage AS u (org_slug, day, bytes, refused)
      SELECT g.org, g.day, g.bytes, g.refused FROM given g JOIN ${sql.literal(organizationRows())} ON o.slug = g.org
      ORDER BY g.org, g.day
      ON CONFLICT (org_slug, day) DO UPDATE SET bytes = u.bytes + EXCLUDED.bytes,
        refused = u.refused + EXCLUDED.refused
      RETURNING u.org_slug, u.day, u.bytes
    )
    SELECT a.org_slug AS org, a.day::text AS day, a.bytes::float8 AS bytes, o.webhook_daily_bytes::float8 AS quota
    FROM added a JOIN ${sql.literal(organizationRows("webhook_daily_bytes"))} ON o.slug = a.org_slug`

/** Reads what an organization has stored today, as reported so far, and its own quota. */
const readUse = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, org: OrgSlug, now: number) {
  const [row] = yield* sql<{ bytes: number; refused: number; quota: number | null }>`
    SELECT coalesce(u.bytes, 0)::float8 AS bytes, coalesce(u.refused, 0)::float8 AS refused,
      o.webhook_daily_bytes::float8 AS quota
    FROM ${sql.literal(organizationRows("webhook_daily_bytes"))}
    LEFT JOIN webhook_usage u ON u.org_slug = o.slug AND u.day = ${dayOf(now)}::date
    WHERE o.slug = ${org}`
  return row ?? (yield* new OrganizationNotFound({ id: org }))
})

/**
 * Enforces the daily quota of webhook bodies. Requests cause no write: each node counts in memory, and once a second it
 * adds its bytes to a table and reads the bytes of the other nodes. Therefore an organization can exceed its quota by
 * up to two seconds of traffic, and a killed process loses up to a second of its count.
 */
export class WebhookQuota extends Context.Service<WebhookQuota, {
  /** Fails with `QuotaReached`, and counts the refusal, if the organization has reached its quota of today. */
  readonly check: (org: string) => Effect.Effect<void, QuotaReached>
  /** Adds stored bytes to the count. */
  readonly add: (org: string, bytes: number) => void
  /**
   * Adds this node's new bytes to the table, and reads the bytes of the other nodes. Fails with `SqlError` if the
   * database does not respond.
   */
  readonly exchange: Effect.Effect<void, SqlError>
  /**
   * Bytes that the organization stored today, on all nodes. Fails with `OrganizationNotFound` for an unknown
   * organization.
   */
  readonly usage: (org: OrgSlug) => Effect.Effect<Usage, OrganizationNotFound>
  /**
   * Sets the quota of an organization; null for the installation's default. Other nodes apply it within seconds. Fails
   * with `OrganizationNotFound` for an unknown organization.
   */
  readonly setQuota: (org: OrgSlug, bytes: number | null) => Effect.Effect<Usage, OrganizationNotFound>
}>()("parlance/intake/WebhookQuota") {
  static readonly layer = Layer.effect(
    WebhookQuota,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const { webhookDailyBytes } = yield* Settings
      const use = new DailyBytes(Option.getOrUndefined(webhookDailyBytes))
      yield* Metric.update(storedBytes, 0)
      yield* Metric.update(refusedBodies, 0)

      const check = (org: string): Effect.Effect<void, QuotaReached> => {
        const now = clock.currentTimeMillisUnsafe()
        if (use.admits(org, now)) return Effect.void
        refusedBodies.updateUnsafe(1, Context.empty())
        return new QuotaReached({
          quota: use.quotaOf(org)!,
          retryAfterSeconds: Math.min(longestRetry, Math.ceil((nextDay(now) - now) / 1000)),
        })
      }

      const add = (org: string, bytes: number) => {
        storedBytes.updateUnsafe(bytes, Context.empty())
        use.add(org, bytes, clock.currentTimeMillisUnsafe())
      }

      const exchange = Effect.suspend(() => {
        const reports = use.takeReports(clock.currentTimeMillisUnsafe())
        if (reports.length === 0) return Effect.void
        return addUse(sql, reports).pipe(
          Effect.tapError(() => Effect.sync(() => use.restore(reports))),
          Effect.map((rows) => use.learn(rows)),
        )
      })

      const usage = Effect.fn("WebhookQuota.usage")(function* (org: OrgSlug) {
        const now = clock.currentTimeMillisUnsafe()
        const { bytes, quota, refused } = yield* Effect.catchTag(readUse(sql, org, now), "SqlError", Effect.die)
        const unreported = use.unreported(org, now)
        return {
          day: dayOf(now),
          webhook_bytes: bytes + unreported.bytes,
          webhook_daily_bytes: quota ?? use.otherwise ?? null,
          webhook_refused: refused + unreported.refused,
          resets_at: new Date(nextDay(now)).toISOString(),
        }
      })

      const setQuota = Effect.fn("WebhookQuota.setQuota")(function* (org: OrgSlug, bytes: number | null) {
        const { after, before } = yield* sql.withTransaction(Effect.gen(function* () {
          const before = yield* readUse(sql, org, clock.currentTimeMillisUnsafe())
          yield* writeWebhookQuota(sql, org, bytes)
          return { before: before.quota, after: bytes }
        })).pipe(Effect.catchTag("SqlError", Effect.die))
        for (const slug of [org, sandboxOf(org)]) use.setQuota(slug, bytes)
        yield* tell("organization", org, { "/webhook_daily_bytes": before }, { "/webhook_daily_bytes": after })
        return yield* usage(org)
      })

      use.learn(
        yield* sql<{ org: string; day: string; bytes: number; quota: number | null }>`
          SELECT o.slug AS org, ${dayOf(clock.currentTimeMillisUnsafe())} AS day, coalesce(u.bytes, 0)::float8 AS bytes,
            o.webhook_daily_bytes::float8 AS quota
          FROM ${sql.literal(organizationRows("webhook_daily_bytes"))} LEFT JOIN webhook_usage u
            ON u.org_slug = o.slug AND u.day = ${dayOf(clock.currentTimeMillisUnsafe())}::date
          WHERE u.bytes > 0 OR o.webhook_daily_bytes IS NOT NULL`,
      )
      yield* exchange.pipe(
        // If the exchange fails, its bytes stay counted here and are part of the next exchange.
        Effect.catch((error) =>
          Effect.logDebug("The use of webhook quotas could not be exchanged and will be retried", error.message)
        ),
        Effect.delay(exchangeEvery),
        Effect.forever,
        Effect.forkScoped,
      )
      yield* sql`DELETE FROM webhook_usage u WHERE u.day < current_date - ${keptDays}::int`.pipe(
        Effect.ignore,
        Effect.andThen(Effect.sleep("1 day")),
        Effect.forever,
        Effect.forkScoped,
      )
      yield* Effect.addFinalizer(() => exchange.pipe(Effect.timeoutOption("1 second"), Effect.ignore))

      return WebhookQuota.of({ check, add, exchange, usage, setQuota })
    }),
  )
}
