import { Context, DateTime, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { type NoSecretKey, SecretBox, type SecretFileFaulty, type SecretUnreadable } from "../store/SecretBox.ts"
import type { SealedColumn } from "../store/SecretKeys.ts"
import type { Account, SecondFactorState } from "./Account.ts"
import { SecondFactorOff, SecondFactorOn, WrongCode } from "./AccountErrors.ts"
import { dropUnneeded, isOnWith, removeAllOf, writeRecoveryCodes } from "./RecoveryCodes.ts"
import * as Totp from "./Totp.ts"

interface Row {
  readonly secret: string
  readonly confirmedAt: Date | null
  readonly lastStep: number | null
}

/** The kind of code by which a second factor was proved. */
export type Proof = "totp" | "recovery_code"

const purposeOf = (accountId: string) => `second factor ${accountId}`

/** Secrets of authenticator apps. */
export const sealedSecondFactors: SealedColumn = {
  table: "second_factors",
  column: "secret",
  type: "text",
  key: ["account_id"],
  purposeOf: ([id]) => purposeOf(id!),
}

const readRow = (sql: SqlClient.SqlClient, accountId: string) =>
  Effect.map(
    Effect.orDie(sql<Row>`
      SELECT f.secret, f.confirmed_at, f.last_step::float8 AS last_step FROM second_factors f
      WHERE f.account_id = ${accountId}`),
    ([row]) => row,
  )

/**
 * Codes of an authenticator app (TOTP) and recovery codes, which work for accounts with an app or passkeys. The secret is sealed with `SECRET_KEY`,
 * recovery codes are stored as digests, and no code works twice. `SignInLimits` limits attempts.
 */
export class SecondFactors extends Context.Service<SecondFactors, {
  readonly state: (accountId: string) => Effect.Effect<SecondFactorState>
  /**
   * Creates a secret, which takes effect once `confirm` has received a code of it. Replaces an unconfirmed secret.
   * Fails with `SecondFactorOn` if the account already has a second factor, `NoSecretKey` without a key to encrypt
   * with, and `SecretFileFaulty` if the key file of the embedded database is damaged.
   */
  readonly begin: (
    account: Pick<Account, "id" | "email">,
  ) => Effect.Effect<
    { readonly secret: string; readonly uri: string },
    SecondFactorOn | NoSecretKey | SecretFileFaulty
  >
  /** Returns the unconfirmed secret, to show it again. Undefined without one. */
  readonly pending: (
    account: Pick<Account, "id" | "email">,
  ) => Effect.Effect<{ readonly secret: string; readonly uri: string } | undefined>
  /**
   * Turns the second factor on by its first code. Returns the recovery codes, which are only in this response. Fails
   * with `WrongCode` for a wrong or used code, `SecondFactorOff` if there is no second factor to use or confirm,
   * `SecretUnreadable` if no present key decrypts a stored secret, and `SecretFileFaulty` if the key file of the
   * embedded database is damaged.
   */
  readonly confirm: (
    accountId: string,
    code: string,
  ) => Effect.Effect<ReadonlyArray<string>, WrongCode | SecondFactorOff | SecretUnreadable | SecretFileFaulty>
  /** Checks a code and uses it up. Fails with `WrongCode` for a wrong or used code. */
  readonly check: (
    accountId: string,
    code: string,
  ) => Effect.Effect<Proof, WrongCode | SecondFactorOff | SecretUnreadable | SecretFileFaulty>
  /**
   * Replaces the recovery codes and returns the new ones. Fails with `SecondFactorOff` if there is no second factor to
   * use or confirm.
   */
  readonly renewRecoveryCodes: (accountId: string) => Effect.Effect<ReadonlyArray<string>, SecondFactorOff>
  /** Removes the authenticator app. Recovery codes stay if the account has passkeys. */
  readonly remove: (accountId: string) => Effect.Effect<void>
  /**
   * Removes the authenticator app, all passkeys and the recovery codes. Returns whether there was a second factor,
   * confirmed or not.
   */
  readonly removeAll: (accountId: string) => Effect.Effect<boolean>
  /** Fails with `NoSecretKey` if secrets cannot be stored, because then second factors cannot be set up. */
  readonly canStore: Effect.Effect<void, NoSecretKey | SecretFileFaulty>
}>()("parlance/accounts/SecondFactors") {
  static readonly layer = Layer.effect(
    SecondFactors,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const box = yield* SecretBox

      const opened = (accountId: string, { secret }: Row) =>
        Effect.map(box.open(purposeOf(accountId), secret), Redacted.value)

      const isOn = (accountId: string) => Effect.orDie(isOnWith(sql, accountId))

      const state = Effect.fn("SecondFactors.state")(function* (accountId: string) {
        const [row] = yield* Effect.orDie(sql<{ confirmedAt: Date | null; left: number }>`
          SELECT (SELECT f.confirmed_at FROM second_factors f WHERE f.account_id = ${accountId}) AS confirmed_at,
            (SELECT count(*)::int FROM recovery_codes r
              WHERE r.account_id = ${accountId} AND r.used_at IS NULL) AS left`)
        const { confirmedAt, left } = row!
        return {
          enabled: confirmedAt !== null,
          enabled_at: confirmedAt?.toISOString() ?? null,
          recovery_codes_left: left,
        }
      })

      const begin = Effect.fn("SecondFactors.begin")(function* ({ email, id }: Pick<Account, "id" | "email">) {
        const now = yield* DateTime.nowAsDate
        const secret = Totp.makeSecret()
        const sealed = yield* box.seal(purposeOf(id), Redacted.make(secret))
        const rows = yield* Effect.orDie(sql`
          INSERT INTO second_factors AS f (account_id, secret, created_at) VALUES (${id}, ${sealed}, ${now})
          ON CONFLICT (account_id) DO UPDATE SET secret = EXCLUDED.secret, created_at = EXCLUDED.created_at,
            last_step = NULL
          WHERE f.confirmed_at IS NULL RETURNING f.account_id`)
        return rows.length === 0 ? yield* new SecondFactorOn() : { secret, uri: Totp.uriOf(secret, email) }
      })

      const pending = Effect.fn("SecondFactors.pending")(function* ({ email, id }: Pick<Account, "id" | "email">) {
        const row = yield* readRow(sql, id)
        if (row === undefined || row.confirmedAt !== null) return undefined
        const secret = yield* Effect.orElseSucceed(opened(id, row), () => undefined)
        return secret === undefined ? undefined : { secret, uri: Totp.uriOf(secret, email) }
      })

      const confirm = Effect.fn("SecondFactors.confirm")(function* (accountId: string, code: string) {
        const now = yield* DateTime.nowAsDate
        const row = yield* readRow(sql, accountId)
        if (row === undefined || row.confirmedAt !== null) return yield* new SecondFactorOff()
        const step = Totp.stepOf(yield* opened(accountId, row), code, now.getTime(), undefined)
        if (step === undefined) return yield* new WrongCode()
        const codes = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          const rows = yield* sql`
            UPDATE second_factors f SET confirmed_at = ${now}, last_step = ${step}
            WHERE f.account_id = ${accountId} AND f.confirmed_at IS NULL AND f.secret = ${row.secret} RETURNING f.account_id`
          return rows.length === 0 ? undefined : yield* writeRecoveryCodes(sql, accountId, now)
        })))
        return codes ?? (yield* new SecondFactorOff())
      })

      const checkRecovery = Effect.fnUntraced(function* (accountId: string, digest: string) {
        const now = yield* DateTime.nowAsDate
        const rows = yield* Effect.orDie(sql`
          UPDATE recovery_codes r SET used_at = ${now}
          WHERE r.account_id = ${accountId} AND r.digest = ${digest} AND r.used_at IS NULL RETURNING r.digest`)
        return rows.length === 0 ? yield* new WrongCode() : "recovery_code" as const
      })

      const check = Effect.fn("SecondFactors.check")(function* (accountId: string, code: string) {
        if (!(yield* isOn(accountId))) return yield* new SecondFactorOff()
        // Checked before the secret is decrypted, because recovery codes work even if SECRET_KEY has been lost.
        const digest = Totp.recoveryDigest(accountId, code)
        if (digest !== undefined) return yield* checkRecovery(accountId, digest)
        const row = yield* readRow(sql, accountId)
        if (row === undefined || row.confirmedAt === null) return yield* new WrongCode()
        const now = yield* DateTime.nowAsDate
        const step = Totp.stepOf(yield* opened(accountId, row), code, now.getTime(), row.lastStep ?? undefined)
        if (step === undefined) return yield* new WrongCode()
        // Of two concurrent requests with one code, only the first succeeds.
        const rows = yield* Effect.orDie(sql`
          UPDATE second_factors f SET last_step = ${step}
          WHERE f.account_id = ${accountId} AND (f.last_step IS NULL OR f.last_step < ${step}) RETURNING f.account_id`)
        return rows.length === 0 ? yield* new WrongCode() : "totp" as const
      })

      return SecondFactors.of({
        state,
        begin,
        pending,
        confirm,
        check,
        renewRecoveryCodes: Effect.fn("SecondFactors.renewRecoveryCodes")(function* (accountId: string) {
          if (!(yield* isOn(accountId))) return yield* new SecondFactorOff()
          const now = yield* DateTime.nowAsDate
          return yield* Effect.orDie(sql.withTransaction(writeRecoveryCodes(sql, accountId, now)))
        }),
        remove: Effect.fn("SecondFactors.remove")((accountId: string) =>
          Effect.orDie(sql.withTransaction(Effect.gen(function* () {
            yield* sql`DELETE FROM second_factors f WHERE f.account_id = ${accountId}`
            yield* dropUnneeded(sql, accountId)
          })))
        ),
        removeAll: Effect.fn("SecondFactors.removeAll")((accountId: string) =>
          Effect.orDie(sql.withTransaction(removeAllOf(sql, accountId)))
        ),
        canStore: Effect.asVoid(box.seal("second factor", Redacted.make("try"))),
      })
    }),
  )
}
