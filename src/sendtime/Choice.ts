import { hourMillis } from "../bandit/Window.ts"
import { foldedHour, values } from "./Attention.ts"
import type { Clocks } from "./Clocks.ts"
import { firstSlotFrom, type Permission, secondAt, secondsOf, type Slot, slots, slotStart } from "./Slots.ts"
import { followedHours } from "./Touch.ts"

/** Share of responses with a random allowed time. */
export const explorationShare = 0.02

/** A chosen send time. */
interface Chosen {
  /** Chosen time, a whole second. Unit: Unix milliseconds. */
  readonly at: number
  /** Whether the time was drawn uniformly, regardless of the data. */
  readonly explored: boolean
  /** Whether no time in the horizon was allowed, so that this is the first allowed time after it. */
  readonly late: boolean
  /** Expected value of each slot of the window, by index. Undefined without data. */
  readonly worth: Float64Array | undefined
}

/** Data about a period that does not depend on the person. All requests within one second and time zone share it. */
export interface SendWindow {
  /** The allowed hours in order. Empty if no time is allowed. */
  readonly slots: ReadonlyArray<Slot>
  /** Number of allowed seconds in all slots together. */
  readonly seconds: number
  /** Folded hours from the first slot until 72 hours after the last. */
  readonly hours: Uint8Array
  /** If no time in the window is allowed: the first allowed hour afterwards, or undefined without one. */
  readonly next: Slot | undefined
  /** End of the window, exclusive. Unit: Unix milliseconds. */
  readonly until: number
}

/** Returns the window from `from` (inclusive) to `until` (exclusive), in Unix milliseconds. */
export const sendWindow = (from: number, until: number, clocks: Clocks, permission: Permission): SendWindow => {
  const allowed = slots(from, until, clocks, permission)
  const last = allowed[allowed.length - 1]
  const first = slotStart(from, clocks)
  return {
    slots: allowed,
    seconds: allowed.reduce((sum, slot) => sum + secondsOf(slot), 0),
    hours: Uint8Array.from(
      { length: last === undefined ? 0 : last.index + 1 + followedHours },
      (_, i) => foldedHour(clocks.localHour(first + i * hourMillis)),
    ),
    next: last === undefined ? firstSlotFrom(until, clocks, permission) : undefined,
    until,
  }
}

/**
 * Chooses a send time. It values every hour of the window, chooses the best, and draws a second within it, so that a
 * campaign does not arrive as one spike. Without `attention` there is no data, and it chooses the first allowed second.
 * `draws` are three numbers in [0, 1): whether to explore, the random time, and the second within the hour.
 */
export const choose = (
  { attention, draws, tau, window }: {
    readonly attention: Float64Array | undefined
    readonly tau: number
    readonly window: SendWindow
    readonly draws: readonly [number, number, number]
  },
): Chosen => {
  const { hours, next, slots: allowed, until } = window
  const [first] = allowed
  if (first === undefined) {
    // Settings that allow no time at all cannot be saved.
    const second = next === undefined ? Math.ceil(until / 1000) : secondAt(next, draws[2])
    return { at: second * 1000, explored: false, late: true, worth: undefined }
  }
  const worth = attention === undefined ? undefined : values(attention, hours, hours.length - followedHours, tau)
  if (draws[0] < explorationShare) {
    let left = draws[1] * window.seconds
    for (const slot of allowed) {
      const seconds = secondsOf(slot)
      if (left < seconds) {
        return { at: secondAt(slot, left / seconds) * 1000, explored: true, late: false, worth }
      }
      left -= seconds
    }
  }
  if (worth === undefined) return { at: first.pieces[0]![0] * 1000, explored: false, late: false, worth }
  let best = first
  for (const slot of allowed) if (worth[slot.index]! > worth[best.index]!) best = slot
  return { at: secondAt(best, draws[2]) * 1000, explored: false, late: false, worth }
}

/** Returns the candidate hours in order, each with its expected value. */
export const candidatesOf = (
  { slots }: SendWindow,
  { worth }: Chosen,
): ReadonlyArray<{ readonly slot: Slot; readonly value: number }> =>
  slots.map((slot) => ({ slot, value: worth?.[slot.index] ?? 0 }))
