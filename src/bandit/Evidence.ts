import { contextsOf } from "./Contexts.ts"
import type { Counts } from "./Counts.ts"
import { logBaseRate, type ModelSnapshot } from "./Model.ts"
import { independence } from "./Repeats.ts"
import { hourMillis } from "./Window.ts"

// Tests whether one variant is better than another. The test stays valid however often it is evaluated.

/** Standard deviation of the log lifts that the test expects of a better variant. */
const expectedLift = 0.25

/** Points of the mixture over log lifts, from 0 to four standard deviations. */
const points = 40

/** Above this pooled rate, the Poisson variance is noticeably too large, as in a fit. */
const highRate = 0.15

/**
 * Outcomes of one variant by bucket of the send time, and the outcomes expected at the base rate, up to a common
 * factor.
 */
type Stretches = ReadonlyMap<number, { outcomes: number; expected: number }>

/**
 * Evidence that a variant has a higher rate than another: the probability of the data if it is better, by a small or
 * large lift, divided by their probability if both are equally good. If a bucket's sends have an outcome, it belongs to
 * the variant in proportion to the outcomes expected of the variant's sends. The ratio is a martingale if both are
 * equally good, even if earlier results determined the traffic split. The probability that it ever exceeds
 * `1 / alpha` is at most `alpha`, regardless of the number of evaluations (J. Ville, 1939; H. Robbins, "Statistical
 * methods related to the law of the iterated logarithm", 1970). Influences on both variants alike, such as good days or
 * a changing audience, cancel.
 */
export class Evidence {
  readonly #stretches = new Map<string, Map<number, { outcomes: number; expected: number }>>()
  /** Reduces the variance to the binomial one for rates that are not small. */
  readonly #binomial: number
  /** By variant: repeated outcomes of one person for one variant are not independent evidence. */
  readonly #independence: ReadonlyMap<string, number>

  /** Only sends from `from` on are evidence. Unit: Unix milliseconds. Default: all sends. */
  constructor(counts: Counts, model: ModelSnapshot, from = -Infinity) {
    const contexts = contextsOf(model.scheme)
    // The test counts outcomes, so the unit of the objective must not change the certainty.
    const worth = counts.worth()
    let sends = 0
    let outcomes = 0
    for (const { context, clicks, sends: ns, starts, variant } of counts.series()) {
      const base = Math.exp(logBaseRate(model, contexts.parse(context)) - model.a0)
      const stretches = this.#stretches.getOrInsertComputed(variant, () => new Map())
      starts.forEach((start, i) => {
        if (start < from) return
        sends += ns[i]!
        const count = clicks[i]! / worth
        outcomes += count
        const known = stretches.get(start)
        if (known === undefined) stretches.set(start, { outcomes: count, expected: base * ns[i]! })
        else {
          known.outcomes += count
          known.expected += base * ns[i]!
        }
      })
    }
    const rate = sends > 0 ? Math.min(0.95, outcomes / sends) : 0
    this.#binomial = rate > highRate ? 1 / (1 - rate) : 1
    this.#independence = independence(counts, (start) => start < from ? 0 : 1, () => 1)
  }

  /** Returns the ratio for `better` against `other`: 0 or more, 1 without data. */
  of(better: string, other: string): number {
    const ours: Stretches = this.#stretches.get(better) ?? new Map()
    const theirs: Stretches = this.#stretches.get(other) ?? new Map()
    const pairs: Array<{ readonly outcomes: number; readonly share: number; readonly ours: number }> = []
    for (const [start, mine] of ours) {
      const rival = theirs.get(start)
      if (rival === undefined || !(mine.expected > 0 && rival.expected > 0)) continue
      pairs.push({
        ours: Math.max(0, mine.outcomes),
        outcomes: Math.max(0, mine.outcomes) + Math.max(0, rival.outcomes),
        share: mine.expected / (mine.expected + rival.expected),
      })
    }
    const share = Math.min(this.#independence.get(better) ?? 1, this.#independence.get(other) ?? 1)
    let mixture = 0
    let weights = 0
    for (let k = 0; k < points; k++) {
      const z = 4 * (k + 0.5) / points
      const lift = expectedLift * z
      let log = 0
      for (const pair of pairs) {
        log += lift * pair.ours - pair.outcomes * Math.log1p(pair.share * Math.expm1(lift))
      }
      const weight = Math.exp(-z * z / 2)
      weights += weight
      mixture += weight * Math.exp(Math.min(700, share * this.#binomial * log))
    }
    return mixture / weights
  }
}

/** Start of the hour after the hour of `now`. Unit: Unix milliseconds. */
export const nextHour = (now: number): number => (Math.floor(now / hourMillis) + 1) * hourMillis
