import { Phi } from "../bandit/Normal.ts"
import { stoppingRule } from "../bandit/Verdict.ts"
import { dayMillis } from "../bandit/Window.ts"
import type { Objective } from "../domain/Template.ts"
import type { WinnerResults } from "./TemplateResults.ts"
import type { SeriesPoint } from "./TemplateSeries.ts"

// How long an experiment still takes until a winner is named, as an estimate. Pure.

/** The estimate. */
export type Outlook =
  /** About so many more days, 1 to `outlookRule.mostDays`. */
  | { readonly kind: "days"; readonly days: number }
  /** More than `outlookRule.mostDays`. */
  | { readonly kind: "long" }

/** When an estimate is made, and what it looks at. */
export const outlookRule = {
  /** Longest estimate in days. */
  mostDays: 30,
  /** Days of traffic that it continues, and the least of them. */
  trafficDays: 7,
  fewestTrafficDays: 2,
  /** Least difference in standard errors: a smaller one is as likely to turn, so that an estimate would be a guess. */
  leastDifference: 1,
  /** Least matured sends of each active variant. */
  maturedSends: 50,
} as const

const z95 = 1.959963984540054

/** Standard deviation of the log lifts that the evidence of a verdict expects, see `src/bandit/Evidence.ts`. */
const expectedLift = 0.25

/**
 * The logarithm of the evidence of a difference of `z` standard errors of `error` in the log rate: the likelihood mixed over
 * better rates with a half-normal law, over that of equal rates.
 */
const logEvidence = (z: number, error: number): number => {
  const known = expectedLift ** 2 / error ** 2
  const share = known / (1 + known)
  return z ** 2 * share / 2 - Math.log1p(known) / 2 + Math.log(2 * Phi(z * Math.sqrt(share)))
}

type Point = Pick<SeriesPoint, "start" | "end" | "variants">

/** The stretches of the last days, and the days that they cover; undefined without enough of them. */
const recentOf = (points: ReadonlyArray<Point>, now: number) => {
  const recent = points.filter(({ end }) => Date.parse(end) > now - outlookRule.trafficDays * dayMillis)
  const first = recent[0]
  const days = first === undefined ? 0 : (now - Date.parse(first.start)) / dayMillis
  return days < outlookRule.fewestTrafficDays ? undefined : { recent, days }
}

/** Decisions and outcomes of a variant in a stretch. */
const countsIn = ({ variants }: Point, id: string) => {
  const { decisions = 0, value = 0 } = variants.find(({ copy_id }) => copy_id === id) ?? {}
  return { decisions, outcomes: Math.max(0, value) }
}

/**
 * The log of the rate ratio of two variants and its information, from stretches in which both were shown, as the evidence
 * of a verdict compares them: sends of one variant alone say nothing. N. Mantel and W. Haenszel's estimate with S. Greenland
 * and J. Robins' variance (1985). `shared`: decisions that inform, a leader's and another's in a stretch counting
 * harmonically.
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

/** Counts of a variant that the estimate continues. */
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

/** The first of the next days on which the conditions of a winner hold; undefined if none of `outlookRule.mostDays`. */
const firstDay = (days: number, rivals: ReadonlyArray<Rival>): number | undefined => {
  const { firstDays, ...probability } = stoppingRule.probability
  for (let more = 1; more <= outlookRule.mostDays; more++) {
    if (days + more < stoppingRule.days) continue
    const best = 1 - rivals.reduce((sum, { error, lift }) => sum + Phi(-lift / error(more)), 0)
    const isSure = best >= (days + more < firstDays ? probability.first : probability.later) &&
      rivals.every(({ error, lift }) => logEvidence(lift / error(more), error(more)) >= Math.log(stoppingRule.evidence))
    if (isSure) return more
  }
}

/** Input of the estimate, in the shape of the API's results and series. */
export interface OutlookInput {
  readonly objective: Objective
  readonly winner: Pick<WinnerResults, "verdict" | "leader" | "lift" | "days">
  readonly variants: ReadonlyArray<Counted>
  readonly points: ReadonlyArray<Point>
  /** Unix milliseconds. */
  readonly now: number
}

/**
 * Days until a winner is named if the rates of the variants stay as counted, and each gets as much traffic as in the last
 * seven days. The estimate is the first day on which the leader's probability of being best and the evidence against each of
 * the other active variants reach the thresholds of the verdict.
 *
 * Undefined where it would be a guess: with a verdict, without a runner-up, with a difference from it below one standard
 * error, with fewer than 50 matured sends of a variant, fewer than two days of traffic, or an objective of several outcomes
 * or revenue; and if the present lifts would name a winner in 30 days, but the lifts drawn towards 0 would not. The input
 * must be of all decisions, because the verdict is.
 */
export const outlookOf = ({ now, objective, points, variants, winner }: OutlookInput): Outlook | undefined => {
  const { days, leader, lift, verdict } = winner
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
  // A difference seen early is more often too large than too small. So days are named by the cautious lifts, and a long
  // time by the lifts as they are.
  const soon = firstDay(days, rivals.map(({ cautious, error }) => ({ lift: cautious, error })))
  if (soon !== undefined) return { kind: "days", days: soon }
  return firstDay(days, rivals) === undefined ? { kind: "long" } : undefined
}
