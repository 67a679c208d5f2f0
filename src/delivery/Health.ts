import type { Trouble } from "./Connections.ts"

/** Attempts that fail one after another before nothing is tried any more. */
const failuresToOpen = 10

/** The first pause after that; each further one is twice as long. Unit: milliseconds. */
const firstPauseMillis = 5_000
const longestPauseMillis = 60_000

/** A connection that takes nothing from us is tried again this often. Unit: milliseconds. */
const brokenPauseMillis = 60_000

/** A platform that asks for less without saying for how long gets this pause. Unit: milliseconds. */
const slowPauseMillis = 1_000

/** At most this long is believed. Unit: milliseconds. */
const longestWaitMillis = 3_600_000

/**
 * Whether a connection is to be used, from what it last answered: a circuit breaker.
 *
 *     closed ──ten failures in a row, broken──► open ──pause over──► probing (one message at a time)
 *       ▲                                        ▲───────fails────────┘ │
 *       └──────────────────────────accepted─────────────────────────────┘
 *
 * Times are Unix milliseconds.
 */
export class Health {
  private failures = 0
  private pauses = 0
  private until = 0
  private current: Omit<Trouble, "until"> | undefined

  /** When something may be sent again. */
  get resumesAt(): number {
    return this.until
  }

  /** One message at a time, to find out whether it works again. */
  get probing(): boolean {
    return this.current !== undefined && this.current.state !== "slow-down"
  }

  /** What people are told; null while all is well. */
  get trouble(): Trouble | null {
    return this.current === undefined ? null : { ...this.current, until: new Date(this.until).toISOString() }
  }

  accepted(now: number): void {
    this.failures = 0
    this.pauses = 0
    if (now >= this.until) this.current = undefined
  }

  /** The platform refused one message: it is there and listens. */
  refused(now: number): void {
    this.accepted(now)
  }

  failed(reason: string, now: number): void {
    this.failures++
    if (this.failures < failuresToOpen && !this.probing) return
    // Those that were under way when it opened say nothing new.
    if (now < this.until) return
    this.open("failing", reason, now, Math.min(longestPauseMillis, firstPauseMillis * 2 ** this.pauses))
    this.pauses++
  }

  broken(reason: string, now: number): void {
    this.open("broken", reason, now, brokenPauseMillis)
  }

  slowedDown(reason: string, waitMillis: number | undefined, now: number): void {
    const wait = Math.min(longestWaitMillis, Math.max(waitMillis ?? slowPauseMillis, 0))
    if (now + wait <= this.until) return
    this.open("slow-down", reason, now, wait)
  }

  private open(state: Trouble["state"], reason: string, now: number, pauseMillis: number): void {
    const since = this.current?.state === state ? this.current.since : new Date(now).toISOString()
    this.current = { state, reason, since }
    // What a platform asked for stands, whatever else is the matter.
    this.until = Math.max(this.until, now + pauseMillis)
  }
}
