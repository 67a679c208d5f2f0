import { hourMillis } from "../bandit/Window.ts"
import type { QuietHours } from "../domain/Organization.ts"
import type { DayOfWeek } from "../domain/Season.ts"
import type { Clocks } from "./Clocks.ts"

/** The times at which an organization may send, in the recipient's local time. */
export interface Permission {
  /**
   * Quiet hours from `from` (inclusive) to `to` (exclusive), over midnight unless `from` is before `to`. Unit: minutes
   * of the day. Undefined: no quiet hours.
   */
  readonly quiet: { readonly from: number; readonly to: number } | undefined
  /** Allowed days. Undefined: every day. */
  readonly days: ReadonlySet<DayOfWeek> | undefined
}

const minutesOf = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5))

/** Returns the send times that an organization's settings allow. */
export const permissionOf = (
  { allowedDays, quietHours }: {
    readonly quietHours: QuietHours | null
    readonly allowedDays: ReadonlyArray<string> | null
  },
): Permission => ({
  quiet: quietHours === null ? undefined : { from: minutesOf(quietHours.from), to: minutesOf(quietHours.to) },
  days: allowedDays === null ? undefined : new Set(allowedDays) as Permission["days"],
})

/** A local hour with its allowed parts, in whole seconds of Unix time, end exclusive. */
export interface Slot {
  /** Number of hours since the first slot. */
  readonly index: number
  readonly pieces: ReadonlyArray<readonly [from: number, to: number]>
}

const weekdays: ReadonlyArray<DayOfWeek> = ["thu", "fri", "sat", "sun", "mon", "tue", "wed"]
const minute = 60_000
const quarter = 15 * minute
const dayMinutes = 1440

/** The parts of the day outside the quiet hours. Unit: minutes. */
const loud = (quiet: Permission["quiet"]): ReadonlyArray<readonly [number, number]> => {
  if (quiet === undefined) return [[0, dayMinutes]]
  const { from, to } = quiet
  return from < to ? [[0, from], [to, dayMinutes]] : [[to, from]]
}

/** Allowed share of a local hour, 0 to 1. */
export const allowedShare = (day: DayOfWeek, hour: number, { days, quiet }: Permission): number => {
  if (days !== undefined && !days.has(day)) return 0
  const start = 60 * hour
  const minutes = loud(quiet).reduce(
    (sum, [from, to]) => sum + Math.max(0, Math.min(to, start + 60) - Math.max(from, start)),
    0,
  )
  return minutes / 60
}

/** Start of the local hour that contains an instant. */
export const slotStart = (instantMs: number, clocks: Clocks): number => {
  const local = instantMs + clocks.offsetAt(instantMs)
  return instantMs - (local - Math.floor(local / hourMillis) * hourMillis)
}

/**
 * Returns the allowed hours from `from` (inclusive) to `until` (exclusive, Unix milliseconds), in order. Checks the
 * clocks every quarter of an hour, within which no present time zone changes its offset. So each occurrence of a
 * repeated hour is allowed or not by its local time, and a skipped hour is absent.
 */
export const slots = (
  from: number,
  until: number,
  clocks: Clocks,
  { days, quiet }: Permission,
): ReadonlyArray<Slot> => {
  const first = slotStart(from, clocks)
  const found: Array<Slot> = []
  const add = (index: number, a: number, b: number) => {
    const start = Math.ceil(Math.max(a, from) / 1000)
    const end = Math.ceil(Math.min(b, until) / 1000)
    if (start >= end) return
    const last = found[found.length - 1]
    if (last === undefined || last.index !== index) found.push({ index, pieces: [[start, end]] })
    else {
      const pieces = last.pieces as Array<readonly [number, number]>
      const before = pieces[pieces.length - 1]!
      if (before[1] === start) pieces[pieces.length - 1] = [before[0], end]
      else pieces.push([start, end])
    }
  }
  if (quiet === undefined && days === undefined) {
    for (let at = first, index = 0; at < until; at += hourMillis, index++) add(index, at, at + hourMillis)
    return found
  }
  const parts = loud(quiet)
  for (let at = Math.floor(from / quarter) * quarter; at < until; at += quarter) {
    const local = at + clocks.offsetAt(at)
    const day = Math.floor(local / (dayMinutes * minute))
    if (days !== undefined && !days.has(weekdays[((day % 7) + 7) % 7]!)) continue
    const start = (local - day * dayMinutes * minute) / minute
    for (const [a, b] of parts) {
      const begin = Math.max(a, start)
      const end = Math.min(b, start + 15)
      if (begin >= end) continue
      const instant = at + (begin - start) * minute
      add(Math.floor((instant - first) / hourMillis), instant, at + (end - start) * minute)
    }
  }
  return found
}

/** Number of allowed seconds. */
export const secondsOf = ({ pieces }: Slot): number => pieces.reduce((sum, [from, to]) => sum + to - from, 0)

/** Returns the second at the position `share`, in [0, 1), among the seconds of a slot. Unit: Unix seconds. */
export const secondAt = (slot: Slot, share: number): number => {
  let left = Math.floor(share * secondsOf(slot))
  for (const [from, to] of slot.pieces) {
    if (left < to - from) return from + left
    left -= to - from
  }
  return slot.pieces[slot.pieces.length - 1]![1] - 1
}

/** Start of the local day after the one that contains an instant. Unit: Unix milliseconds. */
export const endOfDay = (instantMs: number, clocks: Clocks): number => {
  let at = slotStart(instantMs, clocks) + hourMillis
  while (clocks.localHour(at) % 24 !== 0) at += hourMillis
  return at
}

/** Number of days searched beyond the horizon if no time within it is allowed. */
const searchedDays = 15

/** Returns the first allowed hour from `from` on. Undefined without one within 15 days. */
export const firstSlotFrom = (from: number, clocks: Clocks, permission: Permission): Slot | undefined => {
  for (let day = 0; day < searchedDays; day++) {
    const start = from + day * 24 * hourMillis
    const [slot] = slots(start, start + 24 * hourMillis, clocks, permission)
    if (slot !== undefined) return slot
  }
  return undefined
}
