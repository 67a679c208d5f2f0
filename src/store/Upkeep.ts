import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Store } from "./Store.ts"

/** Every table but that of the migrations, the liveliest first. Partitions go with theirs. */
export const tables: ReadonlyArray<string> = [
  "deliveries",
  "tally_ledger",
  "decisions",
  "decision_keys",
  "tracking_aliases",
  "attribution_links",
  "sticky_choices",
  "send_times",
  "send_advice",
  "timing_tallies",
  "holdout_tallies",
  "models",
  "bandit_states",
  "fold_attempts",
  "tallies",
  "delay_tallies",
  "daily_decisions",
  "inbox",
  "intake_batches",
  "webhook_usage",
  "events",
  "attribute_counts",
  "idempotency_keys",
  "erasures",
  "dispatch_lanes",
  "delivery_counts",
  "profiles",
  "send_time_marks",
  "sessions",
  "sign_in_attempts",
  "one_time_links",
  "second_factors",
  "recovery_codes",
  "invitations",
  "audit_entries",
  "templates",
  "variants",
  "connections",
  "webhook_sources",
  "delivery_minutes",
  "organizations",
  "api_keys",
  "accounts",
  "memberships",
  "key_uses",
  "upkeep_runs",
  "schema_compatibility",
  "signing_keys",
  "cluster_nodes",
  "cluster_shards",
]

/**
 * Reclaims on the embedded store what dead rows hold, and keeps the planner's statistics: a Postgres server has processes
 * of its own for that, PGlite has none.
 */
export const layer = Layer.effectDiscard(Effect.gen(function* () {
  const store = yield* Store
  if (store.kind !== "embedded") return
  const sql = yield* SqlClient.SqlClient
  // One table at a time, so that decisions wait for no more than that.
  yield* Effect.forEach(tables, (table) => sql`VACUUM (ANALYZE) ${sql(table)}`, { discard: true }).pipe(
    Effect.catch((error) => Effect.logWarning("The embedded store could not be vacuumed", error.message)),
    Effect.repeat(Schedule.spaced("2 minutes")),
    Effect.delay("20 seconds"),
    Effect.forkScoped,
  )
}))
