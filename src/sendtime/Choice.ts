import { hourMillis } from "../bandit/Window.ts"
import { beforeData, defaultTau, foldedHour, foldedHours, isNight, total, values } from "./Attention.ts"
import type { Clocks } from "./Clocks.ts"
import { endOfDay, firstSlotFrom, type Permission, secondAt, secondsOf, type Slot, slots, slotStart } from "./Slots.ts"
import { followedHours } from "./Touch.ts"

/** Share of responses with a random allowed time. */
export const explorationShare = 0.02

/** If a message has to wait, it may go in every hour with at least this share of the best hour's value. */
const nearBest = 0.85

/** A chosen send time. */
interface Chosen {
  /** Chosen time, a whole second. Unit: Unix milliseconds. */
  readonly at: number
  /** Whether the time was drawn uniformly, regardless of the data. */
  readonly explored: boolean
  /** Whether this time is after the horizon, because the horizon has no allowed time, or none but at night. */
  readonly late: boolean
  /** Expected value of each slot of the window, by index. Undefined without data. */
  readonly worth: Float64Array | undefined
}

/** Data about a period that does not depend on the person. All requests within one second and time zone share it. */
export interface SendWindow {
  /**
   * The allowed hours in order. If the horizon has no allowed hour from 7:00 to 22:00, they include the next open day.
   * Empty if no time is allowed.
   */
  readonly slots: ReadonlyArray<Slot>
  /** The allowed hours from which a time is drawn regardless of the data. Not at night if messages have to wait. */
  readonly drawn: ReadonlyArray<Slot>
  /** Whether the start of the window is not allowed, so that messages have to wait. */
  readonly waits: boolean
  /** Folded hours from the first slot until 72 hours after the last. */
  readonly hours: Uint8Array
  /** End of the horizon, exclusive. Unit: Unix milliseconds. */
  readonly until: number
}

/**
 * Returns the window of a horizon from `from` (inclusive) to `until` (exclusive), in Unix milliseconds. A message whose
 * horizon is final cannot wait longer, so that it may go at night if no other hour of the horizon is allowed.
 */
export const sendWindow = (
  from: number,
  until: number,
  clocks: Clocks,
  permission: Permission,
  { isFinal = false }: { readonly isFinal?: boolean } = {},
): SendWindow => {
  let start = from
  let allowed = slots(from, until, clocks, permission)
  const hourOf = (slot: Slot) => foldedHour(clocks.localHour(slotStart(start, clocks) + slot.index * hourMillis))
  const isDaytime = (slot: Slot) => !isNight(hourOf(slot))
  const [earliest] = allowed
  const waits = earliest === undefined || earliest.pieces[0]![0] !== Math.ceil(from / 1000)
  if (waits && !isFinal && !allowed.some(isDaytime)) {
    const first = earliest ?? firstSlotFrom(until, clocks, permission)
    start = first === undefined ? from : first.pieces[0]![0] * 1000
    // Messages that could leave in the night only may also leave on the day that follows it.
    let end = start
    for (let day = 0; day < 2 && first !== undefined && !(day > 0 && allowed.some(isDaytime)); day++) {
      end = endOfDay(end, clocks)
      allowed = slots(start, Math.max(end, until), clocks, permission)
    }
  }
  const last = allowed[allowed.length - 1]
  const origin = slotStart(start, clocks)
  const daytime = waits ? allowed.filter(isDaytime) : allowed
  return {
    slots: allowed,
    drawn: daytime.length === 0 ? allowed : daytime,
    waits,
    hours: Uint8Array.from(
      { length: last === undefined ? 0 : last.index + 1 + followedHours },
      (_, i) => foldedHour(clocks.localHour(origin + i * hourMillis)),
    ),
    until,
  }
}

/** Returns the second at the position `share`, in [0, 1), among the seconds of all slots. Unit: Unix seconds. */
const secondIn = (some: ReadonlyArray<Slot>, share: number): number => {
  let left = share * some.reduce((sum, slot) => sum + secondsOf(slot), 0)
  for (const slot of some) {
    const seconds = secondsOf(slot)
    if (left < seconds) return secondAt(slot, left / seconds)
    left -= seconds
  }
  return secondAt(some[some.length - 1]!, 1)
}

/**
 * Returns the slots without the hours of the night in which people read less than on average. All slots if there are no
 * others.
 */
const outsideNight = ({ hours, slots }: SendWindow, attention: Float64Array): ReadonlyArray<Slot> => {
  const mean = total(attention) / foldedHours
  const found = slots.filter(({ index }) => !isNight(hours[index]!) || attention[hours[index]!]! > mean)
  return found.length === 0 ? slots : found
}

/**
 * Chooses a send time. It values every hour of the window, chooses the best, and draws a second within it, so that a
 * campaign does not arrive as one spike. If messages have to wait, it draws from all hours that are nearly as good,
 * because many people wait together, and from the night only if people read then. Without `attention` there is no data: messages go at once, or if they have to
 * wait, at a usual hour. `draws` are three numbers in [0, 1): whether to explore, the random time, and the second.
 */
export const choose = (
  { attention, draws, tau, window }: {
    readonly attention: Float64Array | undefined
    readonly tau: number
    readonly window: SendWindow
    readonly draws: readonly [number, number, number]
  },
): Chosen => {
  const { drawn, hours, slots: allowed, until, waits } = window
  const [first] = allowed
  // Settings that allow no time at all cannot be saved.
  if (first === undefined) {
    return { at: Math.ceil(until / 1000) * 1000, explored: false, late: true, worth: undefined }
  }
  const count = hours.length - followedHours
  const worth = attention === undefined ? undefined : values(attention, hours, count, tau)
  const chosen = (second: number, explored: boolean): Chosen => ({
    at: second * 1000,
    explored,
    late: second * 1000 >= until,
    worth,
  })
  if (draws[0] < explorationShare) return chosen(secondIn(drawn, draws[1]), true)
  if (worth === undefined && !waits) return chosen(first.pieces[0]![0], false)
  const curve = attention ?? beforeData
  const value = worth ?? values(curve, hours, count, defaultTau)
  const candidates = waits ? outsideNight(window, curve) : allowed
  let best = candidates[0]!
  for (const slot of candidates) if (value[slot.index]! > value[best.index]!) best = slot
  if (!waits) return chosen(secondAt(best, draws[2]), false)
  const least = nearBest * value[best.index]!
  return chosen(secondIn(candidates.filter(({ index }) => value[index]! >= least), draws[2]), false)
}

/** Returns the candidate hours in order, each with its expected value. */
export const candidatesOf = (
  { slots }: SendWindow,
  { worth }: Chosen,
): ReadonlyArray<{ readonly slot: Slot; readonly value: number }> =>
  slots.map((slot) => ({ slot, value: worth?.[slot.index] ?? 0 }))
