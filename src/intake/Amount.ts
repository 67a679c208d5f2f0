import { largestValue } from "../domain/Event.ts"
import { currenciesOf } from "../text/Currency.ts"
import type { ReadValue } from "../text/ReadValue.ts"

/** An amount of money, and the currencies that its text may mean. Negative amounts are refunds. */
interface StatedAmount {
  readonly amount: number
  /** Undefined if the text names no currency. */
  readonly currencies: ReadonlyArray<string> | undefined
}

/** Maximum length of a text that is read as an amount. Unit: characters. */
const maxText = 60

/** Matches invisible characters: direction marks, zero-width characters, soft hyphens. */
const unseen = /[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g

/** Code points of the digit zero in other scripts: Arabic, Persian, Devanagari, Bengali, Thai. */
const zeros = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50]

/** Converts a text to Western digits, points and spaces. NFKC converts full-width digits and all kinds of spaces. */
const plainOf = (text: string): string =>
  text.normalize("NFKC").replaceAll(unseen, "").replaceAll(/[\u0660-\u0e59]/g, (digit) => {
    const code = digit.charCodeAt(0)
    const zero = zeros.find((zero) => code >= zero && code <= zero + 9)
    return zero === undefined ? digit : String(code - zero)
  }).trim()

const plain = "send a number, or a text such as 1234.50"
const noNumber = { wrong: `is no amount: ${plain}` }
const tooLarge = { wrong: "is beyond 1,000,000,000: send the amount in the currency's main unit" }

/** Currencies with three decimal places. */
const threeDigits: ReadonlySet<string> = new Set(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"])

/** Whether a whole part is grouped as is usual: 1,234,567, or in India 12,34,567. */
const isGrouped = (text: string, sign: string): boolean => {
  const [first = "", ...groups] = text.split(sign)
  const last = groups.at(-1) ?? ""
  return /^\d{1,3}$/.test(first) && last.length === 3 && groups.every((group) => group.length === 3) ||
    /^\d{1,2}$/.test(first) && last.length === 3 && groups.slice(0, -1).every((group) => group.length === 2)
}

/** Removes the grouping signs from a whole part. Undefined if its signs do not separate groups of digits. */
const wholeOf = (text: string, isDecimalKnown: boolean): string | undefined => {
  const found = new Set(text.match(/\D/g))
  if (found.size === 0) return text
  const [sign] = found
  if (found.size > 1 || !isGrouped(text, sign!)) return undefined
  // A single point or comma before three digits may also be the decimal sign.
  const isClear = isDecimalKnown || !".,".includes(sign!) || text.split(sign!).length > 2
  return isClear ? text.replaceAll(sign!, "") : undefined
}

const ambiguous = (text: string, sign: string) => ({
  wrong: `may mean ${text.replace(sign, ".")} or ${text.replace(sign, "")}: send a number`,
})

/** Returns the number of digits with points, commas, spaces and apostrophes, if it has only one meaning. */
const decimalOf = (text: string, currency: string | undefined): ReadValue<number> => {
  // Price tags write `49,-` and `49.–`.
  const written = text.replace(/[.,][-\u2013\u2014]+$/, "")
  if (!/^(?:\d[\d.,'\u2019\u066b\u066c _]*\d|\d|[.,]\d+)$/.test(written)) return noNumber
  const arabic = written.replaceAll("\u066c", "'").replace("\u066b", ";")
  const lastAt = Math.max(arabic.lastIndexOf("."), arabic.lastIndexOf(","))
  const sign = arabic[lastAt]
  const at = arabic.includes(";") ? arabic.indexOf(";") : lastAt
  const others = new Set(arabic.slice(0, Math.max(at, 0)).match(/\D/g))
  const digits = arabic.length - at - 1
  const isOnly = at >= 0 && others.size === 0
  const isClear = sign === "." && currency !== undefined && threeDigits.has(currency)
  if (isOnly && !isClear && sign !== undefined && digits === 3 && /^[1-9]\d{0,2}$/.test(arabic.slice(0, at))) {
    return ambiguous(arabic, sign)
  }
  // The last sign is the decimal sign if it occurs once and differs from the other signs.
  const isDecimal = at >= 0 && (arabic[at] === ";" || !others.has(sign!))
  const whole = wholeOf(isDecimal ? arabic.slice(0, at) : arabic, isDecimal)
  const fraction = isDecimal ? arabic.slice(at + 1) : ""
  return whole === undefined || !/^\d*$/.test(fraction)
    ? noNumber
    : { value: Number(`${whole || "0"}.${fraction || "0"}`) }
}

/** The parts of a text: a sign or parentheses, a currency before or after the digits, and the digits. */
const amountText =
  /^(-|\+|\u2212)?\s*([^\d\s.,+\-\u2212()]*?[^\d\s+\-\u2212()]*)?\s*(-|\u2212)?\s*([\d.,][\d.,'\u2019\u066b\u066c _]*?(?:[.,][-\u2013\u2014]+)?)\s*([^\d\s(),+\-][^\d()+\-]*)?(-)?$/u

const readText = (text: string, currency: string | undefined): ReadValue<StatedAmount> => {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)e[+-]?\d+$/i.test(text)) {
    return { value: { amount: Number(text), currencies: undefined } }
  }
  const inner = /^\((.*)\)$/.exec(text)?.[1]
  const match = amountText.exec((inner ?? text).trim().replace(/^([+-]?)[.,](?=\d)/, "$10."))
  if (match === null) return noNumber
  const [, sign, before = "", innerSign, digits, after = "", signBehind] = match
  const read = decimalOf(digits!.trim(), currency)
  if ("wrong" in read) return read
  const named = [before, after].map((name) => name.trim()).filter((name) => name !== "")
  const currencies = named.map(currenciesOf)
  if (currencies.includes(undefined)) return noNumber
  const common = (currencies[0] ?? []).filter((code) => currencies.every((one) => one!.includes(code)))
  if (named.length > 0 && common.length === 0) return { wrong: `names two currencies: ${plain}` }
  const minus = [sign, innerSign].filter((one) => one === "-" || one === "\u2212").length + (signBehind ? 1 : 0) +
    (inner === undefined ? 0 : 1)
  if (minus > (sign === "+" ? 0 : 1)) return noNumber
  return {
    value: {
      amount: minus === 1 ? -read.value : read.value,
      currencies: named.length === 0 ? undefined : common,
    },
  }
}

/**
 * Reads an amount of money: a number, or a text with only one meaning, with or without its currency: `49.90`, `49,90`,
 * `1.234,50 €`, `USD 1,234.50`, `-50`. Range: -1,000,000,000 to 1,000,000,000. `1.234` has two meanings, unless
 * `currency`, the stated currency, has three decimal places.
 */
export const readAmount = (value: unknown, currency?: string): ReadValue<StatedAmount> => {
  if (typeof value === "string") {
    const text = value.length > maxText ? "" : plainOf(value)
    if (text === "") return value.trim() === "" ? { wrong: `is empty: ${plain}, or leave it out` } : noNumber
    const read = readText(text, currency)
    return "value" in read ? within(read.value) : read
  }
  return typeof value === "number" ? within({ amount: value, currencies: undefined }) : noNumber
}

const within = (read: StatedAmount): ReadValue<StatedAmount> =>
  Number.isNaN(read.amount)
    ? noNumber
    : Math.abs(read.amount) > largestValue
    ? tooLarge
    : { value: read.amount === 0 ? { ...read, amount: 0 } : read }
