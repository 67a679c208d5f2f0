import { Clock, Context, Effect, Layer } from "effect"
import { Checking, stoppedFault } from "../../checking/Checking.ts"
import type { Checks } from "../../checking/Checks.ts"
import type { ChecksBusy } from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"

/** Runs mappings on sample bodies in the checking process. Stores nothing. */
export class MappingTrials extends Context.Service<MappingTrials, {
  /**
   * Runs a mapping, as JSON text, on a sample body: see `dryRun`. Returns the faults of the mapping, with their JSON
   * pointers, or the result of the run. A run that exceeds 2 seconds of processor time has the result "not understood".
   * Fails with `ChecksBusy` if too many checks are queued.
   */
  readonly run: (
    org: OrgSlug,
    mapping: string,
    body: string,
    headers?: Readonly<Record<string, string>>,
  ) => Effect.Effect<Checks["mapping"]["answer"], ChecksBusy>
}>()("parlance/intake/mapping/MappingTrials") {
  static readonly layer = Layer.effect(
    MappingTrials,
    Effect.gen(function* () {
      const checking = yield* Checking
      const run = Effect.fn("MappingTrials.run")(function* (
        org: OrgSlug,
        mapping: string,
        body: string,
        headers: Readonly<Record<string, string>> = {},
      ) {
        const receivedAt = yield* Clock.currentTimeMillis
        return yield* checking.run(org, "mapping", { mapping, body, headers, receivedAt }).pipe(
          Effect.catchTag(
            "WorkFailed",
            (failure) => Effect.succeed({ run: { reason: `The mapping or the body ${stoppedFault(failure)}` } }),
          ),
        )
      })
      return MappingTrials.of({ run })
    }),
  )
}
