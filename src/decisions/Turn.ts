import { type Clock, Effect } from "effect"

/** How long a turn may last before other requests are served. Unit: milliseconds. */
const turnMillis = 4

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

  /** Lets everything else that waits run, then begins another turn and gives the time. */
  readonly next: Effect.Effect<number> = Effect.map(
    Effect.yieldNow,
    () => this.#began = this.#clock.currentTimeMillisUnsafe(),
  )
}
