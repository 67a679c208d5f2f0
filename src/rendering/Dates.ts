import * as Limits from "./Limits.ts"
import type { Run } from "./Run.ts"
import { isNothing, text, ZonedTime } from "./Values.ts"

/**
 * The `date` filters. The filters of liquidjs use the time zone of the process and the language of its machine, and
 * create a formatter for every name of a month (30,000 of them in one format blocked the event loop for seconds). These
 * filters depend only on their arguments, and write English like Ruby.
 */

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const
const months = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const

/** A point in time on a local clock: the UTC fields of `wall` contain the fields of that clock. */
interface Moment {
  readonly instant: number
  readonly wall: Date
  /** Minutes east of UTC. */
  readonly offset: number
  readonly zone: string
}

const formatters = new Map<string, Intl.DateTimeFormat>()

/** Returns a formatter of the zone, or undefined if the zone does not exist. Cached, because creation is slow. */
const formatterOf = (zone: string, run: Run): Intl.DateTimeFormat | undefined => {
  const kept = formatters.get(zone)
  if (kept !== undefined) return kept
  run.spend(2_000)
  try {
    const made = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "gregory",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    })
    // Names differ in case and data may contain any of them, so the cache is bounded. After it is cleared, it fills
    // again at once.
    if (formatters.size >= 100) formatters.clear()
    formatters.set(zone, made)
    return made
  } catch {
    return undefined
  }
}

/** Minutes east of UTC at an instant. Years before 1 get the offset of year 1. */
const offsetAt = (instant: number, zone: string, run: Run): number | undefined => {
  if (zone === "UTC") return 0
  const formatter = formatterOf(zone, run)
  if (formatter === undefined) return undefined
  run.spend(100)
  const seconds = Math.max(Math.floor(instant / 1000), -62_135_596_800)
  const part: Record<string, number> = {}
  for (const { type, value } of formatter.formatToParts(seconds * 1000)) part[type] = Number(value)
  const wall = new Date(0)
  wall.setUTCFullYear(part.year!, part.month! - 1, part.day!)
  wall.setUTCHours(part.hour!, part.minute!, part.second!)
  return Math.round((wall.getTime() / 1000 - seconds) / 60)
}

const moment = (instant: number, zone: string | number, run: Run): Moment | undefined => {
  // Instants end at ±8.64e15. One day less leaves room for the offset.
  if (!(Math.abs(instant) <= 8.64e15 - 86_400_000)) return undefined
  const offset = typeof zone === "number" ? zone : offsetAt(instant, zone, run)
  if (offset === undefined) return undefined
  return { instant, wall: new Date(instant + offset * 60_000), offset, zone: typeof zone === "number" ? "" : zone }
}

const statesOffset =
  /(?::\d{2}(?:\.\d+)?\s*(?:[zZ]|[+-]\d{2}:?\d{2})|\b(?:GMT|UTC?|[ECMP][SD]T)(?:[+-]\d{4})?(?: \([^)]*\))?)\s*$/

/** Reads a date. A date without a zone or offset (`2026-03-14 10:00`) is local time in `zone`. */
const read = (value: unknown, zone: string | number, run: Run): Moment | undefined => {
  if (value === "now" || value === "today") return moment(run.options.now, zone, run)
  if (typeof value === "number") return moment(value * 1000, zone, run)
  if (typeof value !== "string" || value.length > 100) return undefined
  run.spend(20)
  if (/^\d+$/.test(value)) return moment(Number(value) * 1000, zone, run)
  if (statesOffset.test(value)) return moment(Date.parse(value), zone, run)
  const clock = Date.parse(/T\d/.test(value) ? `${value.trim()}Z` : `${value.trim()} UTC`)
  const guess = moment(clock, zone, run)
  // The first offset may belong to the other side of a clock change. The second look-up corrects it.
  const near = guess && moment(clock - guess.offset * 60_000, zone, run)
  return near && moment(clock - near.offset * 60_000, zone, run)
}

const sign = (offset: number, colon: boolean): string => {
  const minutes = Math.abs(offset)
  const two = (value: number) => String(value).padStart(2, "0")
  return `${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}${colon ? ":" : ""}${two(minutes % 60)}`
}

const dayOfYear = (wall: Date): number => {
  const first = new Date(wall.getTime())
  first.setUTCMonth(0, 1)
  return Math.round((wall.getTime() - first.getTime()) / 86_400_000) + 1
}

/** The week of the year, counted from the first `start` (0 is Sunday) on. The days before it are in week 0. */
const week = (wall: Date, start: number): number =>
  Math.floor((dayOfYear(wall) + 6 - (wall.getUTCDay() - start + 7) % 7) / 7)

const ordinal = (day: number): string =>
  day > 10 && day < 14 ? "th" : day % 10 === 1 ? "st" : day % 10 === 2 ? "nd" : day % 10 === 3 ? "rd" : "th"

/** The output of each directive, with the width and character of its padding. */
const directives: Record<string, readonly [(moment: Moment) => string | number, width?: number, fill?: string]> = {
  a: [({ wall }) => days[wall.getUTCDay()]!.slice(0, 3), 0, " "],
  A: [({ wall }) => days[wall.getUTCDay()]!, 0, " "],
  b: [({ wall }) => months[wall.getUTCMonth()]!.slice(0, 3), 0, " "],
  h: [({ wall }) => months[wall.getUTCMonth()]!.slice(0, 3), 0, " "],
  B: [({ wall }) => months[wall.getUTCMonth()]!, 0, " "],
  C: [({ wall }) => Math.floor(wall.getUTCFullYear() / 100), 2],
  d: [({ wall }) => wall.getUTCDate(), 2],
  e: [({ wall }) => wall.getUTCDate(), 2, " "],
  H: [({ wall }) => wall.getUTCHours(), 2],
  I: [({ wall }) => wall.getUTCHours() % 12 || 12, 2],
  j: [({ wall }) => dayOfYear(wall), 3],
  k: [({ wall }) => wall.getUTCHours(), 2, " "],
  l: [({ wall }) => wall.getUTCHours() % 12 || 12, 2, " "],
  L: [({ wall }) => wall.getUTCMilliseconds(), 3],
  m: [({ wall }) => wall.getUTCMonth() + 1, 2],
  M: [({ wall }) => wall.getUTCMinutes(), 2],
  n: [() => "\n"],
  N: [({ wall }) => `${String(wall.getUTCMilliseconds()).padStart(3, "0")}000000`],
  p: [({ wall }) => wall.getUTCHours() < 12 ? "AM" : "PM", 0, " "],
  P: [({ wall }) => wall.getUTCHours() < 12 ? "am" : "pm", 0, " "],
  q: [({ wall }) => ordinal(wall.getUTCDate())],
  s: [({ instant }) => Math.floor(instant / 1000)],
  S: [({ wall }) => wall.getUTCSeconds(), 2],
  t: [() => "\t"],
  u: [({ wall }) => wall.getUTCDay() || 7],
  U: [({ wall }) => week(wall, 0), 2],
  w: [({ wall }) => wall.getUTCDay()],
  W: [({ wall }) => week(wall, 1), 2],
  y: [({ wall }) => (wall.getUTCFullYear() % 100 + 100) % 100, 2],
  Y: [({ wall }) => wall.getUTCFullYear(), 4],
  Z: [({ offset, zone }) => zone || sign(offset, false)],
  "%": [() => "%"],
}

/** Directives that expand to several others. */
const composed: Record<string, string> = {
  c: "%a %b %e %H:%M:%S %Y",
  D: "%m/%d/%y",
  F: "%Y-%m-%d",
  r: "%I:%M:%S %p",
  R: "%H:%M",
  T: "%H:%M:%S",
  x: "%m/%d/%y",
  X: "%H:%M:%S",
}

const directive = /%([-_0^#:]*)(\d*)[EO]?([a-zA-Z%])/g

const write = (moment: Moment, format: string): string =>
  format.replace(directive, (whole, flags: string, digits: string, letter: string) => {
    const width = Math.min(Number(digits), Limits.datePadding)
    if (Object.hasOwn(composed, letter)) return write(moment, composed[letter]!).padStart(width)
    if (letter === "z") return sign(moment.offset, flags.includes(":")).padStart(width, "0")
    if (!Object.hasOwn(directives, letter)) return whole
    const [value, usual = 0, usualFill = "0"] = directives[letter]!
    let made = String(value(moment))
    if (letter === "N") return made.padEnd(width, "0").slice(0, width || 9)
    if (flags.includes("^")) made = made.toUpperCase()
    else if (flags.includes("#")) made = made === made.toUpperCase() ? made.toLowerCase() : made.toUpperCase()
    if (flags.includes("-")) return made
    const fill = flags.includes("_") ? " " : flags.includes("0") ? "0" : usualFill
    return fill === "0" && made.startsWith("-")
      ? `-${made.slice(1).padStart((width || usual) - 1, "0")}`
      : made.padStart(width || usual, fill)
  })

/** Returns the zone if it exists. Otherwise reports a complaint of `filter` and returns undefined. */
const zoneOf = (name: unknown, filter: string, run: Run): string | undefined => {
  if (typeof name === "string" && name.length <= 64 && offsetAt(0, name, run) !== undefined) return name
  run.complain(`${filter}: there is no time zone ${JSON.stringify(text(name, run).slice(0, 64))}`)
  return undefined
}

/**
 * Formats a date: `now`, `today`, seconds since 1970, or a text that contains a date. Any other value is returned
 * unchanged. `zone` is an IANA name or, as in JavaScript, minutes west of UTC. Default: the zone of `time_zone`,
 * otherwise the zone of the run. Maximum width in the format: 64. Maximum length of the format: 256 characters.
 */
export const date = (value: unknown, format: unknown, zone: unknown, run: Run): unknown => {
  if (isNothing(value)) return value
  const usual = value instanceof ZonedTime ? value.zone : run.timeZone
  const place = isNothing(zone)
    ? usual
    : typeof zone === "number" && Math.abs(zone) <= 1440
    ? -Math.trunc(zone)
    : zoneOf(zone, "date", run) ?? usual
  const when = value instanceof ZonedTime ? moment(value.instant, place, run) : read(value, place, run)
  if (when === undefined) return value
  const layout = isNothing(format) ? "%A, %B %-e, %Y at %-l:%M %P %z" : text(format, run)
  if (layout.length > Limits.dateFormatLength) {
    run.complain(`date: the format is longer than ${Limits.dateFormatLength} characters`)
    return undefined
  }
  run.spend(10 + 4 * layout.length)
  return write(when, layout)
}

/**
 * Converts a date to another time zone, an IANA name: a `date` filter after it writes the local time of that zone.
 * Without a `date` filter, the result is a text such as `2026-03-14 10:00:00 +0100`. A value that is not a date is
 * returned unchanged.
 */
export const timeZone = (value: unknown, name: unknown, run: Run): unknown => {
  const zone = zoneOf(name, "time_zone", run)
  if (zone === undefined) return value
  const when = value instanceof ZonedTime
    ? moment(value.instant, zone, run)
    : moment(read(value, run.timeZone, run)?.instant ?? NaN, zone, run)
  if (when === undefined) return value
  run.spend(60)
  return new ZonedTime(write(when, "%Y-%m-%d %H:%M:%S %z"), when.instant, zone)
}

/** `date_to_string` (`%b`) and `date_to_long_string` (`%B`): `7 Nov 2008`, or `7th Nov 2008`, `Nov 7th, 2008`. */
export const dateToString = (value: unknown, month: "%b" | "%B", type: unknown, style: unknown, run: Run): unknown =>
  date(
    value,
    type !== "ordinal" ? `%d ${month} %Y` : style === "US" ? `${month} %-d%q, %Y` : `%-d%q ${month} %Y`,
    undefined,
    run,
  )
