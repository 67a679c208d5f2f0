import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { hash } from "node:crypto"
import { normalizeEmail } from "./Account.ts"
import { TooManyAttempts } from "./AccountErrors.ts"

/** Attempts within a window: per account, and per address, behind which many people may be. */
export const limits = { account: 10, address: 60 }

/** Unit: milliseconds. */
export const windowMillis = 15 * 60_000

const subjectOf = (kind: keyof typeof limits, value: string) => `${kind} ${hash("sha256", value, "hex")}`

/** Slows down guessing. Counted in the store, so that several nodes share the count. */
export class SignInLimits extends Context.Service<SignInLimits, {
  /** Counts an attempt before anything is looked at, so that attempts at once cannot slip through. */
  readonly attempt: (email: string, address: string) => Effect.Effect<void, TooManyAttempts>
  /** Forgets the attempts at an account whose password was right. Those of the address stay. */
  readonly succeeded: (email: string) => Effect.Effect<void>
}>()("parlance/accounts/SignInLimits") {
  static readonly layer = Layer.effect(
    SignInLimits,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const attempt = Effect.fn("SignInLimits.attempt")(function* (email: string, address: string) {
        const now = yield* DateTime.nowAsDate
        const before = new Date(now.getTime() - windowMillis)
        const subjects = [subjectOf("account", normalizeEmail(email)), subjectOf("address", address)]
        const rows = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          yield* sql`DELETE FROM sign_in_attempts s WHERE s.started_at <= ${before}`
          return yield* sql<{ subject: string; attempts: number; startedAt: Date }>`
            INSERT INTO sign_in_attempts AS s (subject, attempts, started_at)
            SELECT u.subject, 1, ${now} FROM unnest(${[...subjects].sort()}::text[]) AS u(subject)
            ON CONFLICT (subject) DO UPDATE SET attempts = s.attempts + 1
            RETURNING s.subject, s.attempts, s.started_at`
        })))
        const full = rows.filter(({ attempts, subject }) =>
          attempts > (subject.startsWith("account") ? limits.account : limits.address)
        )
        if (full.length === 0) return
        const latest = Math.max(...full.map(({ startedAt }) => startedAt.getTime()))
        return yield* new TooManyAttempts({
          retryAfterSeconds: Math.max(1, Math.ceil((latest + windowMillis - now.getTime()) / 1000)),
        })
      })

      return SignInLimits.of({
        attempt,
        succeeded: Effect.fn("SignInLimits.succeeded")((email: string) =>
          Effect.asVoid(Effect.orDie(sql`
            DELETE FROM sign_in_attempts s WHERE s.subject = ${subjectOf("account", normalizeEmail(email))}`))
        ),
      })
    }),
  )
}
