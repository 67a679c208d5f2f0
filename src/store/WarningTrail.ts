import { Context, Effect } from "effect"
import type { Fault } from "../domain/Errors.ts"

/** Collects warnings about the content of a request, with pointers into its body. */
class WarningTrail extends Context.Service<WarningTrail, Array<Fault>>()("parlance/store/WarningTrail") {}

/** Reports warnings about content that is saved. Has no effect outside of `withWarnings`, such as in jobs. */
export const tellWarnings = (warnings: ReadonlyArray<Fault>): Effect.Effect<void> =>
  Effect.contextWith((context) => {
    const trail = Context.getOption(context as Context.Context<WarningTrail>, WarningTrail)
    if (trail._tag === "Some") trail.value.push(...warnings)
    return Effect.void
  })

/** Returns the result of `effect` and the warnings that it reported. */
export const withWarnings = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const warnings: Array<Fault> = []
    return effect.pipe(
      Effect.map((value) => ({ value, warnings: warnings as ReadonlyArray<Fault> })),
      Effect.provideService(WarningTrail, warnings),
    )
  })
