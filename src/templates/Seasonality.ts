import type { MonthDay, Season, SeasonInstant, Seasons } from "../domain/Season.ts"
import * as LocalTime from "./LocalTime.ts"

/** A variant's seasons, compiled for many checks. Instants are milliseconds since 1970-01-01T00:00Z. */
export interface Calendar {
  /** Whether any season contains an instant. */
  readonly holds: (nowMs: number) => boolean
  /**
   * Returns the reason why the variant is out of season, such as `season: not between 11-15 and 01-06`. `undefined` if
   * it is in season. Unmet members of one season are joined by commas, seasons by semicolons. The first five seasons
   * are explained and the others counted.
   */
  readonly whyNot: (nowMs: number) => string | undefined
  /** The work of a check, in steps of a budget. */
  readonly steps: number
}

/** One member of a season, and the reason if it does not match. */
interface Window {
  readonly holds: (nowMs: number, local: LocalTime.Local) => boolean
  readonly otherwise: string
}

/**
 * Returns the instant at which a season starts or ends. Without an offset, it is local time in the zone, and a date is
 * its midnight.
 */
export const instantOf = (value: SeasonInstant, zone: LocalTime.LocalTime): number =>
  /(?:Z|[+-]\d{2}:\d{2})$/.test(value)
    ? Date.parse(value)
    : zone.instantOf(Date.parse(value.includes("T") ? `${value}Z` : value))

/**
 * Converts a day of the year to a number in calendar order, with gaps: 02-29 lies between 02-28 and 03-01 in every
 * year.
 */
const ordinal = (value: MonthDay): number => Number(value.slice(0, 2)) * 100 + Number(value.slice(3))

/** Whether `value` is in `[from, to)` of a cycle. A range with `from` at or after `to` wraps around. */
const within = (value: number, from: number, to: number): boolean =>
  from < to ? value >= from && value < to : value >= from || value < to

const clock = (hour: number): string => `${String(hour).padStart(2, "0")}:00`

const windowsOf = (season: Season, zone: LocalTime.LocalTime): ReadonlyArray<Window> => {
  const windows: Array<Window> = []
  if (season.starts_at !== undefined) {
    const startMs = instantOf(season.starts_at, zone)
    windows.push({ holds: (nowMs) => nowMs >= startMs, otherwise: `starts ${season.starts_at}` })
  }
  if (season.ends_at !== undefined) {
    const endMs = instantOf(season.ends_at, zone)
    windows.push({ holds: (nowMs) => nowMs < endMs, otherwise: `ended ${season.ends_at}` })
  }
  if (season.annual !== undefined) {
    const from = ordinal(season.annual.from)
    const to = ordinal(season.annual.to)
    windows.push({
      holds: (_, { day, month }) => within(month * 100 + day, from, to),
      otherwise: `not between ${season.annual.from} and ${season.annual.to}`,
    })
  }
  if (season.days !== undefined) {
    const days = new Set(season.days)
    windows.push({ holds: (_, { weekday }) => days.has(weekday), otherwise: `not on ${[...days].join("/")}` })
  }
  if (season.hours !== undefined) {
    const { from, to } = season.hours
    windows.push({
      holds: (_, { hour }) => within(hour, from, to),
      otherwise: `not between ${clock(from)} and ${clock(to)}`,
    })
  }
  return windows
}

/** The calendar of a variant that is always in season. */
export const always: Calendar = { holds: () => true, whyNot: () => undefined, steps: 1 }

const maxExplained = 5

/**
 * Compiles a variant's seasons for an organization's time zone. The variant is in season while any season holds. A
 * season holds while all its members do. Without seasons, or with a season without members, the variant is always in
 * season.
 *
 * - Ranges exclude their end. `annual` and `hours` wrap around the end of the year or day if `from` is after `to`, and
 *   cover all of it if both are equal.
 * - `02-29` in a year without that day is the midnight between 28 February and 1 March: a range to it ends, and a range
 *   from it starts, when March does.
 * - `days` and `hours` refer to local time at the moment itself: `days: [fri]` with `hours` 22 to 6 is Friday until 6
 *   and from 22 on, not the night to Saturday. Both occurrences of a repeated local hour count.
 * - `starts_at` and `ends_at` without an offset are local: a skipped local time is the first instant after the gap, and
 *   a repeated local time is its first occurrence.
 *
 * Throws a `RangeError` for a time zone that `LocalTime.isTimeZone` refuses.
 */
export const compile = (seasons: Seasons, timeZone: string): Calendar => {
  const zone = LocalTime.of(timeZone)
  if (seasons.length === 0) return always
  const compiled = seasons.map((season) => windowsOf(season, zone))
  const holds = (nowMs: number): boolean => {
    const local = zone.at(nowMs)
    for (let i = 0; i < compiled.length; i++) {
      const windows = compiled[i]!
      let all = true
      for (let j = 0; j < windows.length && all; j++) all = windows[j]!.holds(nowMs, local)
      if (all) return true
    }
    return false
  }
  const whyNot = (nowMs: number): string | undefined => {
    if (holds(nowMs)) return undefined
    const local = zone.at(nowMs)
    const reasons = compiled.slice(0, maxExplained).map((windows) =>
      windows.filter((window) => !window.holds(nowMs, local)).map((window) => window.otherwise).join(", ")
    )
    if (compiled.length > maxExplained) reasons.push(`${compiled.length - maxExplained} more seasons`)
    return `season: ${reasons.join("; ")}`
  }
  return { holds, whyNot, steps: 1 + seasons.length }
}
