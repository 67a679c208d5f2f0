import type { Attributes } from "../domain/Attributes.ts"
import { type AttributeEvidence, attributeEvidence } from "./AttributeEvidence.ts"
import type { AttributeOutcomesRow } from "./AttributeOutcomes.ts"
import {
  type AttributeScheme,
  builtIns,
  type ContextKey,
  Contexts,
  decodeContext,
  groupNames,
  groupOf,
  missingValue,
  numberOf,
  otherValue,
} from "./Contexts.ts"
import { dayMillis } from "./Window.ts"

const countedDays = 14
const maximumKeys = 6
/** Most values of an attribute that the scheme lists. */
export const listedValues = 12
const distinctValues = 200

/** An attribute with more values than this is used only if its listed values have at least `listedShare` of its requests. */
const fewValues = 50
const listedShare = 0.25

/** Longest value of such an attribute: names of countries and regions are shorter. */
const longestOfMany = 30

/** Most values that rounding may leave, so that it is not soon needed again. */
const roundedValues = 150

/** Share of the requests that have a learning attribute, at least. */
const leastShare = 0.05
const maximumContexts = 512

/** Groups of a number, and how far the share of one may be from that of a new group before they are formed anew. */
const numberGroups = 4
const shareTolerance = 0.1

/**
 * Evidence from which an attribute takes the place of one with none, and a value is preferred, in addition to the logarithm of the
 * number of those that wait or of the values. A value is preferred until its evidence falls below `tooLittle`.
 */
const enough = 3
const tooLittle = 0

/** Most attributes counted per day, so that callers that invent names cannot fill the memory. */
const countedKeys = 200

/** Longer names and values are not categories; a key with one counts as a key with too many values. */
const longestText = 100

/** Frequency of a key and of each of its values; `undefined` values: too many to learn from. */
export interface KeyCount {
  readonly present: number
  readonly values: ReadonlyMap<string, number> | undefined
}

/** Attributes of the requests in a period. `sends` counts all requests, with or without attributes. */
export interface AttributeTotals {
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

/** One UTC day of the counts as plain data: its start in Unix milliseconds, sends, and counts by key (and value). */
export interface AttributeDay {
  readonly start: number
  readonly sends: number
  readonly keys: ReadonlyArray<readonly [string, number, ReadonlyArray<readonly [string, number]> | null]>
}

const byCodeUnits = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

/**
 * Numbers rounded to two significant digits, or to one, of which there are fewer. Returns undefined where any value is no number, and for
 * large whole numbers that mostly occur once, because they are identifiers.
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

/** The values as far as they may be kept; undefined if they are too many, or many and long. */
const bounded = (values: Map<string, number>): Map<string, number> | undefined => {
  if (values.size > distinctValues) return roundValues(values)
  return values.size > fewValues && values.keys().some((value) => value.length > longestOfMany) ? undefined : values
}

const addTo = (into: MutableDay, sends: number, keys: Iterable<readonly [string, KeyCount]>): void => {
  into.sends += sends
  for (const [name, { present, values }] of keys) {
    let key = into.keys.get(name)
    if (key === undefined) {
      if (into.keys.size >= countedKeys) continue
      into.keys.set(name, key = { present: 0, values: new Map() })
    }
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
 * from. Bounded: at most 200 keys of at most 200 values a day, names and values of at most 100 UTF-16 code units.
 */
export class AttributeCounts {
  readonly #days = new Map<number, MutableDay>()

  /** Counts one send at `sentAt` (Unix milliseconds). */
  add(attrs: Attributes, sentAt: number): void {
    const keys: Array<readonly [string, KeyCount]> = []
    for (const [name, [value]] of attrs) {
      if (value === undefined || name.length > longestText) continue
      keys.push([name, { present: 1, values: value.length > longestText ? undefined : new Map([[value, 1]]) }])
    }
    addTo(this.#day(sentAt), 1, keys)
  }

  /** Adds the counts of others. */
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

  /** Sums over the 14 days up to the day of `now`. */
  totals(now: number): AttributeTotals {
    const totals: MutableDay = { sends: 0, keys: new Map() }
    const today = Math.floor(now / dayMillis)
    for (const [day, { keys, sends }] of this.#days) {
      if (day > today - countedDays && day <= today) addTo(totals, sends, keys)
    }
    return totals
  }

  /** The counted days, oldest first, as plain data. */
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
    let day = this.#days.get(index)
    if (day === undefined) this.#days.set(index, day = { sends: 0, keys: new Map() })
    return day
  }
}

type Key = AttributeScheme["keys"][number]

/** Numbers with how often each occurred, ascending. */
type Distribution = ReadonlyArray<readonly [value: number, count: number]>

/** Bounds of groups that are about equally large; a bound belongs to the group above it. */
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

/** The groups of a number. `known` groups stay while their shares are about those of new ones, so that earlier counts can be read. */
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
  /** The value of counted outcomes, in units of one outcome. */
  readonly valueOf: (amounts: ReadonlyArray<number>) => number
}

const noOutcomes: KnownOutcomes = { rows: [], valueOf: () => 0 }

/** The evidence for an attribute by its values, which may be grouped. */
type EvidenceBy = (groupOf: (value: string) => string) => AttributeEvidence

const isEnough = (logOdds: number, isUsed: boolean, candidates: number): boolean =>
  logOdds > (isUsed ? tooLittle : enough + Math.log(candidates))

/**
 * An attribute as the scheme lists it, with its evidence: groups of a number with more than 12 values, otherwise 12 values,
 * those with enough evidence first, then the most frequent ones. Returns undefined if the values are too many and too evenly
 * frequent, as are names of people.
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
  // Sorted by name, so that the scheme stays the same when two values change places in frequency.
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

/** Candidates in the order in which they get a place: by evidence, where there is none by presence. */
const inOrderOfUse = (usable: ReadonlyArray<Candidate>, current: AttributeScheme | undefined) => {
  // The more attributes wait for a place, the more evidence the luckiest of them has by chance.
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

/** Whether the values of these contexts make more than 512 combinations. */
const areMany = (compiled: Contexts, used: ReadonlyArray<ReadonlyMap<string, string>>): boolean => {
  const combinations = new Set<string>()
  for (const values of used) {
    combinations.add(compiled.coefficientsIn(values).join())
    if (combinations.size > maximumContexts) return true
  }
  return false
}

/**
 * The learning attributes (docs/model.md, "Learning attributes"): at most 6 keys that are present in at least a twentieth of
 * the sends, with at most 200 distinct values that are not mostly unique (at least two sends per value on average). Those
 * of a pair come first, then those with the most evidence in `outcomes`, of equals the most present, then the one with fewer
 * values, then the smaller name. One in use is replaced by one with so much more that chance hardly explains it. Of each the 12
 * values with enough evidence, then the most frequent ones, or four groups of a number. A key with a value that contains an
 * `@` names people and is left out.
 *
 * `contexts` are the keys of the contexts in use. While they make more than 512 combinations under the scheme, an attribute is
 * left out: first the built-in ones, `daypart` before `weekend`, because what callers say about their users tells more
 * about them than the hour, then the last of the keys. `current` is returned itself when the choice is the same, so that
 * what was made ready for it can be used on.
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
    if (free.includes(name) || values === undefined || values.size > distinctValues) continue
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
  // By presence, so that the scheme stays the same when the evidence of two attributes changes places.
  const keysOf = () => chosen.toSorted(byPresence).map(({ key }) => key)
  const used = Array.from(contexts, decodeContext)
  while (chosen.length > 0) {
    const compiled = new Contexts({ keys: keysOf(), builtIns: free })
    if (!areMany(compiled, used)) break
    if (free.pop() === undefined) chosen.pop()
  }
  const keys = keysOf()
  const bare = free.length === builtIns.length ? { keys } : { keys, builtIns: free }
  // The model decides which pairs matter.
  const pairs = (current?.pairs ?? []).filter((pair) => pair.every((name) => keys.some((key) => key.name === name)))
  const scheme = pairs.length === 0 ? bare : { ...bare, pairs }
  return current !== undefined && JSON.stringify(scheme) === JSON.stringify(current) ? current : scheme
}
