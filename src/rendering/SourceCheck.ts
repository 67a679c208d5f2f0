import { Context, Effect, Layer, Result } from "effect"
import { Checking, stoppedFault } from "../checking/Checking.ts"
import type { Sources } from "../checking/Checks.ts"
import type { ChecksBusy } from "../domain/Errors.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import { LiquidFaults, parseVars } from "./Renderer.ts"
import { hasLiquid } from "./Source.ts"

/** The variant and the variable at which the process was stopped. */
interface Place {
  readonly variant: number
  readonly variable: string
}

const isPlace = (note: unknown): note is Place => typeof note === "object" && note !== null && "variable" in note

/** Parses and renders the Liquid of authors before it is saved, in the checking process. */
export class SourceCheck extends Context.Service<SourceCheck, {
  /**
   * Parses all variables of a variant and renders them once without fields. Unknown variables are not faults here.
   * Fails with `LiquidFaults`, which has the faults of all variables, at most one for each, and with `ChecksBusy`.
   */
  readonly check: (org: string, sources: Sources) => Effect.Effect<void, LiquidFaults | ChecksBusy>
  /**
   * Checks several variants together, within 5 seconds, and returns the faults of each. Fails with `ChecksBusy` if too
   * many checks are waiting.
   */
  readonly checkAll: (
    org: string,
    variants: ReadonlyArray<Sources>,
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<SourceFault>>, ChecksBusy>
}>()("parlance/rendering/SourceCheck") {
  static readonly layer = Layer.effect(
    SourceCheck,
    Effect.gen(function* () {
      const checking = yield* Checking

      const checkAll = Effect.fn("SourceCheck.checkAll")(function* (org: string, variants: ReadonlyArray<Sources>) {
        // Texts without Liquid are parsed here, because it costs nothing.
        const faults = variants.map(({ formats, vars }) => {
          if (Object.values(vars).some(hasLiquid)) return undefined
          const parsed = parseVars(vars, formats)
          return Result.isSuccess(parsed) ? [] : parsed.failure.faults
        })
        const places = [...faults.keys()].filter((at) => faults[at] === undefined)
        const checked = places.map((at) => variants[at]!)
        const answers = checked.length === 0 ? [] : yield* checking.run(
          org,
          "sources",
          { variants: checked },
          checked.length === 1 ? undefined : "5 seconds",
        ).pipe(
          Effect.catchTag("WorkFailed", (failure) => {
            const { variable, variant } = isPlace(failure.note)
              ? failure.note
              : { variant: 0, variable: Object.keys(checked[0]!.vars)[0] ?? "" }
            const stopped: SourceFault = { variable, line: 1, column: 1, message: stoppedFault(failure) }
            return Effect.succeed(checked.map((_, at) => at === variant ? [stopped] : []))
          }),
        )
        const answered = new Map(places.map((at, index) => [at, answers[index]!]))
        return faults.map((known, at) => known ?? answered.get(at)!)
      })

      const check = Effect.fn("SourceCheck.check")(function* (org: string, sources: Sources) {
        const [faults = []] = yield* checkAll(org, [sources])
        if (faults.length > 0) return yield* new LiquidFaults({ faults })
      })
      return SourceCheck.of({ check, checkAll })
    }),
  )
}
