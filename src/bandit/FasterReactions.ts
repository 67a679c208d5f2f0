import type { Counts } from "./Counts.ts"
import { generic, type LearnedDelays } from "./DelayPrior.ts"
import {
  curveAt,
  type DelayCurve,
  delayCurve,
  delayEdges,
  type Delays,
  placeAt,
  smallestShare,
  valueAt,
} from "./Maturity.ts"
import { bucketAgeHours, bucketAt, hourMillis } from "./Window.ts"

// Detects that people have recently become faster. The delay curve covers 30 days. For days after a change, it expects
// too few outcomes, and the rates of young decisions appear far too high. A curve of the decisions since the change
// replaces it for the variants whose counts and delays are evidence of the change.

/** Candidates for the age of a change. Unit: hours. */
const cuts: ReadonlyArray<number> = [3, 6, 12, 24, 48, 96, 168]
const longestCut = cuts.at(-1)!

/** Candidates for the factor by which people have become faster, in addition to the curves a template starts with. */
const speeds: ReadonlyArray<number> = [2, 3, 5, 10, 30, 100, 300]

/** Standard deviation of the change of a variant's log rate from its older decisions to its recent ones. */
const rateSpread = 0.2

/** Weight of the pooled rate of all variants in the rate of one. Unit: outcomes. */
const sharedOutcomes = 10

/** Minimum number of outcomes before and after a change. */
const fewestOutcomes = 5

/** Prior log odds against a change at one of the cuts. */
const doubt = Math.log(50 * cuts.length)

/** Smallest excess of recent outcomes that starts a search: as a share of the outcomes, and in standard deviations. */
const excessShare = 0.1
const excessDeviations = 3

/** Recent decisions of a variant at one age, and their outcomes. */
interface Cell {
  readonly age: number
  readonly place: number
  readonly sends: number
  readonly outcomes: number
}

interface Recent {
  readonly id: string
  readonly cells: ReadonlyArray<Cell>
  /** Matured decisions before the longest cut, and their outcomes. */
  readonly exposure: number
  readonly outcomes: number
}

/** The decisions and outcomes of a variant since a cut, and its rate before the cut. */
interface Compared {
  readonly id: string
  readonly cells: ReadonlyArray<Cell>
  readonly sends: number
  readonly outcomes: number
  readonly rate: number
}

const matured = (curve: DelayCurve, cells: ReadonlyArray<Cell>): number =>
  cells.reduce((sum, { place, sends }) => sum + sends * Math.max(smallestShare, valueAt(curve, place)), 0)

const sumOf = (cells: ReadonlyArray<Cell>, of: "sends" | "outcomes") => cells.reduce((sum, cell) => sum + cell[of], 0)

const recentOf = (counts: Counts, curve: DelayCurve, now: number): ReadonlyArray<Recent> => {
  const from = now - longestCut * hourMillis
  const worth = counts.worth()
  const variants = new Map<
    string,
    { cells: Map<number, { sends: number; outcomes: number }>; exposure: number; outcomes: number }
  >()
  const shares = new Map<number, number>()
  const shareOf = (start: number): number => {
    return shares.getOrInsertComputed(start, () => curveAt(curve, bucketAgeHours(bucketAt(start, now), now)))
  }
  for (const { clicks, sends, starts, variant } of counts.series()) {
    const known = variants.getOrInsertComputed(variant, () => ({ cells: new Map(), exposure: 0, outcomes: 0 }))
    for (let i = 0; i < starts.length; i++) {
      const start = starts[i]!
      if (start < from) {
        known.exposure += sends[i]! * shareOf(start)
        known.outcomes += clicks[i]! / worth
        continue
      }
      const cell = known.cells.get(start)
      if (cell === undefined) known.cells.set(start, { sends: sends[i]!, outcomes: clicks[i]! / worth })
      else {
        cell.sends += sends[i]!
        cell.outcomes += clicks[i]! / worth
      }
    }
  }
  return Array.from(variants, ([id, { cells, exposure, outcomes }]) => ({
    id,
    exposure,
    outcomes: Math.max(0, outcomes),
    cells: Array.from(cells, ([start, cell]) => {
      const age = bucketAgeHours(bucketAt(start, now), now)
      return { ...cell, age, place: placeAt(age) }
    }),
  }))
}

/**
 * Returns the variants' decisions since a cut. Returns undefined if there are too few outcomes before or after the cut.
 */
const comparedAt = (
  cut: number,
  recent: ReadonlyArray<Recent>,
  curve: DelayCurve,
): ReadonlyArray<Compared> | undefined => {
  let exposure = 0
  let before = 0
  let after = 0
  const split = recent.map(({ cells, id, ...older }) => {
    const young = cells.filter(({ age }) => age < cut)
    const old = cells.filter(({ age }) => age >= cut)
    const one = {
      id,
      young,
      exposure: older.exposure + matured(curve, old),
      outcomes: older.outcomes + Math.max(0, sumOf(old, "outcomes")),
    }
    exposure += one.exposure
    before += one.outcomes
    after += Math.max(0, sumOf(young, "outcomes"))
    return one
  })
  if (before < fewestOutcomes || after < fewestOutcomes) return undefined
  const all = before / exposure
  return split.filter(({ young }) => young.length > 0).map(({ exposure, id, outcomes, young }) => ({
    id,
    cells: young,
    sends: sumOf(young, "sends"),
    outcomes: Math.max(0, sumOf(young, "outcomes")),
    rate: (outcomes + sharedOutcomes) / (exposure + sharedOutcomes / all),
  }))
}

/** Log probability of a variant's recent number of outcomes under a curve, up to a constant. */
const logCount = ({ cells, outcomes, rate }: Compared, curve: DelayCurve): number => {
  const expected = rate * matured(curve, cells)
  return -0.5 * Math.log((outcomes + 0.5) / (expected + 0.5)) ** 2 / (rateSpread ** 2 + 1 / (outcomes + 0.5))
}

const logEither = (a: number, b: number): number => Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b))) - Math.LN2

/** Curves for people who are faster than `curve`. */
const faster = (curve: DelayCurve): ReadonlyArray<DelayCurve> =>
  [
    ...speeds.map((speed) => delayEdges.map((hours) => Math.min(1, curveAt(curve, hours * speed)))),
    ...generic,
  ].filter((one) => one.every((share, j) => share >= curve[j]! - 0.02))

interface Change {
  readonly before: DelayCurve
  readonly cut: number
  /** Log of the evidence for the change relative to no change. */
  readonly evidence: number
  /** Whether all variants have changed. */
  readonly isWhole: boolean
  readonly curve: DelayCurve
  readonly deviation: DelayCurve
  readonly variants: ReadonlyArray<Compared>
}

const changeAt = (
  cut: number,
  variants: ReadonlyArray<Compared>,
  { curves, delays, now, old }: {
    readonly curves: ReadonlyArray<DelayCurve>
    readonly delays: Delays
    readonly now: number
    readonly old: DelayCurve
  },
): Change => {
  const counts = variants.map((variant) => logCount(variant, old))
  let expected = 0
  for (const { rate, sends } of variants) expected += rate * sends
  const some = curves.map((curve) => {
    let log = 0
    let share = 0
    variants.forEach((variant, v) => {
      const own = logCount(variant, curve)
      log += logEither(counts[v]!, own)
      share += variant.rate * variant.sends / expected / (1 + Math.exp(counts[v]! - own))
    })
    return { log, curve: curve.map((value, j) => share * value + (1 - share) * old[j]!) }
  })
  const whole = curves.map((curve) => ({
    log: variants.reduce((sum, variant) => sum + logCount(variant, curve), 0),
    curve,
  }))
  const options = [...some, ...whole]
  const [none, ...logs] = delays.logLikelihoods(
    [old, ...options.map(({ curve }) => curve)],
    now,
    now - cut * hourMillis,
  )
  const before = none! + counts.reduce((sum, log) => sum + log, 0)
  const evidence = options.map(({ log }, k) => log + logs[k]! - before)
  const largest = Math.max(...evidence)
  const odds = evidence.map((log) => Math.exp(log - largest))
  const all = odds.reduce((sum, one) => sum + one, 0)
  const weights = curves.map((_, k) => (odds[k]! + odds[k + curves.length]!) / all)
  const mean = old.map((_, j) => curves.reduce((sum, one, k) => sum + weights[k]! * one[j]!, 0))
  return {
    before: old,
    cut,
    evidence: largest + Math.log(all / options.length),
    isWhole: odds.slice(curves.length).reduce((sum, one) => sum + one, 0) > all / 2,
    curve: mean,
    deviation: mean.map((value, j) =>
      Math.sqrt(curves.reduce((sum, one, k) => sum + weights[k]! * (one[j]! - value) ** 2, 0))
    ),
    variants,
  }
}

/** The delay curves of the decisions before the change. */
export interface EarlierDelays {
  /** Time of the change. Unit: Unix milliseconds. */
  readonly until: number
  readonly curve: DelayCurve
  readonly curves: ReadonlyMap<string, DelayCurve>
}

/** The delay curve of a template, its deviation, and the curves of variants that differ from it. */
export interface FollowedDelays extends LearnedDelays {
  readonly curves: ReadonlyMap<string, DelayCurve>
  readonly earlier?: EarlierDelays
}

/**
 * Returns the delay curves at `now` (Unix milliseconds): the curves of the last 30 days, unless people have become
 * faster in the last week. Compares the counts and delays of recent decisions with the rate of older ones.
 */
export const followFaster = (known: FollowedDelays, delays: Delays, counts: Counts, now: number): FollowedDelays => {
  const { curve: old } = known
  const recent = recentOf(counts, old, now)
  const compared = cuts.flatMap((cut) => {
    const variants = comparedAt(cut, recent, old)
    return variants === undefined ? [] : [{ cut, variants }]
  })
  // The search is expensive, so it runs only if more people have reacted than the curve allows.
  const isContradicted = compared.some(({ variants }) => {
    let excess = 0
    let outcomes = 0
    for (const one of variants) {
      excess += Math.max(0, one.outcomes - one.rate * matured(old, one.cells))
      outcomes += one.outcomes
    }
    return excess > Math.max(excessShare * outcomes, excessDeviations * Math.sqrt(outcomes))
  })
  if (!isContradicted) return known
  let best: Change | undefined
  for (const cut of cuts) {
    const before = curveBefore(now - cut * hourMillis, old, delays, now)
    const variants = comparedAt(cut, recent, before)
    const options = faster(before)
    if (variants === undefined || options.length === 0) continue
    const change = changeAt(cut, variants, { curves: options, delays, now, old: before })
    if (best === undefined || change.evidence > best.evidence) best = change
  }
  if (best === undefined || best.evidence < doubt) return known
  return afterChange(best, known, delays, now)
}

/** The curve of the sends before `at`, shrunk towards the curve of all sends. */
const curveBefore = (at: number, curve: DelayCurve, delays: Delays, now: number): DelayCurve => {
  const all = delays.counts(now)
  const recent = delays.counts(now, at)
  const less = (some: ReadonlyArray<number>, others: ReadonlyArray<number>) =>
    some.map((count, j) => count - others[j]!)
  return delayCurve({ within: less(all.within, recent.within), upTo: less(all.upTo, recent.upTo) }, curve)
}

const afterChange = (change: Change, known: FollowedDelays, delays: Delays, now: number): FollowedDelays => {
  const until = now - change.cut * hourMillis
  const before = (id: string) => known.curves.get(id) ?? change.before
  const changed = change.variants.map((variant) => ({
    id: variant.id,
    probability: 1 / (1 + Math.exp(logCount(variant, before(variant.id)) - logCount(variant, change.curve))),
  }))
  const earlier = { until, curve: change.before, curves: known.curves }
  if (change.isWhole || changed.every(({ probability }) => probability > 0.5)) {
    const curve = delayCurve(delays.counts(now, until), change.curve)
    return { curve, spread: change.deviation, curves: new Map(), earlier }
  }
  const curves = new Map(known.curves)
  for (const { id, probability } of changed) {
    curves.set(id, before(id).map((share, j) => share + probability * (change.curve[j]! - share)))
  }
  const spread = known.spread.map((value, j) => Math.hypot(value, change.deviation[j]!))
  return { curve: change.before, spread, curves, earlier }
}
