const slots = 20

/** The window of a limit as a caller is told of it. */
export interface RateStanding {
  readonly limit: number
  /** Unit: seconds. */
  readonly windowSeconds: number
  /** Requests that are left now, over all nodes as far as this one knows. */
  readonly remaining: number
  /** Seconds until the first of the requests that count now no longer does; the whole window when none counts. */
  readonly resetSeconds: number
}

/**
 * Counts the requests of one key over a sliding window: never more than `limit` in any of its length, for which a request
 * counts up to a twentieth of the window too long. Of several nodes each lets through what it is allowed (see `KeyLimits`).
 */
export class RateWindow {
  // One more than the window has, so that the oldest, of which a part is in the window, counts whole.
  readonly #counts = new Float64Array(slots + 1)
  readonly #slotMillis: number
  #last = 0
  #total = 0
  /** Requests this node may let through in a window. */
  allowed: number
  /** Whether other nodes share the limit, so that this node's share may grow soon. */
  isShared = false
  /** Whether callers are told of the limit with every response; the built-in default is told only to those it refuses. */
  isAnnounced = true
  /** Requests asked for since it was last set to 0, the refused too. */
  asked = 0

  /** `now` answers Unix milliseconds. */
  constructor(readonly limit: number, readonly windowMillis: number, readonly now: () => number) {
    this.#slotMillis = windowMillis / slots
    this.allowed = limit
  }

  /** Forgets requests that are too old; returns the time. */
  #advance(): number {
    const now = this.now()
    const slot = Math.floor(now / this.#slotMillis)
    const passed = slot - this.#last
    if (passed === 0 || passed === -1) return now
    // A clock that was set back would hold the window for as long.
    if (passed > slots || passed < -1) {
      this.#counts.fill(0)
      this.#total = 0
    } else {
      for (let at = this.#last + 1; at <= slot; at++) {
        const index = at % (slots + 1)
        this.#total -= this.#counts[index]!
        this.#counts[index] = 0
      }
    }
    this.#last = slot
    return now
  }

  /** Counts `requests` at once, or answers false and counts none. */
  take(requests: number): boolean {
    this.#advance()
    this.asked += requests
    // More requests than this node's share would never pass: they use the following shares as well.
    const fits = this.#total + requests <= this.allowed || (this.#total === 0 && requests <= this.limit)
    if (!fits) return false
    this.#counts[this.#last % (slots + 1)]! += requests
    this.#total += requests
    return true
  }

  /** Requests that were let through in the last `millis`, at most a window. */
  used(millis: number): number {
    const now = this.#advance()
    const oldest = Math.floor((now - millis) / this.#slotMillis) + 1
    let sum = 0
    for (let at = Math.max(0, oldest, this.#last - slots); at <= this.#last; at++) {
      sum += this.#counts[at % (slots + 1)]!
    }
    return sum
  }

  /** Milliseconds until so many of the requests that count now no longer do. */
  #freedIn(requests: number, now: number): number {
    let freed = 0
    for (let at = Math.max(0, this.#last - slots); at <= this.#last; at++) {
      freed += this.#counts[at % (slots + 1)]!
      if (freed >= requests) return (at + slots + 1) * this.#slotMillis - now
    }
    return this.windowMillis
  }

  /** Whole seconds, 1 or more, after which so many requests can be taken if no others come. */
  retryAfterSeconds(requests: number): number {
    const now = this.#advance()
    const millis = this.#freedIn(Math.max(1, this.#total + requests - this.allowed), now)
    const seconds = Math.max(1, Math.ceil(millis / 1000))
    return this.isShared && this.#total + requests <= this.limit ? Math.min(2, seconds) : seconds
  }

  standing(): RateStanding {
    const now = this.#advance()
    const windowSeconds = this.windowMillis / 1000
    const left = Math.max(0, this.allowed - this.#total)
    return {
      limit: this.limit,
      windowSeconds,
      remaining: this.allowed <= 0 ? 0 : Math.floor(this.limit * left / this.allowed),
      resetSeconds: this.#total === 0 ? windowSeconds : Math.max(1, Math.ceil(this.#freedIn(1, now) / 1000)),
    }
  }
}
