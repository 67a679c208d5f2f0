import { Context, Effect, Layer } from "effect"
import { Checking, stoppedFault } from "../checking/Checking.ts"
import type { CheckedSources, Sources } from "../checking/Checks.ts"
import type { ChecksBusy } from "../domain/Errors.ts"
import { mjmlNames } from "../domain/Template.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import { checkSources } from "./CheckSources.ts"
import { LiquidFaults } from "./Renderer.ts"
import { hasLiquid } from "./Source.ts"

/** The variant and the variable at which the process was stopped. */
interface Place {
  readonly variant: number
  readonly variable: string
}

/** Texts without Liquid up to this length are checked at once, because that takes less than asking the process. */
const plainLength = 131_072

const isPlain = ({ formats, locales = {}, vars }: Sources): boolean => {
  if (mjmlNames({ formats, vars }).length > 0) return false
  const texts = [vars, ...Object.values(locales)].flatMap((of) => Object.values(of))
  return !texts.some(hasLiquid) && texts.reduce((sum, { length }) => sum + length, 0) <= plainLength
}

const isPlace = (note: unknown): note is Place => typeof note === "object" && note !== null && "variable" in note

/** Parses and renders the Liquid of authors before it is saved, in the checking process. */
export class SourceCheck extends Context.Service<SourceCheck, {
  /**
   * Parses all variables of a variant and renders them once without fields. Unknown variables are not faults here.
   * Returns the warnings. Fails with `LiquidFaults`, which has the faults of all variables, and with `ChecksBusy`.
   */
  readonly check: (
    org: string,
    sources: Sources,
  ) => Effect.Effect<CheckedSources["warnings"], LiquidFaults | ChecksBusy>
  /**
   * Checks several variants together, within 5 seconds, and returns the faults and warnings of each. Fails with `ChecksBusy` if too
   * many checks are waiting.
   */
  readonly checkAll: (
    org: string,
    variants: ReadonlyArray<Sources>,
  ) => Effect.Effect<ReadonlyArray<CheckedSources>, ChecksBusy>
}>()("parlance/rendering/SourceCheck") {
  static readonly layer = Layer.effect(
    SourceCheck,
    Effect.gen(function* () {
      const checking = yield* Checking

      const checkAll = Effect.fn("SourceCheck.checkAll")(function* (org: string, variants: ReadonlyArray<Sources>) {
        const plain = variants.map((one) => isPlain(one) ? checkSources(one) : undefined)
        const places = [...plain.keys()].filter((at) => plain[at] === undefined)
        const checked = places.map((at) => variants[at]!)
        const answers = checked.length === 0 ? [] : yield* checking.run(
          org,
          "sources",
          { variants: checked },
          checked.length === 1 && mjmlNames(checked[0]!).length === 0 ? undefined : "5 seconds",
        ).pipe(
          Effect.catchTag("WorkFailed", (failure) => {
            const { variable, variant } = isPlace(failure.note)
              ? failure.note
              : { variant: 0, variable: Object.keys(checked[0]!.vars)[0] ?? "" }
            const stopped: SourceFault = { variable, line: 1, column: 1, message: stoppedFault(failure) }
            return Effect.succeed(
              checked.map((_, at) => ({ faults: at === variant ? [stopped] : [], warnings: [], compiled: [] })),
            )
          }),
        )
        const answered = new Map(places.map((at, index) => [at, answers[index]!]))
        return plain.map((known, at) => known ?? answered.get(at)!)
      })

      const check = Effect.fn("SourceCheck.check")(function* (org: string, sources: Sources) {
        const [checked] = yield* checkAll(org, [sources])
        const { faults, warnings } = checked!
        if (faults.length > 0) return yield* new LiquidFaults({ faults })
        return warnings
      })
      return SourceCheck.of({ check, checkAll })
    }),
  )
}
