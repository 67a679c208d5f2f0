import { Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { Buffer } from "node:buffer"
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { secretsIn } from "../settings/SettingReaders.ts"
import { Settings } from "../settings/Settings.ts"
import { Store } from "./Store.ts"

/** There is no key to encrypt with. */
export class NoSecretKey extends Schema.TaggedError<NoSecretKey>()("NoSecretKey", {}) {
  override get message() {
    return "Secrets, such as the URL of a webhook, are stored encrypted, and this service has no key for that: set " +
      "SECRET_KEY to 64 hexadecimal digits (`openssl rand -hex 32`), the same on every node, and start again."
  }
}

/** The key file of the embedded store does not contain a valid key. */
export class SecretFileFaulty extends Schema.TaggedError<SecretFileFaulty>()("SecretFileFaulty", {
  file: Schema.String,
  reason: Schema.String,
}) {
  override get message() {
    return `The key of stored secrets in ${this.file} cannot be used: ${this.reason}. Restore the former key (64 ` +
      "hexadecimal digits), or remove the file and enter the secrets of platforms again."
  }
}

/** A stored secret cannot be decrypted with the present keys. */
export class SecretUnreadable extends Schema.TaggedError<SecretUnreadable>()("SecretUnreadable", {
  purpose: Schema.String,
}) {
  override get message() {
    return `The stored secret of ${this.purpose} cannot be decrypted: SECRET_KEY does not contain the key it was stored with. ` +
      "Add that key to SECRET_KEY (after a comma if there is a new key), or enter the secret again."
  }
}

interface Key {
  readonly id: string
  readonly bytes: Buffer
}

const keyOf = (hex: string): Key => ({
  id: hash("sha256", hex.toLowerCase(), "hex").slice(0, 8),
  bytes: Buffer.from(hex, "hex"),
})

const isKey = (text: string): boolean => /^[0-9a-f]{64}$/i.test(text)

const fileOf = (dataDir: string) => join(dataDir, "secret-key")

/** Returns the key of the embedded store from its key file. Creates the file on first use. */
const localKey = (dataDir: string): Effect.Effect<Key, SecretFileFaulty> =>
  Effect.suspend(() => {
    const file = fileOf(dataDir)
    try {
      if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString("hex"), { mode: 0o600 })
      const text = readFileSync(file, "utf8").trim()
      return isKey(text)
        ? Effect.succeed(keyOf(text))
        : new SecretFileFaulty({ file, reason: "it does not contain a key" })
    } catch (error) {
      return new SecretFileFaulty({ file, reason: error instanceof Error ? error.message : String(error) })
    }
  })

/**
 * Encrypts secrets that are stored and used again, such as the signing secret of a platform: AES-256-GCM under
 * `SECRET_KEY`, bound to its purpose, so that a stored secret cannot be moved to another place. On the embedded store
 * without `SECRET_KEY`, the key is in `DATA_DIR/secret-key`. With `SECRET_KEY`, the key of an existing file still decrypts.
 */
export class SecretBox extends Context.Service<SecretBox, {
  /**
   * Encrypts a secret. `purpose` names the use of the secret, such as `webhook acme/provider_a`. Fails with
   * `NoSecretKey` without a key to encrypt with and `SecretFileFaulty` if the key file of the embedded database is
   * damaged.
   */
  readonly seal: (
    purpose: string,
    secret: Redacted.Redacted<string>,
  ) => Effect.Effect<string, NoSecretKey | SecretFileFaulty>
  /**
   * Decrypts a secret. Fails with `SecretUnreadable` if no present key decrypts it and `SecretFileFaulty` if the key
   * file of the embedded database is damaged.
   */
  readonly open: (
    purpose: string,
    sealed: string,
  ) => Effect.Effect<Redacted.Redacted<string>, SecretUnreadable | SecretFileFaulty>
  /**
   * Returns the ids of the secret keys, as in encrypted texts. The key that encrypts comes first. Fails with
   * `SecretFileFaulty` if the key file of the embedded database is damaged.
   */
  readonly ids: Effect.Effect<ReadonlyArray<string>, SecretFileFaulty>
  /**
   * Derives a key of 32 bytes for another purpose from each secret key. The key for new secrets comes first. Empty
   * without a secret key. Fails with `SecretFileFaulty` if the key file of the embedded database is damaged.
   */
  readonly derive: (
    purpose: string,
  ) => Effect.Effect<ReadonlyArray<{ readonly id: string; readonly bytes: Uint8Array }>, SecretFileFaulty>
}>()("parlance/store/SecretBox") {
  static readonly layer = Layer.effect(
    SecretBox,
    Effect.gen(function* () {
      const { dataDir, secretKey } = yield* Settings
      const { kind } = yield* Store
      const texts = Option.match(secretKey, {
        onNone: () => [],
        onSome: secretsIn,
      })
      const given = texts.map(keyOf)
      const keys: Effect.Effect<ReadonlyArray<Key>, SecretFileFaulty> = Effect.suspend(() =>
        kind === "postgres" || (given.length > 0 && !existsSync(fileOf(dataDir)))
          ? Effect.succeed(given)
          : Effect.map(localKey(dataDir), (local) => [...given, local])
      )

      const seal = Effect.fnUntraced(function* (purpose: string, secret: Redacted.Redacted<string>) {
        const key = (yield* keys)[0]
        if (key === undefined) return yield* new NoSecretKey()
        const iv = randomBytes(12)
        const cipher = createCipheriv("aes-256-gcm", key.bytes, iv).setAAD(Buffer.from(purpose))
        const text = Buffer.concat([cipher.update(Redacted.value(secret), "utf8"), cipher.final()])
        return `v1:${key.id}:${Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64")}`
      })

      const open = Effect.fnUntraced(function* (purpose: string, sealed: string) {
        const [version, id, text] = sealed.split(":")
        const key = (yield* keys).find((one) => one.id === id)
        if (version !== "v1" || key === undefined || text === undefined) return yield* new SecretUnreadable({ purpose })
        const bytes = Buffer.from(text, "base64")
        try {
          const decipher = createDecipheriv("aes-256-gcm", key.bytes, bytes.subarray(0, 12))
            .setAAD(Buffer.from(purpose))
            .setAuthTag(bytes.subarray(12, 28))
          const secret = Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()])
          return Redacted.make(secret.toString("utf8"))
        } catch {
          return yield* new SecretUnreadable({ purpose })
        }
      })

      const derive = (purpose: string) =>
        Effect.map(keys, (all) =>
          all.map(({ bytes, id }) => ({
            id,
            bytes: new Uint8Array(hkdfSync("sha256", bytes, "", `parlance ${purpose}`, 32)),
          })))

      const ids = Effect.map(keys, (all) => all.map(({ id }) => id))

      return SecretBox.of({ seal, open, ids, derive })
    }),
  )
}
