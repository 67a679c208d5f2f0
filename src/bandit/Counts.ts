import { byCodeUnits, type ContextKey } from "./Contexts.ts"
import { bucketAt, isExpired } from "./Window.ts"

/**
 * How an objective values the counted outcomes. A template counts several numbers for each bucket, such as clicks and
 * conversions. Both lists have one element for each number.
 */
export interface Valuation {
  /** Value of one unit of each number. The value of a bucket is the sum. */
  readonly values: ReadonlyArray<number>
  /**
   * Squared value of one unit of each number. The sum over a bucket is the variance of the value of rare, independent
   * outcomes.
   */
  readonly squares: ReadonlyArray<number>
  /** Maximum value of one send; `Infinity` without a limit. */
  readonly mostPerSend: number
  /** Value of one outcome before the first outcome. Above 0. */
  readonly firstWorth: number
  /** For each number, the index of the number that counts its outcomes. Default: the number itself. */
  readonly countedBy?: ReadonlyArray<number>
}

/** One kind of outcome, worth 1, at most once for each send. */
export const singleOutcome: Valuation = { values: [1], squares: [1], mostPerSend: 1, firstWorth: 1 }

/** Outcomes of any value: counts the sum of the values and the sum of their squares. */
export const anyValues: Valuation = {
  values: [1, 0],
  squares: [0, 1],
  mostPerSend: Infinity,
  firstWorth: 1,
  countedBy: [0, 0],
}

/**
 * Sends and the value of their outcomes, by bucket of the send time (start in Unix milliseconds), oldest bucket first.
 */
interface CountSeries {
  readonly variant: string
  readonly context: ContextKey
  readonly starts: ReadonlyArray<number>
  readonly sends: ReadonlyArray<number>
  /** Value of the outcomes by the valuation: the number of clicks if one click is worth 1. */
  readonly clicks: ReadonlyArray<number>
  /** The counted numbers, by index in the valuation and then by bucket. */
  readonly outcomes: ReadonlyArray<ReadonlyArray<number>>
}

interface MutableSeries extends CountSeries {
  readonly starts: Array<number>
  readonly sends: Array<number>
  readonly clicks: Array<number>
  readonly outcomes: ReadonlyArray<Array<number>>
}

/** Sends and outcomes of all variants and contexts in one bucket. */
export interface BucketTotal {
  /** Start of the bucket. Unit: Unix milliseconds. */
  readonly start: number
  readonly sends: number
  /** Value of the outcomes by the valuation. */
  readonly value: number
}

const sumOf = (units: ReadonlyArray<number>, amounts: (k: number) => number): number => {
  let sum = 0
  for (let k = 0; k < units.length; k++) sum += units[k]! * amounts(k)
  return sum
}

/** Repeats of a variant's decisions in one bucket, by index of the valuation. */
interface VariantRepeats {
  readonly variant: string
  /** Start of the bucket. Unit: Unix milliseconds. */
  readonly start: number
  readonly again: ReadonlyArray<number>
  readonly seen: ReadonlyArray<number>
}

/**
 * The counts of one template in memory: sends and outcomes by variant, context and bucket. Outcomes are stored as
 * counts and valued on read, so that the order of additions does not matter: a model fitted from replayed events equals
 * the first one to the last bit (as long as the counts are whole numbers below 2^53, whose sums are exact).
 */
export class Counts {
  readonly valuation: Valuation
  readonly #series = new Map<string, Map<string, MutableSeries>>()
  /** By start of the bucket: sends, then the counted numbers. */
  readonly #totals = new Map<number, Array<number>>()
  /** Repeats by variant and start of the bucket. */
  readonly #repeats = new Map<string, Map<number, { readonly again: Array<number>; readonly seen: Array<number> }>>()
  /** Like `#totals`, but by variant. Built on first read. */
  #variantTotals: Map<string, Map<number, Array<number>>> | undefined
  #sorted: ReadonlyArray<CountSeries> | undefined

  constructor(valuation: Valuation = singleOutcome) {
    this.valuation = valuation
  }

  /**
   * Adds counts (of either sign) to the bucket that starts at `start`, a start returned by `bucketAt`. `outcomes` has
   * one number for each index of the valuation.
   */
  add(variant: string, context: ContextKey, start: number, sends: number, ...outcomes: ReadonlyArray<number>): void {
    const contexts = this.#series.getOrInsertComputed(variant, () => new Map())
    let series = contexts.get(context)
    if (series === undefined) {
      contexts.set(context, series = this.#empty(variant, context))
      this.#sorted = undefined
    }
    this.#addAt(series, start, sends, (k) => outcomes[k] ?? 0)
    if (this.#variantTotals !== undefined) this.#addToVariant(variant, start, sends, (k) => outcomes[k] ?? 0)
  }

  /** Adds repeats (of either sign) to the bucket that starts at `start`. */
  addRepeats({ again, seen, start, variant }: VariantRepeats): void {
    const buckets = this.#repeats.getOrInsertComputed(variant, () => new Map())
    const sum = buckets.getOrInsertComputed(start, () => ({ again: again.map(() => 0), seen: seen.map(() => 0) }))
    for (let k = 0; k < again.length; k++) {
      sum.again[k] = sum.again[k]! + again[k]!
      sum.seen[k] = sum.seen[k]! + seen[k]!
    }
  }

  /** Returns all repeats by variant and bucket, unordered. */
  repeats(): ReadonlyArray<VariantRepeats> {
    return Array.from(
      this.#repeats,
      ([variant, buckets]) => Array.from(buckets, ([start, sum]) => ({ variant, start, ...sum })),
    ).flat()
  }

  /** Returns the sums over the contexts of each variant, by start of the bucket: sends, then the counted numbers. */
  variantTotals(): ReadonlyMap<string, ReadonlyMap<number, ReadonlyArray<number>>> {
    if (this.#variantTotals === undefined) {
      this.#variantTotals = new Map()
      for (const { outcomes, sends, starts, variant } of this.series()) {
        starts.forEach((start, i) => this.#addToVariant(variant, start, sends[i]!, (k) => outcomes[k]![i]!))
      }
    }
    return this.#variantTotals
  }

  /** Moves counts into their buckets as of `now` (Unix milliseconds) and drops counts over 180 days old. */
  rollUp(now: number): void {
    this.#totals.clear()
    this.#variantTotals = undefined
    for (const [variant, contexts] of this.#series) {
      for (const [context, old] of contexts) {
        const rolled = this.#empty(variant, context)
        old.starts.forEach((at, i) => {
          const { start } = bucketAt(at, now)
          if (!isExpired(start, now)) this.#addAt(rolled, start, old.sends[i]!, (k) => old.outcomes[k]![i]!)
        })
        if (rolled.starts.length > 0) contexts.set(context, rolled)
        else contexts.delete(context)
      }
      if (contexts.size === 0) this.#series.delete(variant)
    }
    const repeats = this.repeats()
    this.#repeats.clear()
    for (const one of repeats) {
      const { start } = bucketAt(one.start, now)
      if (!isExpired(start, now)) this.addRepeats({ ...one, start })
    }
    this.#sorted = undefined
  }

  /** Returns all series, sorted by variant and then context in the order of their UTF-16 code units. */
  series(): ReadonlyArray<CountSeries> {
    return this.#sorted ??= [...this.#series.keys()].sort(byCodeUnits).flatMap((variant) => {
      const contexts = this.#series.get(variant)!
      return [...contexts.keys()].sort(byCodeUnits).map((context) => contexts.get(context)!)
    })
  }

  /** Returns the distinct keys of the contexts with counts, unordered. */
  contexts(): ReadonlySet<string> {
    return new Set(this.series().map(({ context }) => context))
  }

  /** Returns the sums over all variants and contexts by bucket, oldest first. */
  totals(): ReadonlyArray<BucketTotal> {
    return [...this.#totals].sort(([a], [b]) => a - b).map(([start, row]) => ({
      start,
      sends: row[0]!,
      value: sumOf(this.valuation.values, (k) => row[k + 1]!),
    }))
  }

  /**
   * Returns the value of one outcome for calculations of certainty: Σw²n / Σwn, where n outcomes have the value w.
   * Values divided by it have about the variance of a count, so that the unit of the objective does not change
   * decisions. Above 0. If costs reduce the value by more than the outcomes' own noise, it is the square root of Σw²n.
   * Without outcomes, it is `firstWorth`.
   */
  worth(): number {
    const { squares, values } = this.valuation
    const sums = new Array<number>(values.length).fill(0)
    for (const row of this.#totals.values()) sums.forEach((sum, k) => sums[k] = sum + row[k + 1]!)
    const square = sumOf(squares, (k) => sums[k]!)
    if (!(square > 0)) return this.valuation.firstWorth
    return square / Math.max(sumOf(values, (k) => sums[k]!), Math.sqrt(square))
  }

  #empty(variant: string, context: string): MutableSeries {
    return { variant, context, starts: [], sends: [], clicks: [], outcomes: this.valuation.values.map(() => []) }
  }

  #addToVariant(variant: string, start: number, n: number, amount: (k: number) => number): void {
    const totals = this.#variantTotals!
    const buckets = totals.getOrInsertComputed(variant, () => new Map())
    const row = buckets.getOrInsertComputed(start, () => new Array<number>(this.valuation.values.length + 1).fill(0))
    row[0] = row[0]! + n
    for (let k = 1; k < row.length; k++) row[k] = row[k]! + amount(k - 1)
  }

  #addAt(series: MutableSeries, start: number, n: number, amount: (k: number) => number): void {
    const { clicks, outcomes, sends, starts } = series
    const { values } = this.valuation
    const total = this.#totals.getOrInsertComputed(start, () => new Array<number>(values.length + 1).fill(0))
    total[0] = total[0]! + n
    // Searched from the end, because nearly all additions belong to one of the latest buckets.
    let i = starts.length
    while (i > 0 && starts[i - 1]! > start) i--
    if (i > 0 && starts[i - 1] === start) i--
    else {
      starts.splice(i, 0, start)
      sends.splice(i, 0, 0)
      clicks.splice(i, 0, 0)
      for (const column of outcomes) column.splice(i, 0, 0)
    }
    sends[i] = sends[i]! + n
    for (let k = 0; k < values.length; k++) {
      const y = amount(k)
      outcomes[k]![i] = outcomes[k]![i]! + y
      total[k + 1] = total[k + 1]! + y
    }
    clicks[i] = sumOf(values, (k) => outcomes[k]![i]!)
  }
}
