import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Buffer } from "node:buffer"
import { signingKey } from "../store/SigningKey.ts"
import { type HmacKey, hmacKey } from "../domain/Hmac.ts"

/**
 * The key of all tokens: random, made by the first node that needs it, shared by all nodes on a store and in memory from
 * then on. Not derived from `SECRET_KEY`, which may be replaced: links in messages have to work for years.
 */
export class TrackingKey extends Context.Service<TrackingKey, {
  /** Reads the key, and creates it first if needed. Fails with `SqlError` when the database does not respond. */
  readonly get: Effect.Effect<HmacKey, SqlError>
  /** The key where it is in memory. */
  readonly known: () => HmacKey | undefined
}>()("parlance/tracking/TrackingKey") {
  static readonly layer = Layer.effect(
    TrackingKey,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let known: HmacKey | undefined
      const hex = signingKey(sql, "tracking")
      const get = Effect.map(hex, (hex) => known ??= hmacKey(Buffer.from(hex, "hex")))

      // So that a later outage finds it in memory. A store that only reads makes none, and needs none.
      yield* Effect.ignore(get)
      return TrackingKey.of({ get, known: () => known })
    }),
  )
}
