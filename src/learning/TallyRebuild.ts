import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Tally } from "../bandit/Tally.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import * as Ledger from "../journal/Ledger.ts"
import type { HourDelays, VariantDelays } from "./Engine.ts"
import { stopCounting } from "./OutcomesByAttribute.ts"
import { type RepeatTally, replaceRepeats } from "./RepeatTallies.ts"
import * as Tallies from "./Tallies.ts"

// Replaces tallies by counts recomputed from decisions and events.

/**
 * Stops folding, publication and the counting of attributes in all organizations until the transaction ends. Call it
 * first: running folds finish before the transaction takes its snapshot of the data, and later folds are retried.
 */
export const stopFolding = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
): Effect.fn.Return<void, SqlError> {
  yield* sql`LOCK TABLE tallies IN SHARE ROW EXCLUSIVE MODE`
  // A model's state that changed after the snapshot could not be written.
  yield* sql`LOCK TABLE bandit_states IN SHARE ROW EXCLUSIVE MODE`
  yield* stopCounting(sql)
})

/** Reads the ids of the templates with tallies: all templates of an organization, or only `template`. */
export const countedTemplates = (sql: SqlClient.SqlClient, org: OrgSlug, template: string | undefined) =>
  Effect.map(
    sql<{ readonly templateId: string }>`
      SELECT DISTINCT t.template_id FROM tallies t
      WHERE t.org_slug = ${org} AND ${template === undefined ? sql`TRUE` : sql`t.template_id = ${template}`}`,
    (rows) => rows.map(({ templateId }) => templateId),
  )

/** Reads the counts of a template, tallies and ledger together, in the buckets of `now`. */
export const countedTallies = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  template: string,
  now: number,
): Effect.fn.Return<ReadonlyArray<Tally>, SqlError> {
  const sum = new Tallies.TallySum()
  for (const { context, copyId, counts, start, track } of yield* Tallies.readTallies(sql, org, template)) {
    sum.add({ copyId, context, decidedHour: start, track }, counts, undefined, now)
  }
  for (const entry of yield* Ledger.read(sql, org, template)) {
    sum.add({ ...entry, decidedHour: entry.hour }, entry.counts, undefined, now)
  }
  return sum.tallies()
})

/** The counts of a template, computed from its decisions and events. */
interface TrueTallies {
  readonly tallies: ReadonlyArray<Tally>
  readonly delays: ReadonlyArray<HourDelays>
  readonly variantDelays: ReadonlyArray<VariantDelays>
  readonly repeats: ReadonlyArray<RepeatTally>
}

/** Replaces a template's stored tallies by recomputed ones. Call it in a transaction after `stopFolding`. */
export const replaceTallies = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  template: string,
  truth: TrueTallies,
  now: number,
): Effect.fn.Return<void, SqlError> {
  yield* Ledger.discard(sql, org, template)
  yield* sql`DELETE FROM tallies t WHERE t.org_slug = ${org} AND t.template_id = ${template}`
  yield* sql`DELETE FROM daily_decisions d WHERE d.org_slug = ${org} AND d.template_id = ${template}`
  yield* sql`DELETE FROM delay_tallies d WHERE d.org_slug = ${org} AND d.template_id = ${template}`
  yield* sql`DELETE FROM variant_delay_tallies v WHERE v.org_slug = ${org} AND v.template_id = ${template}`
  yield* Tallies.addTallies(sql, org, template, truth.tallies, now)
  yield* Tallies.addDelays(sql, org, template, truth.delays, truth.variantDelays, now)
  yield* replaceRepeats(sql, org, template, truth.repeats)
  // Adds two, so that a running actor detects a missed fold and reads all counts again.
  yield* sql`
    INSERT INTO bandit_states AS s (org_slug, template_id, revision, folded_at, rolled_up_at)
    VALUES (${org}, ${template}, 2, ${new Date(now)}, ${new Date(now)})
    ON CONFLICT (org_slug, template_id) DO UPDATE SET revision = s.revision + 2, folded_at = EXCLUDED.folded_at,
      rolled_up_at = EXCLUDED.rolled_up_at`
  // Wakes the actor through the ledger, without a change of any count.
  yield* Ledger.appendNothing(sql, org, template)
})
