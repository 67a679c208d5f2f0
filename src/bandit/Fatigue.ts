import { factor, invert, packedIndex, packedLength, solve } from "./Cholesky.ts"
import { dayMillis } from "./Window.ts"

// Whether a variant works less well the more often a person has seen it. A decision is compared with decisions about
// people who have received an equal number of messages of the template, because people who get more messages may be
// keener, or more tired of all variants. The comparison is fair, because chance decided which variants they received.

/** Number of classes of exposure: 0, 1, 2 or 3, and 4 or more earlier decisions for the variant. */
export const exposureClasses = 4

/** Class of exposure after `seen` earlier decisions for the variant. */
export const exposureClass = (seen: number): number => seen < 2 ? seen : seen < 4 ? 2 : 3

/** Number of levels, and the number of first levels that contain a single number. */
const levels = 24
const singleLevels = 8

/**
 * Level of a number of earlier decisions of the template: 0 to 7 have their own level, then four levels for each
 * doubling.
 */
export const levelOf = (total: number): number =>
  total < singleLevels ? total : Math.min(levels - 1, singleLevels + Math.floor(4 * Math.log2(total / singleLevels)))

/** Age in days up to which decisions count, and the factor of their weight for each day of age. */
export const fatigueDays = 60
/** Factor by which a cell is discounted for each day of age. */
export const keptByDay = 0.97

/**
 * Decisions for a variant about people of one level and class of exposure: the value of their outcomes, and the value
 * that the model expected, both discounted by age. The unit of the expected value does not matter.
 */
export interface FatigueCell {
  readonly variant: string
  readonly level: number
  readonly seen: number
  readonly expected: number
  readonly outcomes: number
}

/** Decisions for a variant on a day (start in Unix milliseconds) by class of exposure. */
export interface ExposureMix {
  readonly variant: string
  readonly day: number
  readonly decisions: ReadonlyArray<number>
}

/** The counts from which a fit learns fatigue. */
export interface FatigueCounts {
  readonly cells: ReadonlyArray<FatigueCell>
  readonly mixes: ReadonlyArray<ExposureMix>
}

/** Effects of earlier exposures that a fit uses. */
export interface Fatigue {
  /** Effect on the log rate by class. The first is 0. */
  readonly effects: ReadonlyArray<number>
  /** The mean factor of exposures on a variant's rate, for its decisions of the day of `start`. */
  readonly freshness: (variant: string, start: number) => number
  /**
   * Standard deviation of the logarithm of the mean factor of all decisions for a variant, relative to that mean over
   * all decisions. 0 for a variant that people have seen as often as the other variants.
   */
  readonly uncertainty: (variant: string) => number
  /**
   * Equally likely cases of the effects, for reports. For each case, the log rate of a variant at the mean exposure of
   * all decisions under the case, minus this log rate under `effects`.
   */
  readonly cases: (variant: string) => ReadonlyArray<number>
  /** Effects of the classes after the first, for reports. */
  readonly reported: ReadonlyArray<ReportedEffect>
}

/** An effect of earlier exposures on the log rate, and its standard deviation, under a wide prior. */
interface ReportedEffect {
  readonly effect: number
  readonly deviation: number
}

/** Evidence above which effects are used, and below which used effects are dropped. */
const enough = 3
const tooLittle = 0

/** Maximum number of variants that contribute evidence. The variants with the largest expected values are kept. */
const mostVariants = 50

/** Standard deviations of levels and variants around the expected outcomes. */
const levelSpread = 1
const variantSpread = 0.3

/** Candidates for the standard deviation of effects. */
const spreads: ReadonlyArray<number> = [0.1, 0.2, 0.4, 0.8]

/**
 * Standard deviations of effects and variants in reports. Shrinking effects to 0 improves choices. In reports it would
 * make the variants that people have seen most look worse than they are.
 */
const reportSpread = 1

/** Newton steps of a fit. */
const steps = 12

/**
 * Returns the most likely coefficients of a Poisson regression with a normal prior of mean 0 and the given precisions,
 * their covariance (packed lower triangle), and the logarithm of the marginal likelihood by Laplace's approximation. A
 * cell's log rate is the sum of the coefficients at the indexes `at`.
 */
const mostLikely = (
  cells: ReadonlyArray<{ readonly at: ReadonlyArray<number>; readonly expected: number; readonly outcomes: number }>,
  precision: Float64Array,
) => {
  const size = precision.length
  const theta = new Float64Array(size)
  const hessian = new Float64Array(packedLength(size))
  const gradient = new Float64Array(size)
  /**
   * Returns the penalized log likelihood at `theta`. Also updates its gradient and the negative of its second
   * derivatives.
   */
  const look = (): number => {
    let sum = 0
    hessian.fill(0)
    for (let i = 0; i < size; i++) {
      gradient[i] = -precision[i]! * theta[i]!
      hessian[packedIndex(i, i)] = precision[i]!
      sum -= precision[i]! * theta[i]! ** 2 / 2
    }
    for (const { at, expected, outcomes } of cells) {
      let eta = 0
      for (const i of at) eta += theta[i]!
      const due = expected * Math.exp(Math.max(-6, Math.min(6, eta)))
      sum += outcomes * eta - due
      for (const i of at) {
        gradient[i] = gradient[i]! + outcomes - due
        for (const j of at) if (j <= i) hessian[packedIndex(i, j)] = hessian[packedIndex(i, j)]! + due
      }
    }
    return sum
  }
  for (let step = 0; step < steps; step++) {
    look()
    factor(hessian, size)
    solve(hessian, size, gradient)
    for (let i = 0; i < size; i++) theta[i] = theta[i]! + Math.max(-1, Math.min(1, gradient[i]!))
  }
  const sum = look()
  factor(hessian, size)
  let logDeterminant = 0
  for (let i = 0; i < size; i++) logDeterminant += 2 * Math.log(hessian[packedIndex(i, i)]!) - Math.log(precision[i]!)
  invert(hessian, size)
  return { theta, covariance: hessian, logEvidence: sum - logDeterminant / 2 }
}

/** Effects of earlier exposures, learned from settled decisions. */
interface LearnedFatigue {
  /** Effect by class, averaged over the spreads by their evidence. The first is 0. */
  readonly effects: ReadonlyArray<number>
  /** Covariance of the effects, class by class. Includes the disagreement between spreads. */
  readonly covariance: ReadonlyArray<ReadonlyArray<number>>
  /** Log odds of the data in favour of effects of any size. */
  readonly logOdds: number
}

const noEffects: LearnedFatigue = {
  effects: new Array<number>(exposureClasses).fill(0),
  covariance: Array.from({ length: exposureClasses }, () => new Array<number>(exposureClasses).fill(0)),
  logOdds: -Infinity,
}

/** Covariance of the effects of the classes, which are sums of the steps from index `base` on. */
const sumSteps = (covariance: Float64Array, base: number): LearnedFatigue["covariance"] => {
  const classes = Array.from({ length: exposureClasses }, (_, seen) => seen)
  const between = (i: number, j: number) => covariance[packedIndex(base + Math.max(i, j), base + Math.min(i, j))]!
  return classes.map((a) =>
    classes.map((b) => {
      let sum = 0
      for (let i = 0; i < a; i++) for (let j = 0; j < b; j++) sum += between(i, j)
      return sum
    })
  )
}

/** Converts cells to rows of the regression. Returns undefined without outcomes. */
const layOut = (cells: ReadonlyArray<FatigueCell>) => {
  const due = new Map<string, number>()
  for (const { expected, variant } of cells) due.set(variant, (due.get(variant) ?? 0) + expected)
  const variants = [...due].sort(([, a], [, b]) => b - a).slice(0, mostVariants).map(([id]) => id)
  const place = new Map(variants.map((id, v) => [id, levels + v]))
  const used = cells.filter(({ expected, variant }) => expected > 0 && place.has(variant))
  const outcomes = used.reduce((sum, cell) => sum + Math.max(0, cell.outcomes), 0)
  const unit = outcomes / used.reduce((sum, { expected }) => sum + expected, 0)
  if (!(unit > 0)) return undefined
  const base = levels + variants.length
  const rows = used.map(({ expected, level, outcomes, seen, variant }) => ({
    // Each class has its own step beyond the class before, so that neighbouring classes are similar.
    at: [level, place.get(variant)!, ...Array.from({ length: seen }, (_, step) => base + step)],
    expected: expected * unit,
    outcomes: Math.max(0, outcomes),
  }))
  return { rows, base }
}

const nuisanceOf = (base: number, spread: number): Float64Array =>
  Float64Array.from({ length: base }, (_, i) => 1 / (i < levels ? levelSpread : spread) ** 2)

/** The effects, given one spread of their steps. */
const effectsWith = (
  spread: number,
  nuisance: Float64Array,
  { base, rows }: NonNullable<ReturnType<typeof layOut>>,
) => {
  const precision = new Float64Array(base + exposureClasses - 1).fill(1 / spread ** 2)
  precision.set(nuisance)
  const { covariance, logEvidence, theta } = mostLikely(rows, precision)
  let sum = 0
  const effects = [0, ...theta.slice(base).map((step) => sum += step)]
  return { logEvidence, effects, covariance: sumSteps(covariance, base) }
}

/** Learns the effects of earlier exposures from settled decisions. */
export const learnFatigue = (cells: ReadonlyArray<FatigueCell>): LearnedFatigue => {
  const laidOut = layOut(cells)
  if (laidOut === undefined) return noEffects
  const { base, rows } = laidOut
  const nuisance = nuisanceOf(base, variantSpread)
  const without = mostLikely(rows.map((row) => ({ ...row, at: row.at.slice(0, 2) })), nuisance).logEvidence
  const found = spreads.map((spread) => {
    const { logEvidence, ...one } = effectsWith(spread, nuisance, laidOut)
    return { ...one, logOdds: logEvidence - without }
  })
  const largest = Math.max(...found.map(({ logOdds }) => logOdds))
  const odds = found.map(({ logOdds }) => Math.exp(logOdds - largest))
  const all = odds.reduce((sum, one) => sum + one, 0)
  const average = (of: (one: typeof found[number]) => number) =>
    found.reduce((sum, one, k) => sum + odds[k]! / all * of(one), 0)
  const effects = found[0]!.effects.map((_, seen) => average((one) => one.effects[seen]!))
  return {
    effects,
    covariance: effects.map((first, a) =>
      effects.map((second, b) =>
        average((one) => one.covariance[a]![b]! + (one.effects[a]! - first) * (one.effects[b]! - second))
      )
    ),
    logOdds: largest + Math.log(all / found.length),
  }
}

/** The effects under a wide prior, for reports. Undefined without outcomes. */
export const wideEffects = (
  cells: ReadonlyArray<FatigueCell>,
): Pick<LearnedFatigue, "effects" | "covariance"> | undefined => {
  const laidOut = layOut(cells)
  return laidOut && effectsWith(reportSpread, nuisanceOf(laidOut.base, reportSpread), laidOut)
}

/**
 * Returns six equally likely cases of the effects. Their mean is `effects` and their covariance `covariance`, like the
 * sigma points of S. Julier and J. Uhlmann (1997).
 */
export const casesAround = (
  { covariance, effects }: Pick<LearnedFatigue, "effects" | "covariance">,
): ReadonlyArray<ReadonlyArray<number>> => {
  const size = exposureClasses - 1
  const root = new Float64Array(packedLength(size))
  for (let i = 0; i < size; i++) for (let j = 0; j <= i; j++) root[packedIndex(i, j)] = covariance[i + 1]![j + 1]!
  factor(root, size)
  return Array.from(
    { length: size },
    (_, axis) =>
      [-1, 1].map((sign) =>
        effects.map((effect, seen) =>
          seen <= axis ? effect : effect + sign * Math.sqrt(size) * root[packedIndex(seen - 1, axis)]!
        )
      ),
  ).flat()
}

/**
 * Mean factors of consecutive days of a variant, and the first day. A day without decisions has the factors of the day
 * before.
 */
const factorsOf = (mixes: ReadonlyArray<ExposureMix>, effects: ReadonlyArray<number>) => {
  const factors: Array<number> = []
  const sorted = [...mixes].sort((a, b) => a.day - b.day)
  const first = sorted[0]!.day
  for (const { day, decisions } of sorted) {
    const at = Math.round((day - first) / dayMillis)
    while (factors.length < at) factors.push(factors[factors.length - 1]!)
    const sum = decisions.reduce((total, count) => total + count, 0)
    factors[at] = decisions.reduce((total, count, seen) => total + count * Math.exp(effects[seen]!), 0) / sum
  }
  return { first, factors }
}

/** Share of each class in the expected outcomes, given the effects. Undefined without decisions. */
const sharesOf = (
  mixes: ReadonlyArray<ExposureMix>,
  effects: ReadonlyArray<number>,
): ReadonlyArray<number> | undefined => {
  const due = effects.map((effect, seen) =>
    Math.exp(effect) * mixes.reduce((sum, { decisions }) => sum + decisions[seen]!, 0)
  )
  const total = due.reduce((sum, one) => sum + one, 0)
  return total > 0 ? due.map((one) => one / total) : undefined
}

/** Logarithm of the mean factor of the effects on the rate, over all decisions of the mixes. */
const logFactor = (mixes: ReadonlyArray<ExposureMix>, effects: ReadonlyArray<number>): number => {
  let sum = 0
  let total = 0
  for (const { decisions } of mixes) {
    decisions.forEach((count, seen) => {
      sum += count * Math.exp(effects[seen]!)
      total += count
    })
  }
  return total > 0 ? Math.log(sum / total) : 0
}

/**
 * For each case, the log rate of a variant at the mean exposure of all decisions under the case, minus this log rate
 * under `effects`.
 */
const casesOf = (
  cases: ReadonlyArray<ReadonlyArray<number>>,
  mixes: ReadonlyArray<ExposureMix>,
  effects: ReadonlyArray<number>,
): Fatigue["cases"] => {
  const higher = (own: ReadonlyArray<ExposureMix>) =>
    cases.map((assumed) => logFactor(own, effects) - logFactor(own, assumed))
  const all = higher(mixes)
  const byVariant = new Map(
    Array.from(
      Map.groupBy(mixes, ({ variant }) => variant),
      ([id, own]) => [id, higher(own).map((value, k) => value - all[k]!)] as const,
    ),
  )
  // A variant without settled decisions is new, so nearly all of its decisions are first exposures.
  const ofNew = all.map((value) => -value)
  return (variant) => byVariant.get(variant) ?? ofNew
}

/**
 * Returns the effects to use, or undefined while there is too little evidence for them. `wasUsed`: whether effects were
 * in use before.
 */
export const fatigueOf = ({ cells, mixes }: FatigueCounts, wasUsed: boolean): Fatigue | undefined => {
  const { covariance, effects, logOdds } = learnFatigue(cells)
  if (!(logOdds > (wasUsed ? tooLittle : enough))) return undefined
  const byVariant = new Map(
    Array.from(Map.groupBy(mixes, ({ variant }) => variant), ([id, own]) => [id, factorsOf(own, effects)] as const),
  )
  const freshness = (variant: string, start: number): number => {
    const known = byVariant.get(variant)
    // A variant without settled decisions is new, so nearly all of its decisions are first exposures.
    if (known === undefined) return 1
    const at = Math.floor((start - known.first) / dayMillis)
    return known.factors[Math.max(0, Math.min(known.factors.length - 1, at))]!
  }
  const all = sharesOf(mixes, effects)
  const uncertainties = new Map(
    Array.from(Map.groupBy(mixes, ({ variant }) => variant), ([id, own]) => {
      const shares = sharesOf(own, effects)
      if (shares === undefined || all === undefined) return [id, 0] as const
      const beyond = shares.map((share, seen) => share - all[seen]!)
      const variance = covariance.reduce(
        (sum, row, a) => sum + row.reduce((part, value, b) => part + value * beyond[a]! * beyond[b]!, 0),
        0,
      )
      return [id, Math.sqrt(Math.max(0, variance))] as const
    }),
  )
  // Outcomes exist, because there is evidence.
  const wide = wideEffects(cells)!
  return {
    effects,
    freshness,
    uncertainty: (variant) => uncertainties.get(variant) ?? 0,
    cases: casesOf(casesAround(wide), mixes, effects),
    reported: wide.effects.slice(1).map((effect, at) => ({
      effect,
      deviation: Math.sqrt(Math.max(0, wide.covariance[at + 1]![at + 1]!)),
    })),
  }
}
