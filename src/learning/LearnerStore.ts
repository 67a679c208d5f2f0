import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { ModelSnapshot } from "../bandit/Model.ts"
import type { RevenueRule } from "../bandit/Revenue.ts"
import type { VerdictState } from "../bandit/VerdictState.ts"
import { hourMillis } from "../bandit/Window.ts"
import type { NewNotification } from "../accounts/notifications/Kinds.ts"
import { notify } from "../accounts/notifications/Notify.ts"
import type { OpenRequest } from "./Engine.ts"
import * as FoldAttempts from "./FoldAttempts.ts"
import type { FittedModel } from "./LearnerState.ts"
import type { Models } from "./Models.ts"
import { followRule } from "./RevenueRecount.ts"
import { readRepeats } from "./RepeatTallies.ts"
import * as Tallies from "./Tallies.ts"

/** All stored data about a template's learning, read in one snapshot. */
interface StoredLearning extends Omit<OpenRequest, "objective"> {
  /** Revision of the tallies. */
  readonly revision: number
  /** Version of the published model. 0 before the first. */
  readonly version: number
  /** Whether the published model was fitted to the tallies of this revision. */
  readonly isFitted: boolean
}

/** A folded batch of the ledger. */
interface FoldedBatch extends Tallies.Folded {
  /** Whether there may be more rows. */
  readonly isFull: boolean
  /** Revision of the tallies after the fold. Undefined if the batch is empty. */
  readonly revision: number | undefined
}

/** A learner's access to the store, for its own template. */
export interface LearnerStore {
  /**
   * Reads the tallies of the template. If revenue was counted by another rule so far, counts it again first. `now` is
   * in Unix milliseconds. Fails with `SqlError` if the database does not respond.
   */
  readonly read: (rule: RevenueRule | undefined, now: number) => Effect.Effect<StoredLearning, SqlError>
  /**
   * Runs `fold` as a counted attempt (see `FoldAttempts`). Returns undefined without running it if the ledger is empty
   * or folding has stopped. Fails with the error of `fold`, and with `SqlError` if the attempt cannot be stored.
   */
  readonly attempt: <A, E>(fold: Effect.Effect<A, E>) => Effect.Effect<A | undefined, E | SqlError>
  /**
   * Moves one batch of the ledger into the tallies in one transaction, inside an attempt. `now` is in Unix
   * milliseconds. Fails with `SqlError` if the database does not respond.
   */
  readonly fold: (now: number) => Effect.Effect<FoldedBatch, SqlError>
  /**
   * Returns the revision of the tallies, or undefined before the first fold. Fails with `SqlError` if the database does
   * not respond.
   */
  readonly revision: Effect.Effect<number | undefined, SqlError>
  /**
   * Stores a model and uses it for the decisions of this node. Returns false if its version has been published already.
   * Fails with `SqlError` if the database does not respond.
   */
  readonly publish: (fitted: FittedModel) => Effect.Effect<boolean, SqlError>
}

const readStored = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, org: string, template: string) {
  // Reads state and tallies in one snapshot. Otherwise a fold between the two reads would count twice or not at all.
  yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`
  const [state] = yield* sql<{ readonly revision: number; readonly isFitted: boolean }>`
    SELECT s.revision::float8 AS revision, s.fitted_revision IS NOT DISTINCT FROM s.revision AS is_fitted
    FROM bandit_states s
    WHERE s.org_slug = ${org} AND s.template_id = ${template}`
  const [latest] = yield* sql<{ version: number; snapshot: ModelSnapshot }>`
    SELECT m.version::float8 AS version, m.snapshot FROM models m
    WHERE m.org_slug = ${org} AND m.template_id = ${template}`
  const tallies = yield* Tallies.readTallies(sql, org, template)
  return {
    revision: state?.revision ?? 0,
    version: latest?.version ?? 0,
    isFitted: state?.isFitted ?? true,
    tallies: tallies.filter(({ track }) => track === "learned"),
    delays: yield* Tallies.readDelays(sql, org, template),
    variantDelays: yield* Tallies.readVariantDelays(sql, org, template),
    repeats: yield* readRepeats(sql, org, template),
    model: latest?.snapshot ?? null,
  }
})

/** Raises the revision of the tallies and returns it. The first fold of an hour also rolls the tallies up. */
const raiseRevision = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  now: number,
) {
  const [row] = yield* sql<{ revision: number; rolledUpAt: Date }>`
    INSERT INTO bandit_states AS s (org_slug, template_id, revision, folded_at, rolled_up_at)
    VALUES (${org}, ${template}, 1, ${new Date(now)}, ${new Date(now)})
    ON CONFLICT (org_slug, template_id) DO UPDATE SET revision = s.revision + 1, folded_at = EXCLUDED.folded_at
    RETURNING s.revision::float8 AS revision, s.rolled_up_at`
  if (Math.floor(row!.rolledUpAt.getTime() / hourMillis) !== Math.floor(now / hourMillis)) {
    yield* Tallies.rollUp(sql, org, template, now)
    yield* sql`
      UPDATE bandit_states s SET rolled_up_at = ${new Date(now)}
      WHERE s.org_slug = ${org} AND s.template_id = ${template}`
  }
  return row!.revision
})

/** Returns the winner of a verdict, or null without one. */
const winnerOf = (verdict: VerdictState | undefined) =>
  verdict?.verdict === "winner" || verdict?.verdict === "firm_winner"
    ? { copy_id: verdict.winner!, verdict: verdict.verdict }
    : null

/** Returns the notification of a winner, if it is new or has newly become a firm winner. */
export const winnerFound = (
  org: string,
  template: string,
  before: VerdictState | undefined,
  after: VerdictState | undefined,
): ReadonlyArray<NewNotification> => {
  const known = winnerOf(before)
  const found = winnerOf(after)
  if (found === null || (known?.copy_id === found.copy_id && known.verdict === found.verdict)) return []
  const { contenders, since } = after!
  const data = { org, template_id: template, ...found, compared: contenders, found_at: new Date(since).toISOString() }
  return [{ kind: "winner.found", data, to: { role: "viewer" } }]
}

/** Returns the store of one template's learner. With `isTraced`, folds return the traces of their ledger rows. */
export const make = (
  sql: SqlClient.SqlClient,
  models: Models["Service"],
  { isTraced, org, template }: { readonly org: string; readonly template: string; readonly isTraced: boolean },
): LearnerStore => {
  const attempts = FoldAttempts.make(sql, org, template)

  const fold = (now: number) =>
    sql.withTransaction(Effect.gen(function* () {
      const folded = yield* Tallies.fold(sql, org, template, now, isTraced)
      const revision = folded.rows === 0 ? undefined : yield* raiseRevision(sql, org, template, now)
      yield* attempts.succeed
      return { ...folded, isFull: Tallies.isFull(folded), revision }
    }))

  const revision = Effect.map(
    sql<{ revision: number }>`
      SELECT s.revision::float8 AS revision FROM bandit_states s
      WHERE s.org_slug = ${org} AND s.template_id = ${template}`,
    ([row]) => row?.revision,
  )

  const publish = Effect.fnUntraced(function* ({ answer, fit }: FittedModel) {
    const publication = { org, template, version: fit.version, model: answer.model }
    const isWritten = yield* sql.withTransaction(Effect.gen(function* () {
      yield* sql`LOCK TABLE bandit_states IN ROW EXCLUSIVE MODE NOWAIT`
      // Compared with the stored model, so that a winner is announced once, regardless of the nodes' memory.
      const { verdict } = answer.model
      const [before] = winnerOf(verdict) === null ? [] : yield* sql<{ verdict: VerdictState | null }>`
        SELECT m.snapshot->'verdict' AS verdict FROM models m
        WHERE m.org_slug = ${org} AND m.template_id = ${template} FOR UPDATE`
      if (!(yield* models.write(publication))) return false
      yield* notify(sql, winnerFound(org, template, before?.verdict ?? undefined, verdict))
      yield* sql`
        UPDATE bandit_states s SET fitted_revision = ${fit.revision},
          contribution = ${answer.contribution === null ? null : JSON.stringify(answer.contribution)}::text::json
        WHERE s.org_slug = ${org} AND s.template_id = ${template}`
      return true
    }))
    if (isWritten) models.adopt(publication)
    return isWritten
  })

  return {
    read: (rule, now) =>
      Effect.andThen(
        followRule(sql, org, template, rule, now),
        sql.withTransaction(readStored(sql, org, template)),
      ),
    attempt: attempts.attempt,
    fold,
    revision,
    publish,
  }
}
