import type { Attributes } from "../domain/Attributes.ts"
import { type AttributeEvidence, attributeEvidence } from "./AttributeEvidence.ts"
import type { AttributeOutcomesRow } from "./AttributeOutcomes.ts"
import {
  type AttributeScheme,
  builtIns,
  byCodeUnits,
  type ContextKey,
  Contexts,
  decodeContext,
  groupNames,
  groupOf,
  missingValue,
  numberOf,
  otherValue,
  ownNames,
} from "./Contexts.ts"
import { dayMillis } from "./Window.ts"

const countedDays = 14
const maximumKeys = 6
/** Maximum number of values of an attribute that the scheme lists. */
export const listedValues = 12
const distinctValues = 200

/**
 * An attribute with more values than this is used only if its listed values have at least `listedShare` of its
 * requests.
 */
const fewValues = 50
const listedShare = 0.25

/**
 * Maximum length of a value of an attribute with more than `fewValues` values: names of countries and regions are
 * shorter.
 */
const longestOfMany = 30

/** Maximum number of values after rounding, so that rounding is rarely needed again. */
const roundedValues = 150

/** Minimum share of the requests that contain a learning attribute. */
const leastShare = 0.05
const maximumContexts = 512

/**
 * Number of groups of a numeric attribute, and the largest difference between the share of a group and the share of its
 * replacement before the groups are formed again.
 */
const numberGroups = 4
const shareTolerance = 0.1

/**
 * Thresholds of evidence. To replace an attribute without evidence, another attribute needs more than `enough` plus the
 * logarithm of the number of unused attributes. A value is preferred if it has more than `enough` plus the logarithm of
 * the number of values, and remains preferred until its evidence falls below `tooLittle`.
 */
const enough = 3
const tooLittle = 0

/** Maximum number of attributes counted per day, so that callers that invent names cannot fill the memory. */
const countedKeys = 200

/**
 * Maximum length of a name or a value. Longer texts are not categories: a key with a longer value counts as a key with
 * too many values.
 */
const longestText = 100

/** Frequency of a key and of each of its values. `values` is undefined if there are too many values to learn from. */
interface KeyCount {
  readonly present: number
  readonly values: ReadonlyMap<string, number> | undefined
}

/** Attributes of the requests in a period. `sends` counts all requests, with or without attributes. */
interface AttributeTotals {
  readonly sends: number
  readonly keys: ReadonlyMap<string, KeyCount>
}

interface MutableKey {
  present: number
  values: Map<string, number> | undefined
}

interface MutableDay {
  sends: number
  readonly keys: Map<string, MutableKey>
}

/**
 * One UTC day of the counts as plain data: its start in Unix milliseconds, its sends, and its counts by key and value.
 */
export interface AttributeDay {
  readonly start: number
  readonly sends: number
  readonly keys: ReadonlyArray<readonly [string, number, ReadonlyArray<readonly [string, number]> | null]>
}

/**
 * Rounds numbers to two significant digits, or to one digit if two leave too many values. Returns undefined if one
 * digit still leaves too many, if a value is not a number, and for large whole numbers that mostly occur once, because
 * they are identifiers.
 */
const roundValues = (values: ReadonlyMap<string, number>): Map<string, number> | undefined => {
  let sends = 0
  let areLargeIntegers = true
  for (const [value, count] of values) {
    const number = numberOf(value)
    if (number === undefined) return undefined
    if (!Number.isInteger(number) || Math.abs(number) < 10_000) areLargeIntegers = false
    sends += count
  }
  if (areLargeIntegers && sends < 2 * values.size) return undefined
  for (const digits of [2, 1]) {
    const rounded = new Map<string, number>()
    for (const [value, count] of values) {
      const key = String(Number(Number(value).toPrecision(digits)))
      rounded.set(key, (rounded.get(key) ?? 0) + count)
    }
    if (rounded.size <= roundedValues) return rounded
  }
  return undefined
}

/**
 * Returns the values within the limits of memory. Returns undefined if there are too many values, or many long ones.
 */
const bounded = (values: Map<string, number>): Map<string, number> | undefined => {
  if (values.size > distinctValues) return roundValues(values)
  return values.size > fewValues && values.keys().some((value) => value.length > longestOfMany) ? undefined : values
}

/** Returns the counts of a key, which it adds to the day. Undefined if the day has too many keys. */
const keyIn = ({ keys }: MutableDay, name: string): MutableKey | undefined => {
  let key = keys.get(name)
  if (key === undefined && keys.size < countedKeys) keys.set(name, key = { present: 0, values: new Map() })
  return key
}

const addTo = (into: MutableDay, sends: number, keys: Iterable<readonly [string, KeyCount]>): void => {
  into.sends += sends
  for (const [name, { present, values }] of keys) {
    const key = keyIn(into, name)
    if (key === undefined) continue
    key.present += present
    if (values === undefined) key.values = undefined
    else if (key.values !== undefined) {
      const before = key.values.size
      for (const [value, count] of values) key.values.set(value, (key.values.get(value) ?? 0) + count)
      if (key.values.size > before) key.values = bounded(key.values)
    }
  }
}

/**
 * Counts the attributes of the sends of one template over the last 14 days (UTC), to choose the learning attributes
 * from. Limits: 200 keys a day, 200 values for each key, 100 UTF-16 code units for each name and value.
 */
export class AttributeCounts {
  readonly #days = new Map<number, MutableDay>()

  /** Counts one send at `sentAt` (Unix milliseconds). */
  add(attrs: Attributes, sentAt: number): void {
    const day = this.#day(sentAt)
    day.sends++
    // `forEach` allocates no object for each pair.
    attrs.forEach(([value], name) => {
      if (value === undefined || name.length > longestText) return
      const key = keyIn(day, name)
      if (key === undefined) return
      key.present++
      if (value.length > longestText) key.values = undefined
      const count = key.values?.get(value)
      key.values?.set(value, (count ?? 0) + 1)
      if (count === undefined && key.values !== undefined) key.values = bounded(key.values)
    })
  }

  /** Adds counts, such as the stored counts of all nodes. */
  merge(days: Iterable<AttributeDay>): void {
    for (const { keys, sends, start } of days) {
      addTo(
        this.#day(start),
        sends,
        keys.map((
          [name, present, values],
        ) => [name, { present, values: values === null ? undefined : new Map(values) }]),
      )
    }
  }

  /** Returns the sums over the 14 days that end with the day of `now`. */
  totals(now: number): AttributeTotals {
    const totals: MutableDay = { sends: 0, keys: new Map() }
    const today = Math.floor(now / dayMillis)
    for (const [day, { keys, sends }] of this.#days) {
      if (day > today - countedDays && day <= today) addTo(totals, sends, keys)
    }
    return totals
  }

  /** Returns the counted days as plain data, oldest first. */
  days(): ReadonlyArray<AttributeDay> {
    return [...this.#days].sort(([a], [b]) => a - b).map(([day, { keys, sends }]) => ({
      start: day * dayMillis,
      sends,
      keys: Array.from(keys, ([name, { present, values }]) => [name, present, values ? [...values] : null] as const),
    }))
  }

  /** Drops days more than 14 days before `now`. */
  prune(now: number): void {
    for (const day of this.#days.keys()) {
      if (day <= Math.floor(now / dayMillis) - countedDays) this.#days.delete(day)
    }
  }

  #day(sentAt: number): MutableDay {
    const index = Math.floor(sentAt / dayMillis)
    return this.#days.getOrInsertComputed(index, () => ({ sends: 0, keys: new Map() }))
  }
}

type Key = AttributeScheme["keys"][number]

/** Numbers with how often each occurred, ascending. */
type Distribution = ReadonlyArray<readonly [value: number, count: number]>

/** Bounds of groups of about equal size. A bound belongs to the group above it. */
const quantiles = (distribution: Distribution): ReadonlyArray<number> => {
  const total = distribution.reduce((sum, [, count]) => sum + count, 0)
  const cuts = new Set<number>()
  for (let group = 1; group < numberGroups; group++) {
    let below = 0
    let nearest = Infinity
    let cut: number | undefined
    distribution.forEach(([value, count], i) => {
      const distance = Math.abs(below - total * group / numberGroups)
      if (i > 0 && distance < nearest) {
        nearest = distance
        cut = value
      }
      below += count
    })
    if (cut !== undefined) cuts.add(cut)
  }
  return [...cuts]
}

const groupShares = (cuts: ReadonlyArray<number>, distribution: Distribution): ReadonlyArray<number> => {
  const shares = new Array<number>(cuts.length + 1).fill(0)
  const total = distribution.reduce((sum, [, count]) => sum + count, 0)
  for (const [value, count] of distribution) {
    const group = groupOf(cuts, value)
    shares[group] = shares[group]! + count / total
  }
  return shares
}

/**
 * Returns the bounds of the groups of a number. Keeps the `known` groups while their shares are close to the shares of
 * new groups, so that earlier counts stay readable.
 */
const groupsOf = (distribution: Distribution, known: ReadonlyArray<number> | undefined): ReadonlyArray<number> => {
  const cuts = quantiles(distribution)
  if (known?.length !== cuts.length) return cuts
  const shares = groupShares(cuts, distribution)
  const isClose = groupShares(known, distribution).every((share, i) => Math.abs(share - shares[i]!) <= shareTolerance)
  return isClose ? known : cuts
}

/** Counted outcomes of decisions by attribute, with their value. */
export interface KnownOutcomes {
  readonly rows: ReadonlyArray<AttributeOutcomesRow>
  /** Returns the value of counted outcomes. Unit: one outcome. */
  readonly valueOf: (amounts: ReadonlyArray<number>) => number
}

const noOutcomes: KnownOutcomes = { rows: [], valueOf: () => 0 }

/** Returns the evidence for an attribute, given the group of each value. */
type EvidenceBy = (groupOf: (value: string) => string) => AttributeEvidence

const isEnough = (logOdds: number, isUsed: boolean, candidates: number): boolean =>
  logOdds > (isUsed ? tooLittle : enough + Math.log(candidates))

/**
 * Returns an attribute as the scheme lists it, with its evidence. A number with more than 12 values is listed as
 * groups, any other attribute as 12 values: first the values with enough evidence, then the most frequent ones. Returns
 * undefined if there are too many values of similar frequency, such as names of people.
 */
const keyOf = (
  name: string,
  values: ReadonlyMap<string, number>,
  known: Key | undefined,
  evidenceBy: EvidenceBy,
): { readonly key: Key; readonly logOdds: number } | undefined => {
  if (values.size > listedValues) {
    const numbers = [...values].flatMap(([value, count]) => {
      const number = numberOf(value)
      return number === undefined ? [] : [[number, count] as const]
    })
    if (numbers.length === values.size) {
      const cuts = groupsOf(numbers.sort(([a], [b]) => a - b), known?.cuts)
      const names = groupNames(cuts)
      const { logOdds } = evidenceBy((value) => {
        const number = numberOf(value)
        return number === undefined ? value : names[groupOf(cuts, number)]!
      })
      return { key: { name, values: names, cuts }, logOdds }
    }
  }
  const { logOdds, ofValue } = evidenceBy((value) => value)
  const tells = (value: string) =>
    Number(isEnough(ofValue.get(value) ?? 0, known?.values.includes(value) ?? false, values.size))
  const listed = [...values]
    .filter(([value]) => value !== otherValue && value !== missingValue)
    .sort(([a, m], [b, n]) => tells(b) - tells(a) || n - m || byCodeUnits(a, b)).slice(0, listedValues)
  if (values.size > fewValues) {
    const sum = (counts: Iterable<number>) => Array.from(counts).reduce((total, count) => total + count, 0)
    if (sum(listed.map(([, count]) => count)) < listedShare * sum(values.values())) return undefined
  }
  // Sorted by name, so that the scheme does not change if two values swap places in frequency.
  return { key: { name, values: listed.map(([value]) => value).sort(byCodeUnits) }, logOdds }
}

interface Candidate {
  readonly key: Key
  readonly present: number
  readonly distinct: number
  readonly logOdds: number
}

const byPresence = (a: Candidate, b: Candidate): number =>
  b.present - a.present || a.distinct - b.distinct || byCodeUnits(a.key.name, b.key.name)

/** Sorts the candidates by evidence. Candidates without evidence follow, by presence. */
const inOrderOfUse = (usable: ReadonlyArray<Candidate>, current: AttributeScheme | undefined) => {
  // With more attributes competing for a place, the best of them has more evidence by chance.
  const margin = enough + Math.log(Math.max(1, usable.length - maximumKeys))
  const ranked = usable.map((candidate) => {
    const { key: { name }, logOdds } = candidate
    const isUsed = current?.keys.some((key) => key.name === name) ?? false
    const isPaired = current?.pairs?.some((pair) => pair.includes(name)) ?? false
    return { candidate, isPaired: Number(isPaired), score: logOdds + (isUsed ? margin : 0) }
  })
  return ranked
    .sort((a, b) => b.isPaired - a.isPaired || b.score - a.score || byPresence(a.candidate, b.candidate))
    .map(({ candidate }) => candidate)
}

/** Whether the values of these contexts form more than 512 combinations. */
const areMany = (compiled: Contexts, used: ReadonlyArray<ReadonlyMap<string, string>>): boolean => {
  const combinations = new Set<string>()
  for (const values of used) {
    combinations.add(compiled.coefficientsIn(values).join())
    if (combinations.size > maximumContexts) return true
  }
  return false
}

/**
 * Chooses the learning attributes (docs/model.md, "Learning attributes"): at most 6 keys that are present in at least
 * 5 % of the sends, with at most 200 distinct values and at least two sends per value on average. Attributes of a pair
 * come first, then attributes by evidence in `outcomes`. Ties are broken by presence, then by fewer values, then by
 * name. An attribute in use is replaced only if the evidence of the other one exceeds it by more than chance explains.
 * Each attribute keeps 12 values (first the values with enough evidence, then the most frequent ones) or four groups of
 * a number. A key with a value that contains an `@` identifies people and is left out.
 *
 * `contexts` are the keys of the contexts in use. While they form more than 512 combinations under the scheme, an
 * attribute is left out: first the built-in ones, `daypart` before `weekend`, because the attributes of callers are
 * more informative than the hour; then the last of the keys. Returns the object `current` itself if the choice is
 * unchanged, so that values cached for it stay valid.
 */
export const schemeOf = (
  totals: AttributeTotals,
  contexts: Iterable<ContextKey> = [],
  current?: AttributeScheme,
  outcomes: KnownOutcomes = noOutcomes,
): AttributeScheme => {
  const free = builtIns.map(({ name }) => name)
  const rows = Map.groupBy(outcomes.rows, ({ name }) => name)
  const usable: Array<Candidate> = []
  for (const [name, { present, values }] of totals.keys) {
    if (ownNames.has(name) || values === undefined || values.size > distinctValues) continue
    if (present < leastShare * totals.sends || 2 * values.size > present) continue
    if (values.keys().some((value) => value.includes("@"))) continue
    const found = keyOf(
      name,
      values,
      current?.keys.find((key) => key.name === name),
      (groupOf) => attributeEvidence(rows.get(name) ?? [], groupOf, outcomes.valueOf),
    )
    if (found !== undefined) usable.push({ ...found, present, distinct: values.size })
  }
  const chosen = inOrderOfUse(usable, current).slice(0, maximumKeys)
  // By presence, so that the scheme does not change if the evidence of two attributes swaps places.
  const keysOf = () => chosen.toSorted(byPresence).map(({ key }) => key)
  const used = Array.from(contexts, decodeContext)
  while (chosen.length > 0) {
    const compiled = new Contexts({ keys: keysOf(), builtIns: free })
    if (!areMany(compiled, used)) break
    if (free.pop() === undefined) chosen.pop()
  }
  const keys = keysOf()
  const bare = free.length === builtIns.length ? { keys } : { keys, builtIns: free }
  // The model decides which pairs matter, so only pairs in use are kept.
  const pairs = (current?.pairs ?? []).filter((pair) => pair.every((name) => keys.some((key) => key.name === name)))
  const scheme = pairs.length === 0 ? bare : { ...bare, pairs }
  return current !== undefined && JSON.stringify(scheme) === JSON.stringify(current) ? current : scheme
}
