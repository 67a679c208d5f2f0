import type { BucketTotal } from "./Counts.ts"
import { type DelayCurve, delayCurve, delayEdges, type Delays, placeAt, smallestShare, valueAt } from "./Maturity.ts"
import { Phi } from "./Normal.ts"
import { bucketAgeHours, bucketAt } from "./Window.ts"

// Speed of reactions differs by template: within seconds in an app, within a day by e-mail. A template starts with
// several curves and their weights. Bayes' rule moves the weights to the curves that explain the delays and the number
// of clicks, so that a handful of clicks distinguishes seconds from hours.

/** Medians of log-normal curves in hours, and the prior probability of each curve: e-mail is slow. */
const candidates: ReadonlyArray<{ readonly medianHours: number; readonly weight: number }> = [
  { medianHours: 10 / 3600, weight: 0.04 },
  { medianHours: 1 / 60, weight: 0.04 },
  { medianHours: 8 / 60, weight: 0.06 },
  { medianHours: 1, weight: 0.16 },
  { medianHours: 6, weight: 0.56 },
  { medianHours: 36, weight: 0.14 },
]
const sigma = 1.7

/** Share of the average of all curves in each curve, so that no single click rules out a curve. */
const outlierShare = 0.03

/** Number of clicks at which the organization's curve has half of its full weight. */
const organizationClicks = 20
const mostOrganizationWeight = 0.9

/** Standard deviation of the log of a template's rate around its organization's rate. */
const rateSpread = 1.5

const logNormals: ReadonlyArray<DelayCurve> = candidates.map(({ medianHours }) => {
  const curve = delayEdges.map((hours) => Phi(Math.log(hours / medianHours) / sigma))
  return curve.map((share) => share / curve[curve.length - 1]!)
})
const average: DelayCurve = delayEdges.map((_, j) =>
  logNormals.reduce((sum, curve) => sum + curve[j]!, 0) / logNormals.length
)
const withOutliers = (curve: DelayCurve): DelayCurve =>
  curve.map((share, j) => (1 - outlierShare) * share + outlierShare * average[j]!)
/** The curves that a template begins with, from the fastest to the slowest. */
export const generic: ReadonlyArray<DelayCurve> = logNormals.map(withOutliers)

/** The delay curve of an organization, and the number of clicks from which it was learned. */
export interface OrganizationDelays {
  readonly curve: DelayCurve
  readonly clicks: number
}

/** Decisions and outcomes of a template, which judge a curve in addition to the delays. */
export interface ObservedOutcomes {
  readonly totals: ReadonlyArray<BucketTotal>
  /** Value of one outcome, see `Counts.worth`. */
  readonly worth: number
  /** The largest value of a send; `Infinity` without a limit. */
  readonly mostPerSend: number
  /** Log of the organization's base rate, in outcomes per send. */
  readonly organizationLogRate: number
}

/** A delay curve and the standard deviation of each of its values. */
export interface LearnedDelays {
  readonly curve: DelayCurve
  readonly spread: DelayCurve
}

interface Weighted {
  readonly curves: ReadonlyArray<DelayCurve>
  readonly weights: ReadonlyArray<number>
}

const byEvidence = (curves: ReadonlyArray<DelayCurve>, logs: ReadonlyArray<number>): Weighted => {
  const largest = Math.max(...logs)
  const weights = logs.map((log) => Math.exp(log - largest))
  const sum = weights.reduce((a, b) => a + b, 0)
  return { curves, weights: weights.map((weight) => weight / sum) }
}

const mean = ({ curves, weights }: Weighted): DelayCurve =>
  delayEdges.map((_, j) => curves.reduce((sum, curve, k) => sum + weights[k]! * curve[j]!, 0))

/** Returns the delays of all templates of an organization at `now` (Unix milliseconds). */
export const organizationDelays = (delays: Delays, now: number): OrganizationDelays => {
  const logs = delays.logLikelihoods(generic, now).map((log, k) => log + Math.log(candidates[k]!.weight))
  return { curve: delayCurve(delays.counts(now), mean(byEvidence(generic, logs))), clicks: delays.clicks() }
}

/**
 * Log probability of the number of outcomes if the sends mature by each curve, averaged over the plausible rates up to
 * the largest possible one. Rules out curves under which more people would have to click than received the message.
 */
const rateEvidence = ({ mostPerSend, organizationLogRate, totals, worth }: ObservedOutcomes, now: number) => {
  const ages = totals.map(({ start }) => placeAt(bucketAgeHours(bucketAt(start, now), now)))
  const y = Math.max(0, totals.reduce((sum, { value }) => sum + value / worth, 0))
  const most = Number.isFinite(mostPerSend) ? Math.log(mostPerSend / worth) : 0
  return (curve: DelayCurve): number => {
    let exposure = 0
    totals.forEach(({ sends }, i) => exposure += sends * Math.max(smallestShare, valueAt(curve, ages[i]!)))
    if (!(exposure > 0)) return 0
    const terms: Array<number> = []
    for (let z = -4; z <= 4; z += 0.25) {
      const log = organizationLogRate + rateSpread * z
      if (log <= most) terms.push(y * (log + Math.log(exposure)) - exposure * Math.exp(log) - z * z / 2)
    }
    const largest = Math.max(...terms)
    return terms.length === 0 ? 0 : largest + Math.log(terms.reduce((sum, term) => sum + Math.exp(term - largest), 0))
  }
}

/**
 * The delay curve of a template at `now` (Unix milliseconds). The prior of its own curve is the average of the
 * candidate curves, weighted by the evidence of its delays and numbers of outcomes.
 */
export const learnDelays = (
  delays: Delays,
  organization: OrganizationDelays,
  reactions: ObservedOutcomes,
  now: number,
): LearnedDelays => {
  const trust = mostOrganizationWeight * organization.clicks / (organization.clicks + organizationClicks)
  const curves = [withOutliers(organization.curve), ...generic]
  const prior = [trust, ...candidates.map(({ weight }) => (1 - trust) * weight)]
  const likelihoods = delays.logLikelihoods(curves, now)
  const logRateEvidence = rateEvidence(reactions, now)
  const plausible = byEvidence(
    curves,
    curves.map((curve, k) => likelihoods[k]! + logRateEvidence(curve) + Math.log(prior[k]!)),
  )
  const start = mean(plausible)
  const curve = delayCurve(delays.counts(now), start)
  const spread = curve.map((share, j) => {
    if (!(start[j]! > 0)) return 0
    const variance = curves.reduce((sum, one, k) => sum + plausible.weights[k]! * (one[j]! - start[j]!) ** 2, 0)
    return share * Math.sqrt(variance) / start[j]!
  })
  return { curve, spread }
}
