import { nothing } from "../domain/SendNothing.ts"
import type { Context } from "./Contexts.ts"
import { logBaseRate, type ModelSnapshot, type NothingModels, type Posterior, type VariantPosterior } from "./Model.ts"
import { mixed, type ModelPart, modelParts } from "./ModelParts.ts"

// "Send nothing" as a candidate. A log rate cannot express a loss, so messages are compared with nothing by their net
// value: gains less costs. See docs/model.md, "Sending nothing".

/** A model with its variants by id. */
class Part {
  readonly model: ModelSnapshot
  readonly parts: ReadonlyArray<ModelPart>
  readonly variants: ReadonlyMap<string, VariantPosterior>
  /** Relative error of the level of all rates: one pseudo-outcome is its prior. */
  readonly error: number

  constructor(model: ModelSnapshot) {
    this.model = model
    this.parts = modelParts(model)
    this.variants = new Map(model.variants.map((variant) => [variant.id, variant]))
    const value = model.variants.reduce((sum, { clicks }) => sum + Math.max(0, clicks), 0)
    this.error = 1 / Math.sqrt(1 + value / (model.worth ?? 1))
  }

  value(id: string, context: Context): Posterior {
    const variant = this.variants.get(id)
    const { mean: log, sd } = mixed(
      this.parts.map(({ posterior, probability }) => ({ ...posterior(variant, context), probability })),
    )
    const mean = Math.exp(logBaseRate(this.model, context) + log)
    return { mean, sd: mean * sd }
  }
}

/** The net values of messages and of nothing, from the models of a template that may send nothing. */
export class Net {
  readonly #gains: Part
  readonly #costs: Part
  readonly #organic: Part | undefined

  constructor({ costs, gains, organic }: NothingModels) {
    this.#gains = new Part(gains)
    this.#costs = new Part(costs)
    this.#organic = organic === null ? undefined : new Part(organic)
  }

  /**
   * Returns the net values of `ids`, which contain `nothing`, in a context. `effects`: effects of earlier exposures on
   * the log rates, by index. An error of the level of all messages matters only against nothing, so that it widens the
   * value of nothing.
   */
  of(ids: ReadonlyArray<string>, context: Context, effects?: ReadonlyArray<number>): ReadonlyArray<Posterior> {
    const messages = ids.map((id, i) => {
      if (id === nothing) return undefined
      const freshness = Math.exp(effects?.[i] ?? 0)
      const gain = this.#gains.value(id, context)
      const cost = this.#costs.value(id, context)
      return { gain: gain.mean * freshness, cost: cost.mean, sd: Math.hypot(gain.sd * freshness, cost.sd) }
    })
    const known = messages.filter((message) => message !== undefined)
    const average = (of: (message: typeof known[number]) => number) =>
      known.reduce((sum, message) => sum + of(message), 0) / known.length
    const organic = this.#organic?.value(nothing, context) ?? { mean: 0, sd: 0 }
    const sd = Math.hypot(
      organic.sd,
      organic.mean * (this.#organic?.error ?? 0),
      average(({ gain }) => gain) * this.#gains.error,
      average(({ cost }) => cost) * this.#costs.error,
    )
    return messages.map((message) =>
      message === undefined ? { mean: organic.mean, sd } : { mean: message.gain - message.cost, sd: message.sd }
    )
  }
}

/**
 * Returns draws of the values of `ids`, by place and then by id. `draw` draws from one model; each call must use other
 * random numbers. If the ids contain `nothing`, the values are net values.
 */
export const drawValues = (
  model: ModelSnapshot,
  ids: ReadonlyArray<string>,
  draw: (model: ModelSnapshot, ids: ReadonlyArray<string>) => ReadonlyArray<ReadonlyArray<Float64Array>>,
): ReadonlyArray<ReadonlyArray<Float64Array>> => {
  const at = ids.indexOf(nothing)
  if (model.nothing === undefined || at < 0) return draw(model, ids)
  const { costs, gains, organic } = model.nothing
  const variants = ids.filter((id) => id !== nothing)
  const gained = draw(gains, variants)
  const cost = draw(costs, variants)
  const without = organic === null ? [] : draw(organic, [nothing])
  return gained.map((place, p) => {
    const unsent = without[p]?.[0]
    const count = Math.min(
      ...[...place, ...cost[p]!, ...unsent === undefined ? [] : [unsent]].map(({ length }) => length),
    )
    const net = place.map((gain, v) => gain.slice(0, count).map((value, d) => value - cost[p]![v]![d]!))
    return net.toSpliced(at, 0, unsent?.slice(0, count) ?? new Float64Array(count))
  })
}

/** Matured decisions behind the value of a candidate. If nothing is worth 0, all messages tell how it compares. */
export const maturedSends = ({ nothing: parts, variants }: ModelSnapshot, id: string | null): number => {
  if (parts === undefined || id !== nothing) return variants.find((variant) => variant.id === id)?.maturedSends ?? 0
  return (parts.organic ?? parts.gains).variants.reduce((sum, { maturedSends }) => sum + maturedSends, 0)
}
