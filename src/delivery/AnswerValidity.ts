import { Context, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { EarlierAnswers } from "../suppressions/EarlierAnswers.ts"

/**
 * How long an answer of the suppression list permits a message to begin. The time counts from the query, on the
 * monotonic clock. Unit: milliseconds.
 */
export const validMillis = 700

/**
 * How long a suppression waits until answers of other nodes have expired: their validity, plus a margin for busy
 * machines, clocks and network.
 */
const lapse = Duration.millis(validMillis + 300)

/**
 * Tracks how long answers of the suppression list are valid on this node. A suppression committed on this node
 * invalidates earlier answers on this node at once. Answers on other nodes expire after `validMillis`.
 */
export class AnswerValidity extends Context.Service<AnswerValidity, {
  /** Identifies this process as the owner of lanes. A new UUID for each process. */
  readonly owner: string
  /** Returns a number that changes when earlier answers for an organization become invalid on this node. */
  readonly epochOf: (org: string) => number
}>()("parlance/delivery/AnswerValidity") {
  /** Also provides `EarlierAnswers`. */
  static readonly layer = Layer.effectContext(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const owner = randomUUID()
      const epochs = new Map<string, number>()
      const epochOf = (org: string): number => epochs.get(org) ?? 0

      // Every message begins under the lease of its lane. If no other node holds a lease, no other node relies on an
      // answer.
      const isSentElsewhere = (orgs: ReadonlyArray<string>) =>
        sql`
          SELECT 1 FROM dispatch_lanes l
          WHERE l.org_slug = ANY(${orgs}::text[]) AND l.owner <> ${owner} AND l.lease_until > now() LIMIT 1`.pipe(
          Effect.map((rows) => rows.length > 0),
          Effect.orElseSucceed(() => true),
        )

      const lapsed = Effect.fn("EarlierAnswers.lapsed")(function* (orgs: ReadonlyArray<string>) {
        for (const org of orgs) epochs.set(org, epochOf(org) + 1)
        if (orgs.length > 0 && (yield* isSentElsewhere(orgs))) yield* Effect.sleep(lapse)
      })

      return Context.make(AnswerValidity, AnswerValidity.of({ owner, epochOf })).pipe(
        Context.add(EarlierAnswers, EarlierAnswers.of({ lapsed })),
      )
    }),
  )
}
