import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { CopyId, OrgSlug, TemplateId } from "../domain/Ids.ts"
import { LruMap } from "../json/LruMap.ts"
import type { Decision } from "../journal/decisions/Decision.ts"
import { countStored, insertDecisions } from "../journal/decisions/DecisionLog.ts"
import { insertAliases, type TrackingAlias } from "../journal/decisions/TrackingAliases.ts"

/** The variant that a user keeps, and the decision that chose it first. */
export interface StickyChoice {
  readonly copyId: CopyId
  readonly trackingId: string
  readonly expiresAtMillis: number
  /** Whether the user was held out when the choice was made. */
  readonly control: boolean
}

/** The proposal that a user keeps the variant of a decision. */
export interface StickyClaim {
  readonly decision: Decision & { readonly userId: string }
  readonly expiresAtMillis: number
  /**
   * An existing choice that the claim may replace, because its variant is no longer eligible, or its user has joined or
   * left the holdout.
   */
  readonly replaces: StickyChoice | undefined
}

interface Row {
  readonly copyId: CopyId
  readonly trackingId: string
  readonly expiresAt: Date
  readonly control: boolean
}

const fromRow = (row: Row): StickyChoice => ({
  copyId: row.copyId,
  trackingId: row.trackingId,
  expiresAtMillis: row.expiresAt.getTime(),
  control: row.control,
})

const readChoice = (sql: SqlClient.SqlClient, org: OrgSlug, template: TemplateId, user: string) =>
  Effect.map(
    sql<Row>`
      SELECT s.copy_id, s.tracking_id, s.expires_at, s.control FROM sticky_choices s
      WHERE s.org_slug = ${org} AND s.template_id = ${template} AND s.user_id = ${user}`,
    (rows) => rows[0] === undefined ? undefined : fromRow(rows[0]),
  )

/**
 * Stores a claim with its decision and returns the resulting choice. If the claim won, the choice has the claim's
 * tracking id. If another request was first, nothing is stored. Call it inside a transaction: it locks the user's row,
 * so that the result is valid until the transaction ends.
 */
export const insertClaim = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { decision, expiresAtMillis, replaces }: StickyClaim,
): Effect.fn.Return<StickyChoice, SqlError> {
  const { copyId, org, templateId, trackingId, userId } = decision
  const control = decision.mode === "control"
  const proposal: StickyChoice = { copyId, trackingId, expiresAtMillis, control }
  const won = yield* sql<Row>`
    INSERT INTO sticky_choices AS s (org_slug, template_id, user_id, copy_id, tracking_id, expires_at, control)
    VALUES (${org}, ${templateId}, ${userId}, ${copyId}, ${trackingId}, ${new Date(expiresAtMillis)}, ${control})
    ON CONFLICT (org_slug, template_id, user_id) DO UPDATE SET
      copy_id = EXCLUDED.copy_id, tracking_id = EXCLUDED.tracking_id, expires_at = EXCLUDED.expires_at,
        control = EXCLUDED.control
      WHERE s.expires_at <= ${new Date(decision.decidedAtMillis)}
        OR s.tracking_id = ${replaces?.trackingId ?? trackingId}
    RETURNING s.copy_id, s.tracking_id, s.expires_at, s.control`
  if (won[0] === undefined) return (yield* readChoice(sql, org, templateId, userId)) ?? proposal
  const { existing: [stored = decision] } = yield* insertDecisions(sql, [decision])
  if (stored.copyId === copyId) return fromRow(won[0])
  // A retry of a tracking id whose earlier decision chose another variant. The earlier decision stays.
  yield* sql`
    UPDATE sticky_choices s SET copy_id = ${stored.copyId}
    WHERE s.org_slug = ${org} AND s.template_id = ${templateId} AND s.user_id = ${userId}`
  return { ...fromRow(won[0]), copyId: stored.copyId }
})

// Maximum number of users in memory. Other users cost one read of the store.
const remembered = 100_000

/**
 * The variant of a sticky template that each user keeps. All nodes agree on one choice: if two decide at once, both get
 * the variant of the one row per user in the store.
 */
export class StickyChoices extends Context.Service<StickyChoices, {
  /** Returns the present choice, if any. Fails with `SqlError` if the database does not respond. */
  readonly find: (
    org: OrgSlug,
    template: TemplateId,
    user: string,
  ) => Effect.Effect<StickyChoice | undefined, SqlError>
  /**
   * Stores a claim in its own transaction and returns the resulting choice, see `insertClaim`. Fails with `SqlError` if
   * the database does not respond.
   */
  readonly claim: (claim: StickyClaim) => Effect.Effect<StickyChoice, SqlError>
  /** Caches the choice that resulted from a claim, and counts its decision. Call it after the commit of the claim. */
  readonly committed: (claim: StickyClaim, existing: StickyChoice) => Effect.Effect<void>
  /** Stores one alias. Fails with `SqlError` if the database does not respond. */
  readonly alias: (alias: TrackingAlias) => Effect.Effect<void, SqlError>
}>()("parlance/decide/StickyChoices") {
  static readonly layer = Layer.effect(
    StickyChoices,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const memory = new LruMap<StickyChoice>(remembered)
      const keyOf = (org: string, template: string, user: string) => `${org}\0${template}\0${user}`

      const remember = (key: string, choice: StickyChoice) => {
        memory.set(key, choice)
        return choice
      }

      const find = Effect.fnUntraced(function* (org: OrgSlug, template: TemplateId, user: string) {
        const key = keyOf(org, template, user)
        const now = clock.currentTimeMillisUnsafe()
        const known = memory.get(key)
        if (known !== undefined && known.expiresAtMillis > now) return known
        const found = yield* readChoice(sql, org, template, user)
        return found !== undefined && found.expiresAtMillis > now ? remember(key, found) : undefined
      })

      const committed = ({ decision }: StickyClaim, existing: StickyChoice) =>
        Effect.suspend(() => {
          remember(keyOf(decision.org, decision.templateId, decision.userId), existing)
          return existing.trackingId === decision.trackingId ? countStored(1) : Effect.void
        })

      const claim = (claim: StickyClaim) =>
        Effect.tap(sql.withTransaction(insertClaim(sql, claim)), (existing) => committed(claim, existing))

      const alias = (alias: TrackingAlias) =>
        Effect.suspend(() => insertAliases(sql, [alias], clock.currentTimeMillisUnsafe()))

      return StickyChoices.of({ find, claim, committed, alias })
    }),
  )
}
