import { Context, Duration, Effect, Layer } from "effect"
import type { Formats, Vars } from "../domain/Template.ts"
import { workerProcess, WorkFailed } from "../store/WorkerProcess.ts"
import { LiquidFaults, parseVars, type SourceFault } from "./Renderer.ts"
import { hasLiquid } from "./Source.ts"

/** A variant whose Liquid is parsed and rendered once. */
export interface CheckRequest {
  readonly vars: Vars
  readonly formats: Formats
  /** A JSON object as text: values that are nested thousands deep can be parsed, but not cloned. */
  readonly fields: string
}

export interface SourceCheckOptions {
  /** How long one variant may take. Default 1 second. */
  readonly deadline?: Duration.Input
  /** How long the process is kept without work. Default 1 minute; it holds about 100 MB. */
  readonly idle?: Duration.Input
  /** The module the process runs. Default `check.process.ts`. */
  readonly program?: URL
}

/** Parses and renders the Liquid that people write before it is saved, in a worker process with a deadline. */
export class SourceCheck extends Context.Service<SourceCheck, {
  /**
   * Parses all variables of a variant and renders them once, with `fields` or with none. Unknown variables are no fault
   * here. Fails with `LiquidFaults`, which has the faults of all variables, at most one for each. Variants are checked one
   * at a time; waiting for others does not count against the deadline.
   */
  readonly check: (
    vars: Vars,
    formats: Formats,
    fields?: Readonly<Record<string, unknown>>,
  ) => Effect.Effect<void, LiquidFaults>
}>()("parlance/rendering/SourceCheck") {
  static readonly layerWith = (options: SourceCheckOptions) =>
    Layer.effect(
      SourceCheck,
      Effect.gen(function* () {
        const deadline = options.deadline ?? "1 second"
        const { ask } = yield* workerProcess<CheckRequest, ReadonlyArray<SourceFault>>({
          program: options.program ?? new URL("./check.process.ts", import.meta.url),
          purpose: "checks Liquid",
          deadline,
          ...(options.idle === undefined ? {} : { idle: options.idle }),
        })

        const faultsOf = (request: CheckRequest) =>
          Effect.catchTag(ask(request), "WorkFailed", (failure) => {
            const message = refusals[failure.reason]?.(Duration.fromInputUnsafe(deadline))
            if (message === undefined) return Effect.die(failure)
            const variable = typeof failure.note === "string" ? failure.note : Object.keys(request.vars)[0] ?? ""
            return Effect.succeed([{ variable, line: 1, column: 1, message }])
          })

        const check = Effect.fn("SourceCheck.check")(function* (
          vars: Vars,
          formats: Formats,
          fields: Readonly<Record<string, unknown>> = {},
        ) {
          // Parsing texts without Liquid costs nothing.
          if (!Object.values(vars).some(hasLiquid)) {
            return yield* Effect.asVoid(Effect.fromResult(parseVars(vars, formats)))
          }
          const faults = yield* faultsOf({ vars, formats, fields: JSON.stringify(fields) })
          if (faults.length > 0) return yield* new LiquidFaults({ faults })
        })
        return SourceCheck.of({ check })
      }),
    )

  static readonly layer = this.layerWith({})
}

/** The fault of a variant whose check did not complete; a check that could not start, or threw, is a defect instead. */
const refusals: { readonly [reason in WorkFailed["reason"]]?: (deadline: Duration.Duration) => string } = {
  deadline: (deadline) => `takes longer than ${Duration.format(deadline)} to check`,
  ended: () => "ends the process that checks it, most likely for lack of memory",
}
