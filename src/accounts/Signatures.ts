import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Buffer } from "node:buffer"
import { createHmac, timingSafeEqual } from "node:crypto"
import { signingKey } from "../store/SigningKey.ts"

/**
 * Signs the contents of the console's cookies, with HMAC-SHA256 under a random key that all nodes on a store share. The
 * first node that needs the key creates it. Each node caches it in memory.
 */
export class Signatures extends Context.Service<Signatures, {
  /** Returns `text` with its signature after a dot. A signature is valid for one purpose only. */
  readonly sign: (purpose: string, text: string) => Effect.Effect<string>
  /** Returns the text that was signed for this purpose. Undefined for any other text. */
  readonly open: (purpose: string, signed: string) => Effect.Effect<string | undefined>
}>()("parlance/accounts/Signatures") {
  static readonly layer = Layer.effect(
    Signatures,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const key = Effect.orDie(signingKey(sql, "cookies"))

      const signatureOf = (purpose: string, text: string) =>
        Effect.map(key, (key) => createHmac("sha256", key).update(JSON.stringify([purpose, text])).digest("base64url"))

      return Signatures.of({
        sign: (purpose, text) => Effect.map(signatureOf(purpose, text), (signature) => `${text}.${signature}`),
        open: Effect.fnUntraced(function* (purpose: string, signed: string) {
          const at = signed.lastIndexOf(".")
          if (at < 0 || signed.length > 1000) return undefined
          const text = signed.slice(0, at)
          const [given, right] = [signed.slice(at + 1), yield* signatureOf(purpose, text)].map((one) =>
            Buffer.from(one)
          )
          return given!.length === right!.length && timingSafeEqual(given!, right!) ? text : undefined
        }),
      })
    }),
  )
}
