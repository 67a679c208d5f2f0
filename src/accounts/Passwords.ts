import { Context, Effect, Schema, Semaphore } from "effect"
import { Buffer } from "node:buffer"
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto"
import { availableParallelism } from "node:os"
import { isCommon } from "./CommonPasswords.ts"

/** Parameters of scrypt. Memory is 128 · r · 2^logN bytes. */
interface Cost {
  readonly logN: number
  readonly r: number
  readonly p: number
}

/** The cost of new hashes: OWASP's scrypt with 32 MiB, about 0.3 s of one core. Tests with many sign-ins lower it. */
export const PasswordCost = Context.Reference<Cost>("parlance/accounts/PasswordCost", {
  defaultValue: () => ({ logN: 15, r: 8, p: 3 }),
})

/** Minimum length of a password. Unit: characters. */
export const minLength = 10

/** Maximum length of a password. A longer one would only cost the server work. Unit: characters. */
const maxLength = 200

/** Too many passwords are waiting to be hashed. */
export class HashingOverloaded extends Schema.TaggedError<HashingOverloaded>()("HashingOverloaded", {}) {
  override get message() {
    return "Too many people are signing in right now. Try again in a few seconds."
  }
}

/** The queue of a password: for known people and devices, or for everybody else. */
export type PasswordLane = "anybody" | "known"

/** Maximum number of passwords waiting in a lane. */
const maxWaiting = 32

const laneOf = (permits: number) => ({ permits: Semaphore.makeUnsafe(permits), waiting: 0 })

// Hashing runs off the event loop. A flood of sign-ins must leave a core to other work, must not exhaust memory, and
// must not delay people whose device is known, so these have a separate lane.
const lanes: Readonly<Record<PasswordLane, { readonly permits: Semaphore.Semaphore; waiting: number }>> = {
  anybody: laneOf(Math.max(1, Math.min(4, availableParallelism() - 1))),
  known: laneOf(1),
}

const derive = (password: string, salt: Buffer, { logN, p, r }: Cost) =>
  Effect.callback<Buffer>((resume) => {
    const options = { N: 2 ** logN, r, p, maxmem: 128 * r * 2 ** logN + 2 ** 24 }
    scrypt(password.normalize("NFKC"), salt, 32, options, (error, key) => {
      resume(error === null ? Effect.succeed(key) : Effect.die(error))
    })
  })

/** Runs `hashing` in its lane. Fails with `HashingOverloaded` if too many passwords are waiting. */
const inLane = <A>(name: PasswordLane, hashing: Effect.Effect<A>): Effect.Effect<A, HashingOverloaded> =>
  Effect.suspend(() => {
    const lane = lanes[name]
    if (lane.waiting >= maxWaiting) return Effect.fail(new HashingOverloaded())
    lane.waiting++
    return Effect.ensuring(
      // A hash cannot be stopped, so it keeps its permit even if the client disconnects.
      lane.permits.withPermits(1)(Effect.uninterruptible(hashing)),
      Effect.sync(() => void lane.waiting--),
    )
  })

/**
 * Returns the hash of a password in the stored form: `scrypt$logN$r$p$salt$key`. Waits for its turn without a limit.
 */
export const hash = Effect.fnUntraced(function* (password: string) {
  const cost = yield* PasswordCost
  const salt = randomBytes(16)
  const key = yield* lanes.known.permits.withPermits(1)(Effect.uninterruptible(derive(password, salt, cost)))
  return ["scrypt", cost.logN, cost.r, cost.p, salt.toString("base64url"), key.toString("base64url")].join("$")
})

/**
 * Whether `password` is the password of the hash `stored`. With `undefined`, does equal work and returns false. Fails
 * with `HashingOverloaded` if too many passwords are waiting.
 */
export const verify = Effect.fnUntraced(function* (password: string, stored: string | undefined, lane: PasswordLane) {
  const cost = yield* PasswordCost
  const [, logN, r, p, salt = "", expected = ""] = stored?.split("$") ?? []
  const known = stored === undefined ? cost : { logN: Number(logN), r: Number(r), p: Number(p) }
  const key = yield* inLane(lane, derive(password.slice(0, maxLength), Buffer.from(salt, "base64url"), known))
  const wanted = stored === undefined ? Buffer.alloc(32) : Buffer.from(expected, "base64url")
  return timingSafeEqual(key, wanted) && stored !== undefined
})

/** Whether `stored` has other parameters than new hashes. */
export const isOutdated = (stored: string): Effect.Effect<boolean> =>
  Effect.map(PasswordCost, ({ logN, p, r }) => !stored.startsWith(`scrypt$${logN}$${r}$${p}$`))

/** Returns the fault of a password, or undefined for a valid one. */
export const faultOf = Effect.fnUntraced(function* (password: string, email: string) {
  // Checked first, so that a long password costs no work.
  if (password.length > maxLength) return `must have at most ${maxLength} characters`
  if ([...password].length < minLength) {
    return `must have at least ${minLength} characters; several unrelated words make a good one`
  }
  const lower = password.toLowerCase()
  if (lower === email.toLowerCase() || lower === email.toLowerCase().split("@", 1)[0]) {
    return "must not be the e-mail address"
  }
  return new Set(lower).size <= 2 || (yield* isCommon(password))
    ? "is one of the passwords that are tried first; choose another, such as several unrelated words"
    : undefined
})
