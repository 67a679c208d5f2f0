import type { Attributes } from "../domain/Attributes.ts"
import { decodeContext } from "../bandit/Contexts.ts"
import { delayCurve, delayEdges, Delays, maturity } from "../bandit/Maturity.ts"
import { eligibleSet } from "../bandit/Policy.ts"
import { hourMillis } from "../bandit/Window.ts"
import type { Learner, LearnerKind } from "./Learners.ts"
import type { Eligible, SimulatedRequest } from "./World.ts"

/** Minimum effective sample. From 200 on, intervals contained the truth in 85 to 89 % of the evaluated logs. */
export const smallestSample = 1000

/** Share of the outcomes that must have had time to arrive before a decision counts. */
const settledShare = 0.99

/** Standard normal quantile of a 95 % interval. */
const z95 = 1.959964

/** Weight with which a variant's running mean is shrunk towards the mean of all. Unit: outcomes. */
const pseudoOutcomes = 10

/** One logged decision. Times are Unix milliseconds. */
export interface LoggedDecision {
  readonly at: number
  /** Canonical id of the attribute values, see `encodeContext`. */
  readonly context: string
  readonly copyId: string
  /** The probability with which the variant was chosen, in (0, 1]. */
  readonly propensity: number
  /** The weights of all candidates, including the chosen one. */
  readonly weights: Readonly<Record<string, number>>
  /**
   * Whether the user was in the holdout. Such a decision is not a choice of the logging policy, although its propensity
   * is known.
   */
  readonly control?: boolean
  /** 1 for a click, 0 without an outcome, any number for other objectives. */
  readonly outcome: number
  /** Time of the outcome. Null without an outcome. */
  readonly outcomeAt: number | null
}

/** A mean reward per decision with its standard error and the half width of its 95 % interval. */
export interface Estimate {
  readonly value: number
  readonly error: number
  readonly halfWidth: number
}

/** The estimated reward of another policy, by three estimators on one set of decisions. */
interface Evaluation {
  readonly policy: string
  readonly decisions: number
  /** Effective sample size: the number of the policy's own decisions with equal information, `(sum w)^2 / sum w^2`. */
  readonly effectiveSample: number
  /** Null below an effective sample of 1,000. */
  readonly estimates: {
    /** Inverse propensity: unbiased, but erratic with large weights. */
    readonly ips: Estimate
    /** Inverse propensity divided by the mean weight (self-normalized): slightly biased, much steadier. */
    readonly snips: Estimate
    /** A model's forecast, corrected by the observations: unbiased even if the model is bad. */
    readonly doublyRobust: Estimate
  } | null
}

/**
 * Returns the decisions of a log that are old enough for 99 % of their outcomes to have arrived by `now` (Unix
 * milliseconds), by the delays of the log itself. Younger decisions would count as decisions without an outcome, which
 * favours policies that differ from the latest model.
 */
export const settled = (
  log: ReadonlyArray<LoggedDecision>,
  now: number,
): { readonly log: ReadonlyArray<LoggedDecision>; readonly reachHours: number } => {
  const delays = new Delays()
  for (const { at, outcomeAt } of log) {
    if (outcomeAt !== null) delays.add(at, Math.max(0, outcomeAt - at) / hourMillis)
  }
  delays.prune(now)
  const curve = delayCurve(delays.counts(now))
  const reachHours = delayEdges.find((edge) => maturity(curve, edge) >= settledShare) ?? delayEdges.at(-1)!
  return { log: log.filter(({ at }) => at <= now - reachHours * hourMillis), reachHours }
}

const estimate = (value: number, variance: number, count: number): Estimate => {
  const error = Math.sqrt(variance / count)
  return { value, error, halfWidth: z95 * error }
}

/**
 * Evaluates a policy on a log from which it also learns, in the order of time: it sees a decision's outcome only after
 * its arrival. It learns from the choices of the logging policy.
 *
 * The estimators come from M. Dudik et al., "Doubly robust policy evaluation and optimization" (2014). The model of the
 * doubly robust estimator is the running mean outcome of each variant over earlier decisions, so that the terms of the
 * estimate are (nearly) uncorrelated. Standard errors come from the summands. Decisions with a propensity outside (0,
 * 1] are ignored.
 */
export const evaluate = (log: ReadonlyArray<LoggedDecision>, policy: LearnerKind, seed: number): Evaluation => {
  const usable = log.filter(({ copyId, propensity, weights }) =>
    propensity > 0 && propensity <= 1 && weights[copyId] !== undefined
  ).sort((a, b) => a.at - b.at)
  const replay = new Replay(usable, policy, seed)
  const count = usable.length
  const terms = new Float64Array(count)
  const ratios = new Float64Array(count)
  const corrected = new Float64Array(count)
  let sumRatio = 0
  let sumSquares = 0
  let sumTerms = 0
  let sumCorrected = 0
  for (let i = 0; i < count; i++) {
    const { outcome, propensity } = usable[i]!
    const { chosen, expected, forecast } = replay.step(i)
    const ratio = chosen / propensity
    ratios[i] = ratio
    terms[i] = ratio * outcome
    corrected[i] = expected + ratio * (outcome - forecast)
    sumRatio += ratio
    sumSquares += ratio ** 2
    sumTerms += terms[i]!
    sumCorrected += corrected[i]!
  }
  const effectiveSample = sumSquares > 0 ? sumRatio ** 2 / sumSquares : 0
  const base = { policy: policy.name, decisions: count, effectiveSample }
  if (effectiveSample < smallestSample) return { ...base, estimates: null }
  const ips = sumTerms / count
  const snips = sumTerms / sumRatio
  const doublyRobust = sumCorrected / count
  const meanRatio = sumRatio / count
  let ofIps = 0
  let ofSnips = 0
  let ofRobust = 0
  for (let i = 0; i < count; i++) {
    ofIps += (terms[i]! - ips) ** 2
    ofSnips += (ratios[i]! * (usable[i]!.outcome - snips) / meanRatio) ** 2
    ofRobust += (corrected[i]! - doublyRobust) ** 2
  }
  return {
    ...base,
    estimates: {
      ips: estimate(ips, ofIps / (count - 1), count),
      snips: estimate(snips, ofSnips / count, count),
      doublyRobust: estimate(doublyRobust, ofRobust / (count - 1), count),
    },
  }
}

/** Returns the mean outcome of the logging policy's own choices. Null with fewer than 1,000 choices. */
export const logged = (decisions: ReadonlyArray<LoggedDecision>): Estimate | null => {
  const log = decisions.filter(({ control }) => control !== true)
  const count = log.length
  if (count < smallestSample) return null
  const mean = log.reduce((sum, { outcome }) => sum + outcome, 0) / count
  const squares = log.reduce((sum, { outcome }) => sum + (outcome - mean) ** 2, 0)
  return estimate(mean, squares / (count - 1), count)
}

/** Time at which the outcome became known, never before its decision: clocks may differ a little. */
const knownAt = ({ at, outcomeAt }: LoggedDecision): number => Math.max(at, outcomeAt ?? Infinity)

/** Replays a log once, in order, with a learner. */
class Replay {
  readonly #log: ReadonlyArray<LoggedDecision>
  readonly #learner: Learner
  readonly #armOf: ReadonlyMap<string, number>
  readonly #requests = new Map<string, SimulatedRequest>()
  readonly #eligible = new Map<string, Eligible>()
  /** Indexes of the decisions with an outcome, sorted by its time. */
  readonly #arrivals: ReadonlyArray<number>
  #arrived = 0
  /** Running sums of outcomes and of decisions, by variant. */
  readonly #outcomes: Float64Array
  readonly #sends: Float64Array
  #outcomeSum = 0

  constructor(log: ReadonlyArray<LoggedDecision>, policy: LearnerKind, seed: number) {
    const arms = [...new Set(log.flatMap(({ weights }) => Object.keys(weights)))].sort()
    this.#log = log
    this.#learner = policy.make({ arms, templates: 1, seed })
    this.#armOf = new Map(arms.map((id, arm) => [id, arm]))
    this.#arrivals = log.flatMap((decision, i) => decision.outcomeAt === null ? [] : [i]).sort((a, b) =>
      knownAt(log[a]!) - knownAt(log[b]!)
    )
    this.#outcomes = new Float64Array(arms.length)
    this.#sends = new Float64Array(arms.length)
  }

  /**
   * Replays decision `i`; call it for each in order. Returns the learner's weight of the chosen variant, the predicted
   * outcome of the learner's choice, and the predicted outcome of the chosen variant.
   */
  step(i: number): { readonly chosen: number; readonly expected: number; readonly forecast: number } {
    const { at, context, copyId, outcome, weights: loggedWeights } = this.#log[i]!
    const learner = this.#learner
    for (; this.#arrived < this.#arrivals.length; this.#arrived++) {
      const past = this.#arrivals[this.#arrived]!
      if (past >= i || knownAt(this.#log[past]!) > at) break
      const { at: sentAt, context, copyId, outcome } = this.#log[past]!
      learner.observe(this.#request(context), this.#armOf.get(copyId)!, sentAt, knownAt(this.#log[past]!), outcome)
    }
    const request = this.#request(context)
    const eligible = this.#eligibleSet(loggedWeights)
    const weights = learner.weights(request, eligible, at)
    const arm = this.#armOf.get(copyId)!
    let chosen = 0
    let expected = 0
    let forecast = 0
    eligible.arms.forEach((candidate, k) => {
      const foretold = this.#foretold(candidate, i)
      expected += weights[k]! * foretold
      if (candidate === arm) {
        chosen = weights[k]!
        forecast = foretold
      }
    })
    learner.sent(request, arm, at)
    this.#outcomes[arm] = this.#outcomes[arm]! + outcome
    this.#sends[arm] = this.#sends[arm]! + 1
    this.#outcomeSum += outcome
    return { chosen, expected, forecast }
  }

  /** Mean outcome of a variant before decision `i`, shrunk towards the mean of all by the weight of a few clicks. */
  #foretold(arm: number, i: number): number {
    const mean = i === 0 ? 0 : this.#outcomeSum / i
    const weight = mean > 0 ? pseudoOutcomes / mean : 1
    return (this.#outcomes[arm]! + weight * mean) / (this.#sends[arm]! + weight)
  }

  #request(context: string): SimulatedRequest {
    let request = this.#requests.get(context)
    if (request === undefined) {
      const attrs: Attributes = new Map([...decodeContext(context)].map(([name, value]) => [name, [value]]))
      this.#requests.set(context, request = { template: 0, attrs })
    }
    return request
  }

  #eligibleSet(weights: Readonly<Record<string, number>>): Eligible {
    const ids = Object.keys(weights)
    const key = ids.join("\u0000")
    let eligible = this.#eligible.get(key)
    if (eligible === undefined) {
      const set = eligibleSet(ids)
      eligible = { arms: set.ids.map((id) => this.#armOf.get(id)!), set }
      this.#eligible.set(key, eligible)
    }
    return eligible
  }
}
