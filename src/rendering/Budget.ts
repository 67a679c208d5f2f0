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

/** The share of a request for one template, which is nearly every request. */
const whole = shareOf(1)

const monotonicNow = (): number => performance.now()

/**
 * The steps and the time that one item of a request may use for targeting and rendering. A request for one template has
 * one item with the whole budget. The items of a batch have equal parts, so that no item depends on the cost of others.
 *
 * Steps are deterministic. The clock is read only every 4,096 steps, so work with fewer steps never meets the time
 * limit, even on a busy machine.
 */
export class Budget {
  readonly #share: Share
  readonly #now: () => number
  #steps: number
  #millis: number
  /** The number of remaining steps at which the clock is read next. */
  #readingAt: number
  /** The last reading of the clock since `resume`. */
  #read: number | undefined = undefined
  #overdrawn: LimitReached | undefined = undefined

  /** `items` is the number of items in the request, `now` a monotonic clock in milliseconds. */
  constructor(items = 1, now: () => number = monotonicNow) {
    const share = items === 1 ? whole : shareOf(items)
    this.#share = share
    this.#now = now
    this.#steps = share.steps
    this.#millis = share.millis
    this.#readingAt = share.steps - Limits.stepsPerReading
  }

  /** Maximum total length of all rendered variables. Unit: UTF-16 code units. */
  get length(): number {
    return this.#share.length
  }

  /** Number of remaining steps. */
  get stepsLeft(): number {
    return Math.max(this.#steps, 0)
  }

  /** Number of spent steps. */
  get spent(): number {
    return this.#share.steps - this.#steps
  }

  /** Whether a charge has failed, so that every later charge fails. */
  get isOverdrawn(): boolean {
    return this.#overdrawn !== undefined
  }

  /** Returns a full budget of the same size. */
  renewed(): Budget {
    return new Budget(this.#share.items, this.#now)
  }

  /** Starts a period of synchronous work. The time between two periods is not charged. */
  resume(): void {
    this.#read = undefined
  }

  /** Charges `count` steps. Throws `LimitReached` if fewer remain, or if the time is over. */
  spend(count: number): void {
    this.#steps -= count
    // Written so that NaN, for which every comparison is false, reaches the check as well.
    if (!(this.#steps >= this.#readingAt)) this.#check()
  }

  /**
   * Charges a search for `needle` code units in `haystack`. Searches are not linear: V8 needed 1.7 s for ten thousand
   * code units in a million.
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
    // Makes every later charge fail.
    this.#readingAt = Infinity
  }
}

/** Only steps decide whether Liquid is refused. The deadline of the checking process bounds the time. */
export const stepsOnly = () => new Budget(1, () => 0)
