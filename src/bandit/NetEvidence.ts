import { nothing } from "../domain/SendNothing.ts"
import type { Counts } from "./Counts.ts"
import { Phi } from "./Normal.ts"
import { independence } from "./Repeats.ts"

// Evidence that one candidate has a higher net value than another, where values can be negative.

/** Standard deviation of the expected differences, relative to the mean size of a decision's value. */
const expectedDifference = 0.25

/** Decisions of a candidate in one context and bucket, their value, and the sum of the squared values. */
interface Cell {
  sends: number
  value: number
  square: number
}

/**
 * Evidence of differences in value. In each context and bucket, the difference of two candidates has the mean 0 if both
 * are equally good, and the variance of rare, independent outcomes. With the sum `S` of the differences and the sum `V`
 * of the variances, `exp(l S - l^2 V / 2)` is a martingale in the limit of many outcomes. It is averaged over `l` with
 * a half-normal distribution (H. Robbins, 1970; I. Waudby-Smith et al., "Time-uniform central limit theory", 2024).
 */
export class NetEvidence {
  readonly #cells = new Map<string, Map<string, Cell>>()
  readonly #isZero: boolean
  readonly #independence: ReadonlyMap<string, number>
  /** Scale of `l`. */
  readonly #scale: number

  /**
   * `organic`: decisions to send nothing. With `isZero`, the value of nothing is known to be 0. Only sends from `from`
   * on are evidence. Unit: Unix milliseconds. Default: all sends.
   */
  constructor(counts: Counts, organic: Counts, isZero: boolean, from = -Infinity) {
    this.#isZero = isZero
    let [sends, size, square] = [0, 0, 0]
    for (
      const { series, squares, values } of [counts, organic].map((one) => ({ series: one.series(), ...one.valuation }))
    ) {
      for (const { clicks, context, outcomes, sends: ns, starts, variant } of series) {
        const cells = this.#cells.getOrInsertComputed(variant, () => new Map())
        starts.forEach((start, i) => {
          if (start < from) return
          const key = `${start} ${context}`
          const cell = cells.getOrInsertComputed(key, () => ({ sends: 0, value: 0, square: 0 }))
          cell.sends += ns[i]!
          cell.value += clicks[i]!
          sends += ns[i]!
          for (let k = 0; k < squares.length; k++) {
            cell.square += squares[k]! * outcomes[k]![i]!
            square += squares[k]! * outcomes[k]![i]!
            size += Math.abs(values[k]! * outcomes[k]![i]!)
          }
        })
      }
    }
    this.#scale = square > 0 && sends > 0 ? expectedDifference * (size / sends) / (square / sends) : 0
    this.#independence = independence(counts, (start) => start < from ? 0 : 1, () => 1)
  }

  /** Returns the ratio for `better` against `other`: 0 or more, 1 without data. */
  of(better: string, other: string): number {
    const share = Math.min(this.#independence.get(better) ?? 1, this.#independence.get(other) ?? 1)
    const [sum, variance] = this.#difference(better, other)
    const known = 1 + this.#scale ** 2 * variance * share
    const z = this.#scale * sum * share / Math.sqrt(known)
    return Math.min(Number.MAX_VALUE, 2 * Phi(z) * Math.exp(Math.min(700, z ** 2 / 2)) / Math.sqrt(known))
  }

  #difference(better: string, other: string): readonly [sum: number, variance: number] {
    if (this.#isZero && other === nothing) return this.#total(better)
    if (this.#isZero && better === nothing) {
      const [sum, variance] = this.#total(other)
      return [-sum, variance]
    }
    let [sum, variance] = [0, 0]
    const theirs = this.#cells.get(other)
    for (const [key, a] of this.#cells.get(better) ?? []) {
      const b = theirs?.get(key)
      if (b === undefined || !(a.sends > 0 && b.sends > 0)) continue
      const all = a.sends + b.sends
      sum += (a.value * b.sends - b.value * a.sends) / all
      variance += (a.square * b.sends ** 2 + b.square * a.sends ** 2) / all ** 2
    }
    return [sum, variance]
  }

  #total(id: string): readonly [sum: number, variance: number] {
    let [sum, variance] = [0, 0]
    for (const { square, value } of this.#cells.get(id)?.values() ?? []) {
      sum += value
      variance += square
    }
    return [sum, variance]
  }
}
