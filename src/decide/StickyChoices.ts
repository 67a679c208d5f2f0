import { Clock, Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { CopyId, OrgSlug, TemplateId } from "../domain/Ids.ts"
import { SeededMap } from "../domain/SeededMap.ts"
import type { Decision } from "../journal/decisions/Decision.ts"
import { countStored, insertDecisions, Uncommitted } from "../journal/decisions/DecisionLog.ts"

/** The variant a user keeps getting, and the decision that gave it first. */
export interface StickyChoice {
  readonly copyId: CopyId
  readonly trackingId: string
  readonly expiresAtMillis: number
  /** Whether it was made while the user was held out. */
  readonly control: boolean
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

// Users remembered in memory at most; others cost one read of the store.
const remembered = 100_000

/**
 * Remembers which variant of a sticky template a user got. A choice is made once for all nodes: two that decide at the
 * same moment end up with the same variant, since one row per user stands in the store.
 */
export class StickyChoices extends Context.Service<StickyChoices, {
  /** The choice that holds now, if any. */
  readonly find: (
    org: OrgSlug,
    template: TemplateId,
    user: string,
  ) => Effect.Effect<StickyChoice | undefined, SqlError>
  /**
   * Records `decision` as its user's choice until `expiresAtMillis`, choice and decision in one transaction, and answers
   * the choice that stands. `replaces` is a choice that may be overruled, as its variant is no longer eligible, or its
   * user has joined or left the holdout.
   */
  readonly claim: (
    decision: Decision & { readonly userId: string },
    expiresAtMillis: number,
    replaces: StickyChoice | undefined,
  ) => Effect.Effect<StickyChoice, SqlError>
  /** Makes a tracking id stand for the decision under another one, so that its events find it. */
  readonly alias: (
    org: OrgSlug,
    template: TemplateId,
    alias: string,
    trackingId: string,
  ) => Effect.Effect<void, SqlError>
}>()("parlance/decisions/StickyChoices") {
  static readonly layer = Layer.effect(
    StickyChoices,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const memory = new SeededMap<string, StickyChoice>()
      const keyOf = (org: string, template: string, user: string) => `${org}\0${template}\0${user}`

      const remember = (key: string, choice: StickyChoice) => {
        // The oldest entry goes first: a Map keeps the order in which keys were added.
        if (memory.size >= remembered) memory.delete(memory.keys().next().value!)
        memory.set(key, choice)
        return choice
      }

      const read = (org: OrgSlug, template: TemplateId, user: string) =>
        Effect.map(
          sql<Row>`
            SELECT s.copy_id, s.tracking_id, s.expires_at, s.control FROM sticky_choices s
            WHERE s.org_slug = ${org} AND s.template_id = ${template} AND s.user_id = ${user}`,
          (rows) => rows[0] === undefined ? undefined : fromRow(rows[0]),
        )

      const find = Effect.fnUntraced(function* (org: OrgSlug, template: TemplateId, user: string) {
        const key = keyOf(org, template, user)
        const now = clock.currentTimeMillisUnsafe()
        const known = memory.get(key)
        if (known !== undefined && known.expiresAtMillis > now) return known
        const found = yield* read(org, template, user)
        return found !== undefined && found.expiresAtMillis > now ? remember(key, found) : undefined
      })

      const claim = Effect.fnUntraced(function* (
        decision: Decision & { readonly userId: string },
        expiresAtMillis: number,
        replaces: StickyChoice | undefined,
      ) {
        const { org, templateId, userId } = decision
        const control = decision.mode === "control"
        let isRecorded = false
        const standing = yield* sql.withTransaction(Effect.gen(function* () {
          const won = yield* sql<Row>`
            INSERT INTO sticky_choices AS s (org_slug, template_id, user_id, copy_id, tracking_id, expires_at, control)
            VALUES (${org}, ${templateId}, ${userId}, ${decision.copyId}, ${decision.trackingId},
              ${new Date(expiresAtMillis)}, ${control})
            ON CONFLICT (org_slug, template_id, user_id) DO UPDATE SET
              copy_id = EXCLUDED.copy_id, tracking_id = EXCLUDED.tracking_id, expires_at = EXCLUDED.expires_at,
                control = EXCLUDED.control
              WHERE s.expires_at <= ${new Date(decision.decidedAtMillis)}
                OR s.tracking_id = ${replaces?.trackingId ?? decision.trackingId}
            RETURNING s.copy_id, s.tracking_id, s.expires_at, s.control`
          if (won[0] === undefined) return yield* read(org, templateId, userId)
          const { copyIds: [copyId] } = yield* insertDecisions(sql, [decision])
          isRecorded = true
          if (copyId === decision.copyId) return fromRow(won[0])
          // A retry of a tracking id whose decision chose another variant: that decision stands.
          yield* sql`
            UPDATE sticky_choices s SET copy_id = ${copyId!}
            WHERE s.org_slug = ${org} AND s.template_id = ${templateId} AND s.user_id = ${userId}`
          return { ...fromRow(won[0]), copyId: copyId! }
        }))
        const choice = standing ??
          { copyId: decision.copyId, trackingId: decision.trackingId, expiresAtMillis, control }
        // Inside a caller's transaction nobody knows yet whether it will stand.
        const isOpen = Option.isSome(yield* Effect.serviceOption(sql.transactionService))
        if (isOpen) {
          if (isRecorded) (yield* Uncommitted).decisions++
          return choice
        }
        if (isRecorded) yield* countStored(1)
        return remember(keyOf(org, templateId, userId), choice)
      })

      const alias = (org: OrgSlug, template: TemplateId, alias: string, trackingId: string) =>
        Effect.asVoid(sql`
          INSERT INTO tracking_aliases (org_slug, alias, template_id, tracking_id, created_at)
          VALUES (${org}, ${alias}, ${template}, ${trackingId}, ${new Date(clock.currentTimeMillisUnsafe())})
          ON CONFLICT DO NOTHING`)

      return StickyChoices.of({ find, claim, alias })
    }),
  )
}
