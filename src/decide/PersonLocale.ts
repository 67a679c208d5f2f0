import { type Attributes } from "../domain/Attributes.ts"
import { fallbackChain, type LocaleTexts, readPersonLocales, type TemplateLocale, textsFor } from "../domain/Locale.ts"
import { named } from "../domain/WarningText.ts"
import { SeededMap } from "../json/SeededMap.ts"
import type { VariantView } from "../templates/TemplateCache.ts"

// Chooses the texts of a variant for a person. Pure, except for caches.

/** The values of a request that may contain the person's locale. */
interface LocaleInput {
  readonly attrs: Attributes
  readonly fields: Readonly<Record<string, unknown>>
}

/** Maximum number of locales, as requests write them, whose fallback chain is kept. */
const keptChains = 1_000

/** Fallback chains by the text of a request. Null for a text that is no locale. */
const chains = new SeededMap<string, ReadonlyArray<string> | null>()

const chainOf = (written: string): ReadonlyArray<string> | null => {
  let chain = chains.get(written)
  if (chain === undefined) {
    const locales = readPersonLocales(written)
    chain = locales.length === 0 ? null : [...new Set(locales.flatMap(fallbackChain))]
    if (chains.size >= keptChains) chains.clear()
    chains.set(written, chain)
  }
  return chain
}

const fieldAt = (fields: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>(
    (value, name) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, name)
        ? (value as Readonly<Record<string, unknown>>)[name]
        : undefined,
    fields,
  )

/** Maximum length of a locale in a request. Longer texts are no locale. Unit: UTF-16 code units. */
const longestLocale = 200

/** The fallback chain of a person, or a warning if the request has no locale that can be read. */
interface PersonLocale {
  readonly chain: ReadonlyArray<string>
  readonly warning?: string
}

/** Returns the fallback chain of the person of a request. Empty for the default locale. */
export const personLocale = (setting: TemplateLocale, { attrs, fields }: LocaleInput): PersonLocale => {
  const { attribute, field } = setting
  const value = attribute === undefined ? fieldAt(fields, field!) : attrs.get(attribute)?.[0]
  const chain = typeof value === "string" && value.length <= longestLocale ? chainOf(value) : null
  if (chain !== null) return { chain }
  const place = attribute === undefined ? `the field "${named(field!)}"` : `the attribute "${named(attribute)}"`
  const fault = value === undefined || value === null || value === ""
    ? "with the person's locale is missing"
    : "is not a locale, such as de or de-AT"
  return { chain: [], warning: `${place} ${fault}: the texts in the default locale "${setting.default}" are used` }
}

/** Texts of variants that are in use, by the best locale of a person. */
const known = new WeakMap<VariantView, Map<string, LocaleTexts>>()

/**
 * Returns the texts of a variant for a fallback chain. Each combination of texts is made once for each version of the
 * variant.
 */
export const localeTexts = (
  { default: setting }: TemplateLocale,
  variant: VariantView,
  chain: ReadonlyArray<string>,
): LocaleTexts => {
  const best = chain.find((tag) => tag === setting || Object.hasOwn(variant.locales, tag)) ?? setting
  let made = known.get(variant)
  if (made === undefined) known.set(variant, made = new Map())
  let texts = made.get(best)
  if (texts === undefined) {
    made.set(best, texts = textsFor(variant, best === setting ? [] : fallbackChain(best), setting))
  }
  return texts
}
