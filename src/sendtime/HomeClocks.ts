import { addTouches, emptyHistogram, foldedHours } from "./Attention.ts"
import type { Clocks } from "./Clocks.ts"
import { hourMillis } from "../bandit/Window.ts"

// By which clocks the people of an organization live: their own, or the organization's, as in a company with offices in
// several zones, or if the zones of people are wrong. Pure.

const dayHours = 24

/** Prior log odds that people live by their own clocks. */
const ownClockPrior = 1

/** Attention by local hour of the people, and of the same people by the organization's clocks. */
export interface ClockCurves {
  readonly own: Float64Array
  readonly organization: Float64Array
}

/** Compares how well both clocks tell when people in other zones read. A person is one observation. */
export class HomeClocks {
  readonly #curves: ClockCurves
  #sum = 0
  #squares = 0

  constructor(curves: ClockCurves) {
    this.#curves = curves
  }

  /** Adds a person who lives in another zone than the organization. */
  add(
    codes: Float64Array,
    clocks: { readonly own: Clocks; readonly organization: Clocks },
    fresh: Float64Array,
    nowMillis: number,
  ): void {
    const likelihood = (kind: "own" | "organization") => {
      const histogram = emptyHistogram()
      addTouches(histogram, codes, clocks[kind], fresh, nowMillis)
      let sum = 0
      for (let k = 0; k < foldedHours; k++) {
        const rate = this.#curves[kind][k]!
        sum += histogram.engaged[k]! * Math.log(rate) - histogram.exposed[k]! * rate
      }
      return sum
    }
    const difference = likelihood("own") - likelihood("organization")
    this.#sum += difference
    this.#squares += difference ** 2
  }

  /** Probability that people live by their own clocks. */
  own(): number {
    const score = this.#squares === 0 ? 0 : this.#sum / Math.sqrt(this.#squares)
    return 1 / (1 + Math.exp(-ownClockPrior - score * Math.abs(score) / 2))
  }
}

/**
 * Returns the attention of a group by the hours of `clocks`, given its attention by local hours, and the probability
 * `own` that people live by their own clocks.
 */
export const inZone = (
  attention: Float64Array,
  curves: ClockCurves,
  own: number,
  hoursAhead: number,
): Float64Array => {
  if (hoursAhead === 0) return attention
  return attention.map((rate, k) => {
    const day = k - k % dayHours
    const other = curves.organization[day + (k % dayHours - hoursAhead + 2 * dayHours) % dayHours]!
    return rate * (own + (1 - own) * other / curves.own[k]!)
  })
}

/** Hours by which the clocks of a zone are ahead of the organization's. */
export const hoursAheadOf = (clocks: Clocks, organization: Clocks, nowMillis: number): number =>
  Math.round((clocks.offsetAt(nowMillis) - organization.offsetAt(nowMillis)) / hourMillis)
