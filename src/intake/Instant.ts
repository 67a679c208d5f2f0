import type { MemberFault } from "../domain/Event.ts"
import * as LocalTime from "../templates/LocalTime.ts"
import { type EventLevel, given, type ReadValue } from "./Given.ts"

/** Longest text that is read as a time. */
export const maxTime = 100

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

/** Minutes by which the zone that a time ends with is ahead of UTC: none, `Z`, `UTC`, `GMT`, `UT`, `+02`, `+0200` or `+02:00`. */
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

/** Unix milliseconds of a time on the clocks of an IANA zone, given as if it were UTC; undefined if they show it twice. */
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

/** Of Go's text of a time: the zone's abbreviation behind the offset, and the monotonic clock. */
const goSuffix = /^([+-]\d{4}) (?:[A-Z]{2,5}|[+-]\d{2,4})(?: m=[+-]\d+\.\d+)?$/

/** Unix milliseconds of a local time with the zone behind it: an offset, the name of a zone, or an offset and a name. */
const zoned = (local: number, zone: string): number | undefined => {
  const [, start, name] = /^(.*?)\[([^\]]+)\]$/.exec(zone) ?? [undefined, zone]
  // Java writes the offset and the zone. The offset alone determines the instant.
  if (name !== undefined && start === "") return inZone(local, name)
  if (name !== undefined && !/^[A-Za-z0-9_+/-]+$/.test(name)) return undefined
  const offset = offsetMinutes(goSuffix.exec(start!)?.[1] ?? start!)
  return offset === undefined ? inZone(local, start!) : local - offset * 60_000
}

/** Unix milliseconds of a day and a time of day, as if it were UTC; undefined for one that does not exist. */
const localOf = (day: number | undefined, hour: number, minute: number, second: number, millis: number | undefined) =>
  // A second of 60 is RFC 3339's leap second.
  day !== undefined && millis !== undefined && hour <= 23 && minute <= 59 && second <= 60
    ? day + (hour * 60 + minute) * 60_000 + second * 1_000 + millis
    : undefined

/**
 * Unix milliseconds of `2026-11-24T09:30[:00[.000]]` and a zone, with `t` or a space for the `T`, a comma for the point. With a
 * space, the date may have slashes.
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

/** `20261124T093000Z`, the basic form of ISO 8601. */
const basicIso = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)?(\.\d{1,9})?(Z|[+-]\d\d:?(?:\d\d)?)?$/

const basicInstant = (text: string): number | undefined => {
  const match = basicIso.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second = "00", fraction = "", zone = ""] = match
  return isoInstant(`${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}${zone}`)
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

/** Zones of RFC 822 by their hours ahead of UTC. */
const oldZones: { readonly [zone: string]: number } = {
  EST: -5,
  EDT: -4,
  CST: -6,
  CDT: -5,
  MST: -7,
  MDT: -6,
  PST: -8,
  PDT: -7,
}

const clock = "(?<hour>\\d{1,2}):(?<minute>\\d\\d)(?::(?<second>\\d\\d)(?<fraction>\\.\\d{1,9})?)?(?: ?(?<half>[AP]M))?"
const weekday = "(?:(?:sun|mon|tue|wed|thu|fri|sat)[a-z]*,? )?"
const dayOfMonth = "(?<day>\\d{1,2})"
const month = "(?<month>[a-z]{3,9})\\.?"

/** RFC 2822 and RFC 850; `date`, Java and Ruby; JavaScript and English words. The name of the month distinguishes it from the day. */
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
  // The comment that RFC 2822 and JavaScript put behind the offset.
  const stated = zone.replace(/ ?\([^()]*\)$/, "").replace(/^(?:GMT|UTC)(?=[+-]\d{4}$)/, "")
  const old = oldZones[stated.toUpperCase()]
  return old === undefined ? zoned(local, stated) : local - old * 3_600_000
}

const hyphen = 0x2d

/** Unix milliseconds of a number of seconds, milliseconds, microseconds or nanoseconds, distinguished by size. */
const numericInstant = (value: number): number | undefined =>
  value < 1e11
    ? Math.round(value * 1_000)
    : value < 1e14
    ? Math.round(value)
    : value < 1e17
    ? Math.floor(value / 1_000)
    : value < 1e20
    ? Math.floor(value / 1_000_000)
    : undefined

/**
 * A stated time as Unix milliseconds: digits by their size (see `numericInstant`); ISO 8601 with an offset, the name of a
 * zone, or both, UTC if it has none; RFC 2822; what Go, Java, JavaScript, PostgreSQL and Ruby write; `/Date(…)/` of .NET.
 * Undefined for anything else, such as days without a time, and dates whose day and month could be exchanged.
 */
export const parseInstant = (value: string): number | undefined => {
  if (value.length > maxTime) return undefined
  const text = value.trim()
  const first = text.charCodeAt(0)
  let instant: number | undefined
  if (!(first >= 0x30 && first <= 0x39)) {
    const net = /^\/Date\((\d{1,15})(?:[+-]\d{4})?\)\/$/.exec(text)
    instant = net === null ? englishInstant(text) : Number(net[1])
  } else if (text.charCodeAt(4) !== hyphen && /^\d+(?:\.\d+)?(?:e\+\d+)?$/.test(text)) {
    instant = numericInstant(Number(text))
  } else {
    instant = isoInstant(text) ?? basicInstant(text) ?? englishInstant(text)
  }
  return instant === undefined || instant < 0 ? undefined : instant
}

/** Times before 1971 are the zero of a clock, or a date as a number. */
const leastInstant = 365 * 86_400_000

/** The clock of a sender may be ahead by this much. Unit: milliseconds. */
const aheadMillis = 5 * 60_000

const expected = "send ISO 8601 with a zone, such as 2026-11-28T10:18:00Z, or Unix time"

/** The time of an event as Unix milliseconds, never after `receivedAt`. */
export const readInstant = (value: unknown, receivedAt: number): ReadValue<number> => {
  const text = typeof value === "string" ? value : typeof value === "number" ? String(value) : ""
  const instant = parseInstant(text)
  if (instant === undefined) return { wrong: `is no time that can be read: ${expected}` }
  if (instant < leastInstant) return { wrong: `is in 1970, the zero of a clock: ${expected}` }
  return instant > receivedAt + aheadMillis
    ? { wrong: `is in the future, after the receipt at ${new Date(receivedAt).toISOString()}: ${expected}` }
    : { value: Math.min(instant, receivedAt) }
}

/** The time of an event: the first of `keys` that can be read, else the time of receipt, with the fault if any was given. */
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
