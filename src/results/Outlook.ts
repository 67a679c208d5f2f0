import { Phi } from "../bandit/Normal.ts"
import { neededEvidence, stoppingRule } from "../bandit/Verdict.ts"
import { dayMillis } from "../bandit/Window.ts"
import type { Objective } from "../domain/Template.ts"
import type { WinnerResults } from "./TemplateResults.ts"
import type { SeriesPoint } from "./TemplateSeries.ts"

// Estimates how long an experiment takes until a winner is named. Pure.

/** The estimate. */
export type Outlook =
  /** About this many more days, 1 to `outlookRule.mostDays`. */
  | { readonly kind: "days"; readonly days: number }
  /** More than `outlookRule.mostDays`. */
  | { readonly kind: "long" }

/** Conditions and data of an estimate. */
export const outlookRule = {
  /** Maximum estimate. Unit: days. */
  mostDays: 30,
  /** Number of recent days whose traffic is assumed to continue, and their minimum number. */
  trafficDays: 7,
  fewestTrafficDays: 2,
  /**
   * Minimum difference in standard errors. A smaller difference may well reverse, so that an estimate would be a guess.
   */
  leastDifference: 1,
  /** Minimum number of matured sends of each active variant. */
  maturedSends: 50,
} as const

const z95 = 1.959963984540054

/** Standard deviation of the log lifts that the evidence of a verdict expects, see `src/bandit/Evidence.ts`. */
const expectedLift = 0.25

/**
 * Logarithm of the evidence of a difference of `z` standard errors `error` in the log rate: the likelihood averaged
 * over better rates with a half-normal distribution, relative to the likelihood of equal rates.
 */
const logEvidence = (z: number, error: number): number => {
  const known = expectedLift ** 2 / error ** 2
  const share = known / (1 + known)
  return z ** 2 * share / 2 - Math.log1p(known) / 2 + Math.log(2 * Phi(z * Math.sqrt(share)))
}

type Point = Pick<SeriesPoint, "start" | "end" | "variants">

/**
 * Returns the periods of the last days, and the number of days that they cover. Undefined if they cover too few days.
 */
const recentOf = (points: ReadonlyArray<Point>, now: number) => {
  const recent = points.filter(({ end }) => Date.parse(end) > now - outlookRule.trafficDays * dayMillis)
  const first = recent[0]
  const days = first === undefined ? 0 : (now - Date.parse(first.start)) / dayMillis
  return days < outlookRule.fewestTrafficDays ? undefined : { recent, days }
}

/** Decisions and outcomes of a variant in a period. */
const countsIn = ({ variants }: Point, id: string) => {
  const { decisions = 0, value = 0 } = variants.find(({ copy_id }) => copy_id === id) ?? {}
  return { decisions, outcomes: Math.max(0, value) }
}

/**
 * Returns the log of the rate ratio of two variants and its information, from periods in which both were shown. Like
 * the evidence of a verdict, it ignores periods in which only one was sent. N. Mantel and W. Haenszel's estimate with
 * S. Greenland and J. Robins' variance (1985). `shared`: effective number of decisions, the sum of a b / (a + b) over
 * the periods with a and b decisions of the two variants.
 */
const compare = (points: ReadonlyArray<Point>, leader: string, other: string) => {
  let [ours, theirs, spread, shared, outcomes, decisions] = [0.5, 0.5, 0, 0, 0, 0]
  for (const point of points) {
    const [a, b] = [countsIn(point, leader), countsIn(point, other)]
    const all = a.decisions + b.decisions
    if (a.decisions === 0 || b.decisions === 0) continue
    ours += a.outcomes * b.decisions / all
    theirs += b.outcomes * a.decisions / all
    spread += (a.outcomes + b.outcomes) * a.decisions * b.decisions / all ** 2
    shared += a.decisions * b.decisions / all
    outcomes += a.outcomes + b.outcomes
    decisions += all
  }
  return {
    lift: Math.log(ours / theirs),
    information: spread > 0 ? ours * theirs / spread : 0,
    shared,
    rate: decisions > 0 ? outcomes / decisions : 0,
  }
}

/** Counts of a variant that the estimate extrapolates. */
interface Counted {
  readonly copy_id: string
  readonly status: string
  readonly matured_sends: number
}

/** A rival of the leader: the log of the rate ratio, and its standard error after more days. */
interface Rival {
  readonly lift: number
  readonly error: (more: number) => number
}

/**
 * Returns the number of days until the conditions of a winner hold. Undefined if they do not hold within
 * `outlookRule.mostDays`.
 */
const firstDay = (days: number, evidence: number, rivals: ReadonlyArray<Rival>): number | undefined => {
  const { firstDays, ...probability } = stoppingRule.probability
  for (let more = 1; more <= outlookRule.mostDays; more++) {
    if (days + more < stoppingRule.days) continue
    const best = 1 - rivals.reduce((sum, { error, lift }) => sum + Phi(-lift / error(more)), 0)
    const isSure = best >= (days + more < firstDays ? probability.first : probability.later) &&
      rivals.every(({ error, lift }) => logEvidence(lift / error(more), error(more)) >= Math.log(evidence))
    if (isSure) return more
  }
}

/** Input of the estimate, in the shape of the API's results and series. */
export interface OutlookInput {
  readonly objective: Objective
  readonly winner: Pick<WinnerResults, "verdict" | "leader" | "lift" | "days">
  readonly variants: ReadonlyArray<Counted>
  readonly points: ReadonlyArray<Point>
  /** See `Policy.runnerUpFloor`. */
  readonly runnerUpFloor: number
  /** Present time. Unit: Unix milliseconds. */
  readonly now: number
}

/**
 * Returns the days until a winner is named if the rates of the variants stay as counted, and each variant gets the
 * traffic of the last seven days. The estimate is the first day on which the leader's probability of being best and the
 * evidence against each other active variant reach the thresholds of the verdict.
 *
 * Undefined if it would be a guess: with a verdict, without a runner-up, with a difference from the runner-up below one
 * standard error, with fewer than 50 matured sends of a variant, with fewer than two days of traffic, or with an
 * objective of several outcomes or revenue. Also undefined if the present lifts would name a winner in 30 days, but the
 * lifts shrunk towards 0 would not. The input must cover all decisions, because the verdict does.
 */
export const outlookOf = (
  { now, objective, points, runnerUpFloor, variants, winner }: OutlookInput,
): Outlook | undefined => {
  const { days, leader, lift, verdict } = winner
  const evidence = neededEvidence(runnerUpFloor)
  if (verdict !== "undecided" || leader === null || lift === null || typeof objective !== "string") return undefined
  const { leastDifference, maturedSends } = outlookRule
  const error = (lift.difference_interval[1] - lift.difference_interval[0]) / (2 * z95)
  if (!(lift.difference >= leastDifference * error)) return undefined
  const lately = recentOf(points, now)
  const first = variants.find(({ copy_id }) => copy_id === leader)
  const others = variants.filter(({ copy_id, status }) => copy_id !== leader && status === "active")
  if (lately === undefined || first === undefined) return undefined
  if ([first, ...others].some((one) => one.matured_sends < maturedSends)) return undefined
  const rivals = others.map(({ copy_id }) => {
    const { information, lift, rate } = compare(points, leader, copy_id)
    const perDay = rate * compare(lately.recent, leader, copy_id).shared / lately.days
    const known = expectedLift ** 2 * information
    return {
      lift,
      cautious: lift * known / (1 + known),
      error: (more: number) => 1 / Math.sqrt(information + more * perDay),
    }
  })
  // An early difference is more often too large than too small. So the number of days comes from the cautious lifts,
  // and a long time from the present lifts.
  const soon = firstDay(days, evidence, rivals.map(({ cautious, error }) => ({ lift: cautious, error })))
  if (soon !== undefined) return { kind: "days", days: soon }
  return firstDay(days, evidence, rivals) === undefined ? { kind: "long" } : undefined
}
