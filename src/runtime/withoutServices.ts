import { Context, Effect } from "effect"

/** Returns Effect's own entries of a context, such as the clock and the tracer, without the services of the process. */
export const referencesIn = (context: Context.Context<never>): Context.Context<never> =>
  Context.makeUnsafe(new Map([...context.mapUnsafe].filter(([key]) => key.startsWith("effect/"))))

/**
 * Runs an effect without the services of the process. Every transaction and every fiber of a pool copies all services of
 * its context several times, so this saves much of the garbage of background work.
 */
export const withoutServices = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.updateContext(effect, referencesIn)
