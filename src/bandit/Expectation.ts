import { contextsOf } from "./Contexts.ts"
import { logBaseRate, type ModelSnapshot, posterior, type VariantPosterior } from "./Model.ts"

/** The parts of a model that expectations read, indexed once for each model. */
interface Lookup {
  readonly days: ReadonlyMap<number, number>
  readonly variants: ReadonlyMap<string, VariantPosterior>
}

const lookups = new WeakMap<ModelSnapshot, Lookup>()

const lookupOf = (model: ModelSnapshot): Lookup => {
  let lookup = lookups.get(model)
  if (lookup === undefined) {
    const variants = new Map(model.variants.map((variant) => [variant.id, variant]))
    lookups.set(model, lookup = { days: new Map(model.days), variants })
  }
  return lookup
}

/**
 * Value per decision that the model expects of a variant, in the context with the key `context`, on the day that starts
 * at `day`.
 */
export const expectedPerDecision = (model: ModelSnapshot, variant: string, context: string, day: number): number => {
  const { days, variants } = lookupOf(model)
  const known = contextsOf(model.scheme).parse(context)
  return Math.exp(
    logBaseRate(model, known) + (days.get(day) ?? 0) + posterior(model, variants.get(variant), known).mean,
  )
}
