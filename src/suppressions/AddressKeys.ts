import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createHmac } from "node:crypto"
import { SecretBox } from "../store/SecretBox.ts"
import { hmac, type HmacKey, hmacKey } from "../text/Hmac.ts"
import { type AddressKey, addressKey } from "./AddressKey.ts"

/** Prefix of the key of an erased person's address. Without an `@`, such a key is no address. */
const prefix = "hmac:"

const utf8 = new TextEncoder()

/** A key for digests. Digests contain its id. */
interface DigestKey {
  readonly id: string
  readonly key: HmacKey
}

/** Whether a stored key is the digest of an erased person's address. */
export const isDigest = (key: AddressKey): boolean => key.startsWith(prefix) && !key.includes("@")

/**
 * Returns the keys of an address in the suppression list: the address itself, and keyed digests of it. After the person
 * was erased, the list keeps only a digest. Digests are created with the first key of `SECRET_KEY`, and searched with
 * every key.
 */
export class AddressKeys extends Context.Service<AddressKeys, {
  /** Returns every key that a suppression of the address may have; empty for a text that is not an address. */
  readonly of: (address: string) => Effect.Effect<ReadonlyArray<AddressKey>>
  /** Returns the key that replaces the address after an erasure; undefined for a text that is not an address. */
  readonly digestOf: (address: string) => Effect.Effect<AddressKey | undefined>
}>()("parlance/suppressions/AddressKeys") {
  static readonly layer = Layer.effect(
    AddressKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const box = yield* SecretBox
      const [row] = yield* Effect.orDie(sql<{ salt: string }>`SELECT s.salt FROM suppression_salt s LIMIT 1`)
      const salt = row?.salt ?? ""
      const derived = yield* Effect.cached(
        Effect.map(box.derive(`suppression ${salt}`), (secrets) =>
          [
            ...secrets,
            // For digests that were created while the installation had no SECRET_KEY.
            { id: "0", bytes: createHmac("sha256", salt).update("suppression").digest() },
          ].map(({ bytes, id }): DigestKey => ({ id, key: hmacKey(bytes) }))),
      )
      // A damaged key file is a defect, because without the key an erased person would receive mail again.
      const keys = Effect.orDie(derived)
      const digest = ({ id, key }: DigestKey, address: AddressKey) =>
        `${prefix}${id}:${hmac(key, utf8.encode(address)).toBase64({ alphabet: "base64url", omitPadding: true })}`

      return AddressKeys.of({
        of: (address) => {
          const plain = addressKey(address)
          return plain === undefined
            ? Effect.succeed([])
            : Effect.map(keys, (all) => [plain, ...all.map((key) => digest(key, plain))])
        },
        digestOf: (address) => {
          const plain = addressKey(address)
          return Effect.map(keys, (all) => plain && digest(all[0]!, plain))
        },
      })
    }),
  )
}
