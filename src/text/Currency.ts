import type { ReadValue } from "./ReadValue.ts"

// Notations of currencies. Codes come from the runtime (Intl, CLDR) and ISO 4217. Signs are the narrow and plain symbols
// of CLDR for English, with additional spellings used by shops.

/**
 * Signs used by several currencies, most used currency first. The member `currency` must determine which one applies.
 */
const sharedSigns: { readonly [sign: string]: string } = {
  "$":
    "USD ARS AUD BBD BMD BND BSD BZD CAD CLP COP CUC CUP DOP FJD GYD HKD JMD KYD LRD MXN NAD NZD SBD SGD SRD TTD TWD UYU XCD",
  "£": "GBP EGP FKP GIP SHP SSP SYP",
  "¥": "JPY CNY",
  "￥": "CNY JPY",
  "円": "JPY",
  "元": "CNY TWD",
  "kr": "DKK ISK NOK SEK",
  "kr.": "DKK ISK NOK SEK",
  "rs": "INR LKR MUR NPR PKR",
  "rs.": "INR LKR MUR NPR PKR",
  "₩": "KPW KRW",
  "lei": "MDL RON",
  "fr": "CHF XAF XOF XPF",
  "fr.": "CHF XAF XOF XPF",
}

/** Signs and words of a single currency, lowercase. */
const ownSigns: { readonly [sign: string]: string } = {
  "€": "EUR",
  "euro": "EUR",
  "euros": "EUR",
  "us$": "USD",
  "$us": "USD",
  "a$": "AUD",
  "au$": "AUD",
  "ca$": "CAD",
  "c$": "CAD",
  "nz$": "NZD",
  "hk$": "HKD",
  "s$": "SGD",
  "nt$": "TWD",
  "mx$": "MXN",
  "r$": "BRL",
  "cn¥": "CNY",
  "jp¥": "JPY",
  "sfr": "CHF",
  "sfr.": "CHF",
  "kč": "CZK",
  "zł": "PLN",
  "ft": "HUF",
  "лв": "BGN",
  "лв.": "BGN",
  "₽": "RUB",
  "₴": "UAH",
  "₸": "KZT",
  "₾": "GEL",
  "₼": "AZN",
  "֏": "AMD",
  "₺": "TRY",
  "₪": "ILS",
  "₹": "INR",
  "৳": "BDT",
  "฿": "THB",
  "₫": "VND",
  "₱": "PHP",
  "₭": "LAK",
  "₮": "MNT",
  "៛": "KHR",
  "₦": "NGN",
  "gh₵": "GHS",
  "₲": "PYG",
  "₡": "CRC",
}

const signs: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ...Object.entries(sharedSigns).map(([sign, codes]): [string, ReadonlyArray<string>] => [sign, codes.split(" ")]),
  ...Object.entries(ownSigns).map(([sign, code]): [string, ReadonlyArray<string>] => [sign, [code]]),
])

/** Codes of ISO 4217 that the runtime formats, but does not list: new currencies, and units of account. */
const unlisted = "SLE VED XCG ZWG BOV CHE CHW CLF COU MXV USN UYI UYW".split(" ")

const codes: ReadonlySet<string> = new Set([...Intl.supportedValuesOf("currency"), ...unlisted])

/** ISO 4217 codes that denote no currency: no currency, testing, and precious metals. */
const noCurrency: ReadonlySet<string> = new Set(["XXX", "XTS", "XAU", "XAG", "XPT", "XPD"])

/** Maximum length of a text that is read as a currency. Unit: characters. */
const maxText = 40

/**
 * Returns the currencies that a sign, a word or a code (case is ignored) may denote; undefined if it denotes no
 * currency.
 */
export const currenciesOf = (text: string): ReadonlyArray<string> | undefined => {
  const written = text.trim()
  const found = signs.get(written.toLowerCase())
  if (found !== undefined) return found
  const code = written.toUpperCase()
  return /^[A-Za-z]{3}$/.test(written) && codes.has(code) && !noCurrency.has(code) ? [code] : undefined
}

const expected = "send its ISO 4217 code, such as EUR"

/**
 * Reads an ISO 4217 code from a code (case is ignored), or from the sign or word of a single currency. Other
 * three-letter texts are accepted with `isUnknown`, because they may be newer than the runtime's list of currencies.
 */
export const readCurrency = (
  value: unknown,
): ReadValue<{ readonly code: string; readonly isUnknown: boolean }> => {
  if (typeof value !== "string" || value.length > maxText) return { wrong: `is no currency: ${expected}` }
  const found = currenciesOf(value)
  if (found?.length === 1) return { value: { code: found[0]!, isUnknown: false } }
  if (found !== undefined) {
    return { wrong: `may mean ${found.slice(0, 3).join(", ")}${found.length > 3 ? " …" : ""}: ${expected}` }
  }
  const code = value.trim().toUpperCase()
  return /^[A-Z]{3}$/.test(code) && !noCurrency.has(code)
    ? { value: { code, isUnknown: true } }
    : { wrong: `is no currency: ${expected}` }
}

/** Reads an ISO 4217 code in any case. The fault of a sign or a word names the codes that it may mean. */
export const readCurrencyCode = (written: string): ReadValue<string> => {
  const codes = currenciesOf(written) ?? []
  const [code] = codes
  if (code === written.toUpperCase()) return { value: code }
  const examples = codes.length === 0 ? ["EUR"] : codes.slice(0, 3)
  return {
    wrong: codes.length === 1
      ? `is not a currency code: write "${code}"`
      : `is not a currency code: write an ISO 4217 code, such as ${examples.map((one) => `"${one}"`).join(", ")}`,
  }
}
