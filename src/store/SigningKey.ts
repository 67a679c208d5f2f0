import { DateTime, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { randomBytes } from "node:crypto"

/**
 * Returns the random key of this name that all nodes on a database share: 64 hexadecimal digits. The first node that
 * needs it creates it. Cached in memory after the first read. Fails with `SqlError` if it is not cached and the
 * database does not respond.
 */
export const signingKey = (sql: SqlClient.SqlClient, name: string): Effect.Effect<string, SqlError> => {
  let known: string | undefined
  const read = Effect.map(
    sql<{ key: string }>`SELECT s.key FROM signing_keys s WHERE s.name = ${name}`,
    ([row]) => row?.key,
  )
  const readOrMake = Effect.gen(function* () {
    const existing = yield* read
    if (existing !== undefined) return existing
    const now = yield* DateTime.nowAsDate
    yield* sql`
      INSERT INTO signing_keys (name, key, created_at) VALUES (${name}, ${randomBytes(32).toString("hex")}, ${now})
      ON CONFLICT DO NOTHING`
    return (yield* read)!
  })
  return Effect.suspend(() =>
    known === undefined ? Effect.map(readOrMake, (key) => known = key) : Effect.succeed(known)
  )
}

/** A key that replaces or replaced another. */
export interface SigningKeyRow {
  readonly name: string
  readonly key: string
  readonly createdAt: Date
  /** Whether the key is at least as old as `settlingMinutes`. */
  readonly isSettled: boolean
}

/** Returns the key of this name, and keys whose names continue it after a colon, newest first. */
export const signingKeys = (sql: SqlClient.SqlClient, name: string, settlingMinutes: number) =>
  sql<SigningKeyRow>`
    SELECT s.name, s.key, s.created_at, s.created_at <= now() - ${settlingMinutes} * interval '1 minute' AS is_settled
    FROM signing_keys s WHERE s.name = ${name} OR starts_with(s.name, ${`${name}:`}::text)
    ORDER BY s.created_at DESC, s.name DESC`

/** Creates a random key of this name, by the clock of the database. */
export const addSigningKey = (sql: SqlClient.SqlClient, name: string) =>
  sql`INSERT INTO signing_keys (name, key, created_at) VALUES (${name}, ${randomBytes(32).toString("hex")}, now())`

/** Deletes the key of this name. */
export const removeSigningKey = (sql: SqlClient.SqlClient, name: string) =>
  sql`DELETE FROM signing_keys s WHERE s.name = ${name}`
