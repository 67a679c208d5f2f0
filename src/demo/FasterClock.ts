import { Clock, Effect } from "effect"

/** A clock that lags behind the present and catches up with it. */
export interface FasterClock extends Clock.Clock {
  /** Lets time go on to `until` (Unix milliseconds); it stands still there until it may go on. */
  readonly release: (until: number) => void
  /** Time that passes in a moment of real time: `speed`, and 1 once the present is reached. */
  readonly speed: () => number
}

/**
 * A clock that starts at `from` (Unix milliseconds, in the past) and goes `speed` times as fast as `real`, until it has
 * caught up with that: from then on they are the same. It never goes back, and no further than it has been released to:
 * real time that passes while it stands still is not made up for. Sleeps take as long as on the `real` clock, so that what
 * waits for a database or a client still does. It starts out released to `from`.
 */
export const make = (options: {
  readonly from: number
  readonly speed: number
  readonly real: Clock.Clock
}): FasterClock => {
  const { real, speed } = options
  // The demo's time and the real time when time was last released.
  let at = options.from
  let realAt = real.currentTimeMillisUnsafe()
  let limit = options.from
  let last = options.from

  const now = (): number => {
    const present = real.currentTimeMillisUnsafe()
    last = Math.max(last, Math.min(at + (present - realAt) * speed, limit, present))
    return last
  }

  const millis = () => Math.floor(now())
  const nanos = () => BigInt(Math.floor(now())) * 1_000_000n

  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => real.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: real.monotonicTimeNanos,
    sleep: (duration) => real.sleep(duration),
    release: (until) => {
      at = now()
      realAt = real.currentTimeMillisUnsafe()
      limit = Math.max(limit, until)
    },
    speed: () => now() < real.currentTimeMillisUnsafe() ? speed : 1,
  }
}

/** The speed at which a clock that starts `past` before the present catches up with it after `within`. Same unit. */
export const speedFor = (past: number, within: number): number => (past + within) / within
