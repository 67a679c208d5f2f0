import { Clock, Duration, Effect, Layer } from "effect"

/** Speed of the brisk clock, as a multiple of real time. */
export const briskness = 10

const startNanos = process.hrtime.bigint()

/** A clock whose monotonic time and sleeps run ten times as fast. Its Unix time is the real one. */
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
