import { Effect, Layer, Option } from "effect"
import { extendRefusals } from "../domain/refusals/Refusals.ts"
import { readFacts, type RefusalFact } from "../domain/refusals/RefusalTable.ts"
import { Settings, SettingsFaulty } from "../settings/Settings.ts"

/** Returns the facts of `REFUSALS_FILE`. Fails with its faults, which name their lines. */
export const operatorRefusals = (
  { refusalsFile }: Pick<Settings["Service"], "refusalsFile">,
): Effect.Effect<ReadonlyArray<RefusalFact>, SettingsFaulty> => {
  if (Option.isNone(refusalsFile)) return Effect.succeed([])
  const { path, text } = refusalsFile.value
  const read = readFacts(text)
  return "facts" in read ? Effect.succeed(read.facts) : Effect.fail(
    new SettingsFaulty({
      faults: [`REFUSALS_FILE: ${path}: ${read.faults.join("; ")}. Correct the file, or unset REFUSALS_FILE`],
    }),
  )
}

/** Adds the operator's facts about refusals to the table of this process. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    extendRefusals(yield* operatorRefusals(yield* Settings))
  }),
)
