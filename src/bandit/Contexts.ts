import type { Attributes } from "../domain/Attributes.ts"

/**
 * The request attributes that a template learns from: at most 6, the most frequently present first, each with at most
 * 12 of its most frequent values. Every attribute also has the unlisted values `other` and `missing`. `builtIns` names
 * the built-in attributes in use. By default, all `builtIns` below are in use. `pairs` names pairs of keys whose values
 * interact: each combination has an effect in addition to the effects of its two values.
 */
export interface AttributeScheme {
  readonly keys: ReadonlyArray<
    { readonly name: string; readonly values: ReadonlyArray<string>; readonly cuts?: ReadonlyArray<number> }
  >
  readonly builtIns?: ReadonlyArray<string>
  readonly pairs?: ReadonlyArray<readonly [string, string]>
}

/** The scheme of a template without data: only the built-in attributes. */
export const emptyScheme: AttributeScheme = { keys: [] }

/** Value of an attribute that is present but not listed in the scheme. */
export const otherValue = "other"

/** Value of an attribute that the request lacks. */
export const missingValue = "missing"

/** The built-in attributes with their values. A request attribute with one of these names is not learned from. */
export const builtIns: ReadonlyArray<{ readonly name: string; readonly values: ReadonlyArray<string> }> = [
  { name: "weekend", values: ["weekday", "weekend"] },
  { name: "daypart", values: ["night", "morning", "afternoon", "evening"] },
]

/** Name under which a context key has the locale of the texts that were sent. Not an attribute: it is never learned from. */
export const copyLocale = "copy_locale"

/** Names in context keys that are not attributes of requests. */
export const ownNames: ReadonlySet<string> = new Set([...builtIns.map(({ name }) => name), copyLocale])

/**
 * Maximum number of contexts that one `Contexts` distinguishes. A scheme is chosen so that it forms at most 512. New
 * values between two choices may exceed that number without harm: this limit only bounds the memory.
 */
export const interimContexts = 4096

/** Maximum number of parsed keys in the cache. A fit reads an unchanged set of keys every time. */
const parsedContexts = 20_000

/** The values of a context as canonical text: `name=value` pairs sorted by name, percent-encoded, joined by `&`. */
export type ContextKey = string

/** The combination of values of the learning attributes in which a decision is made. */
export interface Context {
  readonly key: ContextKey
  /**
   * For each attribute of the scheme (built-in ones last), then for each pair, the index of its coefficient in the
   * model, or -1 if the context lacks it.
   */
  readonly coefficients: Int32Array
}

/** Parses a number in decimal notation. Returns undefined for any other text. */
export const numberOf = (text: string): number | undefined =>
  /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : undefined

/** Returns the index of the group of a number: the count of ascending bounds that are not above it. */
export const groupOf = (cuts: ReadonlyArray<number>, value: number): number => {
  let group = 0
  while (group < cuts.length && value >= cuts[group]!) group++
  return group
}

/** Names of the groups between ascending bounds, such as `20 to below 35`. */
export const groupNames = (cuts: ReadonlyArray<number>): ReadonlyArray<string> => [
  `below ${cuts[0]}`,
  ...cuts.slice(1).map((cut, i) => `${cuts[i]} to below ${cut}`),
  `${cuts.at(-1)} and above`,
]

/** Whether `group` is the name of a group, as `groupNames` writes it, to which the number in `value` belongs. */
export const isInGroup = (group: string, value: string): boolean => {
  const number = numberOf(value)
  const bounds = /^(?:(\S+) to )?below (\S+)$|^(\S+) and above$/.exec(group)
  if (number === undefined || bounds === null) return false
  const [, low, high, least] = bounds
  return number >= Number(low ?? least ?? -Infinity) && number < Number(high ?? Infinity)
}

const encode = (text: string) => encodeURIComponent(text.toWellFormed())

// Most texts are not encoded, and the check is far cheaper than decoding.
const decode = (text: string) => text.includes("%") ? decodeURIComponent(text) : text

/** Orders texts by their UTF-16 code units. */
export const byCodeUnits = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

/** Returns the key of a combination of attribute values (name and value), in any order. */
export const encodeContext = (values: Iterable<readonly [name: string, value: string]>): ContextKey =>
  Array.from(values, ([name, value]) => `${encode(name)}=${encode(value)}`).sort(byCodeUnits).join("&")

/** Returns the attribute values of a context key by name, in the key's order. The inverse of `encodeContext`. */
export const decodeContext = (key: ContextKey): ReadonlyMap<string, string> =>
  new Map(
    key === "" ? [] : key.split("&").map((part) => {
      const at = part.indexOf("=")
      return [decode(part.slice(0, at)), decode(part.slice(at + 1))]
    }),
  )

/** Index of the value of a built-in attribute in each hour of the week (0 = Monday 00:00 local time). */
const builtInValue: Readonly<Record<string, (hourOfWeek: number) => number>> = {
  weekend: (hour) => hour >= 120 ? 1 : 0,
  daypart: (hour) => Math.floor(hour % 24 / 6),
}

/** Key of a pair. Names of attributes contain no control characters. */
const pairName = (a: string, b: string): string => a < b ? `${a}\u0000${b}` : `${b}\u0000${a}`

interface Attribute {
  readonly name: string
  readonly values: ReadonlyArray<string>
  /** Index of the coefficient of the first value. The coefficients of the other values follow. */
  readonly offset: number
  readonly index: ReadonlyMap<string, number>
  readonly cuts?: ReadonlyArray<number> | undefined
}

/** Returns the index of the listed value, or of the group, of a request's value. Undefined if it is not listed. */
const valueIndex = (
  { cuts, index }: { readonly cuts?: ReadonlyArray<number> | undefined; readonly index: ReadonlyMap<string, number> },
  value: string,
): number | undefined => {
  if (cuts === undefined) return index.get(value)
  const number = numberOf(value)
  return number === undefined ? undefined : groupOf(cuts, number)
}

/**
 * A scheme prepared for use: finds the context of a request, and numbers the coefficients of the model (0 is the
 * intercept, then the values of each attribute in turn).
 */
export class Contexts {
  readonly scheme: AttributeScheme
  /** Names of the learning attributes (built-in ones last), then one name for each pair. */
  readonly names: ReadonlyArray<string>
  /** Number of names that are attributes. */
  readonly attributes: number
  /** Number of coefficients, including the intercept. */
  readonly size: number
  /** For each coefficient, the index of its attribute, or -1 for the intercept. */
  readonly attributeOf: Int32Array
  readonly #attributes: ReadonlyArray<Attribute>
  readonly #pairs: ReadonlyArray<Attribute & { readonly first: number; readonly second: number }>
  /** Number of attributes that are not built in. They come first. */
  readonly #learned: number
  /** For each hour of the week, the index of its combination of built-in values, and the number of combinations. */
  readonly #builtInCodes: Uint8Array
  readonly #builtInCount: number
  readonly #byCode = new Map<number, Context>()
  readonly #parsed = new Map<string, Context>()

  /**
   * `known` are keys of contexts in use, which stay distinct however many contexts are added later. Keys that do not
   * fit the scheme are skipped.
   */
  constructor(scheme: AttributeScheme, known: Iterable<ContextKey> = []) {
    this.scheme = scheme
    const attributes: Array<Attribute> = []
    let offset = 1
    const listed = scheme.keys.map(({ cuts, name, values }) => ({
      name,
      values: [...values, otherValue, missingValue],
      cuts,
    }))
    const free = builtIns.filter(({ name }) => scheme.builtIns?.includes(name) ?? true)
    this.#learned = listed.length
    this.#builtInCount = free.reduce((product, { values }) => product * values.length, 1)
    this.#builtInCodes = Uint8Array.from(
      { length: 168 },
      (_, hour) => free.reduce((code, { name, values }) => code * values.length + builtInValue[name]!(hour), 0),
    )
    for (const { cuts, name, values } of [...listed, ...free.map((free) => ({ ...free, cuts: undefined }))]) {
      attributes.push({ name, values, offset, index: new Map(values.map((value, i) => [value, i])), cuts })
      offset += values.length
    }
    this.#attributes = attributes
    this.attributes = attributes.length
    this.#pairs = (scheme.pairs ?? []).flatMap(([a, b]) => {
      const first = attributes.findIndex(({ name }) => name === a)
      const second = attributes.findIndex(({ name }) => name === b)
      if (first < 0 || second < 0) return []
      const values = attributes[first]!.values.flatMap((one) =>
        attributes[second]!.values.map((other) => encodeContext([[a, one], [b, other]]))
      )
      const pair = { first, second, name: pairName(a, b), values, offset, index: new Map(values.map((v, i) => [v, i])) }
      offset += values.length
      return [pair]
    })
    const all = [...attributes, ...this.#pairs]
    this.names = all.map(({ name }) => name)
    this.size = offset
    this.attributeOf = new Int32Array(offset).fill(-1)
    all.forEach(({ offset, values }, j) => this.attributeOf.fill(j, offset, offset + values.length))
    for (const key of known) {
      const { coefficients } = this.parse(key)
      if (coefficients.every((coefficient) => coefficient >= 0)) this.#find(this.#codeOf(coefficients))
    }
  }

  /**
   * Returns the context of a request. `hourOfWeek` counts the hours since Monday 00:00 in the template's time zone, a
   * whole number from 0 to 167. Equal combinations return one shared object. After 4,096 combinations, values of a new
   * combination are replaced by `other`, rarest attribute first, until the combination is known.
   */
  contextOf(attrs: Attributes, hourOfWeek: number): Context {
    const attributes = this.#attributes
    let code = 0
    for (let j = 0; j < this.#learned; j++) {
      const attribute = attributes[j]!
      const size = attribute.values.length
      const value = attrs.get(attribute.name)?.[0]
      code = code * size + (value === undefined ? size - 1 : valueIndex(attribute, value) ?? size - 2)
    }
    code = code * this.#builtInCount + this.#builtInCodes[hourOfWeek]!
    return this.#byCode.get(code) ?? this.#find(code)
  }

  /**
   * Returns the context of a key, which may have been written under another scheme. Attributes that the scheme lacks
   * are left out, values that it does not list become `other`, and attributes that the key lacks have the coefficient
   * -1 (unknown).
   */
  parse(key: ContextKey): Context {
    const known = this.#parsed.get(key)
    if (known !== undefined) return known
    const context = this.#context(this.coefficientsIn(decodeContext(key)))
    if (this.#parsed.size >= parsedContexts) this.#parsed.clear()
    this.#parsed.set(key, context)
    return context
  }

  /** For each attribute, the index of its coefficient in a context with these values, or -1 if the value is unknown. */
  coefficientsIn(given: ReadonlyMap<string, string>): Int32Array {
    const coefficients = new Int32Array(this.#attributes.length).fill(-1)
    for (let j = 0; j < coefficients.length; j++) {
      const attribute = this.#attributes[j]!
      const value = given.get(attribute.name)
      if (value === undefined) continue
      // Before the model has groups of a number, contexts record the number itself.
      const at = attribute.index.get(value) ?? valueIndex(attribute, value) ?? attribute.index.get(otherValue)
      if (at !== undefined) coefficients[j] = attribute.offset + at
    }
    return coefficients
  }

  /** Pairs of attributes that are not built in, with at most `mostCombinations` combinations of values. */
  candidatePairs(mostCombinations: number): ReadonlyArray<{
    readonly names: readonly [string, string]
    readonly first: number
    readonly second: number
    readonly combinations: number
    /** Index of the pair's first coefficient; undefined unless the scheme has the pair. */
    readonly offset: number | undefined
    /** Returns the index of the combination of two coefficients, or -1 if either is unknown. */
    readonly combinationOf: (first: number, second: number) => number
  }> {
    const own = this.#attributes.slice(0, this.#learned)
    return own.flatMap((a, first) =>
      own.slice(first + 1).flatMap((b, i) => {
        const combinations = a.values.length * b.values.length
        if (combinations > mostCombinations) return []
        const second = first + 1 + i
        const used = this.#pairs.find((pair) =>
          (pair.first === first && pair.second === second) || (pair.first === second && pair.second === first)
        )
        const isTurned = used !== undefined && used.first === second
        const combinationOf = (x: number, y: number) => {
          if (x < 0 || y < 0) return -1
          const [one, other] = [x - a.offset, y - b.offset]
          return isTurned ? other * a.values.length + one : one * b.values.length + other
        }
        const names = [a.name, b.name] as const
        return [{ names, first, second, combinations, combinationOf, offset: used?.offset }]
      })
    )
  }

  /**
   * For each coefficient of this scheme, the coefficient of `other` for that attribute and value, or -1 if `other`
   * lacks it.
   */
  coefficientsOf(other: Contexts): Int32Array {
    const out = new Int32Array(this.size).fill(-1)
    out[0] = 0
    const others = [...other.#attributes, ...other.#pairs]
    for (const { name, offset, values } of [...this.#attributes, ...this.#pairs]) {
      const theirs = others.find((attribute) => attribute.name === name)
      values.forEach((value, i) => {
        const at = theirs?.index.get(value)
        if (at !== undefined) out[offset + i] = theirs!.offset + at
      })
    }
    return out
  }

  /** Returns the context with these coefficients of the attributes. */
  #context(own: Int32Array): Context {
    const coefficients = new Int32Array(this.names.length)
    coefficients.set(own)
    this.#pairs.forEach(({ first, offset, second }, p) => {
      const a = this.#attributes[first]!
      const b = this.#attributes[second]!
      const isKnown = own[first]! >= 0 && own[second]! >= 0
      coefficients[own.length + p] = isKnown
        ? offset + (own[first]! - a.offset) * b.values.length + own[second]! - b.offset
        : -1
    })
    const pairs: Array<readonly [string, string]> = []
    this.#attributes.forEach(({ name, offset, values }, j) => {
      if (coefficients[j]! >= 0) pairs.push([name, values[coefficients[j]! - offset]!])
    })
    return { key: encodeContext(pairs), coefficients }
  }

  #codeOf(coefficients: Int32Array): number {
    let code = 0
    this.#attributes.forEach(({ offset, values }, j) => code = code * values.length + coefficients[j]! - offset)
    return code
  }

  #coefficients(code: number): Int32Array {
    const coefficients = new Int32Array(this.#attributes.length)
    let rest = code
    for (let j = coefficients.length - 1; j >= 0; j--) {
      const { offset, values } = this.#attributes[j]!
      coefficients[j] = offset + rest % values.length
      rest = Math.floor(rest / values.length)
    }
    return coefficients
  }

  #find(code: number): Context {
    if (!Number.isInteger(code)) throw new RangeError("the hour of the week must be a whole number from 0 to 167")
    let known = this.#byCode.get(code)
    const coefficients = this.#coefficients(code)
    for (
      let j = this.#learned - 1;
      known === undefined && j >= 0 && this.#byCode.size >= interimContexts;
      j--
    ) {
      const { offset, values } = this.#attributes[j]!
      coefficients[j] = offset + values.length - 2
      code = this.#codeOf(coefficients)
      known = this.#byCode.get(code)
    }
    if (known === undefined) {
      known = this.#context(coefficients)
      this.#byCode.set(code, known)
    }
    return known
  }
}

const texts = new WeakMap<AttributeScheme, string>()

/** Text of a scheme: two schemes are equal if and only if their texts are equal. Computed once per scheme object. */
export const schemeText = (scheme: AttributeScheme): string => {
  let text = texts.get(scheme)
  if (text === undefined) {
    const keys = scheme.keys.map(({ name, values }) => [name, values])
    texts.set(scheme, text = JSON.stringify([keys, scheme.builtIns ?? null, scheme.pairs ?? []]))
  }
  return text
}

const made = new WeakMap<AttributeScheme, Contexts>()

/** Returns the scheme prepared for use: one `Contexts` per scheme object, so that repeated fits read each key once. */
export const contextsOf = (scheme: AttributeScheme): Contexts => {
  return made.getOrInsertComputed(scheme, () => new Contexts(scheme))
}
