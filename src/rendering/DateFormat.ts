import * as Limits from "./Limits.ts"

// Writes dates by the directives of Ruby's strftime, with names of days and months in the locale of the text.

export const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const
export const months = [
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

/** Names of days, Sunday first, and of months. */
interface DateNames {
  readonly days: ReadonlyArray<string>
  readonly shortDays: ReadonlyArray<string>
  readonly months: ReadonlyArray<string>
  readonly shortMonths: ReadonlyArray<string>
}

const short = (names: ReadonlyArray<string>) => names.map((name) => name.slice(0, 3))

/** The names in English, which the directives of Ruby have. */
const englishNames: DateNames = { days, shortDays: short(days), months, shortMonths: short(months) }

const namesByLocale = new Map<string, readonly [inDate: DateNames, alone: DateNames]>()

/** The days from Sunday, 1 January 2023, and the first days of the months of that year. */
const weekOf = (day: number) => Date.UTC(2023, 0, 1 + day)
const monthOf = (month: number) => Date.UTC(2023, month, 1)

const namesIn = (locale: string, hasDay: boolean): DateNames => {
  const written = (options: Intl.DateTimeFormatOptions, type: string, times: ReadonlyArray<number>) => {
    const format = new Intl.DateTimeFormat(locale, { ...options, calendar: "gregory", timeZone: "UTC" })
    return times.map((time) => format.formatToParts(time).find((part) => part.type === type)?.value ?? "")
  }
  const week = days.map((_, day) => weekOf(day))
  const year = months.map((_, month) => monthOf(month))
  // Slavic and other languages inflect a month behind the number of its day.
  const day = hasDay ? { day: "numeric" } as const : {}
  return {
    days: written({ weekday: "long" }, "weekday", week),
    shortDays: written({ weekday: "short" }, "weekday", week),
    months: written({ ...day, month: "long" }, "month", year),
    shortMonths: written({ ...day, month: "short" }, "month", year),
  }
}

const numberOfDay = /%[-_0^#]*\d*[de]/

/** Returns the names for a format in a locale. Undefined locale: English. */
export const namesFor = (locale: string | undefined, format: string): DateNames => {
  if (locale === undefined || /^en\b/.test(locale)) return englishNames
  let known = namesByLocale.get(locale)
  if (known === undefined) namesByLocale.set(locale, known = [namesIn(locale, true), namesIn(locale, false)])
  return known[numberOfDay.test(format) ? 0 : 1]
}

/** A point in time on a local clock: the UTC fields of `wall` contain the fields of that clock. */
export interface WallTime {
  /** Unit: Unix milliseconds. */
  readonly instant: number
  readonly wall: Date
  /** Nanoseconds after `instant`: 0 to 999,999. */
  readonly nanos: number
  /** Seconds east of UTC. */
  readonly offset: number
  /** IANA name of the zone. Empty for a fixed offset. */
  readonly zone: string
}

interface Moment extends WallTime {
  readonly names: DateNames
}

const dayMillis = 86_400_000

const dayOfYear = (wall: Date): number => {
  const first = new Date(wall.getTime())
  first.setUTCMonth(0, 1)
  return Math.round((wall.getTime() - first.getTime()) / dayMillis) + 1
}

/** The week of the year, counted from the first `start` (0 is Sunday) on. The days before it are in week 0. */
const week = (wall: Date, start: number): number =>
  Math.floor((dayOfYear(wall) + 6 - (wall.getUTCDay() - start + 7) % 7) / 7)

/** The Thursday of the week. By ISO 8601, a week belongs to the year of its Thursday. */
const thursday = (wall: Date): Date => new Date(wall.getTime() + (4 - (wall.getUTCDay() || 7)) * dayMillis)

const ordinal = (day: number): string =>
  day > 10 && day < 14 ? "th" : day % 10 === 1 ? "st" : day % 10 === 2 ? "nd" : day % 10 === 3 ? "rd" : "th"

const inCentury = (year: number): number => (year % 100 + 100) % 100

/** The value of each directive, with the width and the character of its padding. */
const directives: Record<string, readonly [(moment: Moment) => string | number, width?: number, fill?: string]> = {
  a: [({ names, wall }) => names.shortDays[wall.getUTCDay()]!, 0, " "],
  A: [({ names, wall }) => names.days[wall.getUTCDay()]!, 0, " "],
  b: [({ names, wall }) => names.shortMonths[wall.getUTCMonth()]!, 0, " "],
  h: [({ names, wall }) => names.shortMonths[wall.getUTCMonth()]!, 0, " "],
  B: [({ names, wall }) => names.months[wall.getUTCMonth()]!, 0, " "],
  C: [({ wall }) => Math.floor(wall.getUTCFullYear() / 100), 2],
  d: [({ wall }) => wall.getUTCDate(), 2],
  e: [({ wall }) => wall.getUTCDate(), 2, " "],
  g: [({ wall }) => inCentury(thursday(wall).getUTCFullYear()), 2],
  G: [({ wall }) => thursday(wall).getUTCFullYear(), 4],
  H: [({ wall }) => wall.getUTCHours(), 2],
  I: [({ wall }) => wall.getUTCHours() % 12 || 12, 2],
  j: [({ wall }) => dayOfYear(wall), 3],
  k: [({ wall }) => wall.getUTCHours(), 2, " "],
  l: [({ wall }) => wall.getUTCHours() % 12 || 12, 2, " "],
  m: [({ wall }) => wall.getUTCMonth() + 1, 2],
  M: [({ wall }) => wall.getUTCMinutes(), 2],
  n: [() => "\n", 0, " "],
  p: [({ wall }) => wall.getUTCHours() < 12 ? "AM" : "PM", 0, " "],
  P: [({ wall }) => wall.getUTCHours() < 12 ? "am" : "pm", 0, " "],
  /** The ending of the day's number, as in `2nd`. No directive of Ruby. */
  q: [({ wall }) => ordinal(wall.getUTCDate()), 0, " "],
  s: [({ instant }) => Math.floor(instant / 1000)],
  S: [({ wall }) => wall.getUTCSeconds(), 2],
  t: [() => "\t", 0, " "],
  u: [({ wall }) => wall.getUTCDay() || 7],
  U: [({ wall }) => week(wall, 0), 2],
  V: [({ wall }) => Math.ceil(dayOfYear(thursday(wall)) / 7), 2],
  w: [({ wall }) => wall.getUTCDay()],
  W: [({ wall }) => week(wall, 1), 2],
  y: [({ wall }) => inCentury(wall.getUTCFullYear()), 2],
  Y: [({ wall }) => wall.getUTCFullYear(), 4],
  Z: [({ offset, zone }) => zone || offsetText(offset, 0, 0, "0"), 0, " "],
  "%": [() => "%", 0, " "],
}

/** Directives that expand to several others. */
const composed: Record<string, string> = {
  c: "%a %b %e %H:%M:%S %Y",
  D: "%m/%d/%y",
  F: "%Y-%m-%d",
  r: "%I:%M:%S %p",
  R: "%H:%M",
  T: "%H:%M:%S",
  v: "%e-%^b-%4Y",
  x: "%m/%d/%y",
  X: "%H:%M:%S",
  "+": "%a %b %e %H:%M:%S %Z %Y",
}

const two = (value: number) => String(value).padStart(2, "0")

/**
 * Writes an offset: `+0100`, and with one to three colons `+01:00`, `+01:00:00`, and the shortest of both or of `+01`.
 */
const offsetText = (offset: number, colons: number, width: number, fill: string): string => {
  const seconds = Math.abs(offset)
  const [hour, minute, second] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  const precise = colons < 3 ? colons : second > 0 ? 2 : minute > 0 ? 1 : 3
  const rest = precise === 0
    ? two(minute)
    : precise === 1
    ? `:${two(minute)}`
    : precise === 2
    ? `:${two(minute)}:${two(second)}`
    : ""
  const sign = offset < 0 ? "-" : "+"
  const hours = Math.max(width - rest.length - 1, 2)
  return fill === " " ? `${sign}${hour}`.padStart(hours + 1) + rest : sign + String(hour).padStart(hours, "0") + rest
}

/** Digits of the fraction of a second, by default 9 (`%N`) or 3 (`%L`). */
const fractionText = ({ nanos, wall }: WallTime, width: number): string =>
  `${String(wall.getUTCMilliseconds()).padStart(3, "0")}${String(nanos).padStart(6, "0")}`.padEnd(width, "0")
    .slice(0, width)

const padded = (made: string, width: number, fill: string): string =>
  fill === "0" && made.startsWith("-") ? `-${made.slice(1).padStart(width - 1, "0")}` : made.padStart(width, fill)

/** Letters that may follow the modifiers `E` and `O`, which change nothing in English. */
const modified: { readonly [modifier: string]: string } = { E: "cCxXyY", O: "deHkIlmMSuUVwWy" }

const directive = /%([-_0^#]*)(\d*)(:{1,3}(?=z)|[EO](?=[a-zA-Z])|)([a-zA-Z%+])/g

const letters: ReadonlySet<string> = new Set([..."zNL", ...Object.keys(composed), ...Object.keys(directives)])

/** Whether the letter is a directive, and fits its modifier, as in `%::z` and `%Oe`. */
const isDirective = (modifier: string, letter: string): boolean =>
  letters.has(letter) &&
  (modifier === "" || !Object.hasOwn(modified, modifier) || modified[modifier]!.includes(letter))

/** Returns the text of a format between its directives. Unknown directives stay. */
export const withoutDirectives = (format: string): string =>
  format.replace(
    directive,
    (whole, _flags, _digits, modifier: string, letter: string) => isDirective(modifier, letter) ? " " : whole,
  )

/** Returns the first directive of a format that does not exist, such as `%Q` or a `%` alone. */
export const unknownDirective = (format: string): string | undefined =>
  /%[-_0^#:]*\d*:*[EO]?[a-zA-Z]?/.exec(withoutDirectives(format))?.[0]

/** A part of a format: a text, or what a directive writes. */
type Part = string | ((moment: Moment) => string)

const partOf = (whole: string, flags: string, digits: string, modifier: string, letter: string): Part => {
  if (!isDirective(modifier, letter)) return whole
  const width = Math.min(Number(digits), Limits.datePadding)
  const flag = flags === "" ? undefined : flags.replace(/[\^#]/g, "").at(-1)
  if (letter === "z") {
    return ({ offset }) => offsetText(offset, modifier.length, width, flag === "_" ? " " : "0")
  }
  if (letter === "N" || letter === "L") {
    return (moment) => fractionText(moment, width || (letter === "N" ? 9 : 3))
  }
  const isUpper = flags.includes("^")
  const parts = Object.hasOwn(composed, letter) ? partsOf(composed[letter]!) : undefined
  if (parts !== undefined) {
    return (moment) => {
      const made = written(moment, parts)
      return padded(isUpper ? made.toUpperCase() : made, width, flag === "0" ? "0" : " ")
    }
  }
  const [value, usual = 0, usualFill = "0"] = directives[letter]!
  const isSwapped = flags.includes("#")
  const isRaised = isUpper && !(letter === "p" && isSwapped)
  const isPadded = !flags.includes("-")
  const fill = flag === "_" ? " " : flag === "0" ? "0" : usualFill
  return (moment) => {
    let made = String(value(moment))
    if (isRaised) made = made.toUpperCase()
    else if (isSwapped) made = made === made.toUpperCase() ? made.toLowerCase() : made.toUpperCase()
    if (!isPadded) return made
    // The sign of a year before 0 does not count.
    const least = usual === 4 && made.startsWith("-") ? 5 : usual
    return padded(made, width || least, fill)
  }
}

const readFormats = new Map<string, ReadonlyArray<Part>>()

/** Returns the parts of a format. Cached, because reading a format takes longer than writing a date. */
const partsOf = (format: string): ReadonlyArray<Part> => {
  const kept = readFormats.get(format)
  if (kept !== undefined) return kept
  const parts: Array<Part> = []
  let from = 0
  for (const match of format.matchAll(directive)) {
    const [whole, flags, digits, modifier, letter] = match
    parts.push(format.slice(from, match.index), partOf(whole, flags!, digits!, modifier!, letter!))
    from = match.index + whole.length
  }
  parts.push(format.slice(from))
  // Data may contain any format.
  if (readFormats.size >= 200) readFormats.clear()
  readFormats.set(format, parts)
  return parts
}

const written = (moment: Moment, parts: ReadonlyArray<Part>): string => {
  let made = ""
  for (const part of parts) made += typeof part === "string" ? part : part(moment)
  return made
}

/** Writes a date. Unknown directives stay as they are. Default names: English. */
export const write = (moment: WallTime, format: string, names = englishNames): string =>
  written({ ...moment, names }, partsOf(format))
