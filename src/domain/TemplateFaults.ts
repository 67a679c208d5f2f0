import type { Fault } from "./Errors.ts"
import { holdoutFault } from "./Holdout.ts"
import type { LocalizedTexts, TemplateLocale } from "./Locale.ts"
import { hasCost, weightsOf } from "./ObjectiveWeights.ts"
import type { TemplatePatch, TemplateSettings } from "./Template.ts"

interface Checked extends Pick<TemplateSettings, "objective" | "send_nothing"> {
  readonly holdout: TemplatePatch["holdout"] | undefined
  readonly locale: TemplateLocale | null
}

/** The reason why a template with these settings cannot send nothing. Undefined for valid settings. */
export const sendNothingFault = (
  { objective, send_nothing }: Pick<Checked, "objective" | "send_nothing">,
): string | undefined =>
  send_nothing && !hasCost(weightsOf(objective))
    ? "requires an objective that states the cost of a message: give `negative` (unsubscribes and complaints) a weight " +
      "below 0, such as {click: 1, negative: -8}"
    : undefined

/** The reason why a template with this setting cannot have a variant with these locales. Undefined if it can. */
export const localesFault = (
  setting: TemplateLocale | null,
  { locales = {} }: { readonly locales?: LocalizedTexts["locales"] },
): string | undefined => {
  const [first] = Object.keys(locales)
  if (first === undefined) return undefined
  if (setting === null) {
    return `has texts in the locale "${first}", and the template does not say where a request has the person's locale: ` +
      "set its locale, such as {attribute: language, default: en}"
  }
  return Object.hasOwn(locales, setting.default)
    ? `has texts in "${setting.default}", the default locale of the template: write them in vars`
    : undefined
}

/** Returns the faults of settings that do not fit each other, or the variants of their template. */
export const templateFaults = (
  settings: Checked,
  variants: ReadonlyArray<{ readonly id?: string; readonly locales?: LocalizedTexts["locales"] }>,
): ReadonlyArray<Fault> => {
  const holdout = holdoutFault(settings.holdout, variants)
  const sendNothing = sendNothingFault(settings)
  const locales = variants.flatMap(({ id = "", locales = {} }) => {
    const fault = localesFault(settings.locale, { locales })
    return fault === undefined ? [] : [{ pointer: "/locale", detail: `the variant ${JSON.stringify(id)} ${fault}` }]
  })
  return [
    ...(holdout === undefined ? [] : [{ pointer: "/holdout/copy_id", detail: holdout }]),
    ...(sendNothing === undefined ? [] : [{ pointer: "/send_nothing", detail: sendNothing }]),
    ...locales,
  ]
}
