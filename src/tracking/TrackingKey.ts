import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Buffer } from "node:buffer"
import { signingKey } from "../store/SigningKey.ts"
import { type HmacKey, hmacKey } from "../text/Hmac.ts"

/**
 * The key that signs all tokens: random, created by the first node that needs it, shared by all nodes on a database,
 * and cached in memory. It is not derived from `SECRET_KEY`, which may be replaced, because links in messages must work
 * for years.
 */
export class TrackingKey extends Context.Service<TrackingKey, {
  /** Reads the key, and creates it first if needed. Fails with `SqlError` if the database does not respond. */
  readonly get: Effect.Effect<HmacKey, SqlError>
}>()("parlance/tracking/TrackingKey") {
  static readonly layer = Layer.effect(
    TrackingKey,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let known: HmacKey | undefined
      const hex = signingKey(sql, "tracking")
      const get = Effect.map(hex, (hex) => known ??= hmacKey(Buffer.from(hex, "hex")))

      // Loads the key, so that a later outage finds it in memory. A read-only database creates no key.
      yield* Effect.ignore(get)
      return TrackingKey.of({ get })
    }),
  )
}
