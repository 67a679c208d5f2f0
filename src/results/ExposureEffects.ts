import { Schema } from "effect"
import type { ModelSnapshot } from "../bandit/Model.ts"
import { described } from "../domain/described.ts"
import { t } from "../languages/Language.ts"

/** How the rate of a variant changes once a person has seen it. */
export const ExposureEffect = Schema.Struct({
  earlier_from: described(
    Schema.Natural,
    "Fewest earlier decisions for the variant about the person, in the last 30 days",
  ),
  earlier_to: described(Schema.NullOr(Schema.Natural), "Most of them; null for any number from `earlier_from` on"),
  change: described(Schema.Finite, "Change of the rate relative to a first decision, such as -0.2 for 20 % less"),
  interval: described(Schema.Tuple([Schema.Finite, Schema.Finite]), "95 % interval of the change"),
})
export type ExposureEffect = typeof ExposureEffect.Type

/** Numbers of earlier decisions of the classes of exposure after the first (`exposureClass`). */
const classes = [[1, 1], [2, 3], [4, null]] as const

/** The earlier messages of an effect as text, such as `2 or 3`. */
export const earlierText = ({ earlier_from: from, earlier_to: to }: ExposureEffect): string =>
  to === null ? t`${from} or more` : to === from ? String(from) : t`${from} or ${to}`

const z = 1.959963984540054

/** Returns the effects of earlier exposures that a model uses. Empty without evidence for effects. */
export const exposureEffects = (
  { reportedFatigue = [] }: Pick<ModelSnapshot, "reportedFatigue">,
): ReadonlyArray<ExposureEffect> =>
  reportedFatigue.map(({ deviation, effect }, at) => {
    const [from, to] = classes[at]!
    return {
      earlier_from: from,
      earlier_to: to,
      change: Math.expm1(effect),
      interval: [Math.expm1(effect - z * deviation), Math.expm1(effect + z * deviation)],
    }
  })
