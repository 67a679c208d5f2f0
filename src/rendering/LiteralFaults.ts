import { readCurrencyCode } from "../text/Currency.ts"
import { readNumber } from "../text/DecimalText.ts"
import { readLocale } from "../text/Locales.ts"

// Faults of literals in a source, with what to write instead. They are found when the source is saved.

/** A literal in a source. Undefined for a value that is known only when the source is rendered. */
type Literal = string | number | undefined

const wrongText = (literal: Literal, read: (text: string) => object): string | undefined => {
  if (typeof literal !== "string") return undefined
  const found = read(literal)
  return "wrong" in found ? `${JSON.stringify(literal.slice(0, 40))} ${found.wrong}` : undefined
}

/** Returns why a literal is not a number. */
export const numberFault = (literal: Literal): string | undefined => wrongText(literal, readNumber)

/** Returns the first literal of a filter that is not a number. */
export const numbersFault = (args: ReadonlyArray<Literal>, input: Literal): string | undefined =>
  [input, ...args].map(numberFault).find((fault) => fault !== undefined)

/** Returns why a literal cannot divide a number. */
export const divisorFault = (literal: Literal): string | undefined => {
  const fault = numberFault(literal)
  if (fault !== undefined || literal === undefined) return fault
  const divisor = typeof literal === "number" ? { value: String(literal) } : readNumber(literal)
  return "value" in divisor && Number(divisor.value) === 0 ? "the divisor is 0: write another number" : undefined
}

/** Returns why a literal is not a currency code. A blank text means no currency. */
export const currencyFault = (literal: Literal): string | undefined =>
  typeof literal === "number"
    ? `${literal} is not a currency code: write an ISO 4217 code, such as "EUR"`
    : literal?.trim() === ""
    ? undefined
    : wrongText(literal, (text) => readCurrencyCode(text.trim()))

/** Returns why a literal is not a locale. A blank text means the default locale. */
export const localeFault = (literal: Literal): string | undefined =>
  typeof literal === "number"
    ? `${literal} is not a locale: write one such as "en-US"`
    : literal?.trim() === ""
    ? undefined
    : wrongText(literal, readLocale)
