import type { Calendar } from "../../../templates/Seasonality.ts"
import * as LocalTime from "../../../templates/LocalTime.ts"

// The days of a month on the clocks of an organization. Pure.

/** A month: its year, and its number from 1 to 12. */
export interface Month {
  readonly year: number
  readonly month: number
}

const two = (value: number) => String(value).padStart(2, "0")

/** The month as `YYYY-MM`. */
export const monthText = ({ month, year }: Month): string => `${String(year).padStart(4, "0")}-${two(month)}`

/** The month of a text such as `2026-11`, or the month of `now` in the zone for any other text. */
export const monthIn = (text: string | null, now: number, zone: string): Month => {
  const [, year, month] = /^(20\d\d)-(0[1-9]|1[0-2])$/.exec(text ?? "") ?? []
  if (year !== undefined) return { year: Number(year), month: Number(month) }
  const local = LocalTime.of(zone).at(now)
  return { year: local.year, month: local.month }
}

/** The month `by` months later, or earlier for a negative number. */
export const monthAfter = ({ month, year }: Month, by: number): Month => {
  const at = new Date(Date.UTC(year, month - 1 + by))
  return { year: at.getUTCFullYear(), month: at.getUTCMonth() + 1 }
}

/** A day of a month with the beginnings of its 24 hours. Unit: Unix milliseconds. */
export interface Day {
  /** `YYYY-MM-DD`. */
  readonly date: string
  readonly day: number
  /** 0 for Monday to 6. */
  readonly weekday: number
  readonly hours: ReadonlyArray<number>
}

/** The days of a month. */
export const daysOf = ({ month, year }: Month, zone: string): ReadonlyArray<Day> => {
  const { instantOf } = LocalTime.of(zone)
  const last = new Date(Date.UTC(year, month, 0)).getUTCDate()
  return Array.from({ length: last }, (_, index) => {
    const at = Date.UTC(year, month - 1, index + 1)
    return {
      date: `${monthText({ month, year })}-${two(index + 1)}`,
      day: index + 1,
      weekday: (new Date(at).getUTCDay() + 6) % 7,
      hours: Array.from({ length: 24 }, (_, hour) => instantOf(at + hour * 3_600_000)),
    }
  })
}

/** The days on which a calendar holds for an hour or more, by their number. */
export const seasonDays = (calendar: Calendar, days: ReadonlyArray<Day>): ReadonlyArray<number> =>
  days.flatMap(({ day, hours }) => hours.some((at) => calendar.holds(at)) ? [day] : [])

/** Days in words, such as `1–6, 15, 20–30`. */
export const dayRanges = (days: ReadonlyArray<number>): string => {
  const ranges: Array<[from: number, to: number]> = []
  for (const day of days) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === day - 1) last[1] = day
    else ranges.push([day, day])
  }
  return ranges.map(([from, to]) => from === to ? `${from}` : `${from}–${to}`).join(", ")
}
