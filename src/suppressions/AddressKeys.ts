import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Buffer } from "node:buffer"
import { createHmac } from "node:crypto"
import { type NoSecretKey, SecretBox, type SecretFileFaulty } from "../store/SecretBox.ts"
import type { SealedColumn } from "../store/SecretKeys.ts"
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

const purposeOf = (id: string) => `suppression key ${id}`

/** Keys of digests that were derived from earlier secret keys. */
export const sealedSuppressionKeys: SealedColumn = {
  table: "suppression_keys",
  column: "sealed",
  type: "text",
  key: ["id"],
  purposeOf: ([id]) => purposeOf(id!),
}

/** Whether a stored key is the digest of an erased person's address. */
export const isDigest = (key: AddressKey): boolean => key.startsWith(prefix) && !key.includes("@")

/**
 * Returns the keys of an address in the suppression list: the address itself, and keyed digests of it. After the person
 * was erased, the list keeps only a digest. Digests are created with the first key of `SECRET_KEY`, and searched with
 * every key of the setting and every kept key.
 */
export class AddressKeys extends Context.Service<AddressKeys, {
  /** Returns every key that a suppression of the address may have; empty for a text that is not an address. */
  readonly of: (address: string) => Effect.Effect<ReadonlyArray<AddressKey>>
  /** Returns the key that replaces the address after an erasure; undefined for a text that is not an address. */
  readonly digestOf: (address: string) => Effect.Effect<AddressKey | undefined>
  /**
   * Returns the ids of secret keys whose digests cannot be searched without them. Fails with `SecretFileFaulty` if the key
   * file of the embedded database is damaged, and with `SqlError` if the database does not respond.
   */
  readonly unkept: Effect.Effect<ReadonlyArray<string>, SecretFileFaulty | SqlError>
  /**
   * Stores the keys that were derived from all secret keys but the first, encrypted, so that digests are found without
   * these secret keys. Fails as `unkept` does, and with `NoSecretKey` without a key to encrypt with.
   */
  readonly keep: Effect.Effect<void, NoSecretKey | SecretFileFaulty | SqlError>
}>()("parlance/suppressions/AddressKeys") {
  static readonly layer = Layer.effect(
    AddressKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const box = yield* SecretBox
      const [row] = yield* Effect.orDie(sql<{ salt: string }>`SELECT s.salt FROM suppression_salt s LIMIT 1`)
      const salt = row?.salt ?? ""
      const rows = sql<{ id: string; sealed: string }>`SELECT k.id, k.sealed FROM suppression_keys k ORDER BY k.id`
      const kept = yield* Effect.forEach(
        yield* Effect.orDie(rows),
        ({ id, sealed }) =>
          box.open(purposeOf(id), sealed).pipe(
            Effect.map((key) => [{ id, bytes: Buffer.from(Redacted.value(key), "hex") }]),
            Effect.catchTag("SecretUnreadable", (error) => Effect.as(Effect.logError(error.message), [])),
            Effect.orDie,
          ),
      )
      const secrets = box.derive(`suppression ${salt}`)
      const derived = yield* Effect.cached(
        Effect.map(secrets, (secrets) =>
          [
            ...secrets,
            // For digests that were created while the installation had no SECRET_KEY.
            { id: "0", bytes: createHmac("sha256", salt).update("suppression").digest() },
            ...kept.flat().filter(({ id }) => secrets.every((secret) => secret.id !== id)),
          ].map(({ bytes, id }): DigestKey => ({ id, key: hmacKey(bytes) }))),
      )
      const missing = Effect.gen(function* () {
        const ids = new Set((yield* rows).map(({ id }) => id))
        return (yield* secrets).slice(1).filter(({ id }) => !ids.has(id))
      })
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
        unkept: Effect.map(missing, (keys) => keys.map(({ id }) => id)),
        keep: Effect.gen(function* () {
          for (const { bytes, id } of yield* missing) {
            const sealed = yield* box.seal(purposeOf(id), Redacted.make(Buffer.from(bytes).toString("hex")))
            yield* sql`INSERT INTO suppression_keys (id, sealed) VALUES (${id}, ${sealed}) ON CONFLICT DO NOTHING`
          }
        }),
      })
    }),
  )
}
