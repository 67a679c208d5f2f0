import { type Clock, Effect } from "effect"

/** How long a turn may last before other requests are served. Unit: milliseconds. */
const turnMillis = 4

/** The longest pause after a turn. Unit: milliseconds. */
const maxPauseMillis = 50

/**
 * A turn of the event loop, which a batch takes item after item. Other requests wait until it ends, so a batch whose items
 * are expensive ends its turn between two of them; a batch of ordinary items takes one turn.
 */
export class Turn {
  readonly #clock: Clock.Clock
  #began: number

  constructor(clock: Clock.Clock) {
    this.#clock = clock
    this.#began = clock.currentTimeMillisUnsafe()
  }

  /** Whether the turn has lasted long enough at `now`. A wall clock that was set back or forth ends it, too. */
  isOver(now: number): boolean {
    return Math.abs(now - this.#began) >= turnMillis
  }

  /**
   * Pauses for as long as the turn lasted, then begins another one and gives the time. Answering a request takes several
   * turns of the event loop, so a yield alone would add the batch's next item to each of them.
   */
  readonly next: Effect.Effect<number> = Effect.suspend(() => {
    const lasted = Math.abs(this.#clock.currentTimeMillisUnsafe() - this.#began)
    return Effect.map(
      Effect.sleep(Math.min(lasted, maxPauseMillis)),
      () => this.#began = this.#clock.currentTimeMillisUnsafe(),
    )
  })
}
