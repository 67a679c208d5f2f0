import { listed, missingForms } from "./Plurals.ts"
import { Refused } from "./Refused.ts"
import type { SourceFinding } from "./SourceFinding.ts"
import { readStrictly } from "./StrictReading.ts"

/** Finds uses of the filter `plural` that lack a form of the locale, in whose place `other` is shown. */
export const missingPlurals = (
  source: string,
  _format: unknown,
  _snippets: unknown,
  locale?: string,
): ReadonlyArray<SourceFinding> => {
  if (locale === undefined || !/\|\s*plural\b/.test(source)) return []
  try {
    return readStrictly(source).filters.flatMap(({ begin, name, named }) => {
      if (name !== "plural") return []
      const missing = missingForms(named, locale)
      return missing.length === 0 ? [] : [{
        begin,
        message: `plural lacks ${listed(missing)}, which the locale "${locale}" has: the form other is shown instead`,
      }]
    })
  } catch (error) {
    // Reported as a fault.
    if (error instanceof Refused) return []
    throw error
  }
}
