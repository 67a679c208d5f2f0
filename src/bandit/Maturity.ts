import { Phi } from "./Normal.ts"
import { hourMillis } from "./Window.ts"

/** Edges of the delay curve. Unit: hours. Clicks after the last edge are not counted. */
export const delayEdges: ReadonlyArray<number> = [
  0,
  10 / 3600,
  1 / 60,
  5 / 60,
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

/** Number of steps between the edges. */
const steps = delayEdges.length - 1

/** Steps of the first quarter of an hour. */
const fineSteps = 4

/** Number of classes of delay: one for each step, and the undivided first quarter of an hour. */
export const delayClasses: number = steps + 1

/**
 * Returns the class of a step. Class 0 is the first quarter of an hour, and classes 1 to 18 are the steps after it.
 * Earlier releases count all of the first quarter of an hour in class 0. Its steps have the classes from 19 on.
 */
const classOfStep = (step: number): number => step < fineSteps ? steps - fineSteps + 1 + step : step - fineSteps + 1

/** Weight of the prior curve. Unit: clicks. */
const usualPriorClicks = 20

/** Minimum maturity of a send: the share of its eventual clicks with which even the youngest send counts. */
export const smallestShare = 0.02

/** Minimum share in a likelihood, because clocks are not exact. */
const smallestLikelihood = 1e-6

const logShare = (share: number): number => Math.log(Math.max(smallestLikelihood, share))

/** Age of the first send of an hour up to which its delays are treated as truncated at the age of each send. */
const youngHours = 24

/** Positions of sends within an hour that a likelihood uses, as shares of the hour. */
const agePoints = [0.125, 0.375, 0.625, 0.875]

/** Age up to which clicks count towards the curve. Unit: days. */
const keptDays = 30

/** Share of the eventual clicks that have arrived by each of `delayEdges`: non-decreasing, from 0 to (about) 1. */
export type DelayCurve = ReadonlyArray<number>

/**
 * The prior of an organization without clicks: log-normal delays with a median of 6 hours and sigma 1.7. It ends at
 * 0.991, because the remaining clicks come too late to be counted. `delayCurve` without counts turns it into a curve
 * that ends at 1.
 */
export const priorDelayCurve: DelayCurve = delayEdges.map((hours) => Phi(Math.log(hours / 6) / 1.7))

const stepOf = (delayHours: number): number => {
  if (!(delayHours >= 0)) return -1
  for (let j = 0; j < steps; j++) if (delayHours <= delayEdges[j + 1]!) return j
  return -1
}

/**
 * Returns the stored class of a delay, 1 to `delayClasses - 1` (a delay on an edge belongs to the class that ends
 * there). Returns -1 below 0 or beyond the last edge.
 */
export const delayClass = (delayHours: number): number => {
  const step = stepOf(delayHours)
  return step < 0 ? -1 : classOfStep(step)
}

/** Indexes of the edges that bound a class. */
const stepsOfClass = (delayClass: number): readonly [from: number, to: number] => {
  if (delayClass === 0) return [0, fineSteps]
  const step = (delayClass + fineSteps - 1) % steps
  return [step, step + 1]
}

/** The range of delays of a class, 0 to `delayClasses - 1`: above the first number, up to the second. Unit: hours. */
export const delaySpan = (delayClass: number): readonly [number, number] => {
  const [from, to] = stepsOfClass(delayClass)
  return [delayEdges[from]!, delayEdges[to]!]
}

/**
 * Counts by step of the curve: `within` counts the clicks whose delay is inside the step, `upTo` the clicks whose delay
 * is at most its upper edge. Both count only sends that are at least as old as that edge. This restriction corrects the
 * right truncation: of young sends, only the quick clicks have been seen.
 */
export interface MaturityCounts {
  readonly within: ReadonlyArray<number>
  readonly upTo: ReadonlyArray<number>
}

/**
 * Returns the delay curve from counts, shrunk towards `prior` with the weight of `priorClicks` (default 20). The
 * reverse hazard of each step is estimated from sends that are old enough for the step, and the curve is built
 * downwards from 1 at the last edge. Source: S. Lagakos, L. Barraj and V. De Gruttola, "Nonparametric analysis of
 * truncated survival data" (Biometrika, 1988).
 */
export const delayCurve = (
  { upTo, within }: MaturityCounts,
  prior: DelayCurve = priorDelayCurve,
  priorClicks = usualPriorClicks,
): DelayCurve => {
  const curve = new Array<number>(steps + 1).fill(0)
  curve[steps] = 1
  for (let j = steps - 1; j > 0; j--) {
    const reached = prior[j + 1]!
    const hazard = reached > 0 ? 1 - prior[j]! / reached : 0
    curve[j] = curve[j + 1]! * (1 - (within[j]! + priorClicks * reached * hazard) / (upTo[j]! + priorClicks * reached))
  }
  return curve
}

/**
 * Place of an age or delay in hours among the edges: the index of the edge before it, plus the elapsed part of the
 * step.
 */
export const placeAt = (hours: number): number => {
  if (hours >= delayEdges[steps]!) return steps
  let j = 0
  while (hours > delayEdges[j + 1]!) j++
  const from = delayEdges[j]!
  return j + (hours - from) / (delayEdges[j + 1]! - from)
}

/** Value of a curve at a place: linear between the edges, its last value beyond them. */
export const valueAt = (curve: DelayCurve, place: number): number => {
  const j = Math.floor(place)
  return j >= steps ? curve[steps]! : curve[j]! + (curve[j + 1]! - curve[j]!) * (place - j)
}

/** Value of a curve at an age or delay in hours. */
export const curveAt = (curve: DelayCurve, hours: number): number => valueAt(curve, placeAt(hours))

/** Share in [0.02, 1] of the eventual clicks that should have arrived at this age. 1 beyond the last edge. */
export const maturity = (curve: DelayCurve, ageHours: number): number =>
  ageHours >= delayEdges[steps]! ? 1 : Math.max(smallestShare, curveAt(curve, ageHours))

/** Log likelihood of clicks by class, for sends of equally likely ages (as places). */
const logTruncated = (curve: DelayCurve, row: ReadonlyArray<number>, ages: ReadonlyArray<number>): number => {
  const reached = ages.map((age) => valueAt(curve, age))
  let all = 0
  for (const share of reached) all += share
  const logAll = logShare(all)
  let log = 0
  for (let j = 0; j < delayClasses; j++) {
    const clicks = row[j]!
    if (!(clicks > 0)) continue
    const [from, to] = stepsOfClass(j)
    let share = 0
    for (const most of reached) share += Math.max(0, Math.min(curve[to]!, most) - curve[from]!)
    log += clicks * (logShare(share) - logAll)
  }
  return log
}

/** Clicks by the hour of their send (start in Unix milliseconds) and class of delay, as plain data. */
export type DelayRow = readonly [hourStart: number, counts: ReadonlyArray<number>]

/**
 * Running counts of the delays of one template or organization, by hour of the send. An hour contributes to a step once
 * its last send is old enough for the step.
 */
export class Delays {
  readonly #hours = new Map<number, Array<number>>()

  /** Counts a click. Ignores a negative delay and a delay beyond the last edge. */
  add(sentAt: number, delayHours: number, count = 1): void {
    const j = delayClass(delayHours)
    if (j < 0) return
    const row = this.#row(Math.floor(sentAt / hourMillis) * hourMillis)
    row[j] = row[j]! + count
  }

  /** Adds the counts of other nodes or templates. */
  merge(rows: Iterable<DelayRow>): void {
    for (const [hour, counts] of rows) {
      const row = this.#row(hour)
      counts.forEach((count, j) => row[j] = row[j]! + count)
    }
  }

  /** Drops sends from more than 30 days before `now`. */
  prune(now: number): void {
    for (const hour of this.#hours.keys()) {
      if (hour < now - keptDays * 24 * hourMillis) this.#hours.delete(hour)
    }
  }

  /** Returns the counts, oldest hour first. */
  rows(): ReadonlyArray<DelayRow> {
    return [...this.#hours].sort(([a], [b]) => a - b)
  }

  /** Returns the counts for `delayCurve` at `now`, of sends from the hour of `from` on (Unix milliseconds). */
  counts(now: number, from = -Infinity): MaturityCounts {
    const within = new Array<number>(steps).fill(0)
    const upTo = new Array<number>(steps).fill(0)
    for (const [hour, row] of this.#hours) {
      if (hour + hourMillis <= from) continue
      const age = (now - hour) / hourMillis - 1
      let sum = 0
      for (let j = 0; j < steps && age >= delayEdges[j + 1]!; j++) {
        // Clicks in the undivided quarter of an hour contain no information about its parts.
        if (j === fineSteps) sum += row[0]!
        const count = row[classOfStep(j)]!
        sum += count
        within[j] = within[j]! + count
        upTo[j] = upTo[j]! + sum
      }
    }
    return { within, upTo }
  }

  /** Returns the number of counted clicks. */
  clicks(): number {
    let sum = 0
    for (const row of this.#hours.values()) for (const count of row) sum += count
    return Math.max(0, sum)
  }

  /**
   * Returns the log likelihood of the delays under each curve at `now`, for sends from the hour of `from` on (Unix
   * milliseconds), given the age of each send: a click of a young send can only be a quick one.
   */
  logLikelihoods(curves: ReadonlyArray<DelayCurve>, now: number, from = -Infinity): ReadonlyArray<number> {
    const logs = new Array<number>(curves.length).fill(0)
    const older = new Array<number>(delayClasses).fill(0)
    for (const [hour, row] of this.#hours) {
      if (hour + hourMillis <= from) continue
      const oldest = Math.max(0, now - hour) / hourMillis
      if (oldest < youngHours) {
        if (!row.some((count) => count > 0)) continue
        const ages = agePoints.map((point) => placeAt(oldest - point * Math.min(1, oldest)))
        curves.forEach((curve, k) => logs[k] = logs[k]! + logTruncated(curve, row, ages))
        continue
      }
      let clicks = 0
      for (let j = 0; j < delayClasses; j++) {
        const count = Math.max(0, row[j]!)
        older[j] = older[j]! + count
        clicks += count
      }
      if (clicks === 0 || oldest >= delayEdges[steps]!) continue
      const place = placeAt(oldest - 0.5)
      curves.forEach((curve, k) => logs[k] = logs[k]! - clicks * logShare(valueAt(curve, place)))
    }
    const end = [steps]
    return curves.map((curve, k) => logs[k]! + logTruncated(curve, older, end))
  }

  #row(hour: number): Array<number> {
    return this.#hours.getOrInsertComputed(hour, () => new Array<number>(delayClasses).fill(0))
  }
}
