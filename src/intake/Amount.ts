import { largestValue } from "../domain/Event.ts"
import { currenciesOf } from "../text/Currency.ts"
import { groupedDecimal, plainText } from "../text/DecimalText.ts"
import type { ReadValue } from "../text/ReadValue.ts"

/** An amount of money, and the currencies that its text may mean. Negative amounts are refunds. */
interface StatedAmount {
  readonly amount: number
  /** Undefined if the text names no currency. */
  readonly currencies: ReadonlyArray<string> | undefined
}

/** Maximum length of a text that is read as an amount. Unit: characters. */
const maxText = 60

const plain = "send a number, or a text such as 1234.50"
const noNumber = { wrong: `is no amount: ${plain}` }
const tooLarge = { wrong: "is beyond 1,000,000,000: send the amount in the currency's main unit" }

/** Currencies with three decimal places. */
const threeDigits: ReadonlySet<string> = new Set(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"])

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
  const read = groupedDecimal(digits!.trim(), currency !== undefined && threeDigits.has(currency))
  if (read === undefined) return noNumber
  if ("wrong" in read) return { wrong: `${read.wrong}: send a number` }
  const absolute = Number(read.value)
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
      amount: minus === 1 ? -absolute : absolute,
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
    const text = value.length > maxText ? "" : plainText(value)
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
