import { hourMillis } from "../bandit/Window.ts"
import { values } from "./Attention.ts"
import type { Clocks } from "./Clocks.ts"
import { firstSlotFrom, type Permission, secondAt, secondsOf, type Slot, slots, slotStart } from "./Slots.ts"
import { followedHours } from "./Touch.ts"

/** The share of answers drawn evenly from all allowed times. */
export const explorationShare = 0.02

export interface Chosen {
  /** Unix milliseconds, a whole second. */
  readonly at: number
  /** Drawn evenly, whatever is known. */
  readonly explored: boolean
  /** No time in the horizon was allowed: this is the first one after it. */
  readonly late: boolean
  /** Hours that were considered and what is expected of each, in their order. */
  readonly candidates: ReadonlyArray<{ readonly slot: Slot; readonly value: number }>
}

/** The local hours of so many hours from an instant on. */
const hoursFrom = (first: number, count: number, clocks: Clocks): Int32Array => {
  const hours = new Int32Array(count)
  for (let i = 0; i < count; i++) hours[i] = clocks.localHour(first + i * hourMillis)
  return hours
}

/**
 * When to send. Every allowed hour from `from` to `until` (Unix milliseconds) is valued, the best is taken, and within it a
 * second by chance, so that a campaign does not arrive as one spike. `attention` undefined: nothing is known, the first
 * allowed second. `draws` are three numbers in [0, 1): whether to explore, where, and which second.
 */
export const choose = (
  { attention, clocks, draws, from, permission, tau, until }: {
    readonly attention: Float64Array | undefined
    readonly tau: number
    readonly clocks: Clocks
    readonly permission: Permission
    readonly from: number
    readonly until: number
    readonly draws: readonly [number, number, number]
  },
): Chosen => {
  const allowed = slots(from, until, clocks, permission)
  if (allowed.length === 0) {
    const slot = firstSlotFrom(until, clocks, permission)
    // Permissions that allow nothing at all cannot be saved.
    const second = slot === undefined ? Math.ceil(until / 1000) : secondAt(slot, draws[2])
    return { at: second * 1000, explored: false, late: true, candidates: [] }
  }
  const count = allowed[allowed.length - 1]!.index + 1
  const first = slotStart(from, clocks)
  const worth = attention === undefined
    ? undefined
    : values(attention, hoursFrom(first, count + followedHours, clocks), count, tau)
  const candidates = allowed.map((slot) => ({ slot, value: worth === undefined ? 0 : worth[slot.index]! }))
  if (draws[0] < explorationShare) {
    let left = draws[1] * allowed.reduce((sum, slot) => sum + secondsOf(slot), 0)
    for (const slot of allowed) {
      const seconds = secondsOf(slot)
      if (left < seconds) {
        return { at: secondAt(slot, left / seconds) * 1000, explored: true, late: false, candidates }
      }
      left -= seconds
    }
  }
  if (worth === undefined) {
    return { at: allowed[0]!.pieces[0]![0] * 1000, explored: false, late: false, candidates }
  }
  const best = candidates.reduce((a, b) => b.value > a.value ? b : a)
  return { at: secondAt(best.slot, draws[2]) * 1000, explored: false, late: false, candidates }
}
