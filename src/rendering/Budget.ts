import * as Limits from "./Limits.ts"
import { LimitReached } from "./LimitReached.ts"

/** The budget of one item of a request. */
interface Share {
  readonly items: number
  readonly steps: number
  readonly millis: number
  readonly length: number
}

const shareOf = (items: number): Share => ({
  items,
  steps: Math.min(Limits.steps, Math.floor(Limits.requestSteps / items)),
  millis: Math.min(Limits.millis, Math.floor(Limits.requestMillis / items)),
  length: Math.min(Limits.variantLength, Math.floor(Limits.requestLength / items)),
})

/** The share of a request for one template, which nearly all are. */
const whole = shareOf(1)

const monotonicNow = (): number => performance.now()

/**
 * The steps and the time that one item of a request may take for targeting and rendering. A request for one template has
 * one item with all of it; the items of a batch have equal parts, so that no item depends on what the others cost.
 *
 * Steps are deterministic. The clock is read every 4,096 steps only, so work of fewer steps never meets the time limit,
 * however busy the machine is.
 */
export class Budget {
  readonly #share: Share
  readonly #now: () => number
  #steps: number
  #millis: number
  /** The number of steps left at which the clock is read next. */
  #readingAt: number
  /** The last reading of the clock since `resume`. */
  #read: number | undefined = undefined
  #overdrawn: LimitReached | undefined = undefined

  /** `items` is their number in the request, `now` a monotonic clock in milliseconds. */
  constructor(items = 1, now: () => number = monotonicNow) {
    const share = items === 1 ? whole : shareOf(items)
    this.#share = share
    this.#now = now
    this.#steps = share.steps
    this.#millis = share.millis
    this.#readingAt = share.steps - Limits.stepsPerReading
  }

  /** Longest sum of all rendered variables. Unit: UTF-16 code units. */
  get length(): number {
    return this.#share.length
  }

  /** Steps that may still be spent. */
  get stepsLeft(): number {
    return Math.max(this.#steps, 0)
  }

  /** Steps spent so far. */
  get spent(): number {
    return this.#share.steps - this.#steps
  }

  /** Whether a charge has failed, so that every charge from now on fails. */
  get isOverdrawn(): boolean {
    return this.#overdrawn !== undefined
  }

  /** Returns a full budget of the same size. */
  renewed(): Budget {
    return new Budget(this.#share.items, this.#now)
  }

  /** Starts a stretch of synchronous work. The time between two stretches is not charged. */
  resume(): void {
    this.#read = undefined
  }

  /** Charges `count` steps. Fails with `LimitReached` when there are fewer left, or when the time is over. */
  spend(count: number): void {
    this.#steps -= count
    // Written so that NaN, which compares false to everything, reaches the check as well.
    if (!(this.#steps >= this.#readingAt)) this.#check()
  }

  /**
   * Charges a search for `needle` code units in `haystack`. Searches are not linear: a million code units for
   * ten thousand took V8 1.7 s.
   */
  search(haystack: number, needle: number): void {
    this.spend(1 + Math.floor(haystack / 16) + (needle > haystack ? 0 : Math.floor((haystack * needle) / 512)))
  }

  #check(): void {
    if (this.#overdrawn === undefined) {
      this.#readClock()
      if (!(this.#steps >= 0)) {
        this.#overdraw("takes too much work to render", `${this.#share.steps.toLocaleString("en-US")} steps`)
      } else if (this.#millis < 0) this.#overdraw("takes too long to render", `${this.#share.millis} ms`)
    }
    if (this.#overdrawn !== undefined) throw this.#overdrawn
  }

  #readClock(): void {
    const read = this.#now()
    if (this.#read !== undefined) this.#millis -= read - this.#read
    this.#read = read
    this.#readingAt = Math.max(this.#steps - Limits.stepsPerReading, 0)
  }

  #overdraw(what: string, limit: string): void {
    const { items } = this.#share
    const reached = items === 1 ? limit : `${limit}, an even share of what a request for ${items} templates has`
    const remedy = items === 1 ? "" : ", or ask for fewer templates in one request"
    this.#overdrawn = new LimitReached(
      `${what} (more than ${reached}): loop over fewer elements, pass shorter values to filters${remedy}`,
      reached,
    )
    // Every charge from now on fails.
    this.#readingAt = Infinity
  }
}
