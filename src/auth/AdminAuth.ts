import { Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { Buffer } from "node:buffer"
import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Settings } from "../Settings.ts"
import { Store } from "../store/Store.ts"

/** `ADMIN_TOKEN` is too short to be a secret. */
export class AdminTokenTooShort extends Schema.TaggedError<AdminTokenTooShort>()("AdminTokenTooShort", {}) {
  override get message() {
    return "ADMIN_TOKEN must have at least 16 characters: it opens every organization. Make one with `openssl rand -hex 24`."
  }
}

const fileOf = (dataDir: string) => join(dataDir, "admin-token")

/** The admin token that an embedded store keeps for the CLI on the same machine; undefined where there is none. */
export const readLocalToken = (dataDir: string): Redacted.Redacted<string> | undefined => {
  try {
    return Redacted.make(readFileSync(fileOf(dataDir), "utf8").trim())
  } catch {
    return undefined
  }
}

const digest = (text: string) => Buffer.from(hash("sha256", text, "hex"))

/**
 * Knows the admin token: that of `ADMIN_TOKEN`, and on the embedded store one of its own in `DATA_DIR/admin-token`
 * (readable by its owner alone, like the data beside it), so that the CLI works without any set-up.
 */
export class AdminAuth extends Context.Service<AdminAuth, {
  /** Whether `token` is an admin token. Takes the same time for every wrong one. */
  readonly accepts: (token: Redacted.Redacted<string>) => boolean
}>()("parlance/auth/AdminAuth") {
  static readonly layer = Layer.effect(
    AdminAuth,
    Effect.gen(function* () {
      const { adminToken, dataDir } = yield* Settings
      const { kind } = yield* Store
      const accepted: Array<Buffer> = []
      if (Option.isSome(adminToken)) {
        const token = Redacted.value(adminToken.value)
        if (token.length < 16) return yield* new AdminTokenTooShort()
        accepted.push(digest(token))
      }
      if (kind === "embedded") {
        const known = readLocalToken(dataDir)
        const token = known === undefined ? randomBytes(24).toString("hex") : Redacted.value(known)
        if (known === undefined) writeFileSync(fileOf(dataDir), token, { mode: 0o600 })
        accepted.push(digest(token))
      }
      return AdminAuth.of({
        accepts: (token) => {
          const presented = digest(Redacted.value(token))
          return accepted.some((one) => timingSafeEqual(one, presented))
        },
      })
    }),
  )
}
