import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug } from "../domain/Ids.ts"
import { type NoMessageReason, noMessageReasons } from "../journal/decisions/Decision.ts"
import { rowReader } from "../store/ReadRows.ts"
import { recordset } from "../store/Recordset.ts"
import type { Suppression } from "../suppressions/Suppression.ts"
import { readSuppression, type SuppressionRow, suppressionsOf } from "../suppressions/SuppressionQuery.ts"

// Reads stored facts about a request before its decision.

/** How long an idempotency key is kept. Unit: hours. */
export const keptHours = 24

/** The idempotency key of a request and the keys of its recipient's address. Undefined or empty: nothing to search. */
export interface RequestKeys {
  readonly org: OrgSlug
  readonly key: string | undefined
  readonly addressKeys: ReadonlyArray<string>
}

/** The answer that an idempotency key belongs to, and the digest of its request. */
export const ExistingRequest = Schema.Struct({
  orgSlug: Schema.NonEmptyString,
  key: Schema.NonEmptyString,
  digest: Schema.NonEmptyString,
  /** Id of the message. If the answer was to send none: the reason, a colon and the digest. */
  deliveryId: Schema.NonEmptyString,
})
export type ExistingRequest = typeof ExistingRequest.Type

/** Returns `ExistingRequest.deliveryId` of a request that was answered without a message. */
export const unsentKeyId = (reason: NoMessageReason, digest: string): string => `${reason}:${digest}`

/** Returns why the request was answered without a message. Undefined if it has one. */
export const unsentReason = ({ deliveryId, digest }: ExistingRequest): NoMessageReason | undefined =>
  noMessageReasons.find((reason) => deliveryId === unsentKeyId(reason, digest))

/** Reads a row of `idempotency_keys`. */
export const readExisting = rowReader(
  "idempotency_keys",
  ExistingRequest,
  ({ key, orgSlug }: ExistingRequest) => `org_slug ${orgSlug} and key ${key}`,
)

/** Stored facts about a request. */
export interface RequestFacts {
  readonly existing: ExistingRequest | undefined
  readonly suppressions: ReadonlyArray<Suppression>
}

/** Finds idempotency keys in use and suppressions, in one query. */
export const findKnown = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  requests: ReadonlyArray<RequestKeys>,
): Effect.fn.Return<ReadonlyArray<RequestFacts>, SqlError> {
  const rows = requests.flatMap(({ key, org }, n) => key === undefined ? [] : [{ n, org_slug: org, key }])
  const found = yield* sql<
    (ExistingRequest & { readonly n: number; readonly id: null }) | SuppressionRow
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
    FROM (${suppressionsOf(sql, requests.map(({ addressKeys, org }) => ({ org, keys: addressKeys })))}) f`
  const known = requests.map((): { existing: ExistingRequest | undefined; suppressions: Array<Suppression> } => ({
    existing: undefined,
    suppressions: [],
  }))
  for (const row of found) {
    if (row.id === null) known[row.n]!.existing = yield* readExisting(row)
    else known[row.n]!.suppressions.push(yield* readSuppression(row))
  }
  return known
})
