import { factor, packedIndex, packedLength, solve } from "./Cholesky.ts"
import { dayMillis } from "./Window.ts"

// How rates move over time. The log rate of a variant on a day is the sum of a level that all variants share and a
// level of its own. Both are random walks. Reports average over the sizes of the daily steps by their marginal
// likelihood, so that an interval for the last days is as wide as the movement of the rates demands.

/** Outcomes of variants by day. Every list of a variant has one number for each day. */
export interface DailyOutcomes {
  /** Starts of the days or weeks, ascending. Unit: Unix milliseconds. */
  readonly days: ReadonlyArray<number>
  /** Share of each day in the period of the report; 0 for days outside. The sum is 1. */
  readonly shares: Float64Array
  /** Outcomes by variant and day. */
  readonly outcomes: ReadonlyArray<Float64Array>
  /** Outcomes expected by variant and day at the base rate, without the intercept of the variant. */
  readonly expected: ReadonlyArray<Float64Array>
  /** Mean of the variants' intercepts before data. */
  readonly centers: ReadonlyArray<number>
  /** Standard deviation of the variants' intercepts before data. */
  readonly tau0: number
}

/** The mean level of one variant over the period of the report, in one case. */
export interface ReportedLevel {
  /** Mean of the log rate relative to the base rate. */
  readonly mean: number
  /** Variance that belongs to this variant alone. */
  readonly own: number
  /** Deviation for one standard deviation of the level that all variants share. */
  readonly shared: number
}

/** Change of the log rate from the days before the period of the report to this period, with its variance. */
type LevelChange = readonly [mean: number, variance: number]

/** One case of the sizes of the daily steps. */
export interface LevelCase {
  readonly variants: ReadonlyArray<ReportedLevel>
  /** The level of a variant without data, without the deviation of its intercept. */
  readonly common: ReportedLevel
  /** By variant. Undefined if the data begin less than a week before the period of the report. */
  readonly changes: ReadonlyArray<LevelChange> | undefined
}

type Steps = readonly [own: number, common: number, prior: number]

/**
 * Standard deviations of the daily step of each variant and of all variants together, with their prior probabilities.
 * The counts of six weeks hardly tell a rate that stays from a rate that moves by a few percent a day, so every variant
 * moves. If one variant has most of the traffic, the data hardly say whether it moves alone. So steps of all variants
 * come with steps of each.
 */
const sizes: ReadonlyArray<Steps> = [
  [0.01, 0, 0.12],
  [0.02, 0, 0.12],
  [0.02, 0.02, 0.09],
  [0.02, 0.06, 0.12],
  [0.02, 0.2, 0.08],
  [0.04, 0, 0.12],
  [0.04, 0.04, 0.09],
  [0.06, 0.06, 0.06],
  [0.06, 0.2, 0.08],
  [0.08, 0, 0.12],
]

/** Step in place of 0, which would have no precision. */
const smallestStep = 1e-4

/** Standard deviation of the first level that all variants share. */
const firstCommon = 1

/** Newton's steps for the first case, and for each further one, which starts from its neighbor. */
const firstRounds = 8
const laterRounds = 3

/** Newton's steps end when no log rate moves further than this. */
const converged = 0.01

/** Minimum length of the days that a change is measured from. Unit: days. */
const leastEarlierDays = 7

/** Maximum change of a log rate in one of Newton's steps. */
const largestMove = 1

/** The prior of a random walk: a tridiagonal precision. */
interface Walk {
  readonly diagonal: Float64Array
  /** Element `d` connects the days `d` and `d + 1`. */
  readonly off: Float64Array
  readonly halfLogDeterminant: number
}

const walkOf = (days: ReadonlyArray<number>, step: number, first: number): Walk => {
  const diagonal = new Float64Array(days.length)
  const off = new Float64Array(days.length)
  diagonal[0] = 1 / first ** 2
  let halfLogDeterminant = -Math.log(first)
  for (let d = 1; d < days.length; d++) {
    const precision = dayMillis / ((days[d]! - days[d - 1]!) * Math.max(step, smallestStep) ** 2)
    diagonal[d - 1]! += precision
    diagonal[d]! += precision
    off[d - 1] = -precision
    halfLogDeterminant += Math.log(precision) / 2
  }
  return { diagonal, off, halfLogDeterminant }
}

/** Half the quadratic form of a walk. */
const energy = ({ diagonal, off }: Walk, x: Float64Array): number => {
  let sum = 0
  for (let d = 0; d < x.length; d++) {
    sum += diagonal[d]! * x[d]! ** 2 / 2 + (d + 1 < x.length ? off[d]! * x[d]! * x[d + 1]! : 0)
  }
  return sum
}

/** Subtracts the product of the precision of a walk and `x`. */
const subtractPull = ({ diagonal, off }: Walk, x: Float64Array, from: Float64Array): void => {
  for (let d = 0; d < x.length; d++) {
    from[d]! -= diagonal[d]! * x[d]! + (d > 0 ? off[d - 1]! * x[d - 1]! : 0) +
      (d + 1 < x.length ? off[d]! * x[d + 1]! : 0)
  }
}

/** A factored tridiagonal precision: the precision of a walk plus `weights` on the diagonal. */
class Tridiagonal {
  readonly #pivots: Float64Array
  readonly #ratios: Float64Array
  readonly halfLogDeterminant: number

  constructor({ diagonal, off }: Walk, weights: Float64Array) {
    const size = weights.length
    this.#pivots = new Float64Array(size)
    this.#ratios = new Float64Array(size)
    let sum = 0
    for (let d = 0; d < size; d++) {
      this.#pivots[d] = diagonal[d]! + weights[d]! - (d > 0 ? off[d - 1]! * this.#ratios[d - 1]! : 0)
      if (d + 1 < size) this.#ratios[d] = off[d]! / this.#pivots[d]!
      sum += Math.log(this.#pivots[d]!) / 2
    }
    this.halfLogDeterminant = sum
  }

  /** Solves in place. */
  solve(x: Float64Array): void {
    const size = x.length
    for (let d = 1; d < size; d++) x[d]! -= this.#ratios[d - 1]! * x[d - 1]!
    for (let d = size - 1; d >= 0; d--) {
      x[d] = x[d]! / this.#pivots[d]! - (d + 1 < size ? this.#ratios[d]! * x[d + 1]! : 0)
    }
  }

  /**
   * Subtracts W M W from the packed lower triangle of a matrix and adds W, for the inverse M and the diagonal matrix W
   * of the weights. An element of M is its neighbor above times a ratio, because the precision is tridiagonal.
   */
  addSchur({ diagonal, off }: Walk, weights: Float64Array, to: Float64Array): void {
    const size = weights.length
    const below = new Float64Array(size)
    const inverse = new Float64Array(size)
    for (let d = size - 1, next = 0; d >= 0; d--) {
      const own = diagonal[d]! + weights[d]!
      const backward = own - (d + 1 < size ? off[d]! ** 2 / next : 0)
      inverse[d] = 1 / (this.#pivots[d]! + backward - own)
      if (d > 0) below[d] = -off[d - 1]! / backward
      next = backward
    }
    for (let j = 0; j < size; j++) {
      if (weights[j] === 0) continue
      let part = inverse[j]! * weights[j]!
      to[packedIndex(j, j)]! += weights[j]! * (1 - part)
      for (let i = j + 1, at = packedIndex(i, j); i < size; i++, at += i) {
        part *= below[i]!
        to[at]! -= weights[i]! * part
      }
    }
  }
}

/** The levels of all variants: the common level, and the level of each variant. */
interface State {
  readonly common: Float64Array
  readonly own: ReadonlyArray<Float64Array>
}

/** The precision of the levels around a state. */
interface Curvature {
  readonly weights: ReadonlyArray<Float64Array>
  readonly factors: ReadonlyArray<Tridiagonal>
  /** Factored precision of the common level with the levels of the variants integrated out. */
  readonly schur: Float64Array
  readonly halfLogDeterminant: number
}

const curvatureAt = ({ centers, days, expected }: DailyOutcomes, state: State, all: Walk, each: Walk): Curvature => {
  const size = days.length
  const weights = expected.map((e, v) =>
    e.map((value, d) => value * Math.exp(centers[v]! + state.common[d]! + state.own[v]![d]!))
  )
  const schur = new Float64Array(packedLength(size))
  for (let d = 0; d < size; d++) {
    schur[packedIndex(d, d)] = all.diagonal[d]!
    if (d > 0) schur[packedIndex(d, d - 1)] = all.off[d - 1]!
  }
  let halfLogDeterminant = 0
  const factors = weights.map((mine) => {
    const tridiagonal = new Tridiagonal(each, mine)
    halfLogDeterminant += tridiagonal.halfLogDeterminant
    tridiagonal.addSchur(each, mine, schur)
    return tridiagonal
  })
  factor(schur, size)
  for (let d = 0; d < size; d++) halfLogDeterminant += Math.log(schur[packedIndex(d, d)]!)
  return { weights, factors, schur, halfLogDeterminant }
}

const clip = (move: number): number => Math.max(-largestMove, Math.min(largestMove, move))

/** Makes one of Newton's steps in place, and returns the largest move of a level. */
const improve = (data: DailyOutcomes, state: State, all: Walk, each: Walk): number => {
  const { factors, schur, weights } = curvatureAt(data, state, all, each)
  const size = data.days.length
  const force = new Float64Array(size)
  subtractPull(all, state.common, force)
  const forces = weights.map((mine, v) => {
    const own = new Float64Array(size)
    for (let d = 0; d < size; d++) {
      own[d] = data.outcomes[v]![d]! - mine[d]!
      force[d]! += own[d]!
    }
    subtractPull(each, state.own[v]!, own)
    const solved = own.slice()
    factors[v]!.solve(solved)
    for (let d = 0; d < size; d++) force[d]! -= mine[d]! * solved[d]!
    return own
  })
  solve(schur, size, force)
  let largest = 0
  const move = (level: Float64Array, d: number, by: number) => {
    largest = Math.max(largest, Math.abs(by))
    level[d]! += clip(by)
  }
  forces.forEach((own, v) => {
    for (let d = 0; d < size; d++) own[d]! -= weights[v]![d]! * force[d]!
    factors[v]!.solve(own)
    for (let d = 0; d < size; d++) move(state.own[v]!, d, own[d]!)
  })
  for (let d = 0; d < size; d++) move(state.common, d, force[d]!)
  return largest
}

const logEvidence = (
  data: DailyOutcomes,
  state: State,
  { halfLogDeterminant, weights }: Curvature,
  all: Walk,
  each: Walk,
) => {
  let sum = all.halfLogDeterminant + data.outcomes.length * each.halfLogDeterminant - halfLogDeterminant -
    energy(all, state.common)
  data.outcomes.forEach((outcomes, v) => {
    sum -= energy(each, state.own[v]!)
    for (let d = 0; d < outcomes.length; d++) {
      sum += outcomes[d]! * (state.common[d]! + state.own[v]![d]!) - weights[v]![d]!
    }
  })
  return sum
}

const sum = (numbers: Iterable<number>): number => {
  let total = 0
  for (const number of numbers) total += number
  return total
}

/** The log of the mean rate over the period of the report, and its slope by day. */
const meanOver = (shares: Float64Array, logs: Float64Array) => {
  const parts = shares.map((share, d) => share === 0 ? 0 : share * Math.exp(logs[d]!))
  const mean = parts.reduce((sum, part) => sum + part, 0)
  return { log: Math.log(mean), slopes: parts.map((part) => part / mean) }
}

const dot = (a: Float64Array, b: Float64Array): number => {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}

/**
 * Returns the changes of the levels since the days before the period of the report. The counts of these days are compared,
 * because a random walk would spread a sudden change over several days. Without outcomes, a change is unknown.
 */
const changesOf = ({ days, expected, outcomes, shares }: DailyOutcomes, variants: ReadonlyArray<ReportedLevel>) => {
  const first = shares.findIndex((share) => share > 0)
  if (first < 1 || days[first]! - days[0]! < leastEarlierDays * dayMillis) return undefined
  return variants.map(({ mean, own, shared }, v): LevelChange => {
    const count = sum(outcomes[v]!.subarray(0, first))
    const rate = count / sum(expected[v]!.subarray(0, first))
    return count > 0 && rate > 0 ? [mean - Math.log(rate), own + shared ** 2 + 1 / count] : [0, 1]
  })
}

const caseAt = (data: DailyOutcomes, state: State, { factors, schur, weights }: Curvature): LevelCase => {
  const size = data.days.length
  const together = meanOver(data.shares, state.common)
  const reference = together.slopes.slice()
  solve(schur, size, reference)
  const deviation = Math.sqrt(dot(reference, together.slopes))
  const variants = state.own.map((own, v): ReportedLevel => {
    const { log, slopes } = meanOver(data.shares, own.map((level, d) => data.centers[v]! + state.common[d]! + level))
    const solved = slopes.slice()
    factors[v]!.solve(solved)
    const throughCommon = slopes.map((slope, d) => slope - weights[v]![d]! * solved[d]!)
    const shared = dot(throughCommon, reference) / deviation
    const inverse = throughCommon.slice()
    solve(schur, size, inverse)
    return { mean: log, own: Math.max(0, dot(slopes, solved) + dot(throughCommon, inverse) - shared ** 2), shared }
  })
  return { variants, common: { mean: together.log, own: 0, shared: deviation }, changes: changesOf(data, variants) }
}

/** The levels with one size of each daily step. */
interface Candidate {
  readonly steps: Steps
  readonly logEvidence: number
  readonly state: State
  readonly curvature: Curvature
}

/** Fits the levels with each of these sizes of the daily steps, smallest steps of the variants first. */
const fitAll = (data: DailyOutcomes, among: ReadonlyArray<Steps> = sizes): ReadonlyArray<Candidate> => {
  const size = data.days.length
  const total = (lists: ReadonlyArray<Float64Array>) => Math.max(0, sum(lists.map((list) => sum(list))))
  const state: State = {
    common: new Float64Array(size).fill(Math.log((total(data.outcomes) + 1) / (total(data.expected) + 1))),
    own: data.outcomes.map(() => new Float64Array(size)),
  }
  return among.map((steps, i) => {
    const [own, common, prior] = steps
    const each = walkOf(data.days, own, data.tau0)
    const all = walkOf(data.days, common, firstCommon)
    for (let round = i === 0 ? firstRounds : laterRounds, moved = Infinity; round > 0 && moved > converged; round--) {
      moved = improve(data, state, all, each)
    }
    const curvature = curvatureAt(data, state, all, each)
    return {
      steps,
      logEvidence: logEvidence(data, state, curvature, all, each) + Math.log(prior),
      state: { common: state.common.slice(), own: state.own.map((levels) => levels.slice()) },
      curvature,
    }
  })
}

/** Returns the candidates with their posterior probabilities. */
const weighed = (found: ReadonlyArray<Candidate>): ReadonlyArray<Candidate & { readonly probability: number }> => {
  const largest = Math.max(...found.map(({ logEvidence }) => logEvidence))
  const odds = found.map(({ logEvidence }) => Math.exp(logEvidence - largest))
  const all = sum(odds)
  return found.map((one, i) => ({ ...one, probability: odds[i]! / all }))
}

/**
 * Returns `count` equally likely cases of the levels of the last days: quantiles of the posterior of the sizes of the
 * daily steps. Costs about 3 V D^2 multiplications for V variants and D days, 70 times.
 */
export const levelCases = (data: DailyOutcomes, count: number): ReadonlyArray<LevelCase> => {
  const found = weighed(fitAll(data))
  const cases = new Map<number, LevelCase>()
  return Array.from({ length: count }, (_, m) => {
    let upTo = 0
    const place = found.findIndex(({ probability }) => (upTo += probability) > (m + 0.5) / count)
    const { curvature, state } = found.at(place)!
    if (!cases.has(place)) cases.set(place, caseAt(data, state, curvature))
    return cases.get(place)!
  })
}

/** Candidates for the standard deviation of the variants' intercepts, equally likely before data. The first is usual. */
const spreads: ReadonlyArray<number> = [0.2, 0.05, 0.1, 0.4, 0.8]

/** Candidates with a smaller posterior probability are left out. */
const leastProbability = 0.002

/** The rates of variants on each day, relative to the expected ones. */
export interface DailyRates {
  /** Means by variant and day. */
  readonly means: ReadonlyArray<Float64Array>
  /** Returns the variance of a sum of rates, with these weights by variant and day. */
  readonly variance: (weights: ReadonlyArray<Float64Array>) => number
}

/**
 * Returns the rates of variants on each day, averaged over the sizes of the daily steps and over the spreads of three or
 * more variants by their marginal likelihood.
 */
export const dailyRates = (data: Omit<DailyOutcomes, "shares">): DailyRates => {
  // Two variants have one difference, which hardly says how far variants differ.
  const [usual, ...others] = data.centers.length > 2 ? spreads : [data.tau0]
  const fitWith = (tau0: number, among?: ReadonlyArray<Steps>) =>
    fitAll({ ...data, tau0, shares: new Float64Array() }, among)
  const isLikely = ({ probability }: { readonly probability: number }) => probability > leastProbability
  // The sizes that are unlikely with the usual spread are unlikely with each.
  const first = weighed(fitWith(usual!)).filter(isLikely)
  const likely = first.map(({ steps }) => steps)
  const found = weighed([...first, ...others.flatMap((tau0) => fitWith(tau0, likely))]).filter(isLikely)
    .map(({ curvature, probability, state: { common, own } }) => ({
      ...curvature,
      probability,
      rates: own.map((levels, v) => levels.map((level, d) => Math.exp(data.centers[v]! + common[d]! + level))),
    }))
  const all = sum(found.map(({ probability }) => probability))
  const means = data.centers.map((_, v) =>
    Float64Array.from(
      data.days,
      (_, d) => sum(found.map(({ probability, rates }) => probability * rates[v]![d]!)) / all,
    )
  )
  const total = (weights: ReadonlyArray<Float64Array>, rates: ReadonlyArray<Float64Array>) =>
    sum(weights.map((mine, v) => dot(mine, rates[v]!)))
  return {
    means,
    variance: (weights) => {
      const mean = total(weights, means)
      return sum(found.map(({ probability, rates, ...curvature }) => {
        const slopes = weights.map((mine, v) => mine.map((weight, d) => weight * rates[v]![d]!))
        return probability / all * (varianceOf(slopes, curvature) + (total(weights, rates) - mean) ** 2)
      }))
    },
  }
}

/** Variance of a linear function of the log rates with these slopes by variant and day. */
const varianceOf = (
  slopes: ReadonlyArray<Float64Array>,
  { factors, schur, weights }: Pick<Curvature, "factors" | "schur" | "weights">,
): number => {
  const throughCommon = new Float64Array(slopes[0]?.length ?? 0)
  let variance = 0
  slopes.forEach((mine, v) => {
    const solved = mine.slice()
    factors[v]!.solve(solved)
    variance += dot(mine, solved)
    for (let d = 0; d < mine.length; d++) throughCommon[d]! += mine[d]! - weights[v]![d]! * solved[d]!
  })
  const inverse = throughCommon.slice()
  solve(schur, inverse.length, inverse)
  return Math.max(0, variance + dot(throughCommon, inverse))
}

/**
 * Returns the change of a rate over all cases, as a share of the earlier rate. Undefined without cases, and if its 95 %
 * interval includes 0.
 */
export const certainChange = (cases: ReadonlyArray<LevelChange>): number | undefined => {
  const mean = sum(cases.map(([one]) => one)) / cases.length
  const variance = sum(cases.map(([one, own]) => own + (one - mean) ** 2)) / cases.length
  return Math.abs(mean) > 1.96 * Math.sqrt(variance) ? Math.expm1(mean) : undefined
}
