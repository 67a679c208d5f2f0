import { readCurrencyCode } from "../text/Currency.ts"
import { readNumber } from "../text/DecimalText.ts"
import type { ReadValue } from "../text/ReadValue.ts"
import * as Decimals from "./Decimals.ts"
import type { FilterEntry } from "./FilterEntry.ts"
import { currencyFault, localeFault, numberFault } from "./LiteralFaults.ts"
import { pluralCategories, pluralFault, pluralOf } from "./Plurals.ts"
import { readLocale } from "../text/Locales.ts"
import type { Run } from "./Run.ts"
import { isNothing, readDecimal, text } from "./Values.ts"

const formats = new Map<string, Intl.NumberFormat>()

/** Returns a format of money, or the reason why it cannot be created. Cached, because creation is slow. */
const formatOf = (currency: string | undefined, locale: string, run: Run): ReadValue<Intl.NumberFormat> => {
  const key = `${locale} ${currency ?? ""}`
  const kept = formats.get(key)
  if (kept !== undefined) return { value: kept }
  run.spend(2_000)
  const code = currency === undefined ? undefined : readCurrencyCode(currency)
  if (code !== undefined && "wrong" in code) return { wrong: `${JSON.stringify(currency)} ${code.wrong}` }
  const tag = readLocale(locale)
  if ("wrong" in tag) return { wrong: `${JSON.stringify(locale)} ${tag.wrong}` }
  const made = new Intl.NumberFormat(tag.value, {
    // Half a cent of debt is written as 0, not as -0.
    signDisplay: "negative",
    ...(code === undefined
      ? { minimumFractionDigits: 2, maximumFractionDigits: 2 }
      : { style: "currency", currency: code.value, currencyDisplay: "narrowSymbol" }),
  })
  if (formats.size >= 100) formats.clear()
  formats.set(key, made)
  return { value: made }
}

/** The text of an argument. Undefined for nothing and a blank text, as systems send a field without a value. */
const given = (argument: unknown, run: Run): string | undefined => {
  const written = text(argument, run).slice(0, 64).trim()
  return written === "" ? undefined : written
}

/** An amount in its currency's main unit. A value that is not a number is returned unchanged. */
const money = (name: string, withCode: boolean): FilterEntry => ({
  needs: withCode ? 1 : 0,
  takes: 2,
  faultOf: ([currency, locale], input) => numberFault(input) ?? currencyFault(currency) ?? localeFault(locale),
  apply: (input, [currency, locale], run) => {
    if (isNothing(input)) return input
    const read = readDecimal(input, run)
    if ("wrong" in read || typeof input === "boolean") {
      run.complain(`${name}: ${"wrong" in read ? read.wrong : "the value is not a number"}`)
      return input
    }
    const code = given(currency, run)
    const format = formatOf(code, given(locale, run) ?? run.locale ?? "en-US", run)
    if ("wrong" in format) {
      run.complain(`${name}: ${format.wrong}`)
      return input
    }
    run.spend(100)
    // A double is rounded as its shortest decimal: 1.005 is 1.01. Formatting its text takes a third longer.
    const { value } = read
    const amount = format.value.format(typeof value === "number" ? value : Decimals.write(value) as `${number}`)
    return withCode && code !== undefined ? `${amount} ${code.toUpperCase()}` : amount
  },
})

/** The signs that group and separate the digits of a number in a locale, by locale. */
const signs = new Map<string, { readonly comma: string; readonly point: string }>()

const signsOf = (locale: string) => {
  let known = signs.get(locale)
  if (known === undefined) {
    const parts = new Intl.NumberFormat(locale).formatToParts(1_234_567.8)
    const sign = (type: string, otherwise: string) => parts.find((part) => part.type === type)?.value ?? otherwise
    signs.set(locale, known = { comma: sign("group", ","), point: sign("decimal", ".") })
  }
  return known
}

const digits = /^(-?)(\d+)(?:\.(\d+))?$/

/** The digits of a number, with the decimals of its text. Undefined for other values. */
const digitsOf = (name: string, input: unknown, run: Run): string | undefined => {
  const read = readDecimal(input, run)
  if ("wrong" in read) {
    run.complain(`${name}: ${read.wrong}`)
    return undefined
  }
  const written = typeof input === "string" ? readNumber(input) : undefined
  return written !== undefined && "value" in written && digits.test(written.value)
    ? written.value
    : Decimals.write(read.value)
}

/** The filters of numbers and money. */
export const numberFilters: Record<string, FilterEntry> = {
  /** `1234.5` becomes `1,234.50`; with a currency `$1,234.50`; with a locale as well `1.234,50 €`. */
  money: money("money", false),
  /** Like `money`, with the currency's code at the end: `$1,234.50 USD`. */
  money_with_currency: money("money_with_currency", true),
  /**
   * Groups digits by three: `1234567.5` becomes `1,234,567.5`, with the signs of the text's locale. A value that is not a
   * number is returned unchanged.
   */
  number_with_delimiter: {
    needs: 0,
    takes: 2,
    faultOf: (_, input) => numberFault(input),
    apply: (input, [delimiter, separator], run) => {
      if (isNothing(input)) return input
      const source = digitsOf("number_with_delimiter", input, run)
      if (source === undefined) return input
      const usual = signsOf(run.locale ?? "en")
      const comma = isNothing(delimiter) ? usual.comma : text(delimiter, run)
      const point = isNothing(separator) ? usual.point : text(separator, run)
      run.scan(source.length * (1 + comma.length), 1)
      run.room(source.length * (1 + comma.length) + point.length)
      const [, sign = "", whole = "", fraction] = digits.exec(source)!
      const first = whole.length % 3 || 3
      let grouped = whole.slice(0, first)
      for (let index = first; index < whole.length; index += 3) grouped += comma + whole.slice(index, index + 3)
      return `${sign}${grouped}${fraction === undefined ? "" : point + fraction}`
    },
  },
  /**
   * Returns the first argument for 1, otherwise the second: `{{ count | pluralize: "item", "items" }}`. Does not write
   * the number.
   */
  pluralize: {
    needs: 2,
    faultOf: (_, input) => numberFault(input),
    apply: (input, [one, many], run) => {
      const read = readDecimal(input, run)
      if ("value" in read) return Decimals.compare(read.value, 1) === 0 ? one : many
      run.complain(`pluralize: ${read.wrong}`)
      return many
    },
  },
  /**
   * Returns the argument for the plural form of a number in the text's locale, otherwise `other`:
   * `{{ count | plural: one: "item", other: "items" }}`. Does not write the number.
   */
  plural: {
    needs: 0,
    named: pluralCategories,
    requires: ["other"],
    faultOf: (_, input, { locale, named }) => numberFault(input) ?? pluralFault(named, locale),
    apply: (input, _, run, named) => {
      const read = readDecimal(input, run)
      if ("wrong" in read) run.complain(`plural: ${read.wrong}`)
      run.spend(20)
      const category = "wrong" in read ? "other" : pluralOf(Number(Decimals.write(read.value)), run.locale)
      return named.get(category) ?? named.get("other")
    },
  },
}
