import type { EarlierDelays } from "./FasterReactions.ts"
import { byCodeUnits, type Context, type ContextKey, type Contexts } from "./Contexts.ts"
import type { Counts } from "./Counts.ts"
import { curveAt, type DelayCurve, maturity } from "./Maturity.ts"
import { independence } from "./Repeats.ts"
import type { Design, Rows } from "./VariantFit.ts"
import { bucketAgeHours, bucketAt, bucketWeight, dayMillis, hourMillis, type Window, windowBounds } from "./Window.ts"

/** Numbers of recent days for `clicksNext14Days` and for the contexts' shares of traffic. */
const recentDays = 3
const trafficDays = 14

/**
 * Sums over one variant's sends inside the window, as in `VariantPosterior`. `weightedSends` are multiplied only by the
 * window's weight and the independence. `exposureSd` is the standard deviation of `effectiveSends` that results from an
 * uncertain delay curve.
 */
interface VariantTotals {
  readonly id: string
  weightedSends: number
  exposureSd: number
  sends: number
  maturedSends: number
  effectiveSends: number
  clicks: number
  /**
   * Factor of the counts for decisions about a person who had the variant before, see `independence`. Range: above 0 to
   * 1.
   */
  readonly independence: number
}

/**
 * The counts of a template, laid out for a fit. An *entry* is one variant, context and day with its weighted, matured
 * sends. A *pair* is one variant and context. Pairs are sorted by variant, entries by pair.
 */
export interface Observations {
  readonly design: Design
  /** Number of contexts: rows of the design. */
  readonly contexts: number
  /** Starts of the days (or weeks), ascending. */
  readonly days: ReadonlyArray<number>
  /** Variants with counts of positive weight, by id. */
  readonly variants: ReadonlyArray<VariantTotals>
  /** Index of the first pair of each variant, followed by the number of pairs. */
  readonly pairs: Int32Array
  readonly contextOfPair: Int32Array
  /**
   * Value of one outcome, see `Counts.worth`. Clicks below are values divided by it, except the clicks of `variants`.
   */
  readonly worth: number
  /** Weighted clicks of each pair. */
  readonly clicksOfPair: Float64Array
  readonly entries: number
  readonly pairOfEntry: Int32Array
  readonly dayOfEntry: Int32Array
  readonly exposureOfEntry: Float64Array
  /** Weighted clicks of each entry. */
  readonly clicksOfEntry: Float64Array
  /** Weight of each day in the window, above 0. */
  readonly weightOfDay: Float64Array
  /** Share of the sends of the last 14 days, by day. All 0 without any. */
  readonly trafficOfDay: Float64Array
  readonly clicksByCoefficient: Float64Array
  readonly clicksByDay: Float64Array
  readonly clicks: number
  /** Sends of the last 14 days by the key of their context, sorted by it. */
  readonly traffic: ReadonlyArray<{ readonly cell: ContextKey; readonly sends: number }>
  /**
   * Sends of the last 3 days by variant and context, as rows for a forecast, and the factor that scales them to 14
   * days.
   */
  readonly recent: ReadonlyArray<
    { readonly variant: string; readonly coefficients: Int32Array; readonly sends: number }
  >
  readonly recentTo14Days: number
  readonly firstSendAt: number | null
}

/**
 * Shares of the sends that already have an outcome, by the start of the bucket: a send with an outcome counts fully, so
 * this share is the minimum maturity of its hour.
 */
const sharesSeen = (counts: Counts, worth: number): ReadonlyMap<number, number> =>
  new Map(counts.totals().map(({ sends, start, value }) => [start, sends > 0 ? Math.min(1, value / worth / sends) : 0]))

/**
 * Weighs the counts by the window and by maturity at `now` (Unix milliseconds) and lays them out for a fit under the
 * scheme of `contexts`. `curves` are delay curves of single variants by id. `freshness` is the mean factor of earlier
 * exposures on a variant's rate, for the decisions of the day of `start`. Keys written under another scheme are read as
 * far as the two schemes agree.
 */
export const observe = (
  counts: Counts,
  contexts: Contexts,
  window: Window,
  curve: DelayCurve,
  now: number,
  spread?: DelayCurve,
  curves?: ReadonlyMap<string, DelayCurve>,
  freshness?: (variant: string, start: number) => number,
  earlier?: EarlierDelays,
): Observations => {
  // Long: one pass over all counts of a template fills arrays of every kind. Separate passes would each read the counts
  // again.
  const series = counts.series()
  const worth = counts.worth()
  let rows = 0
  let oldest = Infinity
  let newest = -Infinity
  for (const { starts } of series) {
    rows += starts.length
    oldest = Math.min(oldest, starts[0] ?? Infinity)
    newest = Math.max(newest, starts[starts.length - 1] ?? -Infinity)
  }
  const firstSendAt = rows === 0 ? null : bucketAt(oldest, now).start

  // Properties of an hour's bucket, by hour since `base`, computed at its first send. Buckets are computed as of `now`,
  // so that counts before their roll-up already count like their future bucket.
  const reach = Math.min(windowBounds(window, now).from, now - trafficDays * dayMillis)
  const base = Math.floor(bucketAt(Math.max(oldest, reach), now).start / dayMillis) * dayMillis
  const hours = rows === 0 ? 0 : Math.max(0, Math.floor((Math.min(newest, now) - base) / hourMillis) + 1)
  const weights = new Float64Array(hours).fill(NaN)
  const maturities = new Float64Array(hours)
  const spreads = new Float64Array(hours)
  const ages = new Float64Array(hours)
  const seen = sharesSeen(counts, worth)
  const starts = new Float64Array(hours)
  const look = (hour: number): number => {
    const bucket = bucketAt(base + hour * hourMillis, now)
    const weight = bucketWeight(window, bucket, now)
    starts[hour] = bucket.start
    const age = ages[hour] = bucketAgeHours(bucket, now)
    const ofTime = earlier !== undefined && bucket.start < earlier.until ? earlier.curve : curve
    maturities[hour] = Math.max(maturity(ofTime, age), seen.get(bucket.start) ?? 0)
    if (spread !== undefined) spreads[hour] = curveAt(spread, age)
    return weights[hour] = weight
  }

  const weightOf = (start: number): number => {
    const hour = Math.floor((start - base) / hourMillis)
    if (hour < 0 || hour >= hours) return 0
    return Number.isNaN(weights[hour]!) ? look(hour) : weights[hour]!
  }
  const shares = independence(counts, weightOf, (start) => maturities[Math.floor((start - base) / hourMillis)]!)

  const parsed = new Map<ContextKey, Context>()
  const rowOfContext = new Map<string, number>()
  const coefficients: Array<Int32Array> = []
  const variants: Array<VariantTotals> = []
  const firstPair: Array<number> = []
  const contextOfPair: Array<number> = []
  const clicksOfPair: Array<number> = []
  const pairOfRow = new Map<number, number>()
  const pairOfEntry = new Int32Array(rows)
  const rawDayOfEntry = new Int32Array(rows)
  const exposureOfEntry = new Float64Array(rows)
  const clicksOfEntry = new Float64Array(rows)
  const weightByRawDay = new Float64Array(Math.ceil(hours / 24))
  const trafficByRawDay = new Float64Array(Math.ceil(hours / 24))
  const clicksByRawDay = new Float64Array(Math.ceil(hours / 24))
  const dayUsed = new Uint8Array(clicksByRawDay.length)
  const clicksByCoefficient = new Float64Array(contexts.size)
  const trafficByContext = new Map<string, number>()
  const recent: Array<{ variant: string; coefficients: Int32Array; sends: number }> = []
  let entries = 0
  let clicks = 0

  for (const { context: key, clicks: ys, sends: ns, starts: at, variant } of series) {
    const ownNow = curves?.get(variant)
    const ownEarlier = earlier?.curves.get(variant)
    const share = shares.get(variant) ?? 1
    const context = parsed.getOrInsertComputed(key, () => contexts.parse(key))
    let pair = -1
    let lastSends = 0
    let traffic = 0
    for (let i = 0; i < at.length; i++) {
      const hour = Math.floor((at[i]! - base) / hourMillis)
      if (hour < 0 || hour >= hours) continue
      let weight = weights[hour]!
      if (Number.isNaN(weight)) weight = look(hour)
      const start = starts[hour]!
      const n = ns[i]!
      if (start >= now - trafficDays * dayMillis) {
        traffic += n
        const day = Math.floor((start - base) / dayMillis)
        trafficByRawDay[day] = trafficByRawDay[day]! + n
        if (start >= now - recentDays * dayMillis) lastSends += n
      }
      if (weight === 0) continue

      if (pair < 0) {
        if (variants[variants.length - 1]?.id !== variant) {
          variants.push({
            id: variant,
            sends: 0,
            weightedSends: 0,
            maturedSends: 0,
            effectiveSends: 0,
            exposureSd: 0,
            clicks: 0,
            independence: share,
          })
          firstPair.push(contextOfPair.length)
          pairOfRow.clear()
        }
        let row = rowOfContext.get(context.key)
        if (row === undefined) {
          rowOfContext.set(context.key, row = coefficients.length)
          coefficients.push(context.coefficients)
        }
        pair = pairOfRow.get(row) ?? -1
        if (pair < 0) {
          pairOfRow.set(row, pair = contextOfPair.length)
          contextOfPair.push(row)
          clicksOfPair.push(0)
        }
      }

      const totals = variants[variants.length - 1]!
      const y = ys[i]!
      const own = earlier !== undefined && start < earlier.until ? ownEarlier : ownNow
      const matured = n *
        (own === undefined ? maturities[hour]! : Math.max(maturity(own, ages[hour]!), seen.get(start) ?? 0))
      totals.sends += n
      totals.maturedSends += matured
      totals.weightedSends += share * weight * n
      totals.effectiveSends += weight * matured
      totals.exposureSd += weight * n * spreads[hour]!
      totals.clicks += y
      const weighted = share * weight * y / worth
      clicks += weighted
      clicksOfPair[pair] = clicksOfPair[pair]! + weighted
      const day = Math.floor((start - base) / dayMillis)
      dayUsed[day] = 1
      weightByRawDay[day] = weight
      clicksByRawDay[day] = clicksByRawDay[day]! + weighted
      const exposure = share * weight * matured * (freshness?.(variant, start) ?? 1)
      if (entries > 0 && pairOfEntry[entries - 1] === pair && rawDayOfEntry[entries - 1] === day) {
        exposureOfEntry[entries - 1] = exposureOfEntry[entries - 1]! + exposure
        clicksOfEntry[entries - 1] = clicksOfEntry[entries - 1]! + weighted
      } else {
        pairOfEntry[entries] = pair
        rawDayOfEntry[entries] = day
        exposureOfEntry[entries] = exposure
        clicksOfEntry[entries] = weighted
        entries++
      }
    }
    if (traffic > 0) trafficByContext.set(context.key, (trafficByContext.get(context.key) ?? 0) + traffic)
    if (lastSends > 0) recent.push({ variant, coefficients: context.coefficients, sends: lastSends })
  }

  const days: Array<number> = []
  const dayIndex = Int32Array.from(dayUsed, (used, day) => used ? days.push(base + day * dayMillis) - 1 : -1)
  const byDay = (raw: Float64Array) => Float64Array.from(days, (start) => raw[(start - base) / dayMillis]!)
  const sendsOfDay = byDay(trafficByRawDay)
  const sends = sendsOfDay.reduce((sum, n) => sum + n, 0)
  const stride = contexts.names.length
  const design: Design = { size: contexts.size, stride, coefficients: new Int32Array(coefficients.length * stride) }
  coefficients.forEach((list, row) => design.coefficients.set(list, row * stride))
  clicksOfPair.forEach((y, pair) => {
    for (const coefficient of coefficients[contextOfPair[pair]!]!) {
      if (coefficient >= 0) clicksByCoefficient[coefficient] = clicksByCoefficient[coefficient]! + y
    }
  })
  // A template that is a few hours old counts as one day old: its first burst says little about its week.
  const seenDays = Math.min(recentDays, Math.max(1, (now - (firstSendAt ?? now)) / dayMillis))
  return {
    design,
    contexts: coefficients.length,
    days,
    variants,
    worth,
    pairs: Int32Array.from([...firstPair, contextOfPair.length]),
    contextOfPair: Int32Array.from(contextOfPair),
    clicksOfPair: Float64Array.from(clicksOfPair),
    entries,
    pairOfEntry,
    dayOfEntry: rawDayOfEntry.map((day, entry) => entry < entries ? dayIndex[day]! : 0),
    exposureOfEntry,
    clicksOfEntry,
    weightOfDay: byDay(weightByRawDay),
    trafficOfDay: sends > 0 ? sendsOfDay.map((n) => n / sends) : sendsOfDay,
    // An outcome with a cost can have a negative sum, which has no logarithm.
    clicksByCoefficient: clicksByCoefficient.map((y) => Math.max(0, y)),
    clicksByDay: byDay(clicksByRawDay).map((y) => Math.max(0, y)),
    clicks: Math.max(0, clicks),
    traffic: [...trafficByContext].sort(([a], [b]) => byCodeUnits(a, b)).map(([cell, sends]) => ({ cell, sends })),
    recent,
    recentTo14Days: 14 / seenDays,
    firstSendAt,
  }
}

/** The rows of the variant with index `v`, given the clicks expected and observed of each pair. */
export const rowsOf = (
  { contextOfPair, pairs }: Observations,
  v: number,
  expected: Float64Array,
  clicks: Float64Array,
): Rows => ({ contexts: contextOfPair, expected, clicks, from: pairs[v]!, to: pairs[v + 1]! })
