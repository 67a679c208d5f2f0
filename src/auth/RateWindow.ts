const slots = 20

/** The state of a limit, for the caller. */
interface RateLimitState {
  readonly limit: number
  /** Length of the window. Unit: seconds. */
  readonly windowSeconds: number
  /** Number of requests remaining now, over all nodes according to the last exchange. */
  readonly remaining: number
  /** Seconds until the first of the counted requests leaves the window. Without counted requests, the whole window. */
  readonly resetSeconds: number
}

/**
 * Counts the requests of one key over a sliding window: at most `limit` requests in any interval of its length. To
 * guarantee this, a request counts up to a twentieth of the window too long. With several nodes, each grants only its
 * share (see `KeyLimits`).
 */
export class RateWindow {
  // One slot more than the window has, so that the oldest slot, which is partly in the window, counts fully.
  readonly #counts = new Float64Array(slots + 1)
  readonly #slotMillis: number
  #last = 0
  #total = 0
  /** Number of requests that this node may grant in a window. */
  allowed: number
  /** Whether other nodes share the limit, so that this node's share may grow soon. */
  isShared = false
  /**
   * Whether every response carries the RateLimit headers. With the built-in default limit, only refusals carry them.
   */
  isAnnounced = true
  /** Number of requests, including refused ones, since it was last set to 0. */
  received = 0

  /** `now` returns Unix milliseconds. */
  constructor(readonly limit: number, readonly windowMillis: number, readonly now: () => number) {
    this.#slotMillis = windowMillis / slots
    this.allowed = limit
  }

  /** Drops requests that have left the window, and returns the time. */
  #advance(): number {
    const now = this.now()
    const slot = Math.floor(now / this.#slotMillis)
    const passed = slot - this.#last
    if (passed === 0 || passed === -1) return now
    // Otherwise a clock that was set back would freeze the window.
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

  /** Counts `requests` at once. Returns false and counts nothing if they exceed the limit. */
  take(requests: number): boolean {
    this.#advance()
    this.received += requests
    // More requests than this node's share would never be granted, so they use the following shares as well.
    const fits = this.#total + requests <= this.allowed || (this.#total === 0 && requests <= this.limit)
    if (!fits) return false
    this.#counts[this.#last % (slots + 1)]! += requests
    this.#total += requests
    return true
  }

  /** Number of requests granted in the last `millis`, which must not exceed the window. */
  used(millis: number): number {
    const now = this.#advance()
    const oldest = Math.floor((now - millis) / this.#slotMillis) + 1
    let sum = 0
    for (let at = Math.max(0, oldest, this.#last - slots); at <= this.#last; at++) {
      sum += this.#counts[at % (slots + 1)]!
    }
    return sum
  }

  /** Milliseconds until this number of counted requests has left the window. */
  #freedIn(requests: number, now: number): number {
    let freed = 0
    for (let at = Math.max(0, this.#last - slots); at <= this.#last; at++) {
      freed += this.#counts[at % (slots + 1)]!
      if (freed >= requests) return (at + slots + 1) * this.#slotMillis - now
    }
    return this.windowMillis
  }

  /** Whole seconds, 1 or more, after which this number of requests can be granted if no others arrive. */
  retryAfterSeconds(requests: number): number {
    const now = this.#advance()
    const millis = this.#freedIn(Math.max(1, this.#total + requests - this.allowed), now)
    const seconds = Math.max(1, Math.ceil(millis / 1000))
    return this.isShared && this.#total + requests <= this.limit ? Math.min(2, seconds) : seconds
  }

  state(): RateLimitState {
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
