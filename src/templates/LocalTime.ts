import type { DayOfWeek } from "../domain/Season.ts"

/** A moment in local time (proleptic Gregorian calendar). */
export interface Local {
  readonly year: number
  /** 1 to 12. */
  readonly month: number
  /** 1 to 31. */
  readonly day: number
  readonly weekday: DayOfWeek
  /** 0 to 23. */
  readonly hour: number
  /** 0 to 59. */
  readonly minute: number
}

/** The clocks of one IANA time zone. Instants are milliseconds since 1970-01-01T00:00Z. */
export interface LocalTime {
  /** The zone's name in the spelling of the runtime: `Europe/Berlin` for `europe/berlin`. */
  readonly zone: string
  /** Local time at an instant. */
  readonly at: (instantMs: number) => Local
  /** Offset from UTC at an instant. Unit: milliseconds, negative west of Greenwich. */
  readonly offsetAt: (instantMs: number) => number
  /**
   * Returns the instant of a local time, which is passed as if it were UTC (`Date.UTC(2026, 2, 29, 2, 30)` is half past
   * two on 29 March). For a skipped local time, returns the first instant after the gap. For a repeated one, returns
   * the first.
   */
  readonly instantOf: (localMs: number) => number
}

const slotMs = 15 * 60_000
const dayMs = 24 * 60 * 60_000

// A process needs "now", so one or two slots are in use. The limit is for backfills that go through years.
const maxSlots = 1_024

const weekdays: ReadonlyArray<DayOfWeek> = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

/**
 * Returns the first millisecond in `(low, high]` whose offset differs from the offset at `low`, given exactly one
 * change.
 */
const changeIn = (low: number, high: number, offset: (instantMs: number) => number): number => {
  const before = offset(low)
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offset(middle) === before) low = middle
    else high = middle
  }
  return high
}

const formatterOf = (zone: string) =>
  new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset", hour: "2-digit" })

/**
 * Returns the offset by Intl, in about 3 µs. `GMT` is zero. Local mean times before the introduction of zones have
 * seconds: `GMT-04:56:02`.
 */
const offsetBy = (formatter: Intl.DateTimeFormat) => (instantMs: number): number => {
  const match = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(formatter.format(instantMs))!
  const seconds = Number(match[2] ?? 0) * 3600 + Number(match[3] ?? 0) * 60 + Number(match[4] ?? 0)
  return (match[1] === "-" ? -seconds : seconds) * 1000
}

const make = (formatter: Intl.DateTimeFormat): LocalTime => {
  const ask = offsetBy(formatter)

  /**
   * One slot of 15 minutes: the offset until `change`, and from it on. In a slot without a change, `change` is its end.
   */
  interface Slot {
    readonly until: number
    readonly change: number
    readonly before: number
    readonly after: number
  }
  const slots = new Map<number, Slot>()
  let from = Number.POSITIVE_INFINITY
  let current: Slot = { until: Number.NEGATIVE_INFINITY, change: 0, before: 0, after: 0 }

  const load = (start: number): Slot => {
    const known = slots.get(start)
    if (known !== undefined) return known
    const until = start + slotMs
    const before = ask(start)
    const after = ask(until - 1)
    // Nearly all changes are at multiples of 15 minutes, with few exceptions (Newfoundland to 2011, Casey in 2020).
    const slot = { until, change: before === after ? until : changeIn(start, until - 1, ask), before, after }
    if (slots.size >= maxSlots) slots.clear()
    slots.set(start, slot)
    return slot
  }

  const offsetAt = (instantMs: number): number => {
    if (!(instantMs >= from && instantMs < current.until)) {
      from = Math.floor(instantMs / slotMs) * slotMs
      current = load(from)
    }
    return instantMs < current.change ? current.before : current.after
  }

  return {
    zone: formatter.resolvedOptions().timeZone,
    offsetAt,
    at: (instantMs) => {
      const local = instantMs + offsetAt(instantMs)
      const days = Math.floor(local / dayMs)
      const minutes = Math.floor((local - days * dayMs) / 60_000)
      return { ...dateOf(days), hour: Math.floor(minutes / 60), minute: minutes % 60 }
    },
    instantOf: (localMs) => {
      // Two changes of a zone are never within two days of each other, so these are the offsets on both sides.
      const early = ask(localMs - dayMs)
      const late = ask(localMs + dayMs)
      const candidates = [localMs - early, localMs - late].filter((instantMs) => instantMs + ask(instantMs) === localMs)
      return candidates.length > 0 ? Math.min(...candidates) : changeIn(localMs - late, localMs - early, ask)
    },
  }
}

let dateDays = Number.NaN
let date: Omit<Local, "hour" | "minute"> = { year: 1970, month: 1, day: 1, weekday: "thu" }

/**
 * Converts days since 1970-01-01 to a date. Requests are about today in few zones, so the cached last result is nearly
 * always right.
 */
const dateOf = (days: number): Omit<Local, "hour" | "minute"> => {
  if (days !== dateDays) {
    const utc = new Date(days * dayMs)
    date = {
      year: utc.getUTCFullYear(),
      month: utc.getUTCMonth() + 1,
      day: utc.getUTCDate(),
      weekday: weekdays[utc.getUTCDay()]!,
    }
    dateDays = days
  }
  return date
}

const zones = new Map<string, LocalTime>()

/**
 * Whether a text is the name of an IANA time zone that this runtime knows, in any case, including links such as
 * `Asia/Calcutta`. Offsets such as `+02:00` are not zones, because they have no daylight saving time.
 */
export const isTimeZone = (name: string): boolean => {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return false
  if (zones.has(name.toLowerCase())) return true
  try {
    formatterOf(name)
    return true
  } catch {
    return false
  }
}

/**
 * Returns the clocks of a zone, cached for the life of the process. `at` costs about 20 ns within one quarter of an
 * hour, and two calls of Intl (5 µs) for the first instant of each. Throws a `RangeError` for a name that `isTimeZone`
 * refuses.
 */
export const of = (zone: string): LocalTime => {
  const key = zone.toLowerCase()
  const known = zones.get(key)
  if (known !== undefined) return known
  if (!isTimeZone(zone)) throw new RangeError(`${JSON.stringify(zone)} is not an IANA time zone`)
  const local = make(formatterOf(zone))
  zones.set(key, local)
  return local
}
