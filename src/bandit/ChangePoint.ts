import { cellsOf } from "./Cells.ts"
import type { Counts } from "./Counts.ts"
import { type DelayCurve, maturity } from "./Maturity.ts"
import { logBaseRate, type ModelSnapshot } from "./Model.ts"
import { bucketAgeHours, bucketAt, dayMillis } from "./Window.ts"

// Whether a variant that gets much of the traffic has fallen behind its own past. A leader's fall looks like a run of bad
// days to the base rate, because few messages with other variants are sent that could tell the two apart. Outcomes from
// before such a change say little about the present.

/** Days looked at; younger than the age at which days become weeks. */
const lookedAtDays = 28

/** Days before a change, and days for which a change is looked for. */
const leastDaysBefore = 5
const longestDaysAfter = 14

/** A variant leads if it has this share of the outcomes expected in the last days. */
const leadingShare = 0.2
const leadingDays = 5

/** Outcomes before a change, and outcomes expected after it, without which nothing is concluded. */
const leastBefore = 30
const leastAfter = 10

/** A change is a fall by this share at least, this many standard deviations below the expectation. */
const smallestFall = 0.25
const alarm = 3

/** A change is given up again once the variant is less than this many standard deviations below the expectation. */
const retraction = 1.5

/** Standard deviation of the logarithm of a level common to all variants, for a stretch of days and for a single day. */
const levelSd = 0.05
const daySd = 0.05

/** How often a level moves far more than that, and the standard deviation it then has. */
const wideShare = 0.02
const wideSd = 0.4

/** Weight of the prior standard deviation of a day, in days. */
const priorDays = 10

/** High pooled rates make the Poisson variance noticeably too large, as in a fit. */
const highRate = 0.15

/** Outcomes by day, and the outcomes expected of the days' sends at the model's rates; the first day comes first. */
export interface DailyOutcomes {
  readonly expected: Float64Array
  readonly outcomes: Float64Array
}

/** Outcomes of a template by variant and day. `first` is the start of the first day, Unix milliseconds (UTC). */
export interface RecentDays {
  readonly first: number
  readonly variants: ReadonlyArray<DailyOutcomes & { readonly id: string }>
}

/** A fall of a variant: the day from which it did worse than before (start, Unix milliseconds, UTC). */
export interface ChangePoint {
  readonly at: number
  readonly variant: string
}

/** Outcomes expected and observed on a day (its start in Unix milliseconds) over all variants. */
export type DayLevel = readonly [day: number, expected: number, outcomes: number]

/**
 * Sums of the last 28 days that have ended by `now` (Unix milliseconds), from the first day with sends on. `curves` are those
 * of variants with a delay curve of their own, by id.
 */
export const recentDays = (
  counts: Counts,
  model: ModelSnapshot,
  curve: DelayCurve,
  now: number,
  curves?: ReadonlyMap<string, DelayCurve>,
): RecentDays => {
  const today = Math.floor(now / dayMillis) * dayMillis
  const oldest = Math.floor((model.firstSendAt ?? now) / dayMillis) * dayMillis
  const first = Math.min(today, Math.max(today - lookedAtDays * dayMillis, oldest))
  const days = Math.round((today - first) / dayMillis)
  const cells = cellsOf(model.scheme)
  const worth = counts.worth()
  const betas = new Map(model.variants.map(({ beta, id }) => [id, beta]))
  const variants = new Map<string, RecentDays["variants"][number]>()
  let sends = 0
  let total = 0
  for (const { cell: id, clicks, sends: ns, starts, variant } of counts.series()) {
    let i = starts.findIndex((start) => start >= first)
    if (i < 0) continue
    let known = variants.get(variant)
    if (known === undefined) {
      known = { id: variant, expected: new Float64Array(days), outcomes: new Float64Array(days) }
      variants.set(variant, known)
    }
    const cell = cells.parse(id)
    const own = curves?.get(variant) ?? curve
    const beta = betas.get(variant)
    let log = logBaseRate(model, cell) - Math.log(worth) + (beta?.[0] ?? 0)
    if (beta !== undefined) { for (const feature of cell.features) if (feature >= 0) log += beta[feature]! }
    const rate = Math.exp(log)
    for (; i < starts.length; i++) {
      const day = Math.floor((starts[i]! - first) / dayMillis)
      if (day >= days) break
      const age = bucketAgeHours(bucketAt(starts[i]!, now), now)
      const outcomes = Math.max(0, clicks[i]! / worth)
      sends += ns[i]!
      total += outcomes
      known.expected[day] = known.expected[day]! + ns[i]! * maturity(own, age) * rate
      known.outcomes[day] = known.outcomes[day]! + outcomes
    }
  }
  const pooled = sends > 0 ? Math.min(0.95, total / sends) : 0
  const binomial = pooled > highRate ? 1 / (1 - pooled) : 1
  for (const { expected, outcomes } of variants.values()) {
    for (let day = 0; day < days; day++) {
      expected[day] = expected[day]! * binomial
      outcomes[day] = outcomes[day]! * binomial
    }
  }
  return { first, variants: [...variants.values()] }
}

/** Outcomes by day over all variants, which a template publishes for the other templates of its organization. */
export const levelsOf = ({ first, variants }: RecentDays): ReadonlyArray<DayLevel> => {
  const days = variants[0]?.expected.length ?? 0
  return Array.from({ length: days }, (_, day): DayLevel => [
    first + day * dayMillis,
    variants.reduce((sum, { expected }) => sum + expected[day]!, 0),
    variants.reduce((sum, { outcomes }) => sum + outcomes[day]!, 0),
  ])
}

const sumOf = (values: Float64Array, from: number, to: number): number => {
  let sum = 0
  for (let day = from; day < to; day++) sum += values[day]!
  return sum
}

/** Variance of the logarithm of a day's level, beyond chance, by the days before day `t` when the rate was `rate`. */
const dayVariance = ({ expected, outcomes }: DailyOutcomes, t: number, rate: number, typical: number): number => {
  let excess = 0
  let weight = 0
  for (let day = 0; day < t; day++) {
    const due = expected[day]! * rate
    if (due < 1) continue
    excess += (outcomes[day]! - due) ** 2 - due
    weight += due ** 2
  }
  const prior = priorDays * typical ** 2
  return Math.max(0, (excess + prior * daySd ** 2) / (weight + prior))
}

/**
 * How the days from `t` on differ from those before by what is common to all variants: mean and variance of the logarithm
 * of the level. `variance` is that of an ordinary stretch of days; now and then all fall or rise far more.
 */
const commonLevel = (controls: ReadonlyArray<DailyOutcomes>, t: number, days: number, variance: number) => {
  let before = 0
  let due = 0
  let came = 0
  for (const { expected, outcomes } of controls) {
    const past = sumOf(outcomes, 0, t)
    if (!(past > 0)) continue
    before += past
    due += sumOf(expected, t, days) * past / sumOf(expected, 0, t)
    came += sumOf(outcomes, t, days)
  }
  const seen = Math.log((came + 0.5) / (due + 0.5))
  const noise = (1 + due / Math.max(1, before)) / Math.max(1e-6, due)
  const cases = [[1 - wideShare, variance], [wideShare, variance + wideSd ** 2]].map(([share, prior]) => {
    const total = prior! + noise
    return {
      likelihood: share! * Math.exp(-(seen ** 2) / (2 * total)) / Math.sqrt(total),
      mean: prior! / total * seen,
      variance: prior! * noise / total,
    }
  })
  const sum = cases.reduce((all, { likelihood }) => all + likelihood, 0)
  const average = (value: (one: (typeof cases)[number]) => number) =>
    cases.reduce((all, one) => all + one.likelihood / sum * value(one), 0)
  const level = average(({ mean }) => mean)
  return { level, variance: average(({ mean, variance }) => variance + (mean - level) ** 2) }
}

interface Standing {
  /** By how many standard deviations the outcomes since day `t` are above those expected. */
  readonly deviation: number
  /** Outcomes since day `t` for each that was expected. */
  readonly ratio: number
}

const unchanged: Standing = { deviation: 0, ratio: 1 }

/** A variant since day `t` against its own past, given what the other variants and the controls did meanwhile. */
const standing = (own: DailyOutcomes, controls: ReadonlyArray<DailyOutcomes>, t: number): Standing => {
  const days = own.expected.length
  const before = sumOf(own.outcomes, 0, t)
  if (before < leastBefore) return unchanged
  const rate = before / sumOf(own.expected, 0, t)
  const atRate = sumOf(own.expected, t, days) * rate
  if (atRate < leastAfter) return unchanged
  const perDay = dayVariance(own, t, rate, atRate / (days - t))
  const common = commonLevel(controls, t, days, levelSd ** 2 + perDay / (days - t))
  const due = atRate * Math.exp(common.level)
  const came = sumOf(own.outcomes, t, days)
  const variance = due + due ** 2 * (common.variance + 1 / before + perDay / t)
  return { deviation: (came - due) / Math.sqrt(variance), ratio: came / due }
}

/** The days of other templates on the same days as `first` and the following; undefined where there are none. */
const controlOf = (neighbours: ReadonlyMap<number, DayLevel>, first: number, days: number): DailyOutcomes => ({
  expected: Float64Array.from({ length: days }, (_, day) => neighbours.get(first + day * dayMillis)?.[1] ?? 0),
  outcomes: Float64Array.from({ length: days }, (_, day) => neighbours.get(first + day * dayMillis)?.[2] ?? 0),
})

const from = ({ expected, outcomes }: DailyOutcomes, day: number): DailyOutcomes => ({
  expected: expected.subarray(day),
  outcomes: outcomes.subarray(day),
})

/**
 * The change to reckon with: the one known before, unless it has turned out to be a run of bad days for all variants, or a
 * new one of a leading variant. `neighbours` are the days of the organization's other templates, by their start.
 */
export const changeOf = (
  { first, variants }: RecentDays,
  known: ChangePoint | undefined,
  neighbours: ReadonlyMap<number, DayLevel> = new Map(),
): ChangePoint | undefined => {
  const days = variants[0]?.expected.length ?? 0
  const all = [...variants, controlOf(neighbours, first, days)]
  const dayOf = (at: number) => Math.round((at - first) / dayMillis)
  if (known !== undefined && dayOf(known.at) >= leastDaysBefore) {
    const own = variants.find(({ id }) => id === known.variant)
    const { deviation } = own === undefined
      ? unchanged
      : standing(own, all.filter((one) => one !== own), dayOf(known.at))
    if (deviation > -retraction) return undefined
  }
  const since = known === undefined ? 0 : Math.max(0, dayOf(known.at))
  const recent = variants.map(({ expected }) => sumOf(expected, Math.max(0, days - leadingDays), days))
  const total = recent.reduce((sum, value) => sum + value, 0)
  const after = all.map((one) => from(one, since))
  let lowest = -alarm
  let found = known
  variants.forEach(({ id }, v) => {
    if (!(recent[v]! > leadingShare * total)) return
    const controls = after.filter((_, other) => other !== v)
    for (let t = Math.max(leastDaysBefore, days - since - longestDaysAfter); t < days - since - 1; t++) {
      const { deviation, ratio } = standing(after[v]!, controls, t)
      if (deviation >= lowest || ratio > 1 - smallestFall) continue
      lowest = deviation
      found = { at: first + (since + t) * dayMillis, variant: id }
    }
  })
  return found
}
