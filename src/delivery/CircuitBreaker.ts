/** Rules of a circuit breaker. Unit of all times: milliseconds. */
export interface BreakerPolicy {
  /** Consecutive failures that open it. */
  readonly failuresToOpen: number
  /** The pause after it opened; each further one is twice as long. */
  readonly firstPauseMillis: number
  readonly longestPauseMillis: number
  /** The pause after a request to slow down that names no time; each further one is twice as long. */
  readonly firstSlowMillis: number
  readonly longestSlowMillis: number
  /** Whether no messages are sent until the pause is over. Otherwise messages are sent one at a time. */
  readonly isSilentWhenFailing: boolean
  /** Whether messages are sent one at a time once a requested pause is over. */
  readonly probesAfterSlowDown: boolean
}

/** The policy of a connection: ten consecutive failures stop it. */
export const connectionPolicy: BreakerPolicy = {
  failuresToOpen: 10,
  firstPauseMillis: 5_000,
  longestPauseMillis: 60_000,
  firstSlowMillis: 1_000,
  longestSlowMillis: 1_000,
  isSilentWhenFailing: true,
  probesAfterSlowDown: false,
}

/** The policy of a recipient domain: after five consecutive failures it yields to other domains. */
export const domainPolicy: BreakerPolicy = {
  failuresToOpen: 5,
  firstPauseMillis: 1_000,
  longestPauseMillis: 60_000,
  firstSlowMillis: 5_000,
  longestSlowMillis: 300_000,
  isSilentWhenFailing: false,
  probesAfterSlowDown: true,
}

/** Pause before a broken connection is tried again. */
const brokenPauseMillis = 60_000

/** The longest pause that a platform may request. */
const longestWaitMillis = 3_600_000

/**
 * A circuit breaker: an immutable value, which the functions of this module replace by the next one.
 *
 *     closed ──failures in a row, broken──► open ──pause over──► open for probes ──success──► closed
 *        └──asked for less──► silent ──pause over──► closed, or open for probes, by policy
 *
 * Results of attempts that began before it opened neither close it nor double its pause. Times are milliseconds of a clock
 * that does not jump.
 */
export interface CircuitBreaker {
  /** The reason why it is open; undefined while it is closed. */
  readonly trouble:
    | { readonly state: "failing" | "broken" | "slow-down"; readonly reason: string; readonly since: number }
    | undefined
  /** Failures since the last success. */
  readonly failures: number
  /** Pauses since the last success: for failures, and on request. */
  readonly pauses: number
  readonly slowPauses: number
  readonly openedAt: number
  /** No message may be sent before this time. */
  readonly silentUntil: number
  /** When the next probe is due; Infinity while it is closed. */
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

/** Whether messages are sent one at a time, to find out whether sending works again. */
export const isProbing = ({ trouble }: CircuitBreaker, policy: BreakerPolicy): boolean =>
  trouble !== undefined && (trouble.state !== "slow-down" || policy.probesAfterSlowDown)

/**
 * The breaker after an attempt that began at `startedAt` and shows that the other side responds: an acceptance, or a
 * final refusal.
 */
export const succeed = (breaker: CircuitBreaker, startedAt: number): CircuitBreaker =>
  startedAt < breaker.silentUntil
    ? breaker
    : { ...closed, openedAt: breaker.openedAt, silentUntil: breaker.silentUntil }

/** The breaker after a failed attempt. */
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

/** The breaker after an answer that the connection cannot send any message, such as an error about its credentials. */
export const breakDown = (
  breaker: CircuitBreaker,
  reason: string,
  startedAt: number,
  now: number,
): CircuitBreaker =>
  breaker.trouble?.state === "broken" && startedAt < breaker.openedAt
    ? breaker
    : open(breaker, "broken", reason, now, now + brokenPauseMillis)

/** The breaker after a request to slow down. `waitMillis` is the time it names; undefined if it names none. */
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

/** Opens the breaker. A requested pause stays in effect whatever else fails. */
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
