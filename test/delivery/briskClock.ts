import { Clock, Duration, Effect, Layer } from "effect"

/** How many times as fast as real time the brisk clock goes. */
export const briskness = 10

const startNanos = process.hrtime.bigint()

/** Monotonic time and sleeps of this clock go ten times as fast: pauses of minutes pass in seconds. */
const briskClock = (real: Clock.Clock): Clock.Clock => {
  const monotonic = () => startNanos + (real.monotonicTimeNanosUnsafe() - startNanos) * BigInt(briskness)
  return {
    currentTimeMillisUnsafe: () => real.currentTimeMillisUnsafe(),
    currentTimeMillis: real.currentTimeMillis,
    currentTimeNanosUnsafe: () => real.currentTimeNanosUnsafe(),
    currentTimeNanos: real.currentTimeNanos,
    monotonicTimeNanosUnsafe: monotonic,
    monotonicTimeNanos: Effect.sync(monotonic),
    sleep: (duration) => real.sleep(Duration.millis(Duration.toMillis(duration) / briskness)),
  }
}

export const layerBriskClock = Layer.effect(Clock.Clock, Effect.map(Clock.Clock, briskClock))
