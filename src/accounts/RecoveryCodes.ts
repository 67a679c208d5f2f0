import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import * as Totp from "./Totp.ts"

// SQL that authenticator apps and passkeys share. An account with one of them has a second factor and recovery codes.

/** Whether an account has a second factor, as a column `second_factor` of a statement about `accounts a`. */
export const secondFactorColumn = (sql: SqlClient.SqlClient) =>
  sql`(EXISTS (SELECT FROM second_factors f WHERE f.account_id = a.id AND f.confirmed_at IS NOT NULL)
    OR EXISTS (SELECT FROM passkeys k WHERE k.account_id = a.id)) AS second_factor`

/** Whether an account has a second factor. */
export const isOnWith = (sql: SqlClient.SqlClient, accountId: string) =>
  Effect.map(
    sql<{ secondFactor: boolean }>`SELECT ${secondFactorColumn(sql)} FROM accounts a WHERE a.id = ${accountId}`,
    ([row]) => row?.secondFactor === true,
  )

/** Replaces the recovery codes of an account. Returns the new codes. */
export const writeRecoveryCodes = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  accountId: string,
  now: Date,
) {
  const codes = Array.from({ length: Totp.recoveryCodeCount }, Totp.makeRecoveryCode)
  const digests = codes.map((code) => Totp.recoveryDigest(accountId, code)!)
  yield* sql`DELETE FROM recovery_codes r WHERE r.account_id = ${accountId}`
  yield* sql`
    INSERT INTO recovery_codes (account_id, digest, created_at)
    SELECT ${accountId}, d.digest, ${now} FROM unnest(${digests}::text[]) AS d(digest)`
  return codes
})

/** Deletes the recovery codes of an account without a second factor. */
export const dropUnneeded = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, accountId: string) {
  if (yield* isOnWith(sql, accountId)) return
  yield* sql`DELETE FROM recovery_codes r WHERE r.account_id = ${accountId}`
})

/** Removes every second factor of an account. Returns whether there was one. */
export const removeAllOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, accountId: string) {
  const apps = yield* sql`DELETE FROM second_factors f WHERE f.account_id = ${accountId} RETURNING f.account_id`
  const passkeys = yield* sql`DELETE FROM passkeys k WHERE k.account_id = ${accountId} RETURNING k.id`
  yield* sql`DELETE FROM recovery_codes r WHERE r.account_id = ${accountId}`
  return apps.length + passkeys.length > 0
})
