import { missingValue, numberOf, otherValue } from "./Contexts.ts"
import { dayMillis } from "./Window.ts"

// Decisions with their outcomes by attribute, value and variant, including attributes that the model does not use. From
// these counts the service chooses the attributes that the model should use.

/** Length of a period in days, and the number of periods that count, including the present one. */
export const periodDays = 28
/** Number of the latest periods whose outcomes are counted. */
export const countedPeriods = 4

/** Maximum number of attributes counted in a period. The smallest names are kept. */
const countedNames = 50

/**
 * Maximum number of values of an attribute, and of combinations of a value with a variant. If a numeric attribute
 * exceeds a limit, its values are rounded to two significant digits. Any other attribute above a limit is left out.
 */
const distinctValues = 200
const combinations = 10_000

/** Rounds a number to two significant digits. Returns any other text unchanged. */
export const roundNumber = (value: string): string => {
  const number = numberOf(value)
  return number === undefined ? value : String(Number(number.toPrecision(2)))
}

/** Start of the period of a time. Unit: Unix milliseconds. */
export const periodStart = (at: number): number => Math.floor(at / (periodDays * dayMillis)) * periodDays * dayMillis

/** Start of the first period that counts at `now`. Unit: Unix milliseconds. */
export const firstPeriod = (now: number): number => periodStart(now) - (countedPeriods - 1) * periodDays * dayMillis

/** By variant and value: the number of decisions, then the number of decisions with each outcome. */
export type OutcomesByVariant = { readonly [variant: string]: { readonly [value: string]: ReadonlyArray<number> } }

/**
 * The decisions of one period (start in Unix milliseconds) that have an attribute. `counts` is null if the attribute
 * has too many values.
 */
export interface AttributeOutcomesRow {
  readonly start: number
  readonly name: string
  /** Whether the values are rounded numbers. */
  readonly isRounded: boolean
  readonly counts: OutcomesByVariant | null
}

/** Sums for one attribute in one period. */
class Counted {
  readonly #byVariant = new Map<string, Map<string, Array<number>>>()
  readonly #values = new Set<string>()
  #combinations = 0
  #isRounded = false
  #isLeftOut = false

  add(variant: string, value: string, amounts: ReadonlyArray<number>): void {
    if (this.#isLeftOut) return
    const counted = this.#isRounded ? roundNumber(value) : value
    const values = this.#byVariant.getOrInsertComputed(variant, () => new Map())
    const known = values.get(counted)
    if (known !== undefined) {
      for (let i = 0; i < amounts.length; i++) known[i] = (known[i] ?? 0) + amounts[i]!
      return
    }
    values.set(counted, [...amounts])
    this.#values.add(counted)
    this.#combinations++
    if (this.#isRounded && !isNumeric(counted)) return this.leaveOut()
    if (this.#values.size <= distinctValues && this.#combinations <= combinations) return
    if (this.#isRounded) this.leaveOut()
    else this.round()
  }

  /** Rounds all values from now on, if they are numbers. */
  round(): void {
    if (this.#isLeftOut || this.#isRounded) return
    if (!this.#values.values().every(isNumeric)) return this.leaveOut()
    const before = [...this.#byVariant]
    this.#clear()
    this.#isRounded = true
    for (const [variant, values] of before) for (const [value, amounts] of values) this.add(variant, value, amounts)
  }

  leaveOut(): void {
    this.#clear()
    this.#isRounded = false
    this.#isLeftOut = true
  }

  row(start: number, name: string): AttributeOutcomesRow {
    const counts = Object.fromEntries(
      Array.from(this.#byVariant, ([variant, values]) => [variant, Object.fromEntries(values)] as const),
    )
    return { start, name, isRounded: this.#isRounded, counts: this.#isLeftOut ? null : counts }
  }

  #clear(): void {
    this.#byVariant.clear()
    this.#values.clear()
    this.#combinations = 0
  }
}

const isNumeric = (value: string): boolean =>
  value === otherValue || value === missingValue || numberOf(value) !== undefined

/**
 * Sums of decisions and outcomes of one template. The order of additions does not change the sums, the rounding or
 * which attributes are left out. Limits: 50 attributes in a period, 200 values for each, and 10,000 combinations of a
 * value and a variant.
 */
export class AttributeOutcomes {
  readonly #periods = new Map<number, Map<string, Counted>>()

  /**
   * Adds decisions made at `at` (Unix milliseconds). `amounts` are the number of decisions, then the number of each
   * outcome.
   */
  add(
    values: Iterable<readonly [name: string, value: string]>,
    variant: string,
    at: number,
    amounts: ReadonlyArray<number>,
  ): void {
    const start = periodStart(at)
    for (const [name, value] of values) this.#counted(start, name)?.add(variant, value, amounts)
  }

  /** Adds counts, such as stored ones. */
  merge(rows: Iterable<AttributeOutcomesRow>): void {
    for (const { counts, isRounded, name, start } of rows) {
      const counted = this.#counted(start, name)
      if (counted === undefined) continue
      if (counts === null) counted.leaveOut()
      if (isRounded) counted.round()
      for (const [variant, values] of Object.entries(counts ?? {})) {
        for (const [value, amounts] of Object.entries(values)) counted.add(variant, value, amounts)
      }
    }
  }

  /** Returns the counts, in the order of periods and names. */
  rows(): ReadonlyArray<AttributeOutcomesRow> {
    return [...this.#periods].sort(([a], [b]) => a - b).flatMap(([start, names]) =>
      [...names].sort(([a], [b]) => a < b ? -1 : 1).map(([name, counted]) => counted.row(start, name))
    )
  }

  /** Drops periods that no longer count at `now`. */
  prune(now: number): void {
    for (const start of this.#periods.keys()) if (start < firstPeriod(now)) this.#periods.delete(start)
  }

  /** Returns the counts of an attribute to add to. Returns undefined beyond the 50 smallest names. */
  #counted(start: number, name: string): Counted | undefined {
    const names = this.#periods.getOrInsertComputed(start, () => new Map())
    let counted = names.get(name)
    if (counted !== undefined) return counted
    if (names.size >= countedNames) {
      const largest = names.keys().reduce((a, b) => a > b ? a : b)
      if (name > largest) return undefined
      names.delete(largest)
    }
    names.set(name, counted = new Counted())
    return counted
  }
}
