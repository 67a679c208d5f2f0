import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { hash } from "node:crypto"
import { type AttemptWindow, AttemptWindows } from "../auth/AttemptWindows.ts"
import { networkOf } from "../text/Addresses.ts"
import { normalizeEmail } from "./Account.ts"
import { TooManyAttempts } from "./AccountErrors.ts"

/**
 * Maximum numbers of attempts within a window.
 *
 * - `pair`: at one account from one network, so that a stranger locks out only their own network;
 * - `network`: at all accounts from one network, with passwords or passkeys, which many people may share;
 * - `account`: at one account from all networks, which bounds an attack from many addresses;
 * - `device`: at one account from a device that signed in to it before, to which no other limit applies;
 * - `reset` and `resetNetwork`: requests for a mail with a link to choose a new password, for one address and from one
 *   network;
 * - `code`: codes of the second factor at one account, after its password, from all devices that are not known to have
 *   signed in before;
 * - `deviceCode`: such codes from one device that signed in to the account before.
 */
export const limits = {
  pair: 10,
  network: 60,
  account: 50,
  device: 10,
  code: 5,
  deviceCode: 5,
  reset: 5,
  resetNetwork: 20,
}
type Kind = keyof typeof limits

/** Length of a window. Unit: milliseconds. */
export const windowMillis = 15 * 60_000

/** An attempt: the account, the network address, and the device cookie if it is valid for the account. */
interface Attempt {
  readonly email: string
  readonly address: string
  readonly device: string | undefined
}

/** A subject by which attempts are counted, and its maximum number of attempts. */
interface LimitedSubject {
  readonly text: string
  readonly limit: number
}

const digest = (text: string) => hash("sha256", text, "hex")

const subject = (kind: Kind, ...parts: ReadonlyArray<string>): LimitedSubject => ({
  text: [kind, ...parts.map(digest)].join(" "),
  limit: limits[kind],
})

/**
 * Returns the limits that an attempt at a password counts towards. The second list is counted only if the first is
 * within its limits, because refused attempts from one network must not use up the attempts of an account for all
 * networks.
 */
const subjectsOf = (
  { address, device, email }: Attempt,
): { readonly first: ReadonlyArray<LimitedSubject>; readonly second: ReadonlyArray<LimitedSubject> } => {
  const account = normalizeEmail(email)
  if (device !== undefined) return { first: [subject("device", account, device)], second: [] }
  const network = networkOf(address)
  return {
    first: [subject("pair", account, network), subject("network", network)],
    second: [subject("account", account)],
  }
}

/** Returns the limits that an attempt at a second factor counts towards. */
const codeSubjectsOf = ({ device, email }: Attempt): ReadonlyArray<LimitedSubject> => [
  device === undefined ? subject("code", normalizeEmail(email)) : subject("deviceCode", normalizeEmail(email), device),
]

/**
 * Returns the limits that a request for a new password counts towards. The second list is counted only if the first is
 * within its limits.
 */
const resetSubjectsOf = ({ address, email }: Omit<Attempt, "device">) =>
  [[subject("resetNetwork", networkOf(address))], [subject("reset", normalizeEmail(email))]] as const

/** Maximum number of subjects in the memory of a node. */
const maxSubjects = 20_000

/** Adds one attempt at each subject in the store. Returns their windows on all nodes. */
const countAttempts = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  subjects: ReadonlyArray<LimitedSubject>,
  now: Date,
) {
  const texts = subjects.map(({ text }) => text).sort()
  const before = new Date(now.getTime() - windowMillis)
  return yield* sql<{ subject: string; attempts: number; startedAt: Date }>`
    INSERT INTO sign_in_attempts AS s (subject, attempts, started_at)
    SELECT u.subject, 1, ${now} FROM unnest(${texts}::text[]) AS u(subject)
    ON CONFLICT (subject) DO UPDATE SET
      attempts = CASE WHEN s.started_at <= ${before} THEN 1 ELSE s.attempts + 1 END,
      started_at = CASE WHEN s.started_at <= ${before} THEN EXCLUDED.started_at ELSE s.started_at END
    RETURNING s.subject, s.attempts, s.started_at`
})

/**
 * Slows down guessing. Attempts are counted in the memory of each node, which refuses attempts past a limit without a
 * query, and in the store, which the nodes share.
 */
export class SignInLimits extends Context.Service<SignInLimits, {
  /**
   * Counts an attempt at a password before the password is compared, so that concurrent attempts cannot bypass the
   * limit. Fails with `TooManyAttempts` after too many attempts.
   */
  readonly attempt: (attempt: Attempt) => Effect.Effect<void, TooManyAttempts>
  /** Counts an attempt at a second factor. Fails with `TooManyAttempts` after too many attempts. */
  readonly attemptCode: (attempt: Attempt) => Effect.Effect<void, TooManyAttempts>
  /**
   * Counts a request for a new password, whether or not the address has an account. Fails with `TooManyAttempts` after
   * too many requests.
   */
  readonly attemptReset: (attempt: Omit<Attempt, "device">) => Effect.Effect<void, TooManyAttempts>
  /** Counts a request for a passkey, together with passwords. Fails with `TooManyAttempts` after too many attempts. */
  readonly attemptPasskey: (address: string) => Effect.Effect<void, TooManyAttempts>
  /** Removes the attempt of a right passkey. */
  readonly succeededPasskey: (address: string) => Effect.Effect<void>
  /**
   * Removes all attempts at the account from the network of an attempt with the right password, or from its device if
   * that is known. Removes only this attempt from the other limits.
   */
  readonly succeeded: (attempt: Attempt) => Effect.Effect<void>
  /** Removes the attempts at the second factor after a right one. */
  readonly succeededCode: (attempt: Attempt) => Effect.Effect<void>
  /**
   * Removes every attempt at an account after its password was chosen again. Other nodes do so when their windows end.
   */
  readonly forget: (email: string) => Effect.Effect<void>
}>()("parlance/accounts/SignInLimits") {
  static readonly layer = Layer.effect(
    SignInLimits,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const memory = new AttemptWindows(windowMillis, maxSubjects)

      const refusal = (full: ReadonlyArray<LimitedSubject>, now: number) => {
        const millis = Math.max(...full.map(({ text }) => memory.remainingMillis(text, now)))
        return new TooManyAttempts({ retryAfterSeconds: Math.max(1, Math.ceil(millis / 1000)) })
      }

      const isFull = (now: number) => ({ limit, text }: LimitedSubject) => memory.attempts(text, now) >= limit

      /** Counts in the store. Returns the subjects that are past their limit, which memory then treats as full. */
      const countInStore = Effect.fnUntraced(function* (
        subjects: ReadonlyArray<LimitedSubject>,
        windows: ReadonlyMap<string, AttemptWindow>,
        now: Date,
      ) {
        if (subjects.length === 0) return []
        const rows = yield* countAttempts(sql, subjects, now)
        const full = subjects.filter(({ limit, text }) =>
          rows.some((row) => row.subject === text && row.attempts > limit)
        )
        for (const { attempts, startedAt, subject: text } of rows) {
          const window = windows.get(text)
          if (window !== undefined) memory.raise(window, attempts, startedAt.getTime(), now.getTime())
        }
        return full
      })

      const count = Effect.fnUntraced(
        function* (first: ReadonlyArray<LimitedSubject>, second: ReadonlyArray<LimitedSubject>) {
          const now = yield* DateTime.nowAsDate
          const subjects = [...first, ...second]
          const known = subjects.filter(isFull(now.getTime()))
          if (known.length > 0) return yield* refusal(known, now.getTime())
          // Counted before the store responds, so that concurrent attempts are all counted.
          const windows = new Map<string, AttemptWindow>()
          for (const { text } of subjects) {
            memory.add(text, 1, now.getTime())
            const window = memory.current(text, now.getTime())
            if (window !== undefined) windows.set(text, window)
          }
          const full = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
            const full = yield* countInStore(first, windows, now)
            return full.length > 0 ? full : yield* countInStore(second, windows, now)
          })))
          if (full.length > 0) return yield* refusal(full, now.getTime())
        },
      )

      const forgetSubjects = (subjects: ReadonlyArray<LimitedSubject>) =>
        Effect.suspend(() => {
          for (const { text } of subjects) memory.forget(text)
          return Effect.asVoid(Effect.orDie(sql`
            DELETE FROM sign_in_attempts s WHERE s.subject = ANY(${subjects.map(({ text }) => text)}::text[])`))
        })

      const takeBack = (subjects: ReadonlyArray<LimitedSubject>) =>
        Effect.flatMap(DateTime.nowAsDate, (now) => {
          for (const { text } of subjects) memory.add(text, -1, now.getTime())
          // One by one, because a statement for several rows could lock them in another order than an attempt does.
          return Effect.forEach(subjects, ({ text }) =>
            Effect.orDie(sql`
              UPDATE sign_in_attempts s SET attempts = greatest(0, s.attempts - 1) WHERE s.subject = ${text}`), {
            discard: true,
          })
        })

      return SignInLimits.of({
        attempt: Effect.fn("SignInLimits.attempt")((attempt: Attempt) => {
          const { first, second } = subjectsOf(attempt)
          return count(first, second)
        }),
        attemptCode: Effect.fn("SignInLimits.attemptCode")((attempt: Attempt) => count(codeSubjectsOf(attempt), [])),
        attemptReset: Effect.fn("SignInLimits.attemptReset")((attempt: Omit<Attempt, "device">) => {
          const [first, second] = resetSubjectsOf(attempt)
          return count(first, second)
        }),
        attemptPasskey: Effect.fn("SignInLimits.attemptPasskey")((address: string) =>
          count([subject("network", networkOf(address))], [])
        ),
        succeededPasskey: Effect.fn("SignInLimits.succeededPasskey")((address: string) =>
          takeBack([subject("network", networkOf(address))])
        ),
        succeeded: Effect.fn("SignInLimits.succeeded")(function* (attempt: Attempt) {
          const { first: [own, ...first], second } = subjectsOf(attempt)
          yield* forgetSubjects([own!])
          if (first.length + second.length > 0) yield* takeBack([...first, ...second])
        }),
        succeededCode: Effect.fn("SignInLimits.succeededCode")((attempt: Attempt) =>
          forgetSubjects(codeSubjectsOf(attempt))
        ),
        forget: Effect.fn("SignInLimits.forget")((email: string) =>
          Effect.suspend(() => {
            const account = digest(normalizeEmail(email))
            memory.forgetWhere((text) => text.split(" ")[1] === account)
            return Effect.asVoid(Effect.orDie(
              sql`DELETE FROM sign_in_attempts s WHERE split_part(s.subject, ' ', 2) = ${account}`,
            ))
          })
        ),
      })
    }),
  )
}
