import { templateRows } from "../templates/TemplateRows.ts"
import { hasRows } from "../journal/Ledger.ts"
import { Cause, Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { isByCircumstance, isSpent, maxAttempts, reasonOf, unfinishedReason } from "../store/Attempts.ts"
import { bounded } from "../store/bounded.ts"

// Attempts to fold the ledger of a template, by the rule of `store/Attempts`. A template whose folding has stopped does
// not delay others, and its ledger does not wake it.

/** A template whose ledger is no longer folded. */
export interface StoppedFold {
  readonly templateId: string
  readonly stoppedAt: Date
  readonly reason: string
}

/** Reads the templates of an organization whose folding has stopped, except deleted templates. */
export const readStopped = (sql: SqlClient.SqlClient, org: string) =>
  sql<StoppedFold>`
    SELECT a.template_id, a.stopped_at, coalesce(a.reason, '') AS reason FROM fold_attempts a
    JOIN ${sql.literal(templateRows)} ON t.org_slug = a.org_slug AND t.id = a.template_id
    WHERE a.org_slug = ${org} AND a.stopped_at IS NOT NULL ORDER BY a.template_id`

/** Deletes the attempts, so that stopped folding starts again. */
export const clear = (sql: SqlClient.SqlClient, org: string, template: string) =>
  sql`DELETE FROM fold_attempts a WHERE a.org_slug = ${org} AND a.template_id = ${template}`

/** Returns the operations on the attempts of one template, for its actor. */
export const make = (sql: SqlClient.SqlClient, org: string, template: string) => {
  // The stored attempt failed because of external circumstances, so the next attempt reuses its number.
  let isRepeated = false

  /** Stores an attempt and returns its number. Returns undefined if the ledger is empty or folding has stopped. */
  const begin = Effect.fnUntraced(function* () {
    const now = new Date(yield* Clock.currentTimeMillis)
    const [row] = yield* sql<{ attempts: number }>`
      INSERT INTO fold_attempts AS a (org_slug, template_id, attempts, attempted_at)
      SELECT ${org}, ${template}, 1, ${now}::timestamptz WHERE ${hasRows(sql, org, template)}
      ON CONFLICT (org_slug, template_id) DO UPDATE SET attempts = a.attempts + ${isRepeated ? 0 : 1}::int,
        attempted_at = EXCLUDED.attempted_at
      WHERE a.stopped_at IS NULL
      RETURNING a.attempts`
    isRepeated = false
    return row?.attempts
  })

  const stop = Effect.fnUntraced(function* (reason: string) {
    const now = new Date(yield* Clock.currentTimeMillis)
    yield* sql`
      UPDATE fold_attempts a SET attempts = ${maxAttempts}, stopped_at = ${now}, reason = coalesce(a.reason, ${reason})
      WHERE a.org_slug = ${org} AND a.template_id = ${template} AND a.stopped_at IS NULL`
    yield* Effect.logError(
      "A template has stopped learning, because its ledger could not be folded. Run `parlance learning resume`, or rebuild its counts",
      { template: `${org}/${template}`, reason },
    )
  })

  const fail = Effect.fnUntraced(function* (attempts: number, reason: string) {
    yield* sql`
      UPDATE fold_attempts a SET reason = ${reason} WHERE a.org_slug = ${org} AND a.template_id = ${template}`
    if (isSpent(attempts)) yield* stop(reason)
  })

  // Best effort, because the service is shutting down.
  const takeBack = sql`
    UPDATE fold_attempts a SET attempts = a.attempts - 1
    WHERE a.org_slug = ${org} AND a.template_id = ${template} AND a.attempts > 0`
    .pipe(bounded("1 second"), Effect.ignore)

  /**
   * Runs `fold`, which calls `succeed` in its transaction, as one attempt. Returns undefined without running it if the
   * ledger is empty or folding has stopped.
   */
  const attempt = Effect.fnUntraced(function* <A, E>(
    fold: Effect.Effect<A, E>,
  ): Effect.fn.Return<A | undefined, E | SqlError> {
    const attempts = yield* begin()
    if (attempts === undefined) return undefined
    if (attempts > maxAttempts) {
      yield* stop(unfinishedReason)
      return undefined
    }
    return yield* Effect.onError(fold, (cause) => {
      if (!isByCircumstance(cause)) return Effect.ignore(fail(attempts, reasonOf(cause)))
      if (Cause.hasInterrupts(cause)) return takeBack
      isRepeated = true
      return Effect.void
    })
  })

  /** Marks the attempt as successful, inside the transaction of the fold. */
  const succeed = sql`
    UPDATE fold_attempts a SET attempts = 0, reason = NULL
    WHERE a.org_slug = ${org} AND a.template_id = ${template} AND a.stopped_at IS NULL`

  return { attempt, succeed }
}
