import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug } from "../../domain/Ids.ts"
import { type TimedOutcome, timedOutcomes } from "../Ledger.ts"
import type { StoredFailure } from "../decisions/FailedRenderings.ts"
import { readEvents } from "./DecisionEvents.ts"
import { type DecisionRef, type DecisionRow, refOf } from "./DecisionRef.ts"

/** A decision with the times of its outcomes. */
interface PastDecision extends DecisionRef {
  readonly mode: string
  readonly propensity: number | null
  readonly weights: Readonly<Record<string, number>> | null
  readonly policy: string
  /** Variants that could not be rendered; null without such variants. */
  readonly failed: ReadonlyArray<StoredFailure> | null
  /** Time of the person's first event of each kind. Unit: Unix milliseconds. */
  readonly outcomes: { readonly [outcome in TimedOutcome]?: number }
}

interface Row extends DecisionRow {
  readonly propensity: number | null
  readonly weights: Readonly<Record<string, number>> | null
  readonly policy: string
  readonly failed: ReadonlyArray<StoredFailure> | null
}

/** Reads past decisions with their outcomes. */
export class DecisionHistory extends Context.Service<DecisionHistory, {
  /** Returns a template's decisions after `cursor`, ordered by tracking id, at most `limit`. */
  readonly list: (
    org: OrgSlug,
    template: string,
    options: { readonly cursor: string | undefined; readonly limit: number },
  ) => Effect.Effect<ReadonlyArray<PastDecision>>
}>()("parlance/journal/events/DecisionHistory") {
  static readonly layer = Layer.effect(
    DecisionHistory,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = Effect.fn("DecisionHistory.list")(function* (
        org: OrgSlug,
        template: string,
        { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
      ) {
        const rows = yield* sql<Row>`
          SELECT d.tracking_id, d.template_id, d.copy_id, d.segment, d.mode, d.user_id, d.propensity, d.weights, d.policy,
            d.decided_at, d.failed
          FROM decisions d
          WHERE d.org_slug = ${org} AND d.template_id = ${template} AND d.tracking_id > ${cursor ?? ""}
          ORDER BY d.tracking_id LIMIT ${limit}`
        const decisions = rows.map((row) => ({ ...row, ...refOf(org, row) }))
        const events = yield* readEvents(sql, decisions)
        return decisions.map((decision, place): PastDecision => {
          const outcomes: { [outcome in TimedOutcome]?: number } = {}
          for (const { automated, event, occurredAt } of events[place]!) {
            const outcome = timedOutcomes.find((name) => name === event)
            if (outcome !== undefined && !automated) outcomes[outcome] ??= occurredAt
          }
          return { ...decision, outcomes }
        })
      }, Effect.catch((error: SqlError) => Effect.die(error)))

      return DecisionHistory.of({ list })
    }),
  )
}
