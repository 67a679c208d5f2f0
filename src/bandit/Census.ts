import {
  type Attributes,
  type AttributeScheme,
  builtIns,
  type ContextKey,
  Contexts,
  missingValue,
  otherValue,
} from "./Contexts.ts"
import { dayMillis } from "./Window.ts"

const censusDays = 14
const maximumKeys = 6
const listedValues = 12
const distinctValues = 50
const maximumContexts = 512

/** Attributes looked at per day at most, so that callers that invent names cannot fill the memory. */
const countedKeys = 200

/** Longer names and values are no categories; a key that has one is treated as one with too many values. */
const longestText = 100

/** How often a key and each of its values came; `undefined` values: too many to be learned from. */
export interface KeyCount {
  readonly present: number
  readonly values: ReadonlyMap<string, number> | undefined
}

/** What the requests of some time looked like. `sends` counts them all, with attributes or without. */
export interface CensusTotals {
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

/** One UTC day of a census as plain data: its start in Unix milliseconds, sends, and counts by key (and value). */
export interface CensusDay {
  readonly start: number
  readonly sends: number
  readonly keys: ReadonlyArray<readonly [string, number, ReadonlyArray<readonly [string, number]> | null]>
}

const byCodeUnits = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

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
      for (const [value, count] of values) key.values.set(value, (key.values.get(value) ?? 0) + count)
      if (key.values.size > distinctValues) key.values = undefined
    }
  }
}

/**
 * Counts the attributes of the sends of one template over the last 14 days (UTC), to choose the learning attributes
 * from. Bounded: at most 200 keys of at most 50 values a day, names and values of at most 100 UTF-16 code units.
 */
export class Census {
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

  /** Adds what another census counted. */
  merge(days: Iterable<CensusDay>): void {
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

  /** Sums over the 14 days up to the one of `now`. */
  totals(now: number): CensusTotals {
    const totals: MutableDay = { sends: 0, keys: new Map() }
    const today = Math.floor(now / dayMillis)
    for (const [day, { keys, sends }] of this.#days) {
      if (day > today - censusDays && day <= today) addTo(totals, sends, keys)
    }
    return totals
  }

  /** The days counted, oldest first, as plain data. */
  days(): ReadonlyArray<CensusDay> {
    return [...this.#days].sort(([a], [b]) => a - b).map(([day, { keys, sends }]) => ({
      start: day * dayMillis,
      sends,
      keys: Array.from(keys, ([name, { present, values }]) => [name, present, values ? [...values] : null] as const),
    }))
  }

  /** Forgets what lies more than 14 days before `now`. */
  prune(now: number): void {
    for (const day of this.#days.keys()) {
      if (day <= Math.floor(now / dayMillis) - censusDays) this.#days.delete(day)
    }
  }

  #day(sentAt: number): MutableDay {
    const index = Math.floor(sentAt / dayMillis)
    let day = this.#days.get(index)
    if (day === undefined) this.#days.set(index, day = { sends: 0, keys: new Map() })
    return day
  }
}

/**
 * The learning attributes (docs/model.md, "Learning attributes"): keys present in more than half of the sends, with
 * at most 50 distinct values that are not mostly unique (at least two sends per value on average), the most present
 * first (of equals the one with fewer values, then the smaller name), at most 6; of each the 12 most frequent values.
 *
 * `contexts` are the keys of the contexts in use. While they make more than 512 combinations under the scheme, an attribute is
 * left out: first the built-in ones, `daypart` before `weekend`, because what callers say about their users tells more
 * about them than the hour, then the last of the keys. `current` is returned itself when the choice is the same, so that
 * what was made ready for it can be used on.
 */
export const schemeOf = (
  totals: CensusTotals,
  contexts: Iterable<ContextKey> = [],
  current?: AttributeScheme,
): AttributeScheme => {
  const free = builtIns.map(({ name }) => name)
  const usable: Array<
    { readonly name: string; readonly present: number; readonly values: ReadonlyMap<string, number> }
  > = []
  for (const [name, { present, values }] of totals.keys) {
    if (free.includes(name) || values === undefined || values.size > distinctValues) continue
    if (2 * present > totals.sends && 2 * values.size <= present) usable.push({ name, present, values })
  }
  usable.sort((a, b) => b.present - a.present || a.values.size - b.values.size || byCodeUnits(a.name, b.name))
  const keys = usable.slice(0, maximumKeys).map(({ name, values }) => ({
    name,
    values: [...values]
      .filter(([value]) => value !== otherValue && value !== missingValue)
      .sort(([a, m], [b, n]) => n - m || byCodeUnits(a, b)).slice(0, listedValues).map(([value]) => value)
      // By name, so that two values which change places in frequency do not make another scheme.
      .sort(byCodeUnits),
  }))
  const used = [...contexts]
  while (keys.length > 0) {
    const compiled = new Contexts({ keys, builtIns: free })
    if (new Set(used.map((key) => compiled.parse(key).key)).size <= maximumContexts) break
    if (free.pop() === undefined) keys.pop()
  }
  const chosen = free.length === builtIns.length ? { keys } : { keys, builtIns: free }
  // Which pairs matter is for the model to say.
  const pairs = (current?.pairs ?? []).filter((pair) => pair.every((name) => keys.some((key) => key.name === name)))
  const scheme = pairs.length === 0 ? chosen : { ...chosen, pairs }
  return current !== undefined && JSON.stringify(scheme) === JSON.stringify(current) ? current : scheme
}
