import { Context, Effect, Schema, Semaphore } from "effect"
import { Buffer } from "node:buffer"
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto"
import { availableParallelism } from "node:os"
import { isCommon } from "./CommonPasswords.ts"

/** Parameters of scrypt. Memory is 128 · r · 2^logN bytes. */
export interface Cost {
  readonly logN: number
  readonly r: number
  readonly p: number
}

/** The cost of new hashes: OWASP's scrypt with 32 MiB, about 0.3 s of one core here. Tests of many sign-ins lower it. */
export const PasswordCost = Context.Reference<Cost>("parlance/accounts/PasswordCost", {
  defaultValue: () => ({ logN: 15, r: 8, p: 3 }),
})

/** Characters of a password at least. */
export const minLength = 10

/** Characters of a password at most: more only makes the server work. */
export const maxLength = 200

/** Too many passwords wait to be hashed. */
export class HashingOverloaded extends Schema.TaggedError<HashingOverloaded>()("HashingOverloaded", {}) {
  override get message() {
    return "Too many people are signing in right now. Try again in a few seconds."
  }
}

/** Whose passwords are hashed: of anybody, or of people and devices that are known. */
export type PasswordLane = "anybody" | "known"

/** Passwords that wait in a lane at most. */
const maxWaiting = 32

const laneOf = (permits: number) => ({ permits: Semaphore.makeUnsafe(permits), waiting: 0 })

// Hashing runs off the event loop. A flood of sign-ins must leave a core to everything else, must not take all memory, and
// must not hold up people whose device is known, so these have a lane of their own.
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

/** Runs `hashing` in its turn. Fails with `HashingOverloaded` where too many wait. */
const inLane = <A>(name: PasswordLane, hashing: Effect.Effect<A>): Effect.Effect<A, HashingOverloaded> =>
  Effect.suspend(() => {
    const lane = lanes[name]
    if (lane.waiting >= maxWaiting) return Effect.fail(new HashingOverloaded())
    lane.waiting++
    return Effect.ensuring(
      // A hash cannot be stopped, so neither is its turn cut short by a client that goes away.
      lane.permits.withPermits(1)(Effect.uninterruptible(hashing)),
      Effect.sync(() => void lane.waiting--),
    )
  })

/** The hash of a password as it is stored: `scrypt$logN$r$p$salt$key`. Waits as long as it takes. */
export const hash = Effect.fnUntraced(function* (password: string) {
  const cost = yield* PasswordCost
  const salt = randomBytes(16)
  const key = yield* lanes.known.permits.withPermits(1)(Effect.uninterruptible(derive(password, salt, cost)))
  return ["scrypt", cost.logN, cost.r, cost.p, salt.toString("base64url"), key.toString("base64url")].join("$")
})

/**
 * Whether `password` is the one of `stored`. With `undefined`, the same work, and never. Fails with `HashingOverloaded` where
 * too many passwords wait to be compared.
 */
export const verify = Effect.fnUntraced(function* (password: string, stored: string | undefined, lane: PasswordLane) {
  const cost = yield* PasswordCost
  const [, logN, r, p, salt = "", expected = ""] = stored?.split("$") ?? []
  const known = stored === undefined ? cost : { logN: Number(logN), r: Number(r), p: Number(p) }
  const key = yield* inLane(lane, derive(password.slice(0, maxLength), Buffer.from(salt, "base64url"), known))
  const wanted = stored === undefined ? Buffer.alloc(32) : Buffer.from(expected, "base64url")
  return timingSafeEqual(key, wanted) && stored !== undefined
})

/** Whether `stored` was made with other parameters than new hashes are. */
export const isOutdated = (stored: string): Effect.Effect<boolean> =>
  Effect.map(PasswordCost, ({ logN, p, r }) => !stored.startsWith(`scrypt$${logN}$${r}$${p}$`))

/** The fault of a password; undefined for a valid one. */
export const faultOf = Effect.fnUntraced(function* (password: string, email: string) {
  // First, so that no work is spent on a long one.
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
