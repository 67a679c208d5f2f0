import { Clock, Effect } from "effect"

/** A clock that starts in the past and catches up with the present. */
export interface FasterClock extends Clock.Clock {
  /** Lets time advance to `until` (Unix milliseconds), where it stops until the next call. */
  readonly release: (until: number) => void
  /** Returns the present speed relative to real time: `speed`, or 1 once the present is reached. */
  readonly speed: () => number
}

/**
 * Creates a clock that starts at `from` (Unix milliseconds, in the past) and is `speed` times as fast as `real` until
 * it has caught up. From then on, both are equal. It never goes back, and never beyond the time of the last `release`.
 * Real time that passes while it stops is lost. Sleeps have the duration of the `real` clock, so that timeouts of a
 * database or a client are unchanged. Initially, it stops at `from`.
 */
export const make = (options: {
  readonly from: number
  readonly speed: number
  readonly real: Clock.Clock
}): FasterClock => {
  const { real, speed } = options
  // The demo's time and the real time at the last release.
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

/**
 * Returns the speed at which a clock that starts `past` before the present catches up within `within`. Both have one
 * unit.
 */
export const speedFor = (past: number, within: number): number => (past + within) / within
