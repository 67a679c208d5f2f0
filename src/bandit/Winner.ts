import { type Cells, cellsOf } from "./Cells.ts"
import { factor, packedIndex, packedLength } from "./Cholesky.ts"
import type { ModelSnapshot, VariantPosterior } from "./Model.ts"
import { dayMillis } from "./Window.ts"

const defaultDraws = 4000
const smallLoss = 0.01
const firmProbability = 0.95
const smallestDays = 7
const smallestSends = 100

/** What is known of one variant's rate, over the cells of the report. Rates are clicks per send. */
export interface VariantReport {
  readonly id: string
  /** Probability of having the highest rate, 0 to 1; over all variants they sum to 1. */
  readonly pBest: number
  /** Expected rate. */
  readonly rate: number
  /** Its 95 % credible interval. */
  readonly interval: readonly [number, number]
  /** What is expected to be lost by choosing this variant for good, as a share of its rate; 0 or more. */
  readonly expectedLoss: number
}

/** Which variant is ahead, and whether it is time to say so. */
export interface WinnerReport {
  /** In the order of the ids given. */
  readonly variants: ReadonlyArray<VariantReport>
  /** The variant with the smallest expected loss; null when there are no variants. */
  readonly leader: string | null
  /** With 95 % probability no more than this share can be gained over the leader. */
  readonly valueRemaining: number
  /**
   * `winner`: the leader's expected loss is below 1 %, after 7 days and 100 matured sends of the leader. `firm_winner`: it
   * is also the best with a probability of 95 %. `no_difference`: after as much data the variants are so close that less
   * than 1 % is left to gain, whichever is best. `undecided`: anything else, and always with fewer than two variants.
   */
  readonly verdict: "undecided" | "winner" | "firm_winner" | "no_difference"
}

/** Cells to report on, with the share of the traffic each stands for (any positive scale). */
export interface Segment {
  readonly cell: string
  readonly sends: number
}

interface MixedCells {
  readonly features: ReadonlyArray<Int32Array>
  readonly shares: Float64Array
}

const mix = (cells: Cells, model: ModelSnapshot, segments: ReadonlyArray<Segment>): MixedCells => {
  const total = segments.reduce((sum, { sends }) => sum + sends, 0)
  // Without traffic: the rate where nothing is known of the attributes.
  if (!(total > 0)) return { features: [new Int32Array(0)], shares: Float64Array.of(Math.exp(model.a0)) }
  const features = segments.map(({ cell }) => cells.parse(cell).features.filter((feature) => feature >= 0))
  const shares = Float64Array.from(segments, ({ sends }, c) => {
    let log = model.a0
    for (const feature of features[c]!) log += model.f[feature]!
    return sends / total * Math.exp(log)
  })
  return { features, shares }
}

/** Draws the average rate of one variant over the cells, `draws.length` times. */
const drawRates = (
  model: ModelSnapshot,
  cells: Cells,
  variant: VariantPosterior | undefined,
  { features, shares }: MixedCells,
  normal: () => number,
  draws: Float64Array,
): void => {
  const { size } = cells
  const root = variant === undefined ? new Float64Array(packedLength(size)) : Float64Array.from(variant.covariance)
  if (variant !== undefined) factor(root, size)
  else {for (let i = 0; i < size; i++) {
      root[packedIndex(i, i)] = i === 0 ? model.tau0 : model.taus[cells.attributeOf[i]!]!
    }}
  const z = new Float64Array(size)
  const effects = new Float64Array(size)
  for (let d = 0; d < draws.length; d++) {
    for (let i = 0; i < size; i++) z[i] = normal()
    for (let i = 0, row = 0; i < size; i++, row += i) {
      let sum = variant === undefined ? 0 : variant.beta[i]!
      for (let k = 0; k <= i; k++) sum += root[row + k]! * z[k]!
      effects[i] = Math.exp(sum)
    }
    let rate = 0
    for (let c = 0; c < shares.length; c++) {
      let product = shares[c]!
      const list = features[c]!
      for (let j = 0; j < list.length; j++) product *= effects[list[j]!]!
      rate += product
    }
    draws[d] = rate * effects[0]!
  }
}

/** Value below which the share `p` of the sorted numbers lies, interpolated. */
const quantile = (sorted: Float64Array, p: number): number => {
  const at = p * (sorted.length - 1)
  const low = Math.floor(at)
  return sorted[low]! + (at - low) * (sorted[Math.min(low + 1, sorted.length - 1)]! - sorted[low]!)
}

/**
 * Compares variants by draws from the untempered posterior of their rates, averaged over the cells' traffic (section 9
 * of the design of the bandit; value remaining after S. Scott, "Multi-armed bandit experiments in the online service
 * economy", 2015).
 *
 * `normal` gives independent standard normal numbers: seed it to make the report repeatable. `segments` are the model's
 * cells of the last 14 days unless given. `draws` is 4,000 unless given; memory and time grow with draws x variants.
 */
export const winnerReport = (
  model: ModelSnapshot,
  ids: ReadonlyArray<string>,
  normal: () => number,
  options: { readonly segments?: ReadonlyArray<Segment>; readonly draws?: number } = {},
): WinnerReport => {
  const cells = cellsOf(model.scheme)
  const mixed = mix(cells, model, options.segments ?? model.traffic)
  const known = new Map(model.variants.map((variant) => [variant.id, variant]))
  const count = options.draws ?? defaultDraws
  const rates = ids.map((id) => {
    const draws = new Float64Array(count)
    drawRates(model, cells, known.get(id), mixed, normal, draws)
    return draws
  })
  const highest = new Float64Array(count)
  const wins = new Float64Array(ids.length)
  let meanHighest = 0
  for (let d = 0; d < count; d++) {
    let best = 0
    for (let v = 1; v < rates.length; v++) if (rates[v]![d]! > rates[best]![d]!) best = v
    highest[d] = rates[best]?.[d] ?? 0
    meanHighest += highest[d]! / count
    if (best < wins.length) wins[best] = wins[best]! + 1
  }
  const variants = ids.map((id, v): VariantReport => {
    const sorted = rates[v]!.toSorted()
    const rate = rates[v]!.reduce((sum, value) => sum + value, 0) / count
    return {
      id,
      pBest: wins[v]! / count,
      rate,
      interval: [quantile(sorted, 0.025), quantile(sorted, 0.975)],
      expectedLoss: rate > 0 ? Math.max(0, (meanHighest - rate) / rate) : 0,
    }
  })
  if (ids.length === 0) return { variants, leader: null, valueRemaining: 0, verdict: "undecided" }
  let lead = 0
  for (let v = 1; v < ids.length; v++) if (variants[v]!.rate > variants[lead]!.rate) lead = v
  const leader = variants[lead]!
  const remaining = highest.map((value, d) => {
    const rate = rates[lead]![d]!
    return rate > 0 ? (value - rate) / rate : 0
  }).sort()
  const valueRemaining = quantile(remaining, 0.95)

  const days = model.firstSendAt === null ? 0 : (model.fittedAt - model.firstSendAt) / dayMillis
  const enough = days >= smallestDays && (known.get(leader.id)?.maturedSends ?? 0) >= smallestSends
  let verdict: WinnerReport["verdict"] = "undecided"
  if (enough && ids.length > 1) {
    const firm = leader.pBest >= firmProbability
    if (valueRemaining < smallLoss && !firm) verdict = "no_difference"
    else if (leader.expectedLoss < smallLoss) verdict = firm ? "firm_winner" : "winner"
  }
  return { variants, leader: leader.id, valueRemaining, verdict }
}
