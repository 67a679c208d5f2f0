import { Schema } from "effect"
import { factor, invert, packedIndex, packedLength } from "./Cholesky.ts"
import { byCodeUnits } from "./Contexts.ts"

// Variants can consist of components, such as a subject line and an image. Variants with a common component share its
// effect, so that results of one variant inform about the others. The intercept of a variant is drawn around the sum of
// the effects of its components.

/** Kind and value of each component, by id of the variant. Variants without components have an empty list. */
export type Composition = ReadonlyArray<
  readonly [variant: string, components: ReadonlyArray<readonly [kind: string, value: string]>]
>

/** Maximum number of learned effects. Kinds with the most values are left out first. */
const mostEffects = 200

/** Prior share of the variance of intercepts that the components explain. */
const expectedShare = 0.7

/** Weight of the prior of a spread. Unit: effects that the data determine. */
const spreadWeight = 2

const smallestTau = 0.01

/** Effects of components, as stored in a model: sorted by kind and then value, one kind after the other. */
export const ComponentEffects = Schema.Struct({
  /** The value is empty for variants that lack the kind. `tau`: standard deviation of the effects. */
  kinds: Schema.Array(
    Schema.Struct({ name: Schema.String, values: Schema.Array(Schema.String), tau: Schema.Finite }),
  ),
  effects: Schema.Array(Schema.Finite),
  /** Covariance of the effects, with the base rate known: packed lower triangle row by row. */
  covariance: Schema.Array(Schema.Finite),
  /** For each variant, the index of its effect of each kind. */
  variants: Schema.Array(Schema.Tuple([Schema.String, Schema.Array(Schema.Int)])),
})
export type ComponentEffects = typeof ComponentEffects.Type

interface Layout {
  readonly kinds: ReadonlyArray<{ readonly name: string; readonly values: ReadonlyArray<string> }>
  readonly variants: ReadonlyMap<string, ReadonlyArray<number>>
}

/**
 * Numbers the effects that can be learned: effects of kinds with at least two values, at least one of which occurs in
 * more than one variant. Returns undefined if there are no such kinds.
 */
const layOut = (composition: Composition): Layout | undefined => {
  const parts = new Map(composition.map(([id, components]) => [id, new Map(components)]))
  const names = new Set(composition.flatMap(([, components]) => components.map(([kind]) => kind)))
  const usable = Array.from(names, (name) => {
    const values = new Set(Array.from(parts.values(), (own) => own.get(name) ?? ""))
    return { name, values: [...values].sort(byCodeUnits) }
  })
    .filter(({ values }) => values.length > 1 && values.length < parts.size)
    .sort((a, b) => a.values.length - b.values.length || byCodeUnits(a.name, b.name))
  const kinds: typeof usable = []
  const numbers: Array<ReadonlyMap<string, number>> = []
  let effects = 0
  for (const kind of usable) {
    if (effects + kind.values.length > mostEffects) break
    numbers.push(new Map(kind.values.map((value, i) => [value, effects + i])))
    kinds.push(kind)
    effects += kind.values.length
  }
  if (kinds.length === 0) return undefined
  const variants = new Map(
    Array.from(parts, ([id, own]) => [id, kinds.map(({ name }, k) => numbers[k]!.get(own.get(name) ?? "")!)]),
  )
  return { kinds, variants }
}

/** The intercept predicted from a variant's components: its mean, and the variance of this mean. */
export interface Foretold {
  readonly mean: number
  readonly variance: number
}

export const nothingForetold: Foretold = { mean: 0, variance: 0 }

/**
 * Returns the intercept predicted for a variant from its components. For a variant that the model does not know, any
 * components are possible.
 */
export const foretellings = ({ covariance, effects, kinds, variants }: ComponentEffects): (id: string) => Foretold => {
  const all = new Map(variants.map(([id, own]) => [id, foretell(effects, covariance, own)]))
  const unknown = { mean: 0, variance: kinds.reduce((sum, { tau }) => sum + tau ** 2, 0) }
  return (id) => all.get(id) ?? unknown
}

const foretell = (
  effects: ArrayLike<number>,
  covariance: ArrayLike<number>,
  own: ReadonlyArray<number>,
): Foretold => {
  let mean = 0
  let variance = 0
  own.forEach((i, a) => {
    mean += effects[i]!
    // The indexes of a variant's effects ascend.
    for (let b = 0; b <= a; b++) variance += (a === b ? 1 : 2) * covariance[packedIndex(i, own[b]!)]!
  })
  return { mean, variance }
}

/**
 * Variance of the intercepts of variants without data: the variance around the sum of their components' effects plus
 * the variance of the effects.
 */
export const interceptVariance = (
  { components, tau0 }: { readonly tau0: number; readonly components?: ComponentEffects | undefined },
): number => tau0 ** 2 + (components?.kinds.reduce((sum, { tau }) => sum + tau ** 2, 0) ?? 0)

/** The effects of components while a model is fitted: the second level above the variants' intercepts. */
export class ComponentFit {
  readonly #layout: Layout
  readonly #kindOf: Int32Array
  readonly #effects: Float64Array
  readonly #covariance: Float64Array
  readonly #taus: Float64Array
  readonly #prior: number

  private constructor(layout: Layout, tau0: number, start: ComponentEffects | undefined) {
    this.#layout = layout
    const { kinds } = layout
    this.#kindOf = Int32Array.from(kinds.flatMap(({ values }, k) => values.map(() => k)))
    const size = this.#kindOf.length
    this.#effects = new Float64Array(size)
    this.#covariance = new Float64Array(packedLength(size))
    this.#prior = expectedShare * tau0 ** 2 / kinds.length
    this.#taus = new Float64Array(kinds.length).fill(Math.sqrt(this.#prior))
    this.#resume(start)
  }

  /**
   * Returns undefined if no component can be learned. `tau0`: standard deviation of the intercepts of the
   * organization's variants.
   */
  static of(composition: Composition, tau0: number, start?: ComponentEffects): ComponentFit | undefined {
    const layout = layOut(composition)
    return layout === undefined ? undefined : new ComponentFit(layout, tau0, start)
  }

  #resume(start: ComponentEffects | undefined): void {
    const before = new Map<string, number>()
    let old = 0
    for (const { name, tau, values } of start?.kinds ?? []) {
      const k = this.#layout.kinds.findIndex((kind) => kind.name === name)
      if (k >= 0) this.#taus[k] = tau
      for (const value of values) before.set(`${name}\u0000${value}`, start!.effects[old++]!)
    }
    let i = 0
    for (const { name, values } of this.#layout.kinds) {
      for (const value of values) this.#effects[i++] = before.get(`${name}\u0000${value}`) ?? 0
    }
  }

  /** Prior variance of the intercepts around the sums of effects. */
  static residual(tau0: number): number {
    return (1 - expectedShare) * tau0 ** 2
  }

  foretell(id: string): Foretold {
    const own = this.#layout.variants.get(id)
    return own === undefined ? nothingForetold : foretell(this.#effects, this.#covariance, own)
  }

  /**
   * Updates the effects from the variants' intercepts and variances, which were fitted with the former effects as prior
   * means: the normal posterior with the intercepts integrated out. Then makes one fixed-point step of the spreads of
   * the effects.
   */
  learn(
    variants: ReadonlyArray<{ readonly id: string; readonly intercept: number; readonly variance: number }>,
    tau0: number,
    hold: boolean,
  ): void {
    const size = this.#kindOf.length
    const matrix = this.#covariance.fill(0)
    const pulls = new Float64Array(size)
    const precision = 1 / tau0 ** 2
    for (const { id, intercept, variance } of variants) {
      const own = this.#layout.variants.get(id)
      if (own === undefined) continue
      const undetermined = Math.min(1, variance * precision)
      const weight = (1 - undetermined) * precision
      const pull = (intercept - this.foretellMean(own) * undetermined) * precision
      own.forEach((i, a) => {
        pulls[i] = pulls[i]! + pull
        for (let b = 0; b <= a; b++) {
          const at = packedIndex(i, own[b]!)
          matrix[at] = matrix[at]! + weight
        }
      })
    }
    for (let i = 0; i < size; i++) {
      const at = packedIndex(i, i)
      matrix[at] = matrix[at]! + 1 / this.#taus[this.#kindOf[i]!]! ** 2
    }
    factor(matrix, size)
    invert(matrix, size)
    for (let i = 0; i < size; i++) {
      let sum = 0
      for (let j = 0; j < size; j++) sum += matrix[packedIndex(Math.max(i, j), Math.min(i, j))]! * pulls[j]!
      this.#effects[i] = sum
    }
    if (!hold) this.#learnSpreads()
  }

  foretellMean(own: ReadonlyArray<number>): number {
    let mean = 0
    for (const i of own) mean += this.#effects[i]!
    return mean
  }

  #learnSpreads(): void {
    const kinds = this.#taus.length
    const squares = new Float64Array(kinds)
    const determined = new Float64Array(kinds)
    this.#kindOf.forEach((k, i) => {
      squares[k] = squares[k]! + this.#effects[i]! ** 2
      determined[k] = determined[k]! +
        Math.max(0, 1 - this.#covariance[packedIndex(i, i)]! / this.#taus[k]! ** 2)
    })
    for (let k = 0; k < kinds; k++) {
      this.#taus[k] = Math.max(
        smallestTau,
        Math.sqrt((spreadWeight * this.#prior + squares[k]!) / (spreadWeight + determined[k]!)),
      )
    }
  }

  /** Subtracts the mean over these variants from the effects of each kind. */
  recenter(ids: ReadonlyArray<string>): void {
    const known = ids.flatMap((id) => this.#layout.variants.get(id) ?? [])
    const kinds = this.#taus.length
    const count = known.length / kinds
    if (count === 0) return
    const means = new Float64Array(kinds)
    known.forEach((i) => {
      const k = this.#kindOf[i]!
      means[k] = means[k]! + this.#effects[i]! / count
    })
    this.#kindOf.forEach((k, i) => this.#effects[i] = this.#effects[i]! - means[k]!)
  }

  snapshot(): ComponentEffects {
    return {
      kinds: this.#layout.kinds.map((kind, k) => ({ ...kind, tau: this.#taus[k]! })),
      effects: Array.from(this.#effects),
      covariance: Array.from(this.#covariance),
      variants: Array.from(this.#layout.variants, ([id, own]) => [id, own] as const)
        .sort(([a], [b]) => byCodeUnits(a, b)),
    }
  }
}
