import type { FilterEntry } from "./FilterEntry.ts"
import type { Run } from "./Run.ts"
import { isNothing, number, text } from "./Values.ts"

const formats = new Map<string, Intl.NumberFormat>()

/**
 * Returns a format of money, or undefined if the currency or locale does not exist. Cached, because creation is slow.
 */
const formatOf = (currency: string | undefined, locale: string, run: Run): Intl.NumberFormat | undefined => {
  const key = `${locale} ${currency ?? ""}`
  const kept = formats.get(key)
  if (kept !== undefined) return kept
  run.spend(2_000)
  try {
    const made = new Intl.NumberFormat(
      locale,
      currency === undefined
        ? { minimumFractionDigits: 2, maximumFractionDigits: 2 }
        : { style: "currency", currency, currencyDisplay: "narrowSymbol" },
    )
    if (formats.size >= 100) formats.clear()
    formats.set(key, made)
    return made
  } catch {
    return undefined
  }
}

const decimal = /^\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)\s*$/

/** An amount in its currency's main unit. A text that is not a number is returned unchanged. */
const money = (name: string, withCode: boolean): FilterEntry => ({
  needs: withCode ? 1 : 0,
  apply: (input, [currency, locale], run) => {
    if (isNothing(input)) return input
    if (typeof input !== "number" && !(typeof input === "string" && input.length <= 100 && decimal.test(input))) {
      run.complain(`${name}: the value is not a number`)
      return input
    }
    const code = isNothing(currency) ? undefined : text(currency, run).slice(0, 10).toUpperCase()
    const place = isNothing(locale) ? "en-US" : text(locale, run).slice(0, 64)
    const format = formatOf(code, place, run)
    if (format === undefined) {
      const requested = JSON.stringify([code, place].filter((part) => part !== undefined).join(", "))
      run.complain(`${name}: there is no such currency or locale: ${requested}`)
      return input
    }
    run.spend(100)
    const amount = format.format(number(input, run))
    return withCode ? `${amount} ${code}` : amount
  },
})

const digits = /^([-+]?)(\d+)(?:\.(\d+))?$/

/** The filters of numbers and money. */
export const numberFilters: Record<string, FilterEntry> = {
  /** `1234.5` becomes `1,234.50`; with a currency `$1,234.50`; with a locale as well `1.234,50 €`. */
  money: money("money", false),
  /** Like `money`, with the currency's code at the end: `$1,234.50 USD`. */
  money_with_currency: money("money_with_currency", true),
  /** Groups digits by three: `1234567.5` becomes `1,234,567.5`. A text that is not a number is returned unchanged. */
  number_with_delimiter: {
    needs: 0,
    apply: (input, [delimiter, separator], run) => {
      const source = text(input, run)
      const comma = isNothing(delimiter) ? "," : text(delimiter, run)
      const point = isNothing(separator) ? "." : text(separator, run)
      run.scan(source.length * (1 + comma.length), 1)
      run.room(source.length * (1 + comma.length) + point.length)
      const [, sign, whole, fraction] = digits.exec(source) ?? []
      if (whole === undefined) return input
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
  pluralize: { needs: 2, apply: (input, [one, many], run) => number(input, run) === 1 ? one : many },
}
