import { Phi } from "./Normal.ts"
import { hourMillis } from "./Window.ts"

/** Edges of the classes of delay and age, in hours. Clicks later than the last one are not counted. */
export const delayEdges: ReadonlyArray<number> = [
  0,
  0.25,
  0.5,
  1,
  2,
  3,
  4,
  6,
  8,
  12,
  18,
  24,
  36,
  48,
  72,
  96,
  144,
  192,
  240,
  336,
]

/** Number of classes between the edges. */
export const delayClasses: number = delayEdges.length - 1

/** Weight of the prior curve, in clicks. */
const priorClicks = 20

/** A send counts for this share of its eventual clicks at least, however young. */
const smallestShare = 0.02

/** Days for which clicks count towards the curve. */
const keptDays = 30

/** Share of the eventual clicks that have arrived by each of `delayEdges`: non-decreasing, from 0 to (about) 1. */
export type DelayCurve = ReadonlyArray<number>

/**
 * The prior of an organization without clicks: log-normal delays with a median of 6 hours and sigma 1.7. It ends at
 * 0.991, the rest coming too late to be counted; `delayCurve` of no counts makes it a curve that ends at 1.
 */
export const priorDelayCurve: DelayCurve = delayEdges.map((hours) => Phi(Math.log(hours / 6) / 1.7))

/** Class of a delay, 0 to `delayClasses - 1` (a delay on an edge ends its class); -1 below 0 or beyond the last edge. */
export const delayClass = (delayHours: number): number => {
  if (!(delayHours >= 0)) return -1
  for (let j = 0; j < delayClasses; j++) if (delayHours <= delayEdges[j + 1]!) return j
  return -1
}

/**
 * Per class: `within` counts the clicks whose delay falls into it, `upTo` those whose delay is at most its upper edge,
 * both only among sends that are at least as old as that edge. The restriction undoes the right truncation: of young
 * sends only the quick clicks have been seen.
 */
export interface DelayCounts {
  readonly within: ReadonlyArray<number>
  readonly upTo: ReadonlyArray<number>
}

/** The counts of single clicks at `now` (Unix milliseconds). */
export const delayCounts = (
  clicks: Iterable<{ readonly sentAt: number; readonly delayHours: number }>,
  now: number,
): DelayCounts => {
  const within = new Array<number>(delayClasses).fill(0)
  const upTo = new Array<number>(delayClasses).fill(0)
  for (const { delayHours, sentAt } of clicks) {
    const first = delayClass(delayHours)
    if (first < 0) continue
    for (let j = first; j < delayClasses && (now - sentAt) / hourMillis >= delayEdges[j + 1]!; j++) {
      upTo[j] = upTo[j]! + 1
      if (j === first) within[j] = within[j]! + 1
    }
  }
  return { within, upTo }
}

/**
 * The delay curve from counts, shrunk towards `prior` with the weight of 20 clicks: the reverse hazard of each class is
 * estimated where its clicks could be seen, and the curve built downwards from 1 at the last edge. Source: S. Lagakos,
 * L. Barraj and V. De Gruttola, "Nonparametric analysis of truncated survival data" (Biometrika, 1988).
 */
export const delayCurve = ({ upTo, within }: DelayCounts, prior: DelayCurve = priorDelayCurve): DelayCurve => {
  const curve = new Array<number>(delayClasses + 1).fill(0)
  curve[delayClasses] = 1
  for (let j = delayClasses - 1; j > 0; j--) {
    const reached = prior[j + 1]!
    const hazard = reached > 0 ? 1 - prior[j]! / reached : 0
    curve[j] = curve[j + 1]! * (1 - (within[j]! + priorClicks * reached * hazard) / (upTo[j]! + priorClicks * reached))
  }
  return curve
}

/**
 * Share in [0.02, 1] of the eventual clicks that a send of this age has had time to bring: linear between the edges of
 * the curve, 1 beyond the last.
 */
export const maturity = (curve: DelayCurve, ageHours: number): number => {
  if (ageHours >= delayEdges[delayClasses]!) return 1
  let j = 0
  while (ageHours > delayEdges[j + 1]!) j++
  const from = delayEdges[j]!
  const share = curve[j]! + (curve[j + 1]! - curve[j]!) * (ageHours - from) / (delayEdges[j + 1]! - from)
  return Math.max(smallestShare, share)
}

/** Clicks by the hour of their send (start in Unix milliseconds) and class of delay, as plain data. */
export type DelayRow = readonly [hourStart: number, counts: ReadonlyArray<number>]

/**
 * Running counts of the delays of one template or organization, by hour of the send. An hour takes part in a class once
 * its last send is old enough for the class.
 */
export class Delays {
  readonly #hours = new Map<number, Array<number>>()

  /** Counts a click. A negative delay, or one beyond the last edge, counts nothing. */
  add(sentAt: number, delayHours: number, count = 1): void {
    const j = delayClass(delayHours)
    if (j < 0) return
    const row = this.#row(Math.floor(sentAt / hourMillis) * hourMillis)
    row[j] = row[j]! + count
  }

  /** Adds what was counted elsewhere. */
  merge(rows: Iterable<DelayRow>): void {
    for (const [hour, counts] of rows) {
      const row = this.#row(hour)
      counts.forEach((count, j) => row[j] = row[j]! + count)
    }
  }

  /** Forgets the sends of more than 30 days before `now`. */
  prune(now: number): void {
    for (const hour of this.#hours.keys()) {
      if (hour < now - keptDays * 24 * hourMillis) this.#hours.delete(hour)
    }
  }

  /** What has been counted, oldest hour first. */
  rows(): ReadonlyArray<DelayRow> {
    return [...this.#hours].sort(([a], [b]) => a - b)
  }

  /** The counts for `delayCurve` at `now` (Unix milliseconds). */
  counts(now: number): DelayCounts {
    const within = new Array<number>(delayClasses).fill(0)
    const upTo = new Array<number>(delayClasses).fill(0)
    for (const [hour, row] of this.#hours) {
      const age = (now - hour) / hourMillis - 1
      let sum = 0
      for (let j = 0; j < delayClasses && age >= delayEdges[j + 1]!; j++) {
        sum += row[j]!
        within[j] = within[j]! + row[j]!
        upTo[j] = upTo[j]! + sum
      }
    }
    return { within, upTo }
  }

  #row(hour: number): Array<number> {
    let row = this.#hours.get(hour)
    if (row === undefined) this.#hours.set(hour, row = new Array<number>(delayClasses).fill(0))
    return row
  }
}
