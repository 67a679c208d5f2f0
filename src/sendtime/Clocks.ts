import { dayMillis, hourMillis } from "../bandit/Window.ts"
import * as LocalTime from "../templates/LocalTime.ts"

/** Number of cached days per zone, a power of two that exceeds twice the sum of the look-back and a horizon. */
const rememberedDays = 512

/**
 * The clocks of a time zone, fast enough to convert half a year of hours for every response. Offsets are cached by day.
 * On a day on which the offset changes, every call uses the runtime's calendar.
 */
export interface Clocks {
  readonly zone: string
  /** Offset from UTC at an instant. Unit: milliseconds. */
  readonly offsetAt: (instantMs: number) => number
  /** Local time in whole hours since 1970-01-01T00:00. */
  readonly localHour: (instantMs: number) => number
}

const make = (zone: string): Clocks => {
  const local = LocalTime.of(zone)
  // A ring of days, shared by days 512 apart. Arrays, because a map would use most of the time of a conversion.
  const days = new Int32Array(rememberedDays).fill(2 ** 31 - 1)
  // NaN marks a day on which the offset changes.
  const offsets = new Float64Array(rememberedDays)
  const offsetAt = (instantMs: number): number => {
    const day = Math.floor(instantMs / dayMillis)
    const place = day & (rememberedDays - 1)
    if (days[place] !== day) {
      const first = local.offsetAt(day * dayMillis)
      offsets[place] = first === local.offsetAt((day + 1) * dayMillis - 1) ? first : NaN
      days[place] = day
    }
    const offset = offsets[place]!
    return Number.isNaN(offset) ? local.offsetAt(instantMs) : offset
  }
  return {
    zone: local.zone,
    offsetAt,
    localHour: (instantMs) => Math.floor((instantMs + offsetAt(instantMs)) / hourMillis),
  }
}

const zones = new Map<string, Clocks>()

/**
 * Returns the clocks of a time zone, cached for the life of the process. Throws a `RangeError` for an unknown IANA time
 * zone.
 */
export const of = (zone: string): Clocks => {
  const key = zone.toLowerCase()
  let clocks = zones.get(key)
  if (clocks === undefined) zones.set(key, clocks = make(zone))
  return clocks
}
