import { Clock, Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { Buffer } from "node:buffer"
import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import { writeFileSync } from "node:fs"
import { secretsIn } from "../settings/SettingReaders.ts"
import { Settings } from "../settings/Settings.ts"
import * as LocalService from "../store/LocalService.ts"
import { Store } from "../store/Store.ts"
import { AdminGuesses, type GuessLimits } from "./AdminGuesses.ts"

/** A Bearer token was not accepted as the admin token. */
export class AdminTokenRejected extends Schema.TaggedError<AdminTokenRejected>()("AdminTokenRejected", {
  /** Present if the network's limit of guesses, or the limit of all networks together, is exceeded. */
  retryAfterSeconds: Schema.optionalKey(Schema.Int),
}) {
  override get message() {
    return this.retryAfterSeconds === undefined
      ? "The Bearer token is neither the admin token of this service nor an API key"
      : `Too many wrong admin tokens were sent from this address or from everywhere. Send the right one in ` +
        `${this.retryAfterSeconds} seconds, or from another address`
  }
}

/**
 * Maximum numbers of wrong admin tokens that a node compares. A token has 32 random characters: the limit keeps guesses
 * visible and cheap.
 */
export const AdminGuessLimits = Context.Reference<GuessLimits>("parlance/auth/AdminGuessLimits", {
  defaultValue: () => ({ perNetwork: 30, total: 300, windowMillis: 60_000 }),
})

const digest = (text: string) => Buffer.from(hash("sha256", text, "hex"))

/**
 * Holds the admin tokens: the tokens in `ADMIN_TOKEN`, and on the embedded store one in `DATA_DIR/admin-token` (readable
 * only by its owner, like the data in that directory), so that the API can be called without any set-up.
 */
export class AdminAuth extends Context.Service<AdminAuth, {
  /**
   * Checks a token. Fails with `AdminTokenRejected` for a token that is not an admin token, after a time that is equal
   * for every wrong token, and for any token from a network that has guessed wrong too often.
   */
  readonly check: (token: Redacted.Redacted<string>, network: string) => Effect.Effect<void, AdminTokenRejected>
}>()("parlance/auth/AdminAuth") {
  static readonly layer = Layer.effect(
    AdminAuth,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const guesses = new AdminGuesses(yield* AdminGuessLimits)
      const { adminToken, dataDir } = yield* Settings
      const { kind } = yield* Store
      const accepted = Option.match(adminToken, { onNone: () => [], onSome: secretsIn }).map(digest)
      if (kind === "embedded") {
        const known = LocalService.readToken(dataDir)
        const token = known ?? randomBytes(24).toString("hex")
        if (known === undefined) writeFileSync(LocalService.tokenFile(dataDir), token, { mode: 0o600 })
        accepted.push(digest(token))
      }
      return AdminAuth.of({
        check: (token, network) =>
          Effect.suspend(() => {
            const now = clock.currentTimeMillisUnsafe()
            const retryAfterSeconds = guesses.waitSeconds(network, now)
            if (retryAfterSeconds !== undefined) return new AdminTokenRejected({ retryAfterSeconds })
            const presented = digest(Redacted.value(token))
            if (accepted.some((one) => timingSafeEqual(one, presented))) return Effect.void
            const wait = guesses.countWrong(network, now)
            return new AdminTokenRejected(wait === undefined ? {} : { retryAfterSeconds: wait })
          }),
      })
    }),
  )
}
