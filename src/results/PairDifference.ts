import { type ValuedOutcome, valuedOutcomes, weightsOf } from "../domain/ObjectiveWeights.ts"
import type { Objective } from "../domain/Template.ts"
import type { PropensityCount, WeightedCount } from "../learning/PropensityTallies.ts"

// The difference between two variants by the recorded propensities, with an interval that needs no model and holds at all
// times. Pure.

/** Two variants with their counts. */
export interface PairInput {
  readonly ours: string
  readonly theirs: string
  readonly objective: Objective
  /** Counts of both variants, in any order. */
  readonly counts: ReadonlyArray<PropensityCount>
}

/** The mean difference of the objective per decision, `ours` less `theirs`. */
export interface PairDifference {
  /** Decisions in which both variants were candidates, whichever was chosen. */
  readonly decisions: number
  /** Start of the first and of the last day (UTC) of these decisions. Unit: Unix milliseconds. */
  readonly first: number
  readonly last: number
  readonly difference: number
  /** Contains the true mean difference at all times together with a probability of 95 %. */
  readonly interval: readonly [number, number]
}

/** Probability that the interval ever misses the true difference. */
const error = 0.05

/** Relative difference for which the interval is narrowest. */
const expectedLift = 0.25

/** Minimum number of outcomes of both variants together, because the interval is asymptotic. */
const fewestOutcomes = 20

const none: WeightedCount = { count: 0, weight: 0, square: 0 }

/** The values of one variant's decisions in one cell. */
interface Values {
  /** Sums of the values: plain, times the inverse propensity, and times its square. */
  readonly value: WeightedCount
  /** Upper bounds of the sums of the squared values: plain, and times the squared inverse propensity. */
  readonly squares: { readonly count: number; readonly square: number }
  /** Number of outcomes, and the sum of their absolute values. */
  readonly outcomes: number
  readonly size: number
}

const valuesOf = (sums: PropensityCount["sums"], worths: ReadonlyArray<readonly [ValuedOutcome, number]>): Values => {
  const all = worths.map(([outcome, worth]) => [sums[outcome] ?? none, worth] as const)
  const total = (of: (sum: WeightedCount, worth: number) => number) =>
    all.reduce((sum, [one, worth]) => sum + of(one, worth), 0)
  return {
    value: {
      count: total(({ count }, worth) => worth * count),
      weight: total(({ weight }, worth) => worth * weight),
      square: total(({ square }, worth) => worth * square),
    },
    // Outcomes of one decision occur together. The norm of a sum is at most the sum of the norms.
    squares: {
      count: total(({ count }, worth) => Math.abs(worth) * Math.sqrt(count)) ** 2,
      square: total(({ square }, worth) => Math.abs(worth) * Math.sqrt(square)) ** 2,
    },
    outcomes: total(({ count }) => count),
    size: total(({ count }, worth) => Math.abs(worth) * count),
  }
}

/** The days and sets of candidates in which both variants were candidates, earliest first. */
const cellsOf = ({ counts, ours, theirs }: PairInput) => {
  const keyOf = ({ candidates, day }: PropensityCount) => `${day} ${candidates}`
  const others = new Map(counts.filter(({ copyId }) => copyId === theirs).map((count) => [keyOf(count), count.sums]))
  return counts.flatMap(({ candidates, copyId, day, sums }) => {
    const other = copyId === ours ? others.get(keyOf({ candidates, copyId, day, sums })) : undefined
    return other === undefined || sums.offered === undefined || other.offered === undefined ? [] : [{
      day,
      candidates,
      decisions: sums.offered.count,
      /** Information about the difference in a decision: high where neither variant is rare. */
      information: sums.offered.count / (sums.offered.weight + other.offered.weight),
      arms: [sums, other] as const,
    }]
  }).sort((a, b) => a.day - b.day)
}

/** Half the width of a confidence sequence of a sum with this variance: a normal mixture (H. Robbins, 1970). */
const reachOf = (variance: number, drift: number): number =>
  Math.sqrt((variance + drift ** -2) * Math.log((variance * drift ** 2 + 1) / error ** 2))

/** Sums of both variants over the cells. `variance` and `squares` are by variant. */
class PairSums {
  chosen = 0
  outcomes = 0
  size = 0
  value = 0
  squares = 0
  weight = 0
  scores = 0
  readonly #variance = [0, 0]
  readonly #inverses = [0, 0]

  /** Adds a variant's values in a cell with this weight. `center` is subtracted from each value. */
  add(arm: 0 | 1, decisions: WeightedCount, values: Values, weight: number, center: number): void {
    const { outcomes, size, squares, value } = values
    this.scores += (arm === 0 ? weight : -weight) * (value.weight - center * decisions.weight)
    this.#variance[arm]! += weight ** 2 *
      Math.max(0, squares.square - 2 * center * value.square + center ** 2 * decisions.square)
    this.#inverses[arm]! += weight ** 2 * decisions.square
    this.chosen += decisions.count
    this.outcomes += outcomes
    this.size += size
    this.value += value.count
    this.squares += squares.count
  }

  get mean(): number {
    return this.chosen > 0 ? this.value / this.chosen : 0
  }

  /** The difference, and half the width of its interval. */
  get difference(): { readonly difference: number; readonly reach: number } {
    const spread = Math.max(0, this.squares / this.chosen - this.mean ** 2)
    // A variant with few outcomes would seem too certain by its own values.
    const variance = this.#variance.reduce((sum, own, arm) => sum + Math.max(own, spread * this.#inverses[arm]!), 0)
    const drift = expectedLift * this.size / this.chosen / spread
    return { difference: this.scores / this.weight, reach: reachOf(variance, drift) / this.weight }
  }
}

/**
 * Returns the difference between two variants. Null with fewer than 20 outcomes, and if the objective values revenue.
 *
 * A decision has the score `1{ours} (y - m) / e - 1{theirs} (y - m) / e`: `y` is its value, `m` the mean value on
 * earlier days, `e` the propensity of the chosen variant. The draw of the variant makes its expectation the true
 * difference, so rates that move, people who tire and people with much mail do not bias it. Its weight is
 * `1 / (1 / e + 1 / e')` by the mean inverse propensities of the day before, in proportion to the inverse variance (V.
 * Hadad et al., "Confidence intervals for policy evaluation in adaptive experiments", 2021; A. Bibaut et al.,
 * "Post-contextual-bandit inference", 2021). The interval is an asymptotic confidence sequence (I. Waudby-Smith et al.,
 * "Time-uniform central limit theory and asymptotic confidence sequences", 2024).
 */
export const pairDifference = (input: PairInput): PairDifference | null => {
  const weights = weightsOf(input.objective)
  const worths = valuedOutcomes.flatMap((outcome) =>
    weights[outcome] === 0 ? [] : [[outcome, weights[outcome]] as const]
  )
  const cells = cellsOf(input)
  const sums = new PairSums()
  const lastInformation = new Map<string, number>()
  let decisions = 0
  for (const [, today] of Map.groupBy(cells, ({ day }) => day)) {
    const { mean } = sums
    for (const { arms, candidates, decisions: count, information } of today) {
      const weight = lastInformation.get(candidates) ?? information
      lastInformation.set(candidates, information)
      arms.forEach((arm, i) => sums.add(i as 0 | 1, arm.decisions ?? none, valuesOf(arm, worths), weight, mean))
      sums.weight += weight * count
      decisions += count
    }
  }
  if (weights.revenue !== 0 || sums.outcomes < fewestOutcomes) return null
  const { difference, reach } = sums.difference
  return {
    decisions,
    first: cells[0]!.day,
    last: cells.at(-1)!.day,
    difference,
    interval: [difference - reach, difference + reach],
  }
}
