/** Longest text that is read as a time. */
export const maxTime = 64

/** The number that `length` digits of a text stand for; NaN where other characters stand there. */
const digitsAt = (text: string, at: number, length: number): number => {
  let value = 0
  for (let place = at; place < at + length; place++) {
    const digit = text.charCodeAt(place) - 0x30
    if (!(digit >= 0 && digit <= 9)) return NaN
    value = value * 10 + digit
  }
  return value
}

/** Unix milliseconds of the beginning of a day since 1970; undefined for the 30th of February and other days that do not exist. */
const midnightOf = (year: number, month: number, day: number): number | undefined => {
  if (!(year >= 1970 && month >= 1 && month <= 12 && day >= 1)) return undefined
  const midnight = Date.UTC(year, month - 1, day)
  // Date.UTC rolls the 30th of February over into March.
  return day <= 28 || new Date(midnight).getUTCDate() === day ? midnight : undefined
}

/** Where the digits that begin at a place of a text end. */
const endOfDigits = (text: string, from: number): number => {
  let at = from
  while (digitsAt(text, at, 1) >= 0) at++
  return at
}

/** Milliseconds of the 1 to 9 digits of a fraction of a second between two places, cut off; undefined for more digits or none. */
const fractionMillis = (text: string, from: number, end: number): number | undefined => {
  const digits = end - from
  if (digits < 1 || digits > 9) return undefined
  const read = Math.min(digits, 3)
  return digitsAt(text, from, read) * 10 ** (3 - read)
}

/** Minutes by which the zone that a time ends with is ahead of UTC: none, `Z`, `UTC`, `GMT`, `+02`, `+0200` or `+02:00`. */
const offsetMinutes = (text: string, at: number): number | undefined => {
  const length = text.length - at
  if (length === 0) return 0
  const sign = text[at]!
  if (length === 1) return sign === "Z" || sign === "z" ? 0 : undefined
  if (sign !== "+" && sign !== "-") return length === 3 && /UTC|GMT/.test(text.slice(at)) ? 0 : undefined
  const hasColon = length === 6 && text[at + 3] === ":"
  if (length !== 3 && length !== 5 && !hasColon) return undefined
  const hours = digitsAt(text, at + 1, 2)
  const minutes = length === 3 ? 0 : digitsAt(text, text.length - 2, 2)
  return hours <= 23 && minutes <= 59 ? (hours * 60 + minutes) * (sign === "-" ? -1 : 1) : undefined
}

/** Unix milliseconds of `2026-11-24T09:30[:00[.000]]` and a zone, with `t` or a space for the `T`, a comma for the point. */
const isoInstant = (text: string): number | undefined => {
  if (text[4] !== "-" || text[7] !== "-" || text[13] !== ":" || !"Tt ".includes(text[10]!)) return undefined
  const midnight = midnightOf(digitsAt(text, 0, 4), digitsAt(text, 5, 2), digitsAt(text, 8, 2))
  const hour = digitsAt(text, 11, 2)
  const minute = digitsAt(text, 14, 2)
  let second = 0
  let millis: number | undefined = 0
  let at = 16
  if (text[at] === ":") {
    second = digitsAt(text, 17, 2)
    at = 19
    if (text[at] === "." || text[at] === ",") {
      const end = endOfDigits(text, 20)
      millis = fractionMillis(text, 20, end)
      at = end
    }
  }
  if (text[at] === " ") at++
  const offset = offsetMinutes(text, at)
  if (midnight === undefined || millis === undefined || offset === undefined) return undefined
  // A second of 60 is RFC 3339's leap second.
  if (!(hour <= 23 && minute <= 59 && second <= 60)) return undefined
  return midnight + (hour * 60 + minute - offset) * 60_000 + second * 1_000 + millis
}

const hyphen = 0x2d

/** Unix milliseconds of a number of seconds, milliseconds or microseconds, told apart by their size. */
const numericInstant = (value: number): number | undefined =>
  value < 1e11
    ? Math.round(value * 1_000)
    : value < 1e14
    ? Math.round(value)
    : value < 1e17
    ? Math.floor(value / 1_000)
    : undefined

/**
 * A stated time as Unix milliseconds: digits by their size (see `numericInstant`), or ISO 8601 with any offset, UTC where
 * it has none, a space for the `T` allowed. Undefined for anything else.
 */
export const parseInstant = (value: string): number | undefined => {
  if (value.length > maxTime) return undefined
  const text = value.trim()
  const isNumber = text.charCodeAt(4) !== hyphen && /^\d+(?:\.\d+)?(?:e\+\d+)?$/.test(text)
  const instant = isNumber ? numericInstant(Number(text)) : isoInstant(text)
  return instant === undefined || instant < 0 ? undefined : instant
}

/** A stated time as Unix milliseconds; the time of receipt if the stated time is invalid or in the future. */
export const instantOf = (value: string | undefined, receivedAt: number): number => {
  const instant = value === undefined ? undefined : parseInstant(value)
  return instant === undefined || instant > receivedAt ? receivedAt : instant
}
