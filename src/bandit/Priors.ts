import { usualProbability } from "./Mixture.ts"
import type { ModelSnapshot, OrganizationPriors } from "./Model.ts"
import { spreadOf, spreads } from "./Spreads.ts"

/** Minimum number of clicks of a template that contributes to the priors of its organization. */
const smallestClicks = 30

/** Standard deviation of variants' intercepts before data, and the standard deviation of its log. */
const usualTau0 = 0.2
const tau0Width = 0.35

/** Returns the standard deviation of intercepts from log likelihoods of the `spreads` by independent data. */
export const tau0Of = (logs: ReadonlyArray<ReadonlyArray<number>>, usual = usualTau0): number =>
  spreadOf(spreads.map((_, i) => logs.reduce((sum, own) => sum + own[i]!, 0)), usual, tau0Width)

/** The contribution of a fitted template to the priors of its organization. Plain data, replaced by each fit. */
export interface PriorContribution {
  /** Log of its base rate, in outcomes per send, so that objectives in different units can share it. */
  readonly a0: number
  /** Log likelihoods of the `spreads` of its variants' intercepts. Absent from earlier releases. */
  readonly spreads?: ReadonlyArray<number>
  /** Log odds of its data in favour of effects of each built-in attribute. Absent from earlier releases. */
  readonly builtIns?: ReadonlyArray<readonly [string, number]>
  /** For earlier releases, which learn the spread of intercepts from these two. */
  readonly squares: 0
  readonly determined: 0
}

/** The priors of an organization without data: base rate 0.03, standard deviation 0.2. */
export const defaultPriors: OrganizationPriors = {
  spreads: spreads.map(() => 0),
  a0: Math.log(0.03),
  tau0: usualTau0,
  builtIns: new Map(),
}

/** Returns the contribution of a fitted template, or undefined below 30 outcomes in its window. */
export const contributionOf = (model: ModelSnapshot): PriorContribution | undefined => {
  const { variants, worth = 1 } = model
  if (variants.reduce((sum, { clicks }) => sum + clicks / worth, 0) < smallestClicks) return undefined
  return {
    a0: model.a0 - Math.log(worth),
    ...(model.spreads === undefined ? {} : { spreads: model.spreads }),
    ...(model.builtInOdds === undefined ? {} : { builtIns: model.builtInOdds }),
    squares: 0,
    determined: 0,
  }
}

/**
 * Returns the priors of an organization from the contributions of its templates. `except` names the template to fit,
 * which must not learn from itself.
 */
export const organizationPriors = (
  contributions: ReadonlyMap<string, PriorContribution>,
  except?: string,
): OrganizationPriors => {
  const others = Array.from(contributions).flatMap(([template, one]) => template === except ? [] : one)
  if (others.length === 0) return defaultPriors
  const odds = new Map<string, Array<number>>()
  for (const { builtIns = [] } of others) {
    for (const [name, one] of builtIns) odds.getOrInsertComputed(name, () => []).push(one)
  }
  const sums = spreads.map((_, i) => others.reduce((sum, one) => sum + (one.spreads?.[i] ?? 0), 0))
  return {
    spreads: sums,
    a0: others.reduce((sum, one) => sum + one.a0, 0) / others.length,
    tau0: tau0Of([sums]),
    builtIns: new Map(Array.from(odds, ([name, all]) => [name, usualProbability(all)])),
  }
}
