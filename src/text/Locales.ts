import type { ReadValue } from "./ReadValue.ts"

const regions = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" })

const isSupported = (tag: string): boolean => Intl.NumberFormat.supportedLocalesOf(tag).length > 0

const noLocale = {
  wrong: 'is not a locale: write a language, such as "en", or a language and a country, such as "en-US"',
}

/** Two capital letters are a country. Its language is the one of most of its people. */
const ofCountry = (country: string): ReadValue<string> | undefined => {
  if (regions.of(country) === undefined) return undefined
  const { language, region = country } = new Intl.Locale(`und-${country}`).maximize()
  const tag = `${language}-${region}`
  const sameLetters = country.toLowerCase()
  return language === sameLetters || !isSupported(sameLetters)
    ? { value: tag }
    : { wrong: `may mean a language or a country: write "${sameLetters}" or "${tag}"` }
}

/**
 * Reads a locale as systems write it: `de-DE`, `de_DE`, `de_DE.UTF-8`, `de`, or a country in capitals (`DE`). Returns a
 * tag that `Intl` knows.
 */
export const readLocale = (written: string): ReadValue<string> => {
  const tag = written.trim().replace(/[.@].*$/s, "").replaceAll("_", "-")
  if (tag.length > 64 || !/^[a-z]{2,3}(?:-[a-z0-9]{2,8}|-[a-z0-9]-[a-z0-9-]+)*$/i.test(tag)) return noLocale
  const country = /^[A-Z]{2}$/.test(tag) ? ofCountry(tag) : undefined
  if (country !== undefined) return country
  try {
    const [canonical] = Intl.getCanonicalLocales(tag)
    return canonical !== undefined && isSupported(canonical) ? { value: canonical } : noLocale
  } catch {
    return noLocale
  }
}
