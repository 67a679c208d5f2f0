import { Context, DateTime, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { expire } from "./AuditChain.ts"
import { absoluteMillis, idleMillis } from "./Sessions.ts"
import { windowMillis } from "./SignInLimits.ts"

/** Time for which an accepted or expired invitation is kept for inquiries. Unit: milliseconds. */
const invitationMillis = 30 * 86_400_000

/** Time for which the audit log keeps refused requests, which any stranger can cause. Unit: milliseconds. */
const refusalMillis = 30 * 86_400_000

/** Removes expired sessions, devices and links, because they are personal data without a use. */
export class Expired extends Context.Service<Expired, {
  /** Removes expired sessions, attempts to sign in, one-time links, invitations and counts of refused requests. */
  readonly remove: Effect.Effect<void>
}>()("parlance/accounts/Expired") {
  static readonly layer = Layer.effect(
    Expired,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const remove = Effect.gen(function* () {
        const now = yield* DateTime.nowAsDate
        const ago = (millis: number) => new Date(now.getTime() - millis)
        yield* sql`
          DELETE FROM sessions s WHERE s.expires_at <= ${now} OR s.last_seen_at <= ${ago(idleMillis)}
            OR s.created_at <= ${ago(absoluteMillis)}`
        yield* sql`DELETE FROM sign_in_attempts s WHERE s.started_at <= ${ago(windowMillis)}`
        yield* sql`DELETE FROM one_time_links l WHERE l.expires_at <= ${now}`
        yield* sql`
          DELETE FROM invitations i WHERE i.expires_at <= ${ago(invitationMillis)}
            OR i.accepted_at <= ${ago(invitationMillis)}`
        yield* expire(sql, "refusals", ago(refusalMillis))
      }).pipe(
        Effect.catch((error) => Effect.logDebug("Expired records were not removed", error.message)),
        Effect.withSpan("Expired.remove"),
      )
      return Expired.of({ remove })
    }),
  )

  /** Removes periodically. Sign-ins remove some of it too, but may be months apart. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(Expired, ({ remove }) => Effect.forkScoped(Effect.repeat(remove, Schedule.spaced("10 minutes")))),
  )
}
