import { type Zone, zoneNamed } from "../domain/ZoneNames.ts"
import { formatFault } from "./DateFaults.ts"
import { namesFor, type WallTime, write } from "./DateFormat.ts"
import { readDate, type StatedDate, unixTime } from "./DateText.ts"
import * as Limits from "./Limits.ts"
import type { Run } from "./Run.ts"
import { isNothing, text, ZonedTime } from "./Values.ts"

/**
 * The `date` filters. The filters of liquidjs use the time zone of the process and the language of its machine, and
 * create a formatter for every name of a month (30,000 of them in one format blocked the event loop for seconds). These
 * filters depend only on their arguments, and write English like Ruby.
 */

/** Part of the time in which a zone changes its clocks once at most. Unit: milliseconds. */
const blockMillis = 2 * 86_400_000

/** The clocks of an IANA zone. */
interface Clocks {
  readonly formatter: Intl.DateTimeFormat
  /** The offset in each block that has been asked for, or null for a block with a change. Unit: seconds. */
  readonly blocks: Map<number, number | null>
}

const clocks = new Map<string, Clocks>()

/** Returns the clocks of an IANA zone, or undefined if the zone does not exist. Cached, because creation is slow. */
const clocksOf = (zone: string, run: Run): Clocks | undefined => {
  const kept = clocks.get(zone)
  if (kept !== undefined) return kept
  run.spend(2_000)
  try {
    const formatter = new Intl.DateTimeFormat("en-US", {
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
    const made = { formatter, blocks: new Map<number, number | null>() }
    // Names differ in case and data may contain any of them, so the cache is bounded. After it is cleared, it fills
    // again at once.
    if (clocks.size >= 100) clocks.clear()
    clocks.set(zone, made)
    return made
  } catch {
    return undefined
  }
}

/** Asks the runtime for the seconds east of UTC, in about 5 µs. Years before 1 get the offset of year 1. */
const askedOffset = (instant: number, { formatter }: Clocks): number => {
  const seconds = Math.max(Math.floor(instant / 1000), -62_135_596_800)
  const part: Record<string, number> = {}
  for (const { type, value } of formatter.formatToParts(seconds * 1000)) part[type] = Number(value)
  const wall = new Date(0)
  wall.setUTCFullYear(part.year!, part.month! - 1, part.day!)
  wall.setUTCHours(part.hour!, part.minute!, part.second!)
  return wall.getTime() / 1000 - seconds
}

/** Seconds east of UTC at an instant. Undefined if the zone does not exist. */
const offsetAt = (instant: number, zone: Zone, run: Run): number | undefined => {
  if (typeof zone === "number") return zone
  if (zone === "UTC") return 0
  const known = clocksOf(zone, run)
  if (known === undefined) return undefined
  run.spend(100)
  const block = Math.floor(instant / blockMillis)
  let offset = known.blocks.get(block)
  if (offset === undefined) {
    const first = askedOffset(block * blockMillis, known)
    offset = first === askedOffset((block + 1) * blockMillis - 1, known) ? first : null
    if (known.blocks.size >= 2_000) known.blocks.clear()
    known.blocks.set(block, offset)
  }
  return offset ?? askedOffset(instant, known)
}

/** A point in time. */
interface Instant {
  /** Unit: Unix milliseconds. */
  readonly millis: number
  /** Nanoseconds after `millis`: 0 to 999,999. */
  readonly nanos: number
}

const dayMillis = 86_400_000

const moment = ({ millis, nanos }: Instant, zone: Zone, run: Run): WallTime | undefined => {
  // Instants end at ±8.64e15. One day less leaves room for the offset.
  if (!(Math.abs(millis) <= 8.64e15 - dayMillis)) return undefined
  const offset = offsetAt(millis, zone, run)
  if (offset === undefined) return undefined
  const wall = new Date(millis + offset * 1_000)
  return { instant: millis, wall, nanos, offset, zone: typeof zone === "number" ? "" : zone }
}

/**
 * Returns the instant of a local time in a zone. A skipped time gets the offset before the gap, so that 02:30 becomes
 * 03:30. A repeated time is its first occurrence.
 */
const instantOf = (local: number, zone: Zone, run: Run): number | undefined => {
  // Two changes of a zone are never within two days of each other, so these are the offsets on both sides.
  const before = offsetAt(local - dayMillis, zone, run)
  const after = offsetAt(local + dayMillis, zone, run)
  if (before === undefined || after === undefined) return undefined
  const first = local - before * 1_000
  if (before === after || offsetAt(first, zone, run) === before) return first
  const second = local - after * 1_000
  return offsetAt(second, zone, run) === after ? second : first
}

const placed = ({ local, nanos, zone: stated }: StatedDate, usual: Zone, run: Run): Instant | undefined => {
  const zone = typeof stated === "string" ? zoneNamed(stated) : stated ?? usual
  const millis = zone === undefined ? undefined : instantOf(local, zone, run)
  return millis === undefined ? undefined : { millis, nanos }
}

/** Whether a text is `now` or `today`. */
const isNow = (text: string): boolean => text.length < 10 && /^\s*(?:now|today)\s*$/i.test(text)

/** Reads a date. A date without a zone or offset (`2026-03-14 10:00`) is local time in `zone`. */
const read = (value: unknown, zone: Zone, run: Run): Instant | undefined => {
  if (value instanceof ZonedTime) return value
  if (typeof value === "number") {
    const stated = unixTime(value)
    return stated && placed(stated, 0, run)
  }
  if (typeof value !== "string") return undefined
  run.spend(20 + Math.min(value.length, 100))
  if (isNow(value)) return { millis: run.options.now, nanos: 0 }
  const stated = readDate(value)
  return stated && placed(stated, zone, run)
}

/** Returns the zone if it exists. Otherwise reports a complaint of `filter` and returns undefined. */
const zoneOf = (name: unknown, filter: string, run: Run): Zone | undefined => {
  if (typeof name === "string") {
    const zone = clocks.has(name) ? name : zoneNamed(name)
    if (zone !== undefined && offsetAt(0, zone, run) !== undefined) return zone
  }
  const shown = JSON.stringify(text(name, run).slice(0, 64))
  run.complain(`${filter}: there is no time zone ${shown}: send an IANA name, such as Europe/Berlin`)
  return undefined
}

/** Reports what recipients see instead of a date. It is no fault in strict mode, because a text is shown. */
const notice = (message: string, run: Run): void => {
  if (!run.options.strict) run.complain(message)
}

/** Returns a value that is no date unchanged. A value that is shown is named in a warning. */
const unread = (value: unknown, filter: string, run: Run): unknown => {
  const written = text(value, run)
  if (written.trim() !== "") {
    const shown = JSON.stringify(written.slice(0, 64))
    notice(`${filter}: ${shown} is shown as it is, because it is no certain date: send one such as 2026-03-14`, run)
  }
  return value
}

/**
 * Formats a date: `now`, `today`, Unix time, or a text that is a date (see `readDate`). Any other value is returned
 * unchanged. `zone` is a name or an offset (see `zoneNamed`) or, as in JavaScript, minutes west of UTC. Default: the zone
 * of `time_zone`, otherwise the zone of the run. Maximum width in the format: 64. Maximum length of the format: 256
 * characters.
 */
export const date = (value: unknown, format: unknown, zone: unknown, run: Run): unknown => {
  if (isNothing(value)) return value
  const usual = value instanceof ZonedTime ? value.zone : run.timeZone
  const place = isNothing(zone)
    ? usual
    : typeof zone === "number" && Math.abs(zone) <= 1440
    ? -Math.trunc(zone) * 60
    : zoneOf(zone, "date", run) ?? usual
  const instant = read(value, place, run)
  const when = instant && moment(instant, place, run)
  if (when === undefined) return unread(value, "date", run)
  const layout = isNothing(format) ? "%A, %B %-e, %Y at %-l:%M %P %z" : text(format, run)
  if (layout.length > Limits.dateFormatLength) {
    run.complain(`date: the format is longer than ${Limits.dateFormatLength} characters`)
    return undefined
  }
  run.spend(10 + 4 * layout.length)
  if (!layout.includes("%")) notice(`date: ${formatFault(layout)}`, run)
  return write(when, layout, namesFor(run.locale, layout))
}

/**
 * Converts a date to another time zone (see `zoneNamed`): a `date` filter after it writes the local time of that zone.
 * Without a `date` filter, the result is a text such as `2026-03-14 10:00:00 +0100`. A value that is not a date is
 * returned unchanged.
 */
export const timeZone = (value: unknown, name: unknown, run: Run): unknown => {
  const zone = zoneOf(name, "time_zone", run)
  if (zone === undefined) return value
  const instant = read(value, run.timeZone, run)
  const when = instant && moment(instant, zone, run)
  if (when === undefined) return unread(value, "time_zone", run)
  run.spend(60)
  return new ZonedTime(write(when, "%Y-%m-%d %H:%M:%S %z"), when.instant, when.nanos, zone)
}

/** `date_to_string` (`%b`) and `date_to_long_string` (`%B`): `7 Nov 2008`, or `7th Nov 2008`, `Nov 7th, 2008`. */
export const dateToString = (value: unknown, month: "%b" | "%B", type: unknown, style: unknown, run: Run): unknown =>
  date(
    value,
    type !== "ordinal" ? `%d ${month} %Y` : style === "US" ? `${month} %-d%q, %Y` : `%-d%q ${month} %Y`,
    undefined,
    run,
  )
