import type { Fault } from "./Errors.ts"
import { holdoutFault } from "./Holdout.ts"
import { hasCost, weightsOf } from "./ObjectiveWeights.ts"
import type { TemplatePatch, TemplateSettings } from "./Template.ts"

interface Checked extends Pick<TemplateSettings, "objective" | "send_nothing"> {
  readonly holdout: TemplatePatch["holdout"] | undefined
}

/** The reason why a template with these settings cannot send nothing. Undefined for valid settings. */
export const sendNothingFault = ({ objective, send_nothing }: Omit<Checked, "holdout">): string | undefined =>
  send_nothing && !hasCost(weightsOf(objective))
    ? "requires an objective that states the cost of a message: give `negative` (unsubscribes and complaints) a weight " +
      "below 0, such as {click: 1, negative: -8}"
    : undefined

/** Returns the faults of settings that do not fit each other, or the variants of their template. */
export const templateFaults = (
  settings: Checked,
  variants: ReadonlyArray<{ readonly id?: string }>,
): ReadonlyArray<Fault> => {
  const holdout = holdoutFault(settings.holdout, variants)
  const sendNothing = sendNothingFault(settings)
  return [
    ...(holdout === undefined ? [] : [{ pointer: "/holdout/copy_id", detail: holdout }]),
    ...(sendNothing === undefined ? [] : [{ pointer: "/send_nothing", detail: sendNothing }]),
  ]
}
