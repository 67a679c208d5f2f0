import { type Clock, Effect } from "effect"

/** Maximum duration of a time slice before other requests are served. Unit: milliseconds. */
const sliceMillis = 4

/** Maximum pause after a time slice. Unit: milliseconds. */
const maxPauseMillis = 50

/**
 * A time slice of the event loop for the items of a batch. Other requests wait until it ends. So a batch with expensive
 * items ends its slice between two of them. A batch of ordinary items needs one slice.
 */
export class TimeSlice {
  readonly #clock: Clock.Clock
  #began: number

  constructor(clock: Clock.Clock) {
    this.#clock = clock
    this.#began = clock.currentTimeMillisUnsafe()
  }

  /** Whether the time slice has lasted long enough at `now`. It also ends if the wall clock is changed. */
  isOver(now: number): boolean {
    return Math.abs(now - this.#began) >= sliceMillis
  }

  /**
   * Pauses for as long as the slice lasted, at most 50 ms, then begins the next slice and returns its start. A request
   * needs several iterations of the event loop, so a mere yield would add the batch's next item to each of them.
   */
  readonly next: Effect.Effect<number> = Effect.suspend(() => {
    const lasted = Math.abs(this.#clock.currentTimeMillisUnsafe() - this.#began)
    return Effect.map(
      Effect.sleep(Math.min(lasted, maxPauseMillis)),
      () => this.#began = this.#clock.currentTimeMillisUnsafe(),
    )
  })
}
