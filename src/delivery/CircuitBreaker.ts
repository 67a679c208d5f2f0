/** Rules of a circuit breaker. Unit of all times: milliseconds. */
export interface BreakerPolicy {
  /** Number of consecutive failures that open the breaker. */
  readonly failuresToOpen: number
  /** The pause after the breaker opens. Each following pause is twice as long. */
  readonly firstPauseMillis: number
  readonly longestPauseMillis: number
  /** The pause after a slow-down request without a time. Each following pause is twice as long. */
  readonly firstSlowMillis: number
  readonly longestSlowMillis: number
  /** Whether no messages are sent during the pause. If false, messages are sent one at a time. */
  readonly isSilentWhenFailing: boolean
  /** Whether messages are sent one at a time after a requested pause, until one succeeds. */
  readonly probesAfterSlowDown: boolean
}

/** The policy of a connection: ten consecutive failures stop its sending. */
export const connectionPolicy: BreakerPolicy = {
  failuresToOpen: 10,
  firstPauseMillis: 5_000,
  longestPauseMillis: 60_000,
  firstSlowMillis: 1_000,
  longestSlowMillis: 1_000,
  isSilentWhenFailing: true,
  probesAfterSlowDown: false,
}

/** The policy of a recipient domain: after five consecutive failures, messages to other domains are sent first. */
export const domainPolicy: BreakerPolicy = {
  failuresToOpen: 5,
  firstPauseMillis: 1_000,
  longestPauseMillis: 60_000,
  firstSlowMillis: 5_000,
  longestSlowMillis: 300_000,
  isSilentWhenFailing: false,
  probesAfterSlowDown: true,
}

/** The pause before the next attempt of a broken connection. Unit: milliseconds. */
const brokenPauseMillis = 60_000

/** Longer pauses that a platform requests are shortened to this. Unit: milliseconds. */
const longestWaitMillis = 3_600_000

/**
 * A circuit breaker: an immutable value. The functions of this module return its successor.
 *
 *     closed ──consecutive failures, broken──► open ──pause over──► open for probes ──success──► closed
 *        └──slow-down request──► silent ──pause over──► closed, or open for probes, by policy
 *
 * Attempts that began before a silence was over do not close the breaker. Attempts that began before the breaker opened
 * do not double its pause. Times are milliseconds of a monotonic clock.
 */
export interface CircuitBreaker {
  /** Why the breaker is open; undefined while it is closed. */
  readonly trouble:
    | { readonly state: "failing" | "broken" | "slow-down"; readonly reason: string; readonly since: number }
    | undefined
  /** Failures since the last success. */
  readonly failures: number
  /** Number of pauses since the last success: after failures (`pauses`) and on request (`slowPauses`). */
  readonly pauses: number
  readonly slowPauses: number
  readonly openedAt: number
  /** No message may be sent before this time. */
  readonly silentUntil: number
  /** When the next probe is due; Infinity while the breaker is closed. */
  readonly probeAt: number
}

/** A breaker without history. */
export const closed: CircuitBreaker = {
  trouble: undefined,
  failures: 0,
  pauses: 0,
  slowPauses: 0,
  openedAt: -Infinity,
  silentUntil: -Infinity,
  probeAt: Infinity,
}

/** Whether no message may be sent. */
export const isSilent = ({ silentUntil }: CircuitBreaker, now: number): boolean => now < silentUntil

/** Whether messages are sent one at a time, to test whether sending works again. */
export const isProbing = ({ trouble }: CircuitBreaker, policy: BreakerPolicy): boolean =>
  trouble !== undefined && (trouble.state !== "slow-down" || policy.probesAfterSlowDown)

/**
 * Returns the breaker after a response of the other side: an acceptance or a final refusal. The attempt began at
 * `startedAt`.
 */
export const succeed = (breaker: CircuitBreaker, startedAt: number): CircuitBreaker =>
  startedAt < breaker.silentUntil
    ? breaker
    : { ...closed, openedAt: breaker.openedAt, silentUntil: breaker.silentUntil }

/** Returns the breaker after a failed attempt. */
export const fail = (
  breaker: CircuitBreaker,
  policy: BreakerPolicy,
  reason: string,
  startedAt: number,
  now: number,
): CircuitBreaker => {
  const failures = breaker.failures + 1
  const counted = { ...breaker, failures }
  const isStale = isProbing(breaker, policy) ? startedAt < breaker.openedAt : failures < policy.failuresToOpen
  if (isStale || isSilent(breaker, now)) return counted
  const pause = Math.min(policy.longestPauseMillis, policy.firstPauseMillis * 2 ** breaker.pauses)
  const silentUntil = policy.isSilentWhenFailing ? now + pause : breaker.silentUntil
  return { ...open(counted, "failing", reason, now, silentUntil), pauses: breaker.pauses + 1, probeAt: now + pause }
}

/**
 * Returns the breaker after an answer that no message can be sent through this connection, such as rejected
 * credentials.
 */
export const breakDown = (
  breaker: CircuitBreaker,
  reason: string,
  startedAt: number,
  now: number,
): CircuitBreaker =>
  breaker.trouble?.state === "broken" && startedAt < breaker.openedAt
    ? breaker
    : open(breaker, "broken", reason, now, now + brokenPauseMillis)

/**
 * Returns the breaker after a request to slow down. `waitMillis` is the requested pause; undefined if none was
 * requested.
 */
export const slowDown = (
  breaker: CircuitBreaker,
  policy: BreakerPolicy,
  reason: string,
  waitMillis: number | undefined,
  startedAt: number,
  now: number,
): CircuitBreaker => {
  if (startedAt < breaker.openedAt && waitMillis === undefined) return breaker
  const wait = waitMillis === undefined
    ? Math.min(policy.longestSlowMillis, policy.firstSlowMillis * 2 ** breaker.slowPauses)
    : Math.min(longestWaitMillis, Math.max(waitMillis, 0))
  if (now + wait <= breaker.silentUntil) return breaker
  const slowPauses = breaker.slowPauses + (waitMillis === undefined ? 1 : 0)
  return { ...open(breaker, "slow-down", reason, now, now + wait), slowPauses }
}

/** Opens the breaker. A requested pause stays in effect if other attempts fail. */
const open = (
  breaker: CircuitBreaker,
  state: "failing" | "broken" | "slow-down",
  reason: string,
  now: number,
  until: number,
): CircuitBreaker => {
  const { trouble } = breaker
  const silentUntil = Math.max(breaker.silentUntil, until)
  return {
    ...breaker,
    trouble: { state, reason, since: trouble?.state === state ? trouble.since : now },
    openedAt: now,
    silentUntil,
    probeAt: silentUntil,
  }
}
