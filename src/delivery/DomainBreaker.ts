/** Failed attempts in a row that open the breaker of a domain. */
const failuresToOpen = 5

/** The pause before the first probe; each further pause is twice as long. Unit: milliseconds. */
const firstProbeMillis = 1_000
const longestProbeMillis = 60_000

/** The pause after a domain asked for less, unless it says for how long; each further pause is twice as long. Unit: milliseconds. */
const firstPauseMillis = 5_000
const longestPauseMillis = 300_000

/**
 * The circuit breaker of a recipient domain. Failures that belong to the recipient feed it, and nothing else does.
 *
 *     closed ──five failures in a row──► open (one message at a time) ──an answer other than a failure──► closed
 *        └──asked for less──► paused (no message) ──pause over──► open
 *
 * While it is open, messages to other domains go first, but for a probe after 1, 2, 4, … 60 seconds. Times are milliseconds
 * of a clock that does not jump.
 */
export class DomainBreaker {
  private failures = 0
  private probes = 0
  private pauses = 0
  private openedAt = -Infinity
  private due = Infinity
  private pausedUntil = -Infinity

  /** Messages of the domain leave one at a time, or not at all. */
  get isOpen(): boolean {
    return this.due < Infinity
  }

  /** No message of the domain may leave. */
  isPaused(now: number): boolean {
    return now < this.pausedUntil
  }

  /** When the next probe is due although messages to other domains wait; Infinity while the breaker is closed. */
  get probeAt(): number {
    return this.due
  }

  /** The domain took a message, or refused it for good: it listens. `startedAt` is when the attempt began. */
  answered(startedAt: number): void {
    // An attempt from before the pause shows nothing new.
    if (startedAt < this.pausedUntil) return
    this.failures = 0
    this.probes = 0
    this.pauses = 0
    this.due = Infinity
  }

  failed(startedAt: number, now: number): void {
    this.failures++
    if (this.isOpen ? startedAt < this.openedAt : this.failures < failuresToOpen) return
    this.open(now, now + Math.min(longestProbeMillis, firstProbeMillis * 2 ** this.probes++))
  }

  slowedDown(waitMillis: number | undefined, startedAt: number, now: number): void {
    if (startedAt < this.openedAt) return
    const wait = waitMillis ?? Math.min(longestPauseMillis, firstPauseMillis * 2 ** this.pauses++)
    this.pausedUntil = Math.max(this.pausedUntil, now + wait)
    this.open(now, this.pausedUntil)
  }

  private open(now: number, due: number): void {
    this.openedAt = now
    this.due = due
  }
}
