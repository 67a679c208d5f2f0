/** The plural categories of CLDR, which are the arguments of the filter `plural`. */
export const pluralCategories = ["zero", "one", "two", "few", "many", "other"] as const
type Category = typeof pluralCategories[number]

interface LocaleRules {
  readonly rules: Intl.PluralRules
  /** Categories of all numbers. */
  readonly all: ReadonlyArray<Category>
  /** Categories of the whole numbers up to 200. Others occur for millions and fractions only. */
  readonly usual: ReadonlyArray<Category>
}

const known = new Map<string, LocaleRules>()

const rulesOf = (locale: string): LocaleRules => {
  let found = known.get(locale)
  if (found === undefined) {
    const rules = new Intl.PluralRules(locale)
    const has = new Set<string>(rules.resolvedOptions().pluralCategories)
    const small = new Set(Array.from({ length: 201 }, (_, number) => rules.select(number)))
    found = {
      rules,
      all: pluralCategories.filter((category) => has.has(category)),
      usual: pluralCategories.filter((category) => small.has(category)),
    }
    known.set(locale, found)
  }
  return found
}

/** Returns the plural category of a number. Default locale: `en`. */
export const pluralOf = (number: number, locale = "en"): Category => rulesOf(locale).rules.select(number)

/** Joins names: `one, few and other`. */
export const listed = (names: ReadonlyArray<string>): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`

/** Returns why the arguments of the filter `plural` can never work. Without a locale, every category may occur. */
export const pluralFault = (named: ReadonlySet<string>, locale: string | undefined): string | undefined => {
  if (locale === undefined) return undefined
  const { all } = rulesOf(locale)
  const unknown = pluralCategories.filter((category) => named.has(category) && !all.includes(category))
  return unknown.length === 0
    ? undefined
    : `the locale "${locale}" has no form ${listed(unknown)}, only ${listed(all)}: remove ${listed(unknown)}`
}

/** Returns the usual categories of a locale that are not named. */
export const missingForms = (named: ReadonlyMap<string, unknown>, locale: string): ReadonlyArray<Category> =>
  rulesOf(locale).usual.filter((category) => !named.has(category))
