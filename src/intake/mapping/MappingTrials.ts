import { Clock, Context, Effect, Layer } from "effect"
import { Checking, stoppedFault } from "../../checking/Checking.ts"
import type { Checks } from "../../checking/Checks.ts"
import type { ChecksBusy } from "../../domain/Errors.ts"
import type { DryRun } from "../../domain/DryRun.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import type { SourceId } from "../../domain/Source.ts"
import { WebhookSources } from "../WebhookSources.ts"

/** Reads sample bodies in the checking process, by a mapping or as their source. Stores nothing. */
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
  /**
   * Reads a sample body as a source does, with the settings of the organization. Custom events with a stored mapping are
   * explained like in `run`. A run that exceeds 2 seconds of processor time has the result "not understood". Fails with
   * `ChecksBusy` if too many checks are queued.
   */
  readonly read: (
    org: OrgSlug,
    source: SourceId,
    body: string,
    headers?: Readonly<Record<string, string>>,
  ) => Effect.Effect<DryRun, ChecksBusy>
}>()("parlance/intake/mapping/MappingTrials") {
  static readonly layer = Layer.effect(
    MappingTrials,
    Effect.gen(function* () {
      const checking = yield* Checking
      const sources = yield* WebhookSources
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
      const read = Effect.fn("MappingTrials.read")(function* (
        org: OrgSlug,
        source: SourceId,
        body: string,
        headers: Readonly<Record<string, string>> = {},
      ) {
        const setup = (yield* sources.list(org)).find(({ sourceId }) => sourceId === source)
        const mapping = setup?.settings["mapping"]
        if (mapping !== undefined) {
          const tried = yield* run(org, JSON.stringify(mapping), body, headers)
          if ("run" in tried) return tried.run
        }
        const receivedAt = yield* Clock.currentTimeMillis
        const reading = sources.reading(org, source)?.reading
        return yield* checking.run(org, "body", { source, reading, body, headers, receivedAt }).pipe(
          Effect.catchTag("WorkFailed", (failure) => Effect.succeed({ reason: `The body ${stoppedFault(failure)}` })),
        )
      })
      return MappingTrials.of({ read, run })
    }),
  )
}
