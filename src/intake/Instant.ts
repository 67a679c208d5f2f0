import type { MemberFault } from "../domain/Event.ts"
import { zoneAbbreviations } from "../domain/ZoneNames.ts"
import * as LocalTime from "../templates/LocalTime.ts"
import type { ReadValue } from "../text/ReadValue.ts"
import { type EventLevel, given } from "./Given.ts"
import { isItem } from "./Reading.ts"

/** Maximum length of a text that is read as a time. Unit: characters. */
const maxTime = 100

/** Returns the number in `length` digits of a text; NaN if it contains other characters. */
const digitsAt = (text: string, at: number, length: number): number => {
  let value = 0
  for (let place = at; place < at + length; place++) {
    const digit = text.charCodeAt(place) - 0x30
    if (!(digit >= 0 && digit <= 9)) return NaN
    value = value * 10 + digit
  }
  return value
}

/**
 * Returns the start of a day since 1970 in Unix milliseconds; undefined for days that do not exist, such as February
 * 30.
 */
const midnightOf = (year: number, month: number, day: number): number | undefined => {
  if (!(year >= 1970 && month >= 1 && month <= 12 && day >= 1)) return undefined
  const midnight = Date.UTC(year, month - 1, day)
  // Date.UTC converts February 30 to a day in March.
  return day <= 28 || new Date(midnight).getUTCDate() === day ? midnight : undefined
}

/** Returns the position after the digits that begin at `from`. */
const endOfDigits = (text: string, from: number): number => {
  let at = from
  while (digitsAt(text, at, 1) >= 0) at++
  return at
}

/**
 * Returns the milliseconds of a fraction of a second with 1 to 9 digits, rounded down; undefined for another number of
 * digits.
 */
const fractionMillis = (text: string, from: number, end: number): number | undefined => {
  const digits = end - from
  if (digits < 1 || digits > 9) return undefined
  const read = Math.min(digits, 3)
  return digitsAt(text, from, read) * 10 ** (3 - read)
}

/**
 * Returns the offset from UTC, in minutes, of a time's zone: empty, `Z`, `UTC`, `GMT`, `UT`, `+02`, `+0200` or
 * `+02:00`.
 */
const offsetMinutes = (text: string): number | undefined => {
  const length = text.length
  if (length === 0) return 0
  const sign = text[0]!
  if (length === 1) return sign === "Z" || sign === "z" ? 0 : undefined
  if (sign !== "+" && sign !== "-") return length <= 3 && /^(?:UTC?|GMT)$/.test(text) ? 0 : undefined
  const hasColon = length === 6 && text[3] === ":"
  if (length !== 3 && length !== 5 && !hasColon) return undefined
  const hours = digitsAt(text, 1, 2)
  const minutes = length === 3 ? 0 : digitsAt(text, length - 2, 2)
  return hours <= 23 && minutes <= 59 ? (hours * 60 + minutes) * (sign === "-" ? -1 : 1) : undefined
}

/**
 * Converts a local time of an IANA zone (as if it were UTC) to Unix milliseconds; undefined if the local time occurs
 * twice.
 */
const inZone = (local: number, zone: string): number | undefined => {
  if (!zone.includes("/") || !LocalTime.isTimeZone(zone)) return undefined
  const clocks = LocalTime.of(zone)
  const first = clocks.instantOf(local)
  const isRepeated = [1, 2].some((halfHours) => {
    const later = first + halfHours * 1_800_000
    return later + clocks.offsetAt(later) === local
  })
  return isRepeated ? undefined : first
}

/** Go's format of a time: the offset, the zone's abbreviation, and the monotonic clock. */
const goSuffix = /^([+-]\d{4}) (?:[A-Z]{2,5}|[+-]\d{2,4})(?: m=[+-]\d+\.\d+)?$/

/** Converts a local time to Unix milliseconds. `zone` is an offset, the name of a zone, or both. */
const zoned = (local: number, zone: string): number | undefined => {
  const [, start, name] = /^(.*?)\[([^\]]+)\]$/.exec(zone) ?? [undefined, zone]
  // Java writes the offset and the zone. The offset alone determines the instant.
  if (name !== undefined && start === "") return inZone(local, name)
  if (name !== undefined && !/^[A-Za-z0-9_+/-]+$/.test(name)) return undefined
  const short = Object.hasOwn(zoneAbbreviations, start!) ? zoneAbbreviations[start!]! * 60 : undefined
  const offset = short ?? offsetMinutes(goSuffix.exec(start!)?.[1] ?? start!)
  return offset === undefined ? inZone(local, start!) : local - offset * 60_000
}

/** Returns a day and a time of day in Unix milliseconds, as if it were UTC; undefined if it does not exist. */
const localOf = (day: number | undefined, hour: number, minute: number, second: number, millis: number | undefined) =>
  // RFC 3339 writes a leap second as second 60.
  day !== undefined && millis !== undefined && hour <= 23 && minute <= 59 && second <= 60
    ? day + (hour * 60 + minute) * 60_000 + second * 1_000 + millis
    : undefined

/**
 * Converts `2026-11-24T09:30[:00[.000]]` with a zone to Unix milliseconds. Also accepts `t` or a space instead of `T`,
 * a comma instead of the point, and with a space, slashes in the date.
 */
const isoInstant = (text: string): number | undefined => {
  const separator = text[4]
  if (text[7] !== separator || text[13] !== ":") return undefined
  if (separator === "-" ? !"Tt ".includes(text[10]!) : text[10] !== " ") return undefined
  const midnight = midnightOf(digitsAt(text, 0, 4), digitsAt(text, 5, 2), digitsAt(text, 8, 2))
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
  const local = localOf(midnight, digitsAt(text, 11, 2), digitsAt(text, 14, 2), second, millis)
  return local === undefined ? undefined : zoned(local, text.slice(at))
}

/** The basic form of ISO 8601, such as `20261124T093000Z`, and the digits alone, `20261124093000`. */
const basicIso = /^(\d{4})(\d\d)(\d\d)T?(\d\d)(\d\d)(\d\d)?(\.\d{1,9})?(Z|[+-]\d\d:?(?:\d\d)?)?$/

const basicInstant = (text: string): number | undefined => {
  const match = basicIso.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second = "00", fraction = "", zone = ""] = match
  return isoInstant(`${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}${zone}`)
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

const clock = "(?<hour>\\d{1,2}):(?<minute>\\d\\d)(?::(?<second>\\d\\d)(?<fraction>\\.\\d{1,9})?)?(?: ?(?<half>[AP]M))?"
const weekday = "(?:(?:sun|mon|tue|wed|thu|fri|sat)[a-z]*(?:, ?| ))?"
const dayOfMonth = "(?<day>\\d{1,2})"
const month = "(?<month>[a-z]{3,9})\\.?"

/**
 * The formats of RFC 2822 and RFC 850; of `date`, Java and Ruby; of JavaScript and English text. The month is a word,
 * so it differs from the day.
 */
const english = [
  `^${weekday}${dayOfMonth}[ -]${month}[ -](?<year>\\d{4}|\\d\\d) ${clock}(?: ?(?<zone>[A-Z+-].*))?$`,
  `^${weekday}${month} +${dayOfMonth} ${clock}(?: (?<zone>[A-Z+-][A-Z0-9:]*))? (?<year>\\d{4})$`,
  `^${weekday}${month} ${dayOfMonth},? (?<year>\\d{4}),?(?: at)? ${clock}(?: ?(?<zone>[A-Z+-].*))?$`,
].map((form) => new RegExp(form, "i"))

const englishMonth = (name: string): number => {
  const at = months.indexOf(name.slice(0, 3).toLowerCase())
  const full = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
  ][at]
  return full?.startsWith(name.toLowerCase()) === true || name.toLowerCase() === "sept" ? at + 1 : NaN
}

const englishInstant = (text: string): number | undefined => {
  const groups = english.map((form) => form.exec(text)?.groups).find((found) => found !== undefined)
  if (groups === undefined) return undefined
  const { day, fraction = "", half, hour: hours, minute, month, second = "0", year, zone = "" } = groups
  const hour = Number(hours)
  if (half !== undefined && !(hour >= 1 && hour <= 12)) return undefined
  const hour24 = half === undefined ? hour : hour % 12 + (half.toUpperCase() === "PM" ? 12 : 0)
  const fullYear = year!.length === 4 ? Number(year) : Number(year) + 2000
  const millis = fraction === "" ? 0 : fractionMillis(fraction, 1, fraction.length)
  const midnight = midnightOf(fullYear, englishMonth(month!), Number(day))
  const local = localOf(midnight, hour24, Number(minute), Number(second), millis)
  if (local === undefined) return undefined
  // RFC 2822 and JavaScript write a comment after the offset.
  const stated = zone.replace(/ ?\([^()]*\)$/, "").replace(/^(?:GMT|UTC)(?=[+-]\d{4}$)/, "")
  return zoned(local, /^[a-z]{2,4}$/i.test(stated) ? stated.toUpperCase() : stated)
}

const hyphen = 0x2d

/** Tenths of a microsecond from the year 1601 to 1970, as Windows counts them, and from the year 1 to 1970, as .NET does. */
const windowsEpoch = 116_444_736e9
const dotnetEpoch = 621_355_968e9

/**
 * Converts a number of seconds, milliseconds, microseconds or nanoseconds, or a time of Windows or .NET, to Unix
 * milliseconds. Its size determines the unit.
 */
const numericInstant = (value: number): number | undefined =>
  value >= 1.2e17 && value < 2e17
    ? Math.floor((value - windowsEpoch) / 10_000)
    : value >= dotnetEpoch && value < 7e17
    ? Math.floor((value - dotnetEpoch) / 10_000)
    : value < 1e11
    ? Math.round(value * 1_000)
    : value < 1e14
    ? Math.round(value)
    : value < 1e17
    ? Math.floor(value / 1_000)
    : value < 1e20
    ? Math.floor(value / 1_000_000)
    : undefined

/** Digits of a day and a time without separators, such as `20261124093000`: no number of milliseconds of this era. */
const isCompact = (text: string): boolean => text.length === 14 && /^(?:19|20)\d{12}$/.test(text)

const units: { readonly [unit: string]: number } = { "": 1, s: 1, ms: 1e3, us: 1e6, ns: 1e9 }

/** Writes a time without the peculiarities of some senders: quotes, units, special spaces, hours of one digit. */
const tidied = (text: string): string => {
  const plain = text.replace(/[\u00a0\u2009\u202f]/g, " ").replaceAll("\u2212", "-").replace(/^(["'])(.*)\1$/, "$2")
    .trim()
  const [, number, unit = ""] = /^@?(\d{1,20}(?:\.\d{1,20})?) ?(s|ms|us|ns)?$/.exec(plain) ?? []
  if (number !== undefined) return String(Number(number) / units[unit]!)
  return plain.replace(/^(\d{4}([-/])\d\d\2\d\d[Tt ])(\d:)/, "$10$3")
}

/**
 * Parses a time to Unix milliseconds. Accepts numbers (see `numericInstant`), also with a unit; ISO 8601 with an offset,
 * the name of a zone, both, or neither (UTC), also as digits alone; RFC 2822; the formats of Go, Java, JavaScript, PostgreSQL and Ruby; and `/Date(…)/` of
 * .NET. Undefined for other texts, such as days without a time, and dates whose day and month could be exchanged.
 */
export const parseInstant = (value: string): number | undefined => {
  if (value.length > maxTime) return undefined
  const text = value.trim()
  const instant = parsed(text)
  if (instant !== undefined) return instant
  const tidy = tidied(text)
  return tidy === text ? undefined : parsed(tidy)
}

const parsed = (text: string): number | undefined => {
  const first = text.charCodeAt(0)
  let instant: number | undefined
  if (!(first >= 0x30 && first <= 0x39)) {
    const net = /^\/Date\((\d{1,15})(?:[+-]\d{4})?\)\/$/.exec(text)
    instant = net === null ? englishInstant(text) : Number(net[1])
  } else if (text.charCodeAt(4) !== hyphen && /^\d+(?:\.\d+)?(?:e\+?\d+)?$/.test(text)) {
    instant = isCompact(text) ? basicInstant(text) : numericInstant(Number(text))
  } else {
    instant = isoInstant(text) ?? basicInstant(text) ?? englishInstant(text)
  }
  return instant === undefined || instant < 0 ? undefined : instant
}

/** Earlier times are not real: the zero of a clock, or a date written as a number. Unit: Unix milliseconds. */
const leastInstant = 365 * 86_400_000

/** Maximum time by which the clock of a sender may be ahead. Unit: milliseconds. */
const aheadMillis = 5 * 60_000

const expected = "send ISO 8601 with a zone, such as 2026-11-28T10:18:00Z, or Unix time"

/**
 * Returns the text of a time: of the timestamps of protobuf and Firestore (`seconds`), of MongoDB (`$date`), and of Java's
 * lists of year, month, day, hour, minute, second and nanosecond.
 */
const textOf = (value: unknown, depth = 0): string => {
  if (typeof value === "string") return value
  if (typeof value === "number") return String(value)
  if (Array.isArray(value)) {
    const parts = value.map((part: unknown) => typeof part === "number" ? String(part).padStart(2, "0") : "?")
    const [year, month, day, hour, minute, second = "00", nanos = "0"] = parts
    return parts.length < 5 || parts.length > 7
      ? ""
      : `${year}-${month}-${day}T${hour}:${minute}:${second}.${nanos.padStart(9, "0")}`
  }
  if (!isItem(value) || depth > 2) return ""
  return textOf(value["seconds"] ?? value["_seconds"] ?? value["$date"] ?? value["$numberLong"], depth + 1)
}

/** Reads the time of an event as Unix milliseconds, not after `receivedAt`. */
export const readInstant = (value: unknown, receivedAt: number): ReadValue<number> => {
  const text = textOf(value)
  const instant = parseInstant(text)
  if (instant === undefined) return { wrong: `is no time that can be read: ${expected}` }
  if (instant < leastInstant) return { wrong: `is in 1970, the zero of a clock: ${expected}` }
  return instant > receivedAt + aheadMillis
    ? { wrong: `is in the future, after the receipt at ${new Date(receivedAt).toISOString()}: ${expected}` }
    : { value: Math.min(instant, receivedAt) }
}

/**
 * Returns the time of an event from the first of `keys` with a valid value. Default: `receivedAt`, with the fault if a
 * value was present.
 */
export const timeIn = (
  levels: ReadonlyArray<EventLevel>,
  keys: ReadonlyArray<string>,
  receivedAt: number,
): { readonly occurredAt: number; readonly fault?: MemberFault } => {
  const { fault, value } = given(
    levels,
    keys,
    (stated) => readInstant(stated, receivedAt),
    "The time of receipt is used",
  )
  return { occurredAt: value ?? receivedAt, ...(fault === undefined ? {} : { fault }) }
}
