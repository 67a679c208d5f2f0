import { BaseError } from "./BaseError.ts"
import { contextsOf } from "./Contexts.ts"
import type { ModelSnapshot } from "./Model.ts"

/** Effect of a component on the rate of the variants that have it, relative to the average component of its kind. */
export interface ComponentEffect {
  readonly kind: string
  readonly value: string
  /** As a share of the rate. */
  readonly lift: number
  /** Its 95 % interval. */
  readonly interval: readonly [number, number]
}

const z = 1.959963984540054

/**
 * Minimum standard deviation of the log rate that a report assumes for the effects of a kind. With few values of a
 * kind, the data hardly determine this spread, and the model shrinks the effects to zero. That is good for choosing,
 * but would make the intervals too short.
 */
const leastSpread = 0.3

/**
 * Effects of all components, sorted by kind and then value. The interval comes from the joint posterior of base rate,
 * components and variants, under a wide prior of the components' effects.
 */
export const componentEffects = (model: ModelSnapshot): ReadonlyArray<ComponentEffect> => {
  const { components } = model
  if (components === undefined) return []
  const base = new BaseError(model, contextsOf(model.scheme), leastSpread)
  const taus = components.kinds.flatMap(({ tau, values }) => values.map(() => tau))
  const released = taus.map((tau, i) => (1 / tau ** 2 - 1 / Math.max(leastSpread, tau) ** 2) * components.effects[i]!)
  const shifts = base.componentShifts(Float64Array.from(released))
  const effects = shifts.map((shift, i) => shift + components.effects[i]!)
  let first = 0
  return components.kinds.flatMap(({ name, values }) => {
    const offset = first
    first += values.length
    return values.map((value, v): ComponentEffect => {
      const slopes = new Float64Array(components.effects.length)
      values.forEach((_, i) => slopes[offset + i] = (i === v ? 1 : 0) - 1 / values.length)
      const log = slopes.reduce((sum, slope, i) => sum + slope * effects[i]!, 0)
      const reach = z * Math.sqrt(base.componentVariance(slopes))
      return { kind: name, value, lift: Math.expm1(log), interval: [Math.expm1(log - reach), Math.expm1(log + reach)] }
    })
  })
}
