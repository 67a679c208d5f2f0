import { type BaseRate, contextFactors, improveBaseRate } from "./BaseRate.ts"
import { type Contexts, contextsOf } from "./Contexts.ts"
import { packedLength } from "./Cholesky.ts"
import { ComponentFit, type Composition, nothingForetold } from "./Components.ts"
import type { Counts } from "./Counts.ts"
import type { Fatigue } from "./Fatigue.ts"
import { type InterceptCounts, interceptCounts, interceptOf, spreadLogLikelihoods, weightsOf } from "./Intercepts.ts"
import { levelCases } from "./LocalLevel.ts"
import { builtInEvidence, type EffectEvidence, learnedSpreads, withEffects } from "./Mixture.ts"
import type { EarlierDelays } from "./FasterReactions.ts"
import type { DelayCurve } from "./Maturity.ts"
import {
  logBaseRate,
  type ModelSnapshot,
  type OrganizationPriors,
  startingTaus,
  type VariantPosterior,
} from "./Model.ts"
import { type Observations, observe, rowsOf } from "./Observations.ts"
import { type PairEvidence, pairEvidence } from "./PairEvidence.ts"
import { tau0Of } from "./Priors.ts"
import { eta, fitVariant, workspace } from "./VariantFit.ts"
import { hourMillis } from "./Window.ts"

/** Rounds of the loop after a warm start, and after a cold start. */
const warmRounds = 2
const coldRounds = 10

const sweepsPerRound = 2

/** Above this pooled rate, the Poisson variance is noticeably too large. */
const highRate = 0.15

/** The input of a fit. */
export interface FitInput {
  /** Version of the new snapshot, such as `t:412`. */
  readonly version: string
  readonly counts: Counts
  readonly scheme: ModelSnapshot["scheme"]
  readonly window: ModelSnapshot["window"]
  readonly curve: DelayCurve
  /** Standard deviation of the values of `curve`. Default: 0. */
  readonly spread?: DelayCurve
  /** Delay curves of variants that differ from `curve`, by id. */
  readonly curves?: ReadonlyMap<string, DelayCurve>
  /** The delay curves of the decisions before people became faster; absent without such a change. */
  readonly earlier?: EarlierDelays | undefined
  /** Effects of earlier exposures that are in use. */
  readonly fatigue?: Fatigue | undefined
  /** Time of the fit. Unit: Unix milliseconds. */
  readonly now: number
  readonly organization: OrganizationPriors
  /** Ids of the variants that can be served. Default: all. */
  readonly active?: ReadonlySet<string>
  /** Components of the template's variants. */
  readonly composition?: Composition
  /** An earlier snapshot of the template to start from, of any window and scheme. Without one, the start is cold. */
  readonly start?: ModelSnapshot
  /** Rounds of the loop. Default: 2, or 10 from a cold start. */
  readonly rounds?: number
  /** Keeps the standard deviations of `start` instead of learning them, for windows with little data. */
  readonly holdShrinkage?: boolean
}

interface State extends BaseRate {
  tau0: number
  readonly taus: Float64Array
  builtInProbability: number | undefined
  spreads: ModelSnapshot["spreads"]
  builtInOdds: ReadonlyArray<readonly [string, number]>
  readonly components: ComponentFit | undefined
  /** Coefficients by variant, in the order of the observations. */
  readonly beta: ReadonlyArray<Float64Array>
  readonly covariance: ReadonlyArray<Float64Array>
  /** Standard deviations used by the last fit of the variants. */
  fittedWith: { readonly tau0: number; readonly taus: ReadonlyArray<number> }
}

const begin = (input: FitInput, contexts: Contexts, observations: Observations): State => {
  const { organization, start } = input
  const components = ComponentFit.of(input.composition ?? [], organization.tau0, start?.components)
  const state: State = {
    a0: start === undefined ? organization.a0 : start.a0 - Math.log(observations.worth),
    f: new Float64Array(contexts.size),
    g: new Float64Array(observations.days.length),
    tau0: start?.tau0 ??
      (components === undefined ? organization.tau0 : Math.sqrt(ComponentFit.residual(organization.tau0))),
    components,
    taus: Float64Array.from(startingTaus(contexts)),
    builtInProbability: start?.builtInProbability,
    spreads: start?.spreads,
    builtInOdds: start?.builtInOdds ?? [],
    beta: observations.variants.map(() => new Float64Array(contexts.size)),
    covariance: observations.variants.map(() => new Float64Array(packedLength(contexts.size))),
    fittedWith: { tau0: organization.tau0, taus: [] },
  }
  if (start === undefined) return state
  const before = contextsOf(start.scheme)
  before.names.forEach((name, j) => {
    const now = contexts.names.indexOf(name)
    if (now >= 0) state.taus[now] = start.taus[j]!
  })
  const carried = contexts.coefficientsOf(before)
  carried.forEach((old, i) => {
    if (old >= 0) state.f[i] = start.f[old]!
  })
  const days = new Map(start.days)
  observations.days.forEach((day, d) => state.g[d] = days.get(day) ?? 0)
  const variants = new Map(start.variants.map((variant) => [variant.id, variant]))
  observations.variants.forEach(({ id }, v) => {
    const old = variants.get(id)
    if (old !== undefined) carried.forEach((from, i) => state.beta[v]![i] = from >= 0 ? old.beta[from]! : 0)
  })
  return state
}

/** Learns the standard deviation of the intercepts from the outcomes of the variants. */
const learnTau0 = (
  state: State,
  ids: ReadonlyArray<string>,
  counts: ReadonlyArray<InterceptCounts>,
  organization: OrganizationPriors,
): void => {
  const intercepts = counts.map((own, v) => {
    const predicted = foretold(state, ids[v]!)
    return { predicted, data: interceptOf(own, predicted.mean, state.tau0) }
  })
  const { tau0 } = state
  const whole = spreadLogLikelihoods(intercepts.map(({ data }) => ({ data, predicted: nothingForetold })), tau0)
  // The spread that components leave unexplained is specific to this template: variants of other templates have other
  // components.
  state.tau0 = state.components === undefined
    ? tau0Of([whole, organization.spreads])
    : tau0Of([spreadLogLikelihoods(intercepts, tau0)], Math.sqrt(ComponentFit.residual(organization.tau0)))
  state.spreads = whole
}

/** Sets the spreads of the built-in attributes, and the probability that at least one of them has effects. */
const learnBuiltIns = (
  state: State,
  names: ReadonlyArray<string>,
  evidence: ReadonlyMap<string, EffectEvidence>,
  { builtIns }: OrganizationPriors,
): void => {
  let without = 1
  for (const [name, { logOdds, spread }] of evidence) {
    state.taus[names.indexOf(name)] = spread
    without *= 1 - withEffects(builtIns.get(name), logOdds)
  }
  state.builtInProbability = evidence.size === 0 ? undefined : 1 - without
  state.builtInOdds = Array.from(evidence, ([name, { logOdds }]) => [name, logOdds])
}

/** The intercept that a variant's components predict. */
const foretold = ({ components }: State, id: string) => components?.foretell(id) ?? nothingForetold

/**
 * Pooled clicks per send over all variants, with one pseudo-click at the organization's rate, so that a first click
 * does not mean a high rate. Pending clicks do not matter: the likelihood of y clicks of n sends with rate r, of which
 * a share F has matured, is the likelihood of n Bernoulli trials with probability r F.
 */
const poolRate = ({ clicks, variants }: Observations, organization: OrganizationPriors): number => {
  let sends = Math.exp(-organization.a0)
  for (const { weightedSends } of variants) sends += weightedSends
  return (clicks + 1) / sends
}

/**
 * Fits the hierarchical gamma-Poisson model (docs/model.md, "Rates" and "Fit") to a template's counts. Each round
 * updates the base rate, the variants (each a penalised Poisson regression with its Laplace covariance) and the
 * shrinkage strengths, then recentres the variants. The result does not depend on the order of the counts. After a warm
 * start, it depends on the start.
 */
export const fit = (input: FitInput): ModelSnapshot => {
  const { active, counts, curve, holdShrinkage = false, now, organization, scheme, spread, window } = input
  const contexts = contextsOf(scheme)
  const seen = observe(
    counts,
    contexts,
    window,
    curve,
    now,
    spread,
    input.curves,
    input.fatigue?.freshness,
    input.earlier,
  )
  const { contextOfPair, dayOfEntry, design, exposureOfEntry, pairOfEntry } = seen
  const dayCount = seen.days.length
  const pairCount = contextOfPair.length
  const state = begin(input, contexts, seen)
  const { beta, covariance, f, g, taus } = state
  const work = workspace(design.size)
  const ids = seen.variants.map(({ id }) => id)

  const rate = Math.min(0.95, poolRate(seen, organization))
  const binomial = rate > highRate ? 1 / (1 - rate) : 1
  const clicksOfPair = seen.clicksOfPair.map((y) => y * binomial)
  const exposure = new Float64Array(seen.contexts * dayCount)
  const relative = new Float64Array(pairCount)
  const expected = new Float64Array(pairCount)
  const factors = new Float64Array(seen.contexts)
  const dayFactors = new Float64Array(dayCount)
  const precision = new Float64Array(design.size)

  const weights = weightsOf(seen)
  const rounds = input.rounds ?? (input.start === undefined ? coldRounds : warmRounds)
  for (let round = 0; round < rounds; round++) {
    for (let v = 0; v < beta.length; v++) {
      for (let p = seen.pairs[v]!; p < seen.pairs[v + 1]!; p++) {
        relative[p] = Math.exp(eta(design, beta[v]!, contextOfPair[p]!))
      }
    }
    exposure.fill(0)
    for (let e = 0; e < seen.entries; e++) {
      const pair = pairOfEntry[e]!
      const at = contextOfPair[pair]! * dayCount + dayOfEntry[e]!
      exposure[at] = exposure[at]! + exposureOfEntry[e]! * relative[pair]!
    }
    improveBaseRate(state, { ...seen, days: dayCount }, exposure, organization.a0, sweepsPerRound)

    contextFactors(design, f, factors)
    for (let d = 0; d < dayCount; d++) dayFactors[d] = Math.exp(g[d]!)
    expected.fill(0)
    for (let e = 0; e < seen.entries; e++) {
      const pair = pairOfEntry[e]!
      expected[pair] = expected[pair]! + exposureOfEntry[e]! * dayFactors[dayOfEntry[e]!]!
    }
    const level = Math.exp(state.a0) * binomial
    for (let p = 0; p < pairCount; p++) expected[p] = expected[p]! * level * factors[contextOfPair[p]!]!

    state.fittedWith = { tau0: state.tau0, taus: Array.from(taus) }
    precision[0] = 1 / state.tau0 ** 2
    for (let i = 1; i < design.size; i++) precision[i] = 1 / taus[contexts.attributeOf[i]!]! ** 2
    for (let v = 0; v < beta.length; v++) {
      const rows = rowsOf(seen, v, expected, clicksOfPair)
      fitVariant(design, rows, precision, beta[v]!, work, undefined, foretold(state, ids[v]!).mean)
      covariance[v]!.set(work.hessian)
    }
    state.components?.learn(
      ids.map((id, v) => ({ id, intercept: beta[v]![0]!, variance: covariance[v]![0]! })),
      state.tau0,
      holdShrinkage,
    )
    if (!holdShrinkage) {
      // In units in which the variance of outcomes equals their number.
      const due = expected.map((value, p) => value / weights[p]!)
      const had = clicksOfPair.map((value, p) => value / weights[p]!)
      learnTau0(state, ids, interceptCounts(contexts, seen, beta, due, had), organization)
      const learned = learnedSpreads(contexts, seen, beta, due, had, startingTaus(contexts))
      for (const [j, spread] of learned) taus[j] = spread
      learnBuiltIns(state, contexts.names, builtInEvidence(contexts, seen, beta, due, had), organization)
    }
    recenter(state, seen, active)
  }
  const levels = window.mode === "adaptive"
    ? keptLevels(input, seen, state) ?? levelsOf(seen, state, factors, binomial)
    : undefined
  addUncertainExposure(seen, state)
  const widened = addUncertainFatigue(seen, state, input.fatigue)
  const evidence = pairEvidence(contexts, seen, state, expected, clicksOfPair)
  return snapshot(input, seen, state, evidence, widened, levels)
}

/** Growth of the outcomes within an hour from which the levels are computed again. */
const muchMore = 1.1

/**
 * Returns the levels of the model from which the fit starts, if they are of this hour and about these outcomes. They
 * take longer than the rest of a fit.
 */
const keptLevels = (
  { fatigue, now, start }: FitInput,
  seen: Observations,
  { a0, beta }: State,
): ModelSnapshot["levels"] => {
  const { variants } = seen
  if (start?.levels === undefined || Math.floor(start.fittedAt / hourMillis) !== Math.floor(now / hourMillis)) return
  const known = new Map(start.variants.map((variant, v) => [variant.id, { ...variant, v }]))
  const outcomes = (of: ReadonlyArray<{ readonly clicks: number }>) => of.reduce((sum, { clicks }) => sum + clicks, 0)
  if (known.size !== variants.length || outcomes(variants) > muchMore * outcomes(start.variants)) return
  // As in the snapshot, without the value of an outcome.
  const lower = start.a0 - Math.log(start.worth ?? 1) - a0 - (fatigue === undefined ? 0 : meanFreshness(seen))
  const moved = variants.map(({ id }, v) => {
    const before = known.get(id)
    return before && { v: before.v, by: lower + before.beta[0]! - beta[v]![0]! }
  })
  if (moved.includes(undefined)) return
  return start.levels.map(({ changes, common: [shift, variance, shared], variants: levels }) => ({
    ...(changes === undefined ? {} : { changes: moved.map((one) => changes[one!.v]!) }),
    variants: moved.map((one) => {
      const [shift, variance, shared] = levels[one!.v]!
      return [shift + one!.by, variance, shared] as const
    }),
    common: [shift + lower, variance, shared] as const,
  }))
}

/** Number of equally likely cases of the levels of the last days. */
const levelsKept = 12

/**
 * Returns the levels of the last 14 days relative to the fit. The effects of attribute values are held fixed. The
 * counts have equal weights: how fast the rates moved decides how much the older days say.
 */
const levelsOf = (
  seen: Observations,
  { a0, beta, components, f, fittedWith }: State,
  factors: Float64Array,
  binomial: number,
): ModelSnapshot["levels"] => {
  const days = seen.days.length
  if (days === 0 || beta.length === 0) return undefined
  contextFactors(seen.design, f, factors)
  const zeros = () => beta.map(() => new Float64Array(days))
  const outcomes = zeros()
  const expected = zeros()
  const weighted = new Float64Array(beta.length)
  for (let v = 0, e = 0; v < beta.length; v++) {
    const own = beta[v]!
    for (; e < seen.entries && seen.pairOfEntry[e]! < seen.pairs[v + 1]!; e++) {
      const context = seen.contextOfPair[seen.pairOfEntry[e]!]!
      const day = seen.dayOfEntry[e]!
      const rate = Math.exp(a0 + eta(seen.design, own, context) - own[0]!) * factors[context]! * binomial
      outcomes[v]![day]! += seen.clicksOfEntry[e]! * binomial / seen.weightOfDay[day]!
      expected[v]![day]! += seen.exposureOfEntry[e]! * rate / seen.weightOfDay[day]!
      weighted[v]! += seen.exposureOfEntry[e]! * rate * Math.exp(own[0]!)
    }
  }
  const shares = seen.trafficOfDay.slice()
  if (shares.every((share) => share === 0)) shares[days - 1] = 1
  const { tau0 } = fittedWith
  const centers = seen.variants.map(({ id }) => components?.foretell(id).mean ?? 0)
  return levelCases({ days: seen.days, shares, outcomes, expected, centers, tau0 }, levelsKept)
    .map(({ changes, common, variants }) => ({
      ...(changes === undefined ? {} : { changes }),
      variants: variants.map(({ mean, own, shared }, v) =>
        [mean - beta[v]![0]!, own - 1 / (1 / tau0 ** 2 + weighted[v]!), shared] as const
      ),
      common: [common.mean, 0, common.shared] as const,
    }))
}

/**
 * Widens the intercepts of variants whose sends are younger or older than the sends of other variants, by the
 * uncertainty of the delay curve: if people are faster than assumed, the rate of a young variant is lower than it
 * appears. Assumes that the values of the curve are perfectly correlated. Only the part of an intercept that the data
 * determine moves with its exposure.
 */
const addUncertainExposure = ({ variants }: Observations, { covariance, tau0 }: State): void => {
  let sd = 0
  let sends = 0
  for (const { effectiveSends, exposureSd } of variants) {
    sd += exposureSd
    sends += effectiveSends
  }
  variants.forEach(({ effectiveSends, exposureSd }, v) => {
    if (!(effectiveSends > 0)) return
    const determined = Math.max(0, 1 - covariance[v]![0]! / tau0 ** 2)
    covariance[v]![0] = covariance[v]![0]! + (determined * (exposureSd / effectiveSends - sd / sends)) ** 2
  })
}

/**
 * Widens the intercepts of variants that people have seen more or less often than other variants, by the uncertainty of
 * the effects of earlier exposures, and returns the added variances. Only the part of an intercept that the data
 * determine moves with its exposure. Errors of two variants have opposite signs, which covariances by variant cannot
 * express. Choices compensate by doubled variances. Reports use the cases of the effects instead.
 */
const addUncertainFatigue = (
  { variants }: Observations,
  { covariance, tau0 }: State,
  fatigue: Fatigue | undefined,
): ReadonlyArray<number> =>
  variants.map(({ effectiveSends, id }, v) => {
    if (fatigue === undefined || !(effectiveSends > 0)) return 0
    const determined = Math.max(0, 1 - covariance[v]![0]! / tau0 ** 2)
    const widened = 2 * (determined * fatigue.uncertainty(id)) ** 2
    covariance[v]![0] = covariance[v]![0]! + widened
    return widened
  })

/**
 * Moves the middle of the variants' intercepts into the base rate, so that a new variant, at 0, is a draw from the
 * variants' spread. A variant without sends is treated as new, even if an earlier fit had data of it. Variants with few
 * outcomes count as well: the policy shows the variants that began well, whose mean is above the mean of all. One
 * variant alone says nothing about the others.
 */
const recenter = (state: State, { variants }: Observations, active: ReadonlySet<string> | undefined): void => {
  const counted = [...variants.entries()]
    .filter(([, { effectiveSends, id }]) => effectiveSends > 0 && active?.has(id) !== false)
  let mean = 0
  if (counted.length > 1) {
    mean = counted.reduce((sum, [v]) => sum + state.beta[v]![0]!, 0) / counted.length
    state.components?.recenter(counted.map(([, { id }]) => id))
  }
  state.a0 += mean
  variants.forEach(({ effectiveSends, id }, v) => {
    const beta = state.beta[v]!
    if (effectiveSends > 0) beta[0] = beta[0]! - mean
    else beta.fill(0).set([foretold(state, id).mean])
  })
}

const fatigueOf = ({ cases, freshness }: Fatigue, variant: string, days: ReadonlyArray<number>) => ({
  cases: cases(variant),
  freshness: days.map((day) => freshness(variant, day)),
})

const snapshot = (
  input: FitInput,
  seen: Observations,
  state: State,
  evidence: ReadonlyArray<PairEvidence>,
  widened: ReadonlyArray<number>,
  levels: ModelSnapshot["levels"],
): ModelSnapshot => {
  const variants: ReadonlyArray<VariantPosterior> = seen.variants.map((totals, v) => ({
    id: totals.id,
    beta: Array.from(state.beta[v]!),
    covariance: Array.from(state.covariance[v]!),
    sends: totals.sends,
    maturedSends: totals.maturedSends,
    effectiveSends: totals.effectiveSends,
    clicks: totals.clicks,
    ...(totals.independence < 1 ? { independence: totals.independence } : {}),
    ...(input.fatigue === undefined
      ? {}
      : { fatigue: { widened: widened[v]!, ...fatigueOf(input.fatigue, totals.id, seen.days) } }),
  }))
  const { mostPerSend } = input.counts.valuation
  // The coefficients describe first exposures. The level is moved, so that rates describe the present mix of exposures.
  const tired = input.fatigue === undefined ? 0 : meanFreshness(seen)
  const model: ModelSnapshot = {
    version: input.version,
    fittedAt: input.now,
    window: input.window,
    scheme: input.scheme,
    ...(evidence.length === 0 ? {} : { pairEvidence: evidence }),
    ...(input.fatigue === undefined ? {} : {
      fatigue: input.fatigue.effects.map((effect) => effect - tired),
      reportedFatigue: input.fatigue.reported,
    }),
    a0: state.a0 + Math.log(seen.worth) + tired,
    worth: seen.worth,
    ...(mostPerSend < Infinity ? { mostPerSend } : {}),
    delays: input.curve,
    f: Array.from(state.f),
    days: seen.days.map((day, d) => [day, state.g[d]!]),
    tau0: state.tau0,
    taus: Array.from(state.taus),
    fittedWith: state.fittedWith,
    gamma0: 0,
    ...(state.spreads === undefined ? {} : { spreads: state.spreads }),
    ...(state.builtInProbability === undefined
      ? {}
      : { builtInProbability: state.builtInProbability, builtInOdds: state.builtInOdds }),
    ...(state.components === undefined ? {} : { components: state.components.snapshot() }),
    variants,
    clicksNext14Days: null,
    ...(levels === undefined ? {} : { levels }),
    traffic: seen.traffic,
    firstSendAt: seen.firstSendAt,
  }
  return seen.firstSendAt === null ? model : { ...model, clicksNext14Days: forecast(model, seen) }
}

/** Log of the mean factor of earlier exposures on the rates. */
const meanFreshness = ({ exposureOfEntry, entries, variants }: Observations): number => {
  let exposure = 0
  for (let e = 0; e < entries; e++) exposure += exposureOfEntry[e]!
  const sends = variants.reduce((sum, { effectiveSends, independence }) => sum + effectiveSends * independence, 0)
  return exposure > 0 && sends > 0 ? Math.log(exposure / sends) : 0
}

const forecast = (model: ModelSnapshot, { recent, recentTo14Days, worth }: Observations): number => {
  const betas = new Map(model.variants.map(({ beta, id }) => [id, beta]))
  let clicks = 0
  for (const { coefficients, sends, variant } of recent) {
    const beta = betas.get(variant)
    let log = logBaseRate(model, { key: "", coefficients }) + (beta?.[0] ?? 0)
    if (beta !== undefined) { for (const coefficient of coefficients) if (coefficient >= 0) log += beta[coefficient]! }
    clicks += sends * Math.exp(log)
  }
  return clicks / worth * recentTo14Days
}
