import { contextsOf } from "./Contexts.ts"
import { builtInsOf, noSpread } from "./Mixture.ts"
import type { ModelSnapshot } from "./Model.ts"
import { type OtherModel, type OtherPrior, Refit } from "./Refit.ts"

// The models over which the figures of results are averaged. Choices use a single estimate of how far an attribute
// makes variants differ, and of how much people tire. This estimate is shrunk to a small value. That is good for
// choices, but the intervals around it are too narrow and the differences too small.

/** Candidates for the standard deviation of the effects of an attribute. Prior probabilities are proportional to it. */
const spreads: ReadonlyArray<number> = [0.05, 0.1, 0.2, 0.4, 0.8, 1.2]

/**
 * Number of models of a report, and of a report with effects of fatigue alone, which is also the number of cases of
 * these effects.
 */
const mostModels = 12
const fatigueModels = 6

/** Number of variants from which the probabilities of the spreads are computed: the variants with most outcomes. */
const judges = 20

/** Maximum number of multiplications for the models, about half a second. */
const budget = 300_000_000

/** Step through the models with and without weekday and daypart. */
const builtInStride = 7

/** Steps through the quantiles of the spreads, so that the spreads of several attributes are combined in many ways. */
const strides = [1, 5, 7, 11]

/**
 * The posterior probability of each candidate for one standard deviation, with the others held fixed. `priorWith`
 * returns the prior with a candidate.
 */
const likelihoods = (refit: Refit, priorWith: (spread: number) => OtherPrior): ReadonlyArray<number> => {
  const logs = spreads.map((spread) => refit.with(priorWith(spread)).logEvidence)
  const largest = Math.max(...logs)
  if (largest === -Infinity) return []
  const odds = logs.map((log, i) => spreads[i]! * Math.exp(log - largest))
  const all = odds.reduce((sum, one) => sum + one, 0)
  return odds.map((one) => one / all)
}

/** The smallest candidate at which the cumulative share exceeds `p`. */
const quantile = (shares: ReadonlyArray<number>, p: number): number => {
  let sum = 0
  return spreads[shares.findIndex((share) => (sum += share) > p)] ?? spreads.at(-1)!
}

/** Minimum variance of an intercept. */
const leastVariance = 1e-8

/** Returns a model with the levels of one case. */
const atLevel = (
  model: OtherModel,
  { common, variants }: NonNullable<ModelSnapshot["levels"]>[number],
): OtherModel => ({
  ...model,
  common,
  shared: variants.map(([, , shared]) => shared),
  variants: model.variants.map((variant, v) => {
    const [shift, variance] = variants[v]!
    return {
      ...variant,
      beta: variant.beta.map((value, i) => i === 0 ? value + shift : value),
      covariance: variant.covariance.map((value, i) => i === 0 ? Math.max(leastVariance, value + variance) : value),
    }
  }),
})

/** Returns the models, each with one of the cases of the levels. A single model is repeated up to `most` times. */
const withLevels = (
  { levels = [] }: ModelSnapshot,
  models: ReadonlyArray<OtherModel>,
  most: number,
): ReadonlyArray<OtherModel> => {
  if (levels.length === 0) return models
  const [only] = models
  const count = models.length === 1 ? Math.min(most, levels.length) : models.length
  return Array.from({ length: count }, (_, m) => {
    const place = models.length === 1 ? Math.floor((m + 0.5) * levels.length / count) : m * levelStride % levels.length
    return atLevel(models[m] ?? only!, levels[place]!)
  })
}

/** Step through the cases of the levels, so that they are combined with the spreads in many ways. */
const levelStride = 5

/** Number of models that a report can have within the budget. */
const affordable = ({ scheme, variants }: ModelSnapshot): number =>
  Math.max(1, Math.floor(2 * budget / Math.max(1, variants.length * contextsOf(scheme).size ** 3)))

/**
 * Returns the models with other spreads of the effects of each attribute and pair, and with other effects of earlier
 * exposures. Returns only the model itself if it has neither, or comes from an earlier release.
 */
const otherModels = (model: ModelSnapshot): ReadonlyArray<OtherModel> => {
  const contexts = contextsOf(model.scheme)
  const { attributes, names } = contexts
  const { fittedWith, scheme, variants } = model
  const learned = names.flatMap((_, j) => j < scheme.keys.length || j >= attributes ? [j] : [])
  const hasFatigue = variants.some(({ fatigue }) => fatigue?.cases.length === fatigueModels)
  const builtIns = new Set(builtInsOf(contexts))
  const withBuiltIns = builtIns.size === 0 ? 1 : model.builtInProbability ?? 1
  if (fittedWith === undefined || (learned.length === 0 && !hasFatigue && withBuiltIns === 1)) return [model]
  const count = Math.min(affordable(model), learned.length === 0 && hasFatigue ? fatigueModels : mostModels)
  const first = variants.toSorted((a, b) => b.clicks - a.clicks).slice(0, judges)
  const judge = new Refit(model, fittedWith, first)
  const { taus } = fittedWith
  const shares = new Map(learned.map((j) => [
    j,
    likelihoods(judge, (spread) => ({ taus: taus.with(j, spread) })),
  ]))
  const refit = new Refit(model, fittedWith)
  const models = Array.from({ length: count }, (_, m) => {
    const hasBuiltIns = (m * builtInStride % count + 0.5) / count < withBuiltIns
    const own = taus.map((tau, j) => {
      if (builtIns.has(j) && !hasBuiltIns) return noSpread
      const candidates = shares.get(j)
      if (candidates === undefined || candidates.length === 0) return tau
      const place = m * strides[learned.indexOf(j) % strides.length]! % count
      return quantile(candidates, (place + 0.5) / count)
    })
    const prior: OtherPrior = {
      taus: own,
      byMean: learned.length > 0,
      fatigueCase: hasFatigue && count >= fatigueModels ? m % fatigueModels : undefined,
    }
    return refit.with(prior)
  })
  return models.every(({ logEvidence }) => logEvidence > -Infinity) ? models.map(({ model }) => model) : [model]
}

/**
 * Returns the models over which a report averages, equally likely: with other spreads of the effects of each attribute
 * and pair, as far as the data allow them, with other effects of earlier exposures, and with the levels of the last
 * days in several cases. Returns only the model itself if it comes from an earlier release. Templates with very many
 * variants and attribute values get fewer models.
 */
export const reportModels = (model: ModelSnapshot): ReadonlyArray<OtherModel> =>
  withLevels(model, otherModels(model), affordable(model))
