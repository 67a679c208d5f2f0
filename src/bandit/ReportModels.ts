import { contextsOf } from "./Contexts.ts"
import type { ModelSnapshot } from "./Model.ts"
import { type OtherModel, type OtherPrior, Refit } from "./Refit.ts"

// The models that the figures of results average over. Choices rest on one estimate of how far variants differ by an attribute,
// and of how much people tire. It is drawn to a small value: good for choices, but intervals around it are too narrow and
// differences too small.

/** Candidates for the standard deviation of the effects of an attribute. Without data each is as likely as it is large. */
const spreads: ReadonlyArray<number> = [0.05, 0.1, 0.2, 0.4, 0.8, 1.2]

/** Models of a report, of one with effects of fatigue alone, and the cases of these effects. */
const mostModels = 12
const fatigueModels = 6

/** Variants that say which spreads are likely, those with most outcomes. */
const judges = 20

/** Multiplications that the models may cost, about half a second of them. */
const budget = 300_000_000

/** Steps through the quantiles of the spreads, so that those of several attributes are combined in many ways. */
const strides = [1, 5, 7, 11]

/** How likely each of the candidates is for attribute `j`, with the others as they are. */
const likelihoods = (refit: Refit, taus: ReadonlyArray<number>, j: number): ReadonlyArray<number> => {
  const logs = spreads.map((spread) => refit.with({ taus: taus.map((tau, k) => k === j ? spread : tau) }).logEvidence)
  const largest = Math.max(...logs)
  if (largest === -Infinity) return []
  const odds = logs.map((log, i) => spreads[i]! * Math.exp(log - largest))
  const all = odds.reduce((sum, one) => sum + one, 0)
  return odds.map((one) => one / all)
}

/** The candidate below which the share `p` lies. */
const quantile = (shares: ReadonlyArray<number>, p: number): number => {
  let sum = 0
  return spreads[shares.findIndex((share) => (sum += share) > p)] ?? spreads.at(-1)!
}

/**
 * The models that a report averages over, equally likely: with other spreads of the effects of each attribute and pair, as the data
 * allow them, and with other effects of earlier exposures. The model alone where it has neither, and for models of earlier
 * releases. Templates with very many variants and attribute values get fewer models.
 */
export const reportModels = (model: ModelSnapshot): ReadonlyArray<OtherModel> => {
  const { attributes, names, size } = contextsOf(model.scheme)
  const { fittedWith, scheme, variants } = model
  const learned = names.flatMap((_, j) => j < scheme.keys.length || j >= attributes ? [j] : [])
  const hasFatigue = variants.some(({ fatigue }) => fatigue?.cases.length === fatigueModels)
  if (fittedWith === undefined || (learned.length === 0 && !hasFatigue)) return [model]
  const affordable = Math.max(1, Math.floor(2 * budget / Math.max(1, variants.length * size ** 3)))
  const count = Math.min(affordable, learned.length === 0 ? fatigueModels : mostModels)
  const first = variants.toSorted((a, b) => b.clicks - a.clicks).slice(0, judges)
  const judge = new Refit(model, fittedWith, first)
  const shares = new Map(learned.map((j) => [j, likelihoods(judge, fittedWith.taus, j)]))
  const refit = new Refit(model, fittedWith)
  const models = Array.from({ length: count }, (_, m) => {
    const taus = fittedWith.taus.map((tau, j) => {
      const own = shares.get(j)
      if (own === undefined || own.length === 0) return tau
      const place = m * strides[learned.indexOf(j) % strides.length]! % count
      return quantile(own, (place + 0.5) / count)
    })
    const prior: OtherPrior = {
      taus,
      byMean: learned.length > 0,
      fatigueCase: hasFatigue && count >= fatigueModels ? m % fatigueModels : undefined,
    }
    return refit.with(prior)
  })
  return models.every(({ logEvidence }) => logEvidence > -Infinity) ? models.map(({ model }) => model) : [model]
}
