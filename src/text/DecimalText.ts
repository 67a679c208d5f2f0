import type { ReadValue } from "./ReadValue.ts"

// Decimal numbers as people and their programs write them: `1234.5`, `1.234,50`, `1 234,50`, `1'234.50`.

/** Matches invisible characters: direction marks, zero-width characters, soft hyphens. */
const unseen = /[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g

/** Code points of the digit zero in other scripts: Arabic, Persian, Devanagari, Bengali, Thai. */
const zeros = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50]

/**
 * Converts a text to Western digits, points and spaces. NFKC converts full-width digits and all kinds of spaces.
 * Fractions and exponents (`½`, `²`) stay, because they are not digits.
 */
export const plainText = (text: string): string =>
  text.replaceAll(/\P{No}+/gu, (part) => part.normalize("NFKC")).replaceAll(unseen, "")
    .replaceAll(/[\u0660-\u0e59]/g, (digit) => {
      const code = digit.charCodeAt(0)
      const zero = zeros.find((zero) => code >= zero && code <= zero + 9)
      return zero === undefined ? digit : String(code - zero)
    }).trim()

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
  wrong: `may mean ${text.replace(sign, ".")} or ${text.replace(sign, "")}`,
})

/**
 * Reads digits with points, commas, spaces and apostrophes, as converted by `plainText`. Returns a text such as
 * `1234.50`, `wrong` if the digits have two meanings, and undefined if they are not a number. `isPointDecimal`: a point
 * before three digits can only be the decimal sign.
 */
export const groupedDecimal = (text: string, isPointDecimal: boolean): ReadValue<string> | undefined => {
  // Price tags write `49,-` and `49.–`.
  const written = text.replace(/[.,][-\u2013\u2014]+$/, "")
  if (!/^(?:\d[\d.,'\u2019\u066b\u066c _]*\d|\d|[.,]\d+)$/.test(written)) return undefined
  const arabic = written.replaceAll("\u066c", "'").replace("\u066b", ";")
  const lastAt = Math.max(arabic.lastIndexOf("."), arabic.lastIndexOf(","))
  const sign = arabic[lastAt]
  const at = arabic.includes(";") ? arabic.indexOf(";") : lastAt
  const others = new Set(arabic.slice(0, Math.max(at, 0)).match(/\D/g))
  const digits = arabic.length - at - 1
  const isOnly = at >= 0 && others.size === 0
  const isClear = sign === "." && isPointDecimal
  if (isOnly && !isClear && sign !== undefined && digits === 3 && /^[1-9]\d{0,2}$/.test(arabic.slice(0, at))) {
    return ambiguous(arabic, sign)
  }
  // The last sign is the decimal sign if it occurs once and differs from the other signs.
  const isDecimal = at >= 0 && (arabic[at] === ";" || !others.has(sign!))
  const whole = wholeOf(isDecimal ? arabic.slice(0, at) : arabic, isDecimal)
  const fraction = isDecimal ? arabic.slice(at + 1) : ""
  return whole === undefined || !/^\d*$/.test(fraction)
    ? undefined
    : { value: fraction === "" ? whole || "0" : `${whole || "0"}.${fraction}` }
}

/** Digits with a point, and perhaps an exponent, such as programs write them. */
const plainNumber = /^(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i

/** Maximum length of a number with grouping signs. Unit: characters. */
const maxGrouped = 60

/** Fault of a text that is not a number. */
const noNumber = { wrong: "is not a number: use a number, or a text such as 1234.50" }

/**
 * Reads a number of any length. Returns a text that `Number` reads as well, such as `-1234.50` or `1e3`. A point is
 * the decimal sign, also in `1.234`, as in numbers of JSON. `1,234` has two meanings. Currencies, units and percent
 * signs are not parts of a number.
 */
export const readNumber = (written: string): ReadValue<string> => {
  const trimmed = written.trim()
  const text = trimmed.length > maxGrouped ? trimmed : plainText(trimmed)
  const [, sign = "", digits = ""] = /^([+\-\u2212]?)(.*)$/s.exec(text)!
  const minus = sign === "" || sign === "+" ? "" : "-"
  if (plainNumber.test(digits)) return { value: minus + digits }
  const read = digits.length > maxGrouped ? undefined : groupedDecimal(digits, true)
  if (read === undefined) return noNumber
  return "wrong" in read ? { wrong: `${read.wrong}: use a number` } : { value: minus + read.value }
}
