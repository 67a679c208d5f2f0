import { Effect } from "effect"

/** Logs `text` when `effect` takes over a second, and every ten seconds after that. */
export const announceSlow = (text: string) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.raceFirst(
    effect,
    Effect.sleep("1 second").pipe(
      Effect.andThen(Effect.forever(Effect.andThen(Effect.logInfo(text), Effect.sleep("10 seconds")))),
    ),
  )
