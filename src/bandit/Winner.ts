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
   * Rows of products of effects. Row 0 is the effect of the intercept. Each further row is the row `parents[r]`, an earlier
   * one, times the effect of `coefficients[r]`: contexts share the products of the coefficients that they begin with.
   */
  readonly parents: Int32Array
  readonly coefficients: Int32Array
  /**
   * For each place, the rows of its contexts and the number of draws. `sharesOf` returns the share of each context in the
   * traffic, times its base rate and the part of it that counts for the variant.
   */
  readonly places: ReadonlyArray<{
    readonly rows: Int32Array
    readonly draws: number
    readonly sharesOf: (id: string) => Float64Array
  }>
}

const layOut = (contexts: Contexts, model: ModelSnapshot, places: ReadonlyArray<Place>): Layout => {
  const numbers = new Map<string, number>()
  const rows: Array<number> = []
  const baseRates: Array<number> = []
  const parents = [0]
  const coefficients = [0]
  const children = new Map<string, number>()
  /** Returns the row of the product of row `parent` and a coefficient. */
  const rowOf = (parent: number, coefficient: number): number => {
    const key = `${parent} ${coefficient}`
    const row = children.get(key) ?? parents.length
    if (row === parents.length) {
      children.set(key, row)
      parents.push(parent)
      coefficients.push(coefficient)
    }
    return row
  }
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
      let row = 0
      for (const coefficient of all) {
        if (coefficient < 0) continue
        row = rowOf(row, coefficient)
        log += model.f[coefficient]!
      }
      rows.push(row)
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
    return { draws, rows: Int32Array.from(at.keys(), (number) => rows[number]!), sharesOf }
  })
  return { parents: Int32Array.from(parents), coefficients: Int32Array.from(coefficients), places: laidOut }
}

/** Number of draws computed at once. The rows of some hundred products then stay in the processor's cache. */
const block = 64

/** Rows of up to `block` draws. The variants share them: an allocation for each variant takes longer than the arithmetic. */
interface Scratch {
  /** Standard normal numbers of each coefficient. */
  readonly z: Float64Array
  /** Effect of each coefficient on the rate. */
  readonly effects: Float64Array
  /** Products of effects, by row of the layout. */
  readonly products: Float64Array
}

/** Adds `factor` times `count` numbers of `source` from `from` on to the numbers of `to` from `at` on. */
const addScaled = (
  to: Float64Array,
  at: number,
  factor: number,
  source: Float64Array,
  from: number,
  count: number,
): void => {
  for (let d = 0; d < count; d++) to[at + d] = to[at + d]! + factor * source[from + d]!
}

/** What the variants of a model share: its contexts, random numbers, and the errors of its base rate. */
interface Drawing {
  readonly model: ModelSnapshot
  readonly contexts: Contexts
  readonly normal: () => number
  readonly base: BaseError
  readonly count: number
  /** From `base.draw`. */
  readonly errors: Float64Array
  readonly levelErrors: Float64Array
}

/**
 * Returns the function that draws a variant's effects for `drawn` of the errors from `first` on. Without data of the
 * variant, draws around the predicted intercept.
 */
const effectsOf = (
  { base, contexts, count, errors, levelErrors, model, normal }: Drawing,
  id: string,
  variant: VariantPosterior | undefined,
  foretold: Foretold | undefined,
  level: { readonly shift: number; readonly shared: number },
) => {
  const { size } = contexts
  const root = new Float64Array(packedLength(size))
  const means = new Float64Array(size)
  if (variant !== undefined) {
    root.set(variant.covariance)
    factor(root, size)
    means.set(variant.beta)
  } else {
    means[0] = foretold?.mean ?? 0
    for (let i = 0; i < size; i++) root[packedIndex(i, i)] = i > 0 ? model.taus[contexts.attributeOf[i]!]! : model.tau0
  }
  // The covariance times an error is `root` times this matrix times the error.
  const pull = root.slice()
  if (variant === undefined && foretold !== undefined && !base.knowsComponentsOf(id)) {
    root[0] = Math.sqrt(model.tau0 ** 2 + foretold.variance)
    pull[0] = model.tau0 ** 2 / root[0]
  }
  const forces = base.forces(id, errors, count)
  return (first: number, drawn: number, { effects, z }: Scratch): void => {
    for (let d = 0; d < drawn; d++) {
      for (let i = 0; i < size; i++) z[i * block + d] = normal()
    }
    for (let i = 0, row = 0; i < size; i++, row += i) {
      for (let k = 0; k <= i; k++) addScaled(z, k * block, pull[row + k]!, forces, i * count + first, drawn)
    }
    for (let i = 0, row = 0; i < size; i++, row += i) {
      const at = i * block
      effects.fill(means[i]!, at, at + drawn)
      for (let k = 0; k <= i; k++) addScaled(effects, at, root[row + k]!, z, k * block, drawn)
      for (let d = 0; d < drawn; d++) {
        const shift = i === 0 ? level.shift + level.shared * levelErrors[first + d]! : 0
        effects[at + d] = Math.exp(effects[at + d]! + shift)
      }
    }
  }
}

/**
 * Averages the rate of variant `id` over every place that needs this many draws. Adds the draws of place `p` to `rates[p]`,
 * from `starts[p]` on.
 */
const averageRates = (
  id: string,
  count: number,
  drawEffects: ReturnType<typeof effectsOf>,
  { coefficients, parents, places }: Layout,
  scratch: Scratch,
  rates: ReadonlyArray<Float64Array>,
  starts: ReadonlyArray<number>,
): void => {
  const { effects, products } = scratch
  const shares = places.map(({ sharesOf }) => sharesOf(id))
  for (let first = 0; first < count; first += block) {
    const drawn = Math.min(block, count - first)
    drawEffects(first, drawn, scratch)
    products.set(effects.subarray(0, drawn))
    for (let r = 1; r < parents.length; r++) {
      const [at, parent, own] = [r * block, parents[r]! * block, coefficients[r]! * block]
      for (let d = 0; d < drawn; d++) products[at + d] = products[parent + d]! * effects[own + d]!
    }
    places.forEach(({ draws, rows }, p) => {
      const needed = Math.min(drawn, draws - first)
      rows.forEach((row, c) => addScaled(rates[p]!, starts[p]! + first, shares[p]![c]!, products, row * block, needed))
    })
  }
}

/**
 * Draws the variants' rates in each of the places from the untempered posterior: by place, then by variant. Each model makes
 * an equal number of draws. The effects of a variant are drawn once for all places, so that many places are cheap.
 */
export const drawPlaces = (
  models: ReadonlyArray<OtherModel>,
  ids: ReadonlyArray<string>,
  normal: () => number,
  places: ReadonlyArray<Place>,
): ReadonlyArray<ReadonlyArray<Float64Array>> => {
  const own = places.map((place) => ({ ...place, draws: Math.ceil(place.draws / models.length) }))
  const byVariant = ids.map(() => own.map(({ draws }) => new Float64Array(models.length * draws)))
  models.forEach((model, m) => addDraws(model, ids, normal, own, byVariant, own.map(({ draws }) => m * draws)))
  return places.map((_, p) => byVariant.map((rates) => rates[p]!))
}

/**
 * Draws from one model. Errors of the base rate are drawn once for all variants, so that they cancel between variants with
 * much data.
 */
const addDraws = (
  model: OtherModel,
  ids: ReadonlyArray<string>,
  normal: () => number,
  places: ReadonlyArray<Place>,
  byVariant: ReadonlyArray<ReadonlyArray<Float64Array>>,
  starts: ReadonlyArray<number>,
): void => {
  const contexts = contextsOf(model.scheme)
  const layout = layOut(contexts, model, places)
  const known = new Map(model.variants.map((variant) => [variant.id, variant]))
  const shared = new Map(model.variants.map(({ id }, v) => [id, model.shared?.[v] ?? 0]))
  const [shift, , sharedByNew] = model.common ?? [0, 0, 0]
  const base = new BaseError(model, contexts)
  const count = places.reduce((most, { draws }) => Math.max(most, draws), 0)
  const errors = base.draw(count, normal)
  const levelErrors = Float64Array.from({ length: count }, () => model.shared === undefined ? 0 : normal())
  const drawing = { model, contexts, normal, base, count, errors, levelErrors }
  const foretold = model.components && foretellings(model.components)
  const scratch = {
    z: new Float64Array(contexts.size * block),
    effects: new Float64Array(contexts.size * block),
    products: new Float64Array(layout.parents.length * block),
  }
  ids.forEach((id, v) => {
    const drawEffects = effectsOf(drawing, id, known.get(id), foretold?.(id), {
      shift: known.has(id) ? 0 : shift,
      shared: shared.get(id) ?? sharedByNew,
    })
    averageRates(id, count, drawEffects, layout, scratch, byVariant[v]!, starts)
  })
}

/**
 * Orders `values` as far as needed: the one of rank `k` is at index `k` afterwards, with no larger one before it and no
 * smaller one after it. Returns it. Source: C. A. R. Hoare, "Algorithm 65: find" (CACM, 1961).
 */
const select = (values: Float64Array, k: number): number => {
  let low = 0
  let high = values.length - 1
  while (low < high) {
    const pivot = values[(low + high) >> 1]!
    let i = low
    let j = high
    while (i <= j) {
      while (values[i]! < pivot) i++
      while (values[j]! > pivot) j--
      if (i > j) break
      const value = values[i]!
      values[i++] = values[j]!
      values[j--] = value
    }
    if (k <= j) high = j
    else if (k >= i) low = i
    else break
  }
  return values[k]!
}

/** The value below which the share `p` of the numbers lies, interpolated. Orders `values`. */
const quantile = (values: Float64Array, p: number): number => {
  const at = p * (values.length - 1)
  const low = select(values, Math.floor(at))
  const high = select(values, Math.ceil(at))
  // The difference of two infinite losses is not a number.
  return low === high ? low : low + (at % 1) * (high - low)
}

/** Mean and 95 % interval of draws. */
const summarize = (draws: Float64Array): { readonly mean: number; readonly interval: readonly [number, number] } => {
  const mean = draws.reduce((sum, value) => sum + value, 0) / draws.length
  const ordered = draws.slice()
  return { mean, interval: [quantile(ordered, 0.025), quantile(ordered, 0.975)] }
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
    return quantile(highest.map((value, d) => lossShare(value, rates[v]![d]!)), 0.95)
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
