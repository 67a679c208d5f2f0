import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug } from "../domain/Ids.ts"
import { rowReader } from "../store/ReadRows.ts"
import { recordset } from "../store/Recordset.ts"
import type { Suppression } from "../suppressions/Suppression.ts"
import { readSuppression, type SuppressionRow, suppressionsOf } from "../suppressions/SuppressionQuery.ts"

// Facts in the store about a request to deliver, read before anything is decided.

/** For how long an idempotency key is kept, in hours. */
export const keptHours = 24

/** An idempotency key and the keys of a recipient's address, as far as they are to be looked up. */
export interface RequestKeys {
  readonly org: OrgSlug
  readonly key: string | undefined
  readonly addressKeys: ReadonlyArray<string>
}

/** The message a key stands for, and the request it came with. */
export const StandingRequest = Schema.Struct({
  orgSlug: Schema.NonEmptyString,
  key: Schema.NonEmptyString,
  digest: Schema.NonEmptyString,
  deliveryId: Schema.NonEmptyString,
})
export type StandingRequest = typeof StandingRequest.Type

/** Reads a row of `idempotency_keys`. */
export const readStanding = rowReader(
  "idempotency_keys",
  StandingRequest,
  ({ key, orgSlug }: StandingRequest) => `org_slug ${orgSlug} and key ${key}`,
)

/** Facts about a request before anything is decided. */
export interface RequestFacts {
  readonly standing: StandingRequest | undefined
  readonly suppressions: ReadonlyArray<Suppression>
}

/** Finds idempotency keys that are in use, and suppressions, in one query. */
export const findKnown = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  asked: ReadonlyArray<RequestKeys>,
): Effect.fn.Return<ReadonlyArray<RequestFacts>, SqlError> {
  const rows = asked.flatMap(({ key, org }, n) => key === undefined ? [] : [{ n, org_slug: org, key }])
  const found = yield* sql<
    (StandingRequest & { readonly n: number; readonly id: null }) | SuppressionRow
  >`
    SELECT r.n, r.org_slug, r.key, k.digest, k.delivery_id, NULL::float8 AS id, NULL::text AS reason,
      NULL::timestamptz AS suppressed_at
    FROM ${recordset(rows, { n: "int", org_slug: "text", key: "text" })}
    CROSS JOIN LATERAL (
      SELECT i.digest, i.delivery_id FROM idempotency_keys i
      WHERE i.org_slug = r.org_slug AND i.key = r.key
        AND i.created_at >= now() - ${keptHours} * interval '1 hour'
      LIMIT 1) k
    UNION ALL
    SELECT f.n, NULL, NULL, NULL, NULL, f.id, f.reason, f.suppressed_at
    FROM (${suppressionsOf(sql, asked.map(({ addressKeys, org }) => ({ org, keys: addressKeys })))}) f`
  const known = asked.map((): { standing: StandingRequest | undefined; suppressions: Array<Suppression> } => ({
    standing: undefined,
    suppressions: [],
  }))
  for (const row of found) {
    if (row.id === null) known[row.n]!.standing = yield* readStanding(row)
    else known[row.n]!.suppressions.push(yield* readSuppression(row))
  }
  return known
})
