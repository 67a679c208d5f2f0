import { foretellings, interceptVariance } from "./Components.ts"
import type { ModelSnapshot, OrganizationPriors } from "./Model.ts"

/** Minimum number of clicks of a template that contributes to the priors of its organization. */
const smallestClicks = 30

/** The contribution of a fitted template to the priors of its organization. Plain data, replaced by each fit. */
export interface PriorContribution {
  /** Sum of the squares of its variants' intercepts. */
  readonly squares: number
  /** Number of intercepts that the data determine. */
  readonly determined: number
  /** Log of its base rate, in outcomes per send, so that objectives in different units can share it. */
  readonly a0: number
}

/** The priors of an organization without data: base rate 0.03, standard deviation 0.2. */
export const defaultPriors: OrganizationPriors = { squares: 0, determined: 0, a0: Math.log(0.03), tau0: 0.2 }

/** Returns the contribution of a fitted template, or undefined below 30 outcomes in its window. */
export const contributionOf = (model: ModelSnapshot): PriorContribution | undefined => {
  const { components, worth = 1 } = model
  let clicks = 0
  let squares = 0
  let determined = 0
  const foretold = components && foretellings(components)
  for (const variant of model.variants) {
    clicks += variant.clicks / worth
    squares += variant.beta[0]! ** 2
    if (foretold === undefined) continue
    const own = variant.covariance[0]!
    const variance = own + (own / model.tau0 ** 2) ** 2 * foretold(variant.id).variance
    determined += Math.max(0, 1 - variance / interceptVariance(model))
  }
  if (clicks < smallestClicks) return undefined
  // With components, `gamma0` counts only the variance that components leave unexplained. Other templates need the
  // whole variance.
  return {
    squares,
    determined: foretold === undefined ? model.gamma0 : determined,
    a0: model.a0 - Math.log(worth),
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
  let templates = 0
  let squares = 0
  let determined = 0
  let a0 = 0
  for (const [template, contribution] of contributions) {
    if (template === except) continue
    templates++
    squares += contribution.squares
    determined += contribution.determined
    a0 += contribution.a0
  }
  return templates === 0 ? defaultPriors : {
    squares,
    determined,
    a0: a0 / templates,
    tau0: Math.sqrt((4 * 0.2 ** 2 + squares) / (4 + determined)),
  }
}
