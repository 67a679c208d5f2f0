import { pendingTemplates } from "../journal/Ledger.ts"
import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { hourMillis } from "../bandit/Window.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import { AttributeStatistics } from "./AttributeStatistics.ts"
import { Learning } from "./Learning.ts"

/** Days without traffic after which a template's model is no longer refitted. */
const refittedDays = 14

interface Key {
  readonly orgSlug: string
  readonly templateId: string
}

/**
 * Returns the templates with rows in the ledger, without those whose fold has stopped. The plan is made for each call: an
 * idle ledger has no pages after a vacuum, and a plan for no pages scans the whole ledger for each template.
 */
export const findPending = (sql: SqlClient.SqlClient) =>
  sql<Key>`
    WITH RECURSIVE ${pendingTemplates(sql)}
    SELECT t.org_slug, t.template_id FROM t
    WHERE NOT EXISTS (
      SELECT 1 FROM fold_attempts a
      WHERE a.org_slug = t.org_slug AND a.template_id = t.template_id AND a.stopped_at IS NOT NULL)`.unprepared

/**
 * Wakes the actors of this process that have work (every node wakes its own actors). Every second, wakes the templates
 * with ledger rows. Twice a minute, wakes the templates whose model is older than the tallies (after a crash) and, if
 * they had traffic in the last 14 days, than the current hour, because maturity and windows move with time.
 */
export const layer = Layer.effectDiscard(Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* Clock.Clock
  const learning = yield* Learning
  const statistics = yield* AttributeStatistics

  const stale = Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    return sql<Key>`
      SELECT s.org_slug, s.template_id FROM bandit_states s
      LEFT JOIN models m ON m.org_slug = s.org_slug AND m.template_id = s.template_id
      WHERE s.fitted_revision IS DISTINCT FROM s.revision OR m.fitted_at IS NULL
        OR (m.fitted_at < ${new Date(Math.floor(now / hourMillis) * hourMillis)}
          AND s.folded_at > ${new Date(now - refittedDays * 24 * hourMillis)})`
  })

  const wakeAll = (isStale: boolean) => (keys: ReadonlyArray<Key>) =>
    Effect.forEach(keys, ({ orgSlug, templateId }) => learning.wake(orgSlug, templateId, isStale), { discard: true })

  const repeated = <E>(
    what: string,
    effect: Effect.Effect<unknown, E>,
    pause: "1 second" | "5 seconds" | "30 seconds",
  ) =>
    effect.pipe(
      asJob(what),
      Effect.catchCause((cause) => Effect.logDebug(`${what} failed and will be retried`, cause)),
      Effect.repeat(Schedule.spaced(pause)),
      Effect.forkScoped,
    )

  yield* repeated("The sweep of the ledger", Effect.flatMap(findPending(sql), wakeAll(false)), "1 second")
  yield* repeated("The sweep of models", Effect.flatMap(stale, wakeAll(true)), "30 seconds")
  yield* repeated("Writing the counts of attributes", statistics.flush, "5 seconds")
  yield* Effect.addFinalizer(() => Effect.ignore(statistics.flush))
}))
