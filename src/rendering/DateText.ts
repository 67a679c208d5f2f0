import { zoneAbbreviations } from "../domain/ZoneNames.ts"
import { days, months } from "./DateFormat.ts"

// Reads dates by a grammar of its own. `Date.parse` reads "Size 10" as a day in October and 30 February as 2 March.

/** A date as a text states it. */
export interface StatedDate {
  /** The day and the time as if they were UTC. Unit: Unix milliseconds. */
  readonly local: number
  /** Nanoseconds after `local`: 0 to 999,999. */
  readonly nanos: number
  /** The stated offset in seconds east of UTC, or the name of the stated zone. Undefined without either. */
  readonly zone: number | string | undefined
}

/** The time of a day. */
interface Time {
  /** Milliseconds since midnight, up to a full day. */
  readonly millis: number
  readonly nanos: number
}

const dayMillis = 86_400_000
const midnight: Time = { millis: 0, nanos: 0 }

/** A position in a text, and the patterns that continue there. */
class Cursor {
  at = 0
  constructor(readonly text: string) {}

  /** Returns the match of a sticky pattern at the position, and moves behind it. */
  take(pattern: RegExp): RegExpExecArray | undefined {
    // No pattern matches the empty text.
    if (this.done) return undefined
    pattern.lastIndex = this.at
    const match = pattern.exec(this.text)
    if (match === null) return undefined
    this.at = pattern.lastIndex
    return match
  }

  get done(): boolean {
    return this.at === this.text.length
  }
}

/** Returns the start of a day, undefined for days that do not exist. Months and days count from 1. */
const dayOf = (year: number, month: number, day: number): number | undefined => {
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= 31)) return undefined
  if (year >= 100) {
    const at = Date.UTC(year, month - 1, day)
    return day <= 28 || new Date(at).getUTCDate() === day ? at : undefined
  }
  // Date.UTC adds 1900 to these years.
  const at = new Date(0)
  at.setUTCFullYear(year, month - 1, day)
  return at.getUTCDate() === day ? at.getTime() : undefined
}

const yearOf = (at: number): number => new Date(at).getUTCFullYear()

/** Returns the day of a year by its number from 1 to 366. */
const ordinalDay = (year: number, number: number): number | undefined => {
  const at = dayOf(year, 1, 1)! + (number - 1) * dayMillis
  return number >= 1 && yearOf(at) === year ? at : undefined
}

/** Returns a day of a week of ISO 8601. A week belongs to the year of its Thursday. Days count from Monday. */
const weekDay = (year: number, week: number, day: number): number | undefined => {
  const fourth = dayOf(year, 1, 4)!
  const monday = fourth - ((new Date(fourth).getUTCDay() || 7) - 1 - (week - 1) * 7) * dayMillis
  return week >= 1 && yearOf(monday + 3 * dayMillis) === year ? monday + (day - 1) * dayMillis : undefined
}

/** `2026-03-14`, also with slashes or dots. */
const yearFirst = /(\d{4}|[+-]\d{6})([-/.])(\d\d?)\2(\d\d?)(?!\d)/y
/** `20260314`, `2026-03`, `2026-073`, `2026073T…`, `2026-W11-6` and `2026W116`. */
const otherIso = /(\d{4})(?:(\d\d)(\d\d)|-(\d\d)|-(\d{3})|(\d{3})(?=T)|-?W(\d\d)(?:-?([1-7]))?)(?![\d-])/iy
/** `14.03.2026` and `14. 3. 2026`, also with slashes or hyphens. */
const yearLast = /(\d\d?)(\. ?|[-/])(\d\d?)\2(\d{4})(?!\d)/y

/**
 * Returns a day whose month is a number. Returns undefined for a text of another form, and null for a day that does not
 * exist or is uncertain: slashes and hyphens do not say whether the day or the month comes first, so one of them must be
 * above 12.
 */
const numericDay = (cursor: Cursor): number | null | undefined => {
  const usual = cursor.take(yearFirst)
  if (usual !== undefined) return dayOf(Number(usual[1]), Number(usual[3]), Number(usual[4])) ?? null
  const iso = cursor.take(otherIso)
  if (iso !== undefined) {
    const year = Number(iso[1])
    if (iso[2] !== undefined) return dayOf(year, Number(iso[2]), Number(iso[3])) ?? null
    if (iso[4] !== undefined) return dayOf(year, Number(iso[4]), 1) ?? null
    const ordinal = iso[5] ?? iso[6]
    if (ordinal !== undefined) return ordinalDay(year, Number(ordinal)) ?? null
    return weekDay(year, Number(iso[7]), Number(iso[8] ?? 1)) ?? null
  }
  const last = cursor.take(yearLast)
  if (last === undefined) return undefined
  const [first, second, year] = [Number(last[1]), Number(last[3]), Number(last[4])]
  // Dates with dots have the day first in every country that writes them.
  if (last[2]!.startsWith(".") || first > 12 || first === second) return dayOf(year, second, first) ?? null
  return second > 12 ? dayOf(year, first, second) ?? null : null
}

/** SQL Server also writes milliseconds after a colon: `8:05:09:000AM`. */
const clock =
  /(\d\d?):(\d\d)(?::(\d\d))?(?:(?:[.,]|(?<=:\d\d:\d\d):(?=\d{3}(?!\d)))(\d+))?(?: ?([ap])\.?m\b\.?)?(?!\d)/iy
/** Oracle and some countries write dots: `08.05.09.000000 AM`. */
const dottedClock = /(\d\d?)\.(\d\d)\.(\d\d)(?:[.,](\d+))?(?: ?([ap])\.?m\b\.?)?(?!\d)/iy
const twelveHours = /(\d\d?)()()() ?([ap])\.?m\b\.?/iy
/** `T0800`, `T08` and, after a day of eight digits, also with a space. */
const basicClock = /(?:T|(?<=^\d{8}) )(\d\d)(?:(\d\d)(\d\d)?)?(?:[.,](\d+))?(?![\d:])/iy
const beforeClock = /T|,? +(?:at +)?/iy

/** Converts the groups of a clock: hour, minute, second, fraction of the last of them, and `a` or `p` of 12 hours. */
const timeOf = (match: RegExpExecArray): Time | undefined => {
  const hour = Number(match[1])
  const minute = Number(match[2] || 0)
  const second = Number(match[3] || 0)
  const half = match[5]
  if (half !== undefined && !(hour >= 1 && hour <= 12)) return undefined
  const hour24 = half === undefined ? hour : hour % 12 + (half.toLowerCase() === "p" ? 12 : 0)
  // A leap second is second 60.
  if (hour24 > 24 || minute > 59 || second > (minute === 59 ? 60 : 59)) return undefined
  const millis = ((hour24 * 60 + minute) * 60 + second) * 1000
  const fraction = match[4]
  if (fraction === undefined) return hour24 === 24 && millis > dayMillis ? undefined : { millis, nanos: 0 }
  const unit = match[3] ? 1 : match[2] ? 60 : 3_600
  const nanos = Math.floor(Number(fraction.slice(0, 9).padEnd(9, "0")) * unit)
  if (hour24 === 24 && (millis > dayMillis || nanos > 0)) return undefined
  return { millis: millis + Math.floor(nanos / 1e6), nanos: nanos % 1e6 }
}

const takeTime = (cursor: Cursor, pattern: RegExp): Time | null | undefined => {
  const match = cursor.take(pattern)
  return match === undefined ? undefined : timeOf(match) ?? null
}

/** The time of a day after its separator, in any form but `T0800`. */
const takeClock = (cursor: Cursor): Time | null | undefined =>
  takeTime(cursor, clock) ?? takeTime(cursor, dottedClock) ?? takeTime(cursor, twelveHours)

const utc = / ?(?:Z|UTC?|GMT)(?![a-z\d+-])/iy
const offset = / ?(?:UTC?|GMT)? ?([+-])(\d\d?)(?::?(\d\d)(?::?(\d\d))?)?(?![\d:])/iy
const abbreviation = / ?([a-z]{3,4})(?![a-z\d/_])/iy
const zoneName = / ([a-z]+(?:[/_+-][a-z\d]+)+)/iy
/** In the notation of Java and of Temporal: `[Europe/Berlin]`, `[u-ca=gregory]`. */
const annotation = /\[!?([^[\]]+)\]/y
/** The zone, which some programs repeat after the offset: `(Central European Standard Time)`, `CET`, `+0100`, `-03`. */
const remark = / (?:\([^()]*\)|[A-Z]{2,5}|[+-]\d{2}(?:\d{2})?)(?: m=[+-][\d.]+)?$/y

/** Largest offset that is read. Unit: hours. */
const farthest = 15

const offsetOf = (match: RegExpExecArray): number | undefined => {
  const hours = Number(match[2])
  const minutes = Number(match[3] ?? 0)
  const seconds = Number(match[4] ?? 0)
  if (hours > farthest || minutes > 59 || seconds > 59) return undefined
  return (hours * 3600 + minutes * 60 + seconds) * (match[1] === "-" ? -1 : 1)
}

const takeAbbreviation = (cursor: Cursor): number | undefined => {
  const from = cursor.at
  const name = cursor.take(abbreviation)?.[1]?.toUpperCase()
  if (name !== undefined && Object.hasOwn(zoneAbbreviations, name)) return zoneAbbreviations[name]! * 3600
  cursor.at = from
  return undefined
}

/**
 * Reads a zone. Returns null for an offset that does not exist. An offset decides over a name. After a day without a
 * time, an offset has minutes or a name: `2026-03-14-01` is the number of an order.
 */
const takeZone = (cursor: Cursor, hasTime: boolean): number | string | null | undefined => {
  const short = cursor.take(utc) === undefined ? takeAbbreviation(cursor) : 0
  const stated = cursor.take(offset)
  const east = stated === undefined ? short : offsetOf(stated) ?? null
  if (east === null || (!hasTime && stated !== undefined && /^ ?[+-]\d\d?$/.test(stated[0]))) return null
  let name: string | undefined = east === undefined ? cursor.take(zoneName)?.[1] : undefined
  for (let note = cursor.take(annotation); note !== undefined; note = cursor.take(annotation)) {
    if (!note[1]!.includes("=")) name ??= note[1]
  }
  if (east !== undefined) cursor.take(remark)
  return east ?? name
}

const word = /([a-z]+)\.?/iy
const year4 = /(\d{4})(?!\d)/y
const shortYear = /['\u2019](\d\d)(?!\d)/y
const dayNumber = /(\d\d?)(st|nd|rd|th|\.(?= ))?(?![\d:])/iy
const between = /[ ,]+|[-/.:]/y
const fillers = new Set(["of", "the", "at", "on"])

/** Returns the position in a list of English names, which may be shortened to three letters; -1 for other words. */
const nameIn = (names: ReadonlyArray<string>, text: string): number =>
  text.length < 3 ? -1 : names.findIndex((name) => {
    const full = name.toLowerCase()
    return text === full || text === full.slice(0, 3) ||
      (full.startsWith(text) && /^(?:sept|tues|weds?|thurs?)$/.test(text))
  })

/** The parts of a date in words. Each part occurs once. */
interface Parts {
  day?: number
  month?: number
  year?: number
  time?: Time
  zone?: number | string
  weekday?: true
  /** Whether the day comes before the month. */
  dayFirst?: boolean
}

const takeNumber = (cursor: Cursor, parts: Parts): boolean => {
  const full = cursor.take(year4)
  if (full !== undefined) {
    if (parts.year !== undefined) return false
    parts.year = Number(full[1])
    return true
  }
  const quoted = cursor.take(shortYear)
  const number = quoted ?? cursor.take(dayNumber)
  if (number === undefined) return false
  if (quoted === undefined && parts.day === undefined) {
    parts.day = Number(number[1])
    parts.dayFirst = parts.month === undefined
    return true
  }
  // RFC 2822: two digits are a year from 1950 to 2049.
  const isYear = parts.year === undefined && parts.month !== undefined && parts.time === undefined &&
    (quoted !== undefined || (parts.dayFirst === true && number[2] === undefined))
  if (isYear) parts.year = Number(number[1]) + (Number(number[1]) < 50 ? 2000 : 1900)
  return isYear
}

const takeWord = (cursor: Cursor, parts: Parts): boolean => {
  const text = cursor.take(word)?.[1]?.toLowerCase()
  if (text === undefined) return false
  if (fillers.has(text)) return true
  const month = nameIn(months, text)
  if (month >= 0) {
    if (parts.month !== undefined) return false
    parts.month = month + 1
    return true
  }
  if (parts.weekday === true || nameIn(days, text) < 0) return false
  parts.weekday = true
  return true
}

/** Reads the next part of a date in words. Returns false if the text has none there. */
const takePart = (cursor: Cursor, parts: Parts): boolean => {
  const isDated = parts.day !== undefined && parts.month !== undefined && parts.year !== undefined
  if (parts.zone === undefined && (parts.time !== undefined || isDated)) {
    const zone = takeZone(cursor, parts.time !== undefined)
    if (zone === null) return false
    if (zone !== undefined) {
      parts.zone = zone
      return true
    }
  }
  cursor.take(between)
  const time = takeClock(cursor)
  if (time !== undefined) {
    if (time === null || parts.time !== undefined) return false
    parts.time = time
    return true
  }
  return takeNumber(cursor, parts) || takeWord(cursor, parts)
}

/**
 * Reads a date whose month is an English word, in any order: `March 14, 2026 8:00 PM`, RFC 2822, and what Java,
 * JavaScript and Unix print. The year is required.
 */
const dateInWords = (cursor: Cursor): StatedDate | undefined => {
  const parts: Parts = {}
  while (!cursor.done) if (!takePart(cursor, parts)) return undefined
  const { day, month, time, weekday, year, zone } = parts
  if (year === undefined || month === undefined) return undefined
  // "March 2026" is its first day, like 2026-03.
  if (day === undefined && (time !== undefined || weekday !== undefined)) return undefined
  const start = dayOf(year, month, day ?? 1)
  const { millis, nanos } = time ?? midnight
  return start === undefined ? undefined : { local: start + millis, nanos, zone }
}

/** Reads the time and the zone after a day. */
const withTime = (cursor: Cursor, day: number): StatedDate | undefined => {
  const from = cursor.at
  let time = cursor.take(beforeClock) === undefined ? undefined : takeClock(cursor)
  if (time === undefined) {
    cursor.at = from
    time = takeTime(cursor, basicClock)
  }
  if (time === null) return undefined
  const zone = takeZone(cursor, time !== undefined)
  if (zone === null || !cursor.done) return undefined
  const { millis, nanos } = time ?? midnight
  return { local: day + millis, nanos, zone }
}

/** Earliest and latest instant that a number means: the years 0 to 9999. Unit: Unix milliseconds. */
const instants = [-62_167_219_200_000, 253_402_300_799_999] as const

/**
 * Reads Unix time: seconds, or milliseconds from 100,000,000,000 on. Undefined for numbers beyond the years 0 to 9999.
 */
export const unixTime = (value: number): StatedDate | undefined => {
  const micros = Math.abs(value) < 1e11 ? Math.round(value * 1e6) : Math.round(value) * 1e3
  const local = Math.floor(micros / 1e3)
  if (!(local >= instants[0] && local <= instants[1])) return undefined
  return { local, nanos: (micros - local * 1e3) * 1e3, zone: 0 }
}

/** Unit: Unix seconds. */
const endOf2100 = 4_133_980_800

const digits = /^-?(\d+)(?:\.\d+)?$/
const compact = /^((?:19|20)\d{6})(\d{4}|\d{6})?$/

/**
 * Reads digits: `20260314`, `202603140800`, `20260314080000`, and Unix time from 1973 to 2100. Other digits, such as
 * order numbers, zip codes, ISBN, and telephone numbers that begin with 0, are not read.
 */
const dateInDigits = (text: string, count: number): StatedDate | undefined => {
  const [, day, time = "00"] = compact.exec(text) ?? []
  const stated = day === undefined ? undefined : readDate(`${day}T${time}`)
  if (stated !== undefined || /^-?0/.test(text)) return stated
  const value = Number(text)
  const seconds = Math.abs(count > 10 ? value / 1_000 : value)
  return [9, 10, 12, 13].includes(count) && seconds < endOf2100 ? unixTime(value) : undefined
}

/** Replaces the spaces and signs that programs print in dates: no-break spaces, the minus sign, marks of direction. */
const tidied = (text: string): string =>
  !/[^\x20-\x7e]/.test(text)
    ? text.trim()
    : text.replace(/[\u00a0\u2007\u2009\u202f]/g, " ").replace(/[\u200b\u200e\u200f\u2060\ufeff]/g, "")
      .replaceAll("\u2212", "-").trim()

/**
 * Reads a date: ISO 8601 in all its forms, RFC 2822, the notations of PostgreSQL, Java, Temporal, JavaScript and Unix,
 * Unix time, English names of months, and days as numbers whose order is certain. Undefined for every other text: words
 * with a number in them, days and times that do not exist, `03/04/2026`, a year alone. Maximum length: 100 characters.
 */
export const readDate = (value: string): StatedDate | undefined => {
  if (value.length > 100) return undefined
  const text = tidied(value)
  const count = digits.exec(text)?.[1]?.length
  if (count !== undefined) return dateInDigits(text, count)
  const cursor = new Cursor(text)
  const day = numericDay(cursor)
  if (day === null) return undefined
  return day === undefined ? dateInWords(cursor) : withTime(cursor, day)
}
