/** When a circuit breaker opens and for how long. Unit of all times: milliseconds. */
export interface BreakerPolicy {
  /** Failures in a row that open it. */
  readonly failuresToOpen: number
  /** The pause after it opened; each further one is twice as long. */
  readonly firstPauseMillis: number
  readonly longestPauseMillis: number
  /** The pause after a request for less that names no time; each further one is twice as long. */
  readonly firstSlowMillis: number
  readonly longestSlowMillis: number
  /** Whether no message leaves before the pause is over. Otherwise messages leave one at a time. */
  readonly isSilentWhenFailing: boolean
  /** Whether messages leave one at a time once a pause that was asked for is over. */
  readonly probesAfterSlowDown: boolean
}

/** The policy of a connection: ten failures in a row silence it. */
export const connectionPolicy: BreakerPolicy = {
  failuresToOpen: 10,
  firstPauseMillis: 5_000,
  longestPauseMillis: 60_000,
  firstSlowMillis: 1_000,
  longestSlowMillis: 1_000,
  isSilentWhenFailing: true,
  probesAfterSlowDown: false,
}

/** The policy of a recipient domain: five failures in a row make it yield to other domains. */
export const domainPolicy: BreakerPolicy = {
  failuresToOpen: 5,
  firstPauseMillis: 1_000,
  longestPauseMillis: 60_000,
  firstSlowMillis: 5_000,
  longestSlowMillis: 300_000,
  isSilentWhenFailing: false,
  probesAfterSlowDown: true,
}

/** A broken connection is tried again after this time. */
const brokenPauseMillis = 60_000

/** The longest pause that is granted on request. */
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
  /** No message may leave before this time. */
  readonly silentUntil: number
  /** When the next probe is due; Infinity while it is closed. */
  readonly probeAt: number
}

/** A breaker of which nothing is known yet. */
export const closed: CircuitBreaker = {
  trouble: undefined,
  failures: 0,
  pauses: 0,
  slowPauses: 0,
  openedAt: -Infinity,
  silentUntil: -Infinity,
  probeAt: Infinity,
}

/** Whether no message may leave. */
export const isSilent = ({ silentUntil }: CircuitBreaker, now: number): boolean => now < silentUntil

/** Whether messages leave one at a time, to find out whether it works again. */
export const isProbing = ({ trouble }: CircuitBreaker, policy: BreakerPolicy): boolean =>
  trouble !== undefined && (trouble.state !== "slow-down" || policy.probesAfterSlowDown)

/** After an attempt that began at `startedAt` and shows that the other side listens: an acceptance, or a final refusal. */
export const succeed = (breaker: CircuitBreaker, startedAt: number): CircuitBreaker =>
  startedAt < breaker.silentUntil
    ? breaker
    : { ...closed, openedAt: breaker.openedAt, silentUntil: breaker.silentUntil }

/** After an attempt that failed. */
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

/** After an answer that says that the connection takes no message at all, such as one about its credentials. */
export const breakDown = (
  breaker: CircuitBreaker,
  reason: string,
  startedAt: number,
  now: number,
): CircuitBreaker =>
  breaker.trouble?.state === "broken" && startedAt < breaker.openedAt
    ? breaker
    : open(breaker, "broken", reason, now, now + brokenPauseMillis)

/** After a request for less. `waitMillis` is the time it names; undefined if it names none. */
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

/** Opens the breaker. A pause that was asked for stands, whatever else is the matter. */
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
