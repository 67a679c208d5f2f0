import { nothing } from "../domain/SendNothing.ts"
import { BaseError } from "./BaseError.ts"
import { type ContextKey, type Contexts, contextsOf } from "./Contexts.ts"
import { factor, packedIndex, packedLength } from "./Cholesky.ts"
import { foretellings, type Foretold } from "./Components.ts"
import type { ModelSnapshot, VariantPosterior } from "./Model.ts"
import type { OtherModel } from "./Refit.ts"
import { dayMillis } from "./Window.ts"

/** Estimates of one variant's rate, over the contexts of the report. Rates are clicks per send. */
export interface VariantReport {
  readonly id: string
  /** Probability of having the highest rate among the contenders, 0 to 1. Sums to 1 over the contenders. */
  readonly pBest: number
  /** Expected rate. */
  readonly rate: number
  /** 95 % credible interval of the rate. */
  readonly interval: readonly [number, number]
  /** Expected loss from choosing this variant for good, as a share of its rate. 0 or more, infinite for a net loss. */
  readonly expectedLoss: number
}

/** How much better the leader's rate is than another rate. Intervals contain 95 % of the posterior. */
export interface RateLift {
  /** As a share of the other rate. */
  readonly value: number
  readonly interval: readonly [number, number]
  /** In the unit of the rates. */
  readonly difference: number
  readonly differenceInterval: readonly [number, number]
}

/** How much better the leader is than the next best contender. */
interface Lift extends RateLift {
  /** The contender with the highest rate after the leader's. */
  readonly baseline: string
}

/** How the variants compare. */
export interface VariantComparison {
  /** In the order of the ids given. */
  readonly variants: ReadonlyArray<VariantReport>
  /** The contender with the highest expected rate. Null without contenders. */
  readonly leader: string | null
  /** With 95 % probability, any other contender gains at most this share over the leader. */
  readonly valueRemaining: number
  /** With 95 % probability, choosing any one contender for good loses at most this share of its rate. */
  readonly worstLoss: number
  /** Null unless a message leads, and with fewer than two messages among the contenders. */
  readonly lift: Lift | null
  /** How much better the leader is than a random split of all messages. Null if `lift` is null. */
  readonly overSplit: RateLift | null
  /** Present if `nothing` and a message are contenders. */
  readonly overNothing?: OverNothing
}

/** How much better the best message is than no message. The lift is a share of a rate that can be 0 or below. */
interface OverNothing extends RateLift {
  /** The message with the highest expected rate. */
  readonly best: string
  /** Probability that this message has the higher rate, 0 to 1. */
  readonly probability: number
}

/**
 * Sends in a context, or its share of the traffic (any positive scale). Stored models name the key of a context `cell`.
 */
export interface ContextTraffic {
  readonly cell: ContextKey
  readonly sends: number
}

/** The contexts over which a rate is averaged, and the number of draws. */
export interface Place {
  readonly traffic: ReadonlyArray<ContextTraffic>
  readonly draws: number
  /**
   * By variant, the part of its rate that counts in each context of `traffic`, 0 to 1. A missing variant counts nowhere.
   * Default: 1 for every variant.
   */
  readonly parts?: ReadonlyMap<string, Float64Array>
}

/** Places over one list of distinct contexts, laid out for a loop over the draws. */
interface Layout {
  /**
   * Coefficients of the contexts, one context after the other. The coefficients of context `c` start at `starts[c]`.
   */
  readonly coefficients: Int32Array
  readonly starts: Int32Array
  /**
   * For each place, its contexts and the number of draws. `sharesOf` returns the share of each context in the traffic,
   * times its base rate and the part of it that counts for the variant.
   */
  readonly places: ReadonlyArray<{
    readonly contexts: Int32Array
    readonly draws: number
    readonly sharesOf: (id: string) => Float64Array
  }>
}

const layOut = (contexts: Contexts, model: ModelSnapshot, places: ReadonlyArray<Place>): Layout => {
  const numbers = new Map<string, number>()
  const coefficients: Array<number> = []
  const starts = [0]
  const baseRates: Array<number> = []
  /**
   * Returns the index of a context, by the values that the scheme knows: several keys of older schemes may have one
   * index.
   */
  const numberOf = (text: ContextKey): number => {
    const { coefficients: all, key } = contexts.parse(text)
    let number = numbers.get(key)
    if (number === undefined) {
      numbers.set(key, number = baseRates.length)
      let log = model.a0
      for (const coefficient of all) {
        if (coefficient < 0) continue
        coefficients.push(coefficient)
        log += model.f[coefficient]!
      }
      starts.push(coefficients.length)
      baseRates.push(Math.exp(log))
    }
    return number
  }
  const laidOut = places.map(({ draws, parts, traffic }) => {
    const total = traffic.reduce((sum, { sends }) => sum + sends, 0)
    // Without traffic, uses the rate of a context without known attributes.
    const list = total > 0 ? traffic : [{ cell: "", sends: 1 }]
    const numbers = list.map(({ cell }) => numberOf(cell))
    const at = new Map([...new Set(numbers)].map((number, i) => [number, i]))
    const sharesWith = (part: Float64Array | undefined) => {
      const shares = new Float64Array(at.size)
      list.forEach(({ sends }, i) =>
        shares[at.get(numbers[i]!)!]! += sends / (total > 0 ? total : 1) * baseRates[numbers[i]!]! * (part?.[i] ?? 1)
      )
      return shares
    }
    const whole = sharesWith(undefined)
    const none = new Float64Array(at.size)
    const sharesOf = (id: string) => {
      const part = parts?.get(id)
      return parts === undefined ? whole : part === undefined ? none : sharesWith(part)
    }
    return { draws, contexts: Int32Array.from(at.keys()), sharesOf }
  })
  return { coefficients: Int32Array.from(coefficients), starts: Int32Array.from(starts), places: laidOut }
}

/**
 * Draws a variant's effects for each error of the base rate, and averages its rate in every place that needs this many
 * draws. Without data of the variant, draws around the predicted intercept.
 */
const drawRates = (
  model: ModelSnapshot,
  contexts: Contexts,
  id: string,
  variant: VariantPosterior | undefined,
  foretold: Foretold | undefined,
  { coefficients, places, starts }: Layout,
  normal: () => number,
  base: BaseError,
  errors: ReadonlyArray<Float64Array>,
  level: { readonly shift: number; readonly shared: number; readonly errors: Float64Array },
): ReadonlyArray<Float64Array> => {
  const { size } = contexts
  const root = variant === undefined ? new Float64Array(packedLength(size)) : Float64Array.from(variant.covariance)
  if (variant !== undefined) factor(root, size)
  else {
    for (let i = 0; i < size; i++) {
      root[packedIndex(i, i)] = i > 0
        ? model.taus[contexts.attributeOf[i]!]!
        : foretold === undefined || base.knowsComponentsOf(id)
        ? model.tau0
        : Math.sqrt(model.tau0 ** 2 + foretold.variance)
    }
  }
  const rates = places.map(({ draws }) => new Float64Array(draws))
  const shares = places.map(({ sharesOf }) => sharesOf(id))
  const z = new Float64Array(size)
  const effects = new Float64Array(size)
  const products = new Float64Array(starts.length - 1)
  for (let d = 0; d < errors.length; d++) {
    for (let i = 0; i < size; i++) z[i] = normal()
    for (let i = 0, row = 0; i < size; i++, row += i) {
      let sum = variant === undefined ? (i === 0 ? foretold?.mean ?? 0 : 0) : variant.beta[i]!
      for (let k = 0; k <= i; k++) sum += root[row + k]! * z[k]!
      effects[i] = sum
    }
    base.shift(id, variant, errors[d]!, effects)
    effects[0] = effects[0]! + level.shift + level.shared * level.errors[d]!
    for (let i = 0; i < size; i++) effects[i] = Math.exp(effects[i]!)
    for (let c = 0, at = 0; c < products.length; c++) {
      let product = effects[0]!
      for (const end = starts[c + 1]!; at < end; at++) product *= effects[coefficients[at]!]!
      products[c] = product
    }
    for (let p = 0; p < places.length; p++) {
      const { contexts: list, draws } = places[p]!
      if (d >= draws) continue
      const own = shares[p]!
      let rate = 0
      for (let c = 0; c < list.length; c++) rate += own[c]! * products[list[c]!]!
      rates[p]![d] = rate
    }
  }
  return rates
}

/**
 * Draws the variants' rates in each of the places from the untempered posterior: by place, then by variant. The effects
 * of a variant are drawn once for all places, so that many places are cheap. Errors of the base rate are drawn once for
 * all variants, so that they cancel between variants with much data.
 */
export const drawPlaces = (
  model: OtherModel,
  ids: ReadonlyArray<string>,
  normal: () => number,
  places: ReadonlyArray<Place>,
): ReadonlyArray<ReadonlyArray<Float64Array>> => {
  const contexts = contextsOf(model.scheme)
  const layout = layOut(contexts, model, places)
  const known = new Map(model.variants.map((variant) => [variant.id, variant]))
  const shared = new Map(model.variants.map(({ id }, v) => [id, model.shared?.[v] ?? 0]))
  const [shift, , sharedByNew] = model.common ?? [0, 0, 0]
  const base = new BaseError(model, contexts)
  const count = places.reduce((most, { draws }) => Math.max(most, draws), 0)
  const errors = Array.from({ length: count }, () => base.draw(normal))
  const levelErrors = Float64Array.from(errors, () => model.shared === undefined ? 0 : normal())
  const foretold = model.components && foretellings(model.components)
  const byVariant = ids.map((id) =>
    drawRates(model, contexts, id, known.get(id), foretold?.(id), layout, normal, base, errors, {
      shift: known.has(id) ? 0 : shift,
      shared: shared.get(id) ?? sharedByNew,
      errors: levelErrors,
    })
  )
  return places.map((_, p) => byVariant.map((rates) => rates[p]!))
}

/** The value below which the share `p` of the sorted numbers lies, interpolated. */
const quantile = (sorted: Float64Array, p: number): number => {
  const at = p * (sorted.length - 1)
  const low = sorted[Math.floor(at)]!
  const high = sorted[Math.ceil(at)]!
  // The difference of two infinite losses is not a number.
  return low === high ? low : low + (at % 1) * (high - low)
}

/** Mean and 95 % interval of draws. */
const summarize = (draws: Float64Array): { readonly mean: number; readonly interval: readonly [number, number] } => {
  const sorted = draws.toSorted()
  return {
    mean: draws.reduce((sum, value) => sum + value, 0) / draws.length,
    interval: [quantile(sorted, 0.025), quantile(sorted, 0.975)],
  }
}

/** Loss from a rate instead of the highest one, as a share of the rate: infinite for a rate that is not above 0. */
const lossShare = (highest: number, rate: number): number =>
  highest <= rate ? 0 : rate > 0 ? (highest - rate) / rate : Infinity

/** Returns how much better the rates `ours` are than `theirs`, by draws of both. */
export const liftOf = (ours: Float64Array, theirs: Float64Array): RateLift => {
  const ratio = summarize(ours.map((rate, d) => theirs[d]! > 0 ? rate / theirs[d]! - 1 : 0))
  const difference = summarize(ours.map((rate, d) => rate - theirs[d]!))
  return {
    value: ratio.mean,
    interval: ratio.interval,
    difference: difference.mean,
    differenceInterval: difference.interval,
  }
}

/** Returns the estimates of the variants, the indexes of the contenders, and the highest rate of each draw. */
const rank = (
  ids: ReadonlyArray<string>,
  rates: ReadonlyArray<Float64Array>,
  contenders: ReadonlySet<string>,
) => {
  const count = rates[0]?.length ?? 0
  const running = ids.flatMap((id, v) => contenders.has(id) ? [v] : [])
  const compared = running.length > 0 ? running : ids.map((_, v) => v)
  const highest = new Float64Array(count)
  const wins = new Float64Array(ids.length)
  let meanHighest = 0
  for (let d = 0; d < count; d++) {
    let best = compared[0]!
    for (const v of compared) if (rates[v]![d]! > rates[best]![d]!) best = v
    highest[d] = rates[best]![d]!
    meanHighest += highest[d]! / count
    if (running.length > 0) wins[best] = wins[best]! + 1
  }
  const variants = ids.map((id, v): VariantReport => {
    const { interval, mean: rate } = summarize(rates[v]!)
    return { id, pBest: wins[v]! / count, rate, interval, expectedLoss: lossShare(meanHighest, rate) }
  })
  return { variants, running, highest }
}

/**
 * Estimates variants by draws of their rates, an equal number of draws for each. Only `contenders` can be best. The other
 * variants have `pBest` 0, and their loss is relative to the best contender, or to all variants without contenders.
 */
export const estimateRates = (...of: Parameters<typeof rank>): ReadonlyArray<VariantReport> => rank(...of).variants

/**
 * Compares variants like `estimateRates`, and finds the leader among the `contenders` (default: all variants). Without
 * contenders there is no leader.
 */
export const compareRates = (
  ids: ReadonlyArray<string>,
  rates: ReadonlyArray<Float64Array>,
  contenders: ReadonlySet<string> = new Set(ids),
): VariantComparison => {
  const { highest, running, variants } = rank(ids, rates, contenders)
  if (running.length === 0) {
    return { variants, leader: null, valueRemaining: 0, worstLoss: 0, lift: null, overSplit: null }
  }
  const ranked = running.toSorted((a, b) => variants[b]!.rate - variants[a]!.rate || a - b)
  const messages = ranked.filter((v) => ids[v] !== nothing)
  const split = highest.map((_, d) => messages.reduce((sum, v) => sum + rates[v]![d]!, 0) / messages.length)
  const [lead] = ranked
  const [best, next] = messages
  const unsent = running.find((v) => ids[v] === nothing)
  const isCompared = lead === best && next !== undefined
  /** With 95 % probability, choosing this variant loses at most this share of its rate. */
  const lossOf = (v: number) => {
    const losses = highest.map((value, d) => lossShare(value, rates[v]![d]!))
    return quantile(losses.sort(), 0.95)
  }
  return {
    variants,
    leader: ids[lead!]!,
    valueRemaining: lossOf(lead!),
    worstLoss: Math.max(...running.map(lossOf)),
    lift: isCompared ? { baseline: ids[next]!, ...liftOf(rates[best!]!, rates[next]!) } : null,
    overSplit: isCompared ? liftOf(rates[best!]!, split) : null,
    ...(unsent === undefined || best === undefined ? {} : {
      overNothing: {
        best: ids[best]!,
        probability: rates[best]!.reduce((sum, rate, d) => rate > rates[unsent]![d]! ? sum + 1 : sum, 0) /
          highest.length,
        ...liftOf(rates[best]!, rates[unsent]!),
      },
    }),
  }
}

/** Days of data behind a model. 0 before any send. */
export const daysOfData = ({ fittedAt, firstSendAt }: Pick<ModelSnapshot, "fittedAt" | "firstSendAt">): number =>
  firstSendAt === null ? 0 : Math.max(0, fittedAt - firstSendAt) / dayMillis
