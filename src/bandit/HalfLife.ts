import { contextsOf } from "./Contexts.ts"
import type { Counts } from "./Counts.ts"
import { lgamma } from "./Gamma.ts"
import { type DelayCurve, maturity } from "./Maturity.ts"
import { logBaseRate, type ModelSnapshot } from "./Model.ts"
import { bucketAgeHours, bucketAt, dayMillis } from "./Window.ts"

const halfLives: ReadonlyArray<number> = [4, 8, 16, 32, 128]
const priorWeights: ReadonlyArray<number> = [0.05, 0.1, 0.2, 0.3, 0.35]

/** The longest half-life in use. The longest candidate represents "no forgetting". Unit: days. */
const longestHalfLife = 120

/** Age at which a day is judged, so that most of its clicks have arrived. Unit: days. */
const judgedAfterDays = 3

const scoreMemory = 0.97

/** Expected clicks below which a variant is ignored. */
const negligible = 1e-6

/**
 * Discounted sums of one variant up to the last judged day, in the objective's unit: outcomes, and outcomes expected at
 * the base rate.
 */
interface FadedSums {
  readonly id: string
  readonly clicks: number
  readonly expected: number
}

/** One candidate: the score of its predictions so far, and its sums for the next prediction. */
interface HalfLifeCandidate {
  readonly halfLifeDays: number
  readonly score: number
  readonly sums: ReadonlyArray<FadedSums>
}

/** State of the choice of the half-life of one template, as plain data. */
export interface HalfLifeState {
  /** Start of the last judged day (Unix milliseconds, UTC); null before the first. */
  readonly lastDay: number | null
  readonly candidates: ReadonlyArray<HalfLifeCandidate>
}

/** The state before any day: candidates of 4, 8, 16, 32 and 128 days. */
export const initialHalfLife: HalfLifeState = {
  lastDay: null,
  candidates: halfLives.map((halfLifeDays) => ({ halfLifeDays, score: 0, sums: [] })),
}

/**
 * Outcomes of one variant on one day, in the objective's unit: outcomes expected at the base rate and maturity, and
 * observed outcomes.
 */
interface DayResult {
  readonly id: string
  readonly expected: number
  readonly clicks: number
}

/**
 * Log likelihood of one day's clicks under gamma posteriors of the relative rates with shapes `a` and rates `b` > 0 per
 * variant (all arrays are parallel), and the factor `level` that removes the day's own level. The term of a variant
 * without expected clicks is 0, and so are all terms on a day without expected clicks.
 */
export const dayTerms = (
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  expected: ArrayLike<number>,
  clicks: ArrayLike<number>,
): { readonly level: number; readonly terms: ReadonlyArray<number> } => {
  let observed = 0
  let foretold = 0
  for (let v = 0; v < a.length; v++) {
    if (!(expected[v]! > negligible)) continue
    observed += Math.max(0, clicks[v]!)
    foretold += expected[v]! * a[v]! / b[v]!
  }
  const level = foretold > 0 ? observed / foretold : 0
  const terms = Array.from(a, (shape, v) => {
    const mean = expected[v]! * level
    if (!(expected[v]! > negligible && level > 0)) return 0
    const y = Math.max(0, clicks[v]!)
    const rate = b[v]!
    return lgamma(shape + y) - lgamma(shape) - lgamma(y + 1) + shape * Math.log(rate / (rate + mean)) +
      y * Math.log(mean / (rate + mean))
  })
  return { level, terms }
}

/**
 * Scores the candidates by one day's results, then adds the results to their sums. Requires ascending days: a day that
 * is not later than the last is ignored. `tau0` is the standard deviation of the variants' intercepts, `worth` the
 * value of one outcome (see `Counts.worth`).
 */
export const judgeDay = (
  state: HalfLifeState,
  day: number,
  results: ReadonlyArray<DayResult>,
  tau0: number,
  worth = 1,
): HalfLifeState => {
  if (state.lastDay !== null && day <= state.lastDay) return state
  const prior = 1 / tau0 ** 2
  const sorted = [...results].sort((a, b) => a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
  // A day without sends discounts earlier data too.
  const skipped = state.lastDay === null ? 0 : Math.round((day - state.lastDay) / dayMillis) - 1
  const candidates = state.candidates.map(({ halfLifeDays, score, sums }) => {
    const fade = 0.5 ** (1 / halfLifeDays)
    const missed = fade ** skipped
    const known = new Map(
      sums.map((sum) => [sum.id, { clicks: sum.clicks * missed, expected: sum.expected * missed }]),
    )
    const before = sorted.map(({ id }) => known.get(id) ?? { clicks: 0, expected: 0 })
    const { terms } = dayTerms(
      before.map(({ clicks }) => prior + clicks / worth),
      before.map(({ expected }) => prior + expected / worth),
      sorted.map(({ expected }) => expected / worth),
      sorted.map(({ clicks }) => clicks / worth),
    )
    sorted.forEach(({ clicks, expected, id }, v) => {
      known.set(id, { clicks: before[v]!.clicks + Math.max(0, clicks), expected: before[v]!.expected + expected })
    })
    const next: Array<FadedSums> = []
    for (const [id, { clicks, expected }] of known) {
      if (expected * fade > negligible * worth) next.push({ id, clicks: clicks * fade, expected: expected * fade })
    }
    return {
      halfLifeDays,
      score: score * scoreMemory + terms.reduce((sum, term) => sum + term, 0),
      sums: next.sort((a, b) => a.id < b.id ? -1 : a.id > b.id ? 1 : 0),
    }
  })
  return { lastDay: day, candidates }
}

/**
 * The half-life in days, 4 to 120: the geometric mean of the candidates, weighted by prior and score. 35 before the
 * first judged day.
 */
export const halfLifeDays = ({ candidates }: HalfLifeState): number => {
  const logs = candidates.map(({ score }, i) => score + Math.log(priorWeights[i]!))
  const largest = Math.max(...logs)
  let weights = 0
  let sum = 0
  candidates.forEach(({ halfLifeDays }, i) => {
    const weight = Math.exp(logs[i]! - largest)
    weights += weight
    sum += weight * Math.log(Math.min(longestHalfLife, halfLifeDays))
  })
  return Math.exp(sum / weights)
}

/** Start of the latest UTC day whose end is at least 3 days before `now` (both Unix milliseconds). */
export const dayToJudge = (now: number): number => (Math.floor(now / dayMillis) - judgedAfterDays - 1) * dayMillis

/** Results by variant of the sends of the UTC day that starts at `day`, at the model's base rate, as of `now`. */
export const dayResults = (
  counts: Counts,
  model: ModelSnapshot,
  curve: DelayCurve,
  day: number,
  now: number,
): ReadonlyArray<DayResult> => {
  const contexts = contextsOf(model.scheme)
  const results = new Map<string, { id: string; expected: number; clicks: number }>()
  for (const { context, clicks, sends, starts, variant } of counts.series()) {
    const at = starts.findIndex((start) => start >= day)
    if (at < 0) continue
    const rate = Math.exp(logBaseRate(model, contexts.parse(context)))
    for (let i = at; i < starts.length && starts[i]! < day + dayMillis; i++) {
      let result = results.get(variant)
      if (result === undefined) results.set(variant, result = { id: variant, expected: 0, clicks: 0 })
      const age = bucketAgeHours(bucketAt(starts[i]!, now), now)
      result.expected += sends[i]! * maturity(curve, age) * rate
      result.clicks += clicks[i]!
    }
  }
  return [...results.values()]
}
