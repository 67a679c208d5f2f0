import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug, TemplateId } from "../domain/Ids.ts"
import { report } from "./EndReports.ts"
import { chunks, learnSpellings, lookedUp, repeated, type Work } from "../erasure/Work.ts"

/** Cancels queued messages to the people, and removes address and content from their other messages. */
export const eraseDeliveries = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sizes, sql } = work
  for (const some of chunks(names.spellings().filter((name) => name.includes("@")), lookedUp)) {
    yield* repeated(
      sizes.changes,
      work.step(Effect.gen(function* () {
        const rows = yield* sql<{ id: string; templateId: TemplateId; before: string }>`
          WITH was AS MATERIALIZED (
            SELECT d.id, d.state FROM deliveries d WHERE d.org_slug = ${org} AND d.email = ANY(${some}::text[])
            LIMIT ${sizes.changes} FOR UPDATE)
          UPDATE deliveries d SET email = NULL, address_key = NULL, vars = NULL, links = NULL, message_id = NULL,
            state = CASE WHEN d.state = 'queued' THEN 'cancelled' ELSE d.state END,
            finished_at = CASE WHEN d.state = 'sending' THEN NULL ELSE COALESCE(d.finished_at, now()) END,
            reason = CASE WHEN d.state = 'queued' THEN 'Cancelled: the recipient was erased'
              WHEN d.reason IS NULL THEN NULL ELSE 'Erased' END
          FROM was WHERE d.org_slug = ${org} AND d.id = was.id
          RETURNING d.id, d.template_id, was.state AS before`
        const cancelled = rows.filter(({ before }) => before === "queued")
        if (cancelled.length > 0) {
          yield* sql`
            INSERT INTO delivery_counts AS c (org_slug, hour, state, count)
            VALUES (${org}, date_bin('1 hour', now(), 'epoch'), 'cancelled', ${cancelled.length})
            ON CONFLICT (org_slug, hour, state) DO UPDATE SET count = c.count + EXCLUDED.count`
          yield* report(
            sql,
            org as OrgSlug,
            cancelled.map(({ id, templateId }) => ({ id, templateId, _tag: "cancelled" })),
          )
        }
        work.count("deliveries", rows.length)
        work.count("cancelled", cancelled.length)
        work.keep("deliveries", rows.length)
        work.keep("deliveries_leaving", rows.filter(({ before }) => before === "sending").length)
        const [keys] = yield* sql<{ count: number }>`
          SELECT count(*)::int AS count FROM idempotency_keys k
          WHERE k.org_slug = ${org} AND k.delivery_id = ANY(${rows.map(({ id }) => id)}::text[])`
        work.keep("idempotency_keys", keys!.count)
        return rows.length
      })),
    )
  }
})

/** Collects the spellings of the people's addresses in messages. */
export const learnDeliveryNames = (work: Work) =>
  learnSpellings(work, "deliveries", "email", work.sql`t.email IS NOT NULL`)
