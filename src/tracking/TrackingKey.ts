import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Buffer } from "node:buffer"
import { randomBytes } from "node:crypto"
import { type TokenKey, tokenKey } from "./Token.ts"

const keyName = "tracking"

/**
 * The key of all tokens: random, made by the first node that needs it, shared by all nodes on a store and in memory from
 * then on. Not derived from `SECRET_KEY`, which may be replaced: links in messages have to work for years.
 */
export class TrackingKey extends Context.Service<TrackingKey, {
  readonly get: Effect.Effect<TokenKey, SqlError>
}>()("parlance/tracking/TrackingKey") {
  static readonly layer = Layer.effect(
    TrackingKey,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let known: Effect.Effect<TokenKey> | undefined

      const read = Effect.map(
        sql<{ key: string }>`SELECT s.key FROM signing_keys s WHERE s.name = ${keyName}`,
        ([row]) => row?.key,
      )

      const readOrMake = Effect.gen(function* () {
        const standing = yield* read
        if (standing !== undefined) return standing
        const now = yield* DateTime.nowAsDate
        yield* sql`
          INSERT INTO signing_keys (name, key, created_at) VALUES (${keyName}, ${
          randomBytes(32).toString("hex")
        }, ${now})
          ON CONFLICT DO NOTHING`
        return (yield* read)!
      })

      const get = Effect.suspend((): Effect.Effect<TokenKey, SqlError> =>
        known ?? Effect.map(readOrMake, (hex) => {
          const key = tokenKey(Buffer.from(hex, "hex"))
          known = Effect.succeed(key)
          return key
        })
      )

      // So that a later outage finds it in memory. A store that only reads makes none, and needs none.
      yield* Effect.ignore(get)
      return TrackingKey.of({ get })
    }),
  )
}
