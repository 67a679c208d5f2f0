import { type Attributes, textOf } from "../domain/Attributes.ts"
import { listedValues } from "../bandit/AttributeCounts.ts"
import { roundNumber } from "../bandit/AttributeOutcomes.ts"
import { hourMillis } from "../bandit/Window.ts"
import {
  type Context,
  type ContextKey,
  type Contexts,
  decodeContext,
  encodeContext,
  missingValue,
  numberOf,
  otherValue,
  ownNames,
  schemeText,
} from "../bandit/Contexts.ts"

/**
 * Maximum number of attributes of a recorded context, including the attributes of the model's scheme but not the
 * built-in ones.
 */
export const recordedNames = 12

/**
 * Maximum number of values of one attribute beyond the model's scheme. An attribute with more values is no longer
 * recorded in contexts.
 */
export const distinctValues = 50

/** An attribute with more values than this is recorded only while each value has at least two requests on average. */
export const provenValues = 12

/**
 * Maximum number of contexts of a template beyond the contexts of the model's scheme, while the scheme does not change.
 */
export const additionalContexts = 512

/** Maximum number of attributes recorded outside the context. */
const extraNames = 20

/**
 * Maximum number of values of an attribute outside the context. Above it, numbers are rounded to two digits, and other
 * attributes are omitted.
 */
const extraValues = 200

/**
 * Maximum number of requests in an hour with attributes recorded outside the context. More would add little
 * information.
 */
const extraRequests = 2000

/** Maximum length of a name or a value. Unit: UTF-16 code units. */
const longestText = 100

/** Maximum length of a name or a value after percent-encoding. Unit: characters. */
const longestEncoded = 300

/** Maximum number of remembered names of dropped attributes. After that, no new attribute is recorded. */
const rememberedNames = 100

// Codes of an attribute. Values have the codes from `firstValue` on.
const notRecorded = 0
const missing = 1
const other = 2
const firstValue = 3

/** An additional attribute of contexts, beyond the model's scheme. */
interface AdditionalAttribute {
  readonly name: string
  /** Codes by value. */
  readonly values: Map<string, number>
  /** Values in the order of their codes. */
  readonly texts: Array<string>
  /** Number of requests with this attribute. */
  requests: number
  /** Number of the last request with this attribute, and the code of its value. */
  request: number
  code: number
}

/**
 * An attribute that is recorded outside the context: one that the context lacks, or one with values that the scheme
 * does not list.
 */
interface ExtraAttribute {
  readonly name: string
  readonly listed: ReadonlySet<string> | undefined
  /** The encoded pairs of name and value, by value. */
  readonly pairs: Map<string, string>
  requests: number
  /** Number of the last request with a pair of this attribute, and the pair. */
  request: number
  pair: string
}

/** The recorded attributes of a request. */
export interface RecordedContext {
  /** The context, which becomes a key of tallies. */
  readonly context: ContextKey
  /** Attributes that the context lacks or contains as `other`, encoded like a context. Undefined without any. */
  readonly extraAttributes: ContextKey | undefined
}

const isShort = (text: string): boolean =>
  text.length <= longestText && encodeURIComponent(text.toWellFormed()).length <= longestEncoded

const isPersonal = (value: string, userId: string | undefined): boolean =>
  value.includes("@") || (userId !== undefined && value === textOf(userId))

const byName = (a: AdditionalAttribute, b: AdditionalAttribute): number =>
  a.name < b.name ? -1 : a.name > b.name ? 1 : 0

/**
 * Builds the contexts that are recorded with the decisions on one template: the attributes that the model uses, and,
 * first come, first served, additional attributes that a model may use later. `Contexts.parse` reads the attributes of
 * its scheme from the recorded key. Attributes that do not fit in the context are recorded separately, and
 * `AttributeOutcomes` counts them.
 *
 * Limits: 12 attributes of a recorded context, 50 values of an additional attribute, and 512 contexts of a scheme
 * beyond its own. An attribute that seems to identify people (a value with an `@`, or the request's user id) is not
 * recorded, nor is an attribute with more than 12 values and fewer than two requests per value. Outside the context, at
 * most 20 attributes with at most 200 values each are recorded, in at most 2,000 requests an hour.
 */
export class ContextRecorder {
  #contexts: Contexts | undefined
  #scheme: string | undefined
  /**
   * Recording of each attribute by name. Null: the attribute is in the context as the scheme lists it, or it is not
   * recorded.
   */
  #names = new Map<string, AdditionalAttribute | ExtraAttribute | null>()
  readonly #extra = new Map<string, ExtraAttribute>()
  #hour = 0
  #requestsOfHour = 0
  /** Names of attributes that are never recorded. */
  readonly #omitted = new Set<string>()
  /** The additional attributes of contexts, sorted by name. */
  #additional: Array<AdditionalAttribute> = []
  readonly #dropped = new Set<string>()
  #room = 0
  #requests = 0
  /** Recorded contexts beyond the contexts of the scheme. */
  readonly #recorded = new Set<string>()
  /** Number of contexts at which the attributes with the most values are dropped. */
  #allowed = additionalContexts / 2
  /** Recorded contexts by the key of the model's context, then by one code per additional attribute. */
  readonly #known = new Map<ContextKey, Map<string, ContextKey>>()

  /**
   * Returns the context to record with a request, and the attributes outside it. `contexts` are the contexts of the
   * adaptive model, `context` is the request's context among them. Takes 0.1 to 3 µs, or 4 to 10 µs for a new context.
   */
  record(
    contexts: Contexts,
    context: Context,
    { attrs, userId }: { readonly attrs: Attributes; readonly userId: string | undefined },
    now: number,
  ): RecordedContext {
    if (contexts !== this.#contexts) this.#follow(contexts)
    const request = ++this.#requests
    // `forEach` allocates no object for each pair.
    attrs.forEach(([value], name) => {
      const known = this.#names.get(name)
      if (known === null || value === undefined) return
      const found = known ?? this.#takeUp(name)
      if (found === undefined) return
      if ("pairs" in found) this.#noteExtra(found, value, userId, request)
      else this.#note(found, value, userId, request)
    })
    const extraAttributes = this.#extra.size === 0 ? undefined : this.#extraAttributesOf(request, now)
    if (this.#additional.length === 0) return { context: context.key, extraAttributes }
    let codes = ""
    for (const attribute of this.#additional) {
      codes += String.fromCharCode(attribute.request === request ? attribute.code : missing)
    }
    return { context: this.#known.get(context.key)?.get(codes) ?? this.#make(context, codes), extraAttributes }
  }

  #extraAttributesOf(request: number, now: number): ContextKey | undefined {
    const hour = Math.floor(now / hourMillis)
    if (hour !== this.#hour) [this.#hour, this.#requestsOfHour] = [hour, 0]
    if (this.#requestsOfHour >= extraRequests) return undefined
    let text = ""
    for (const { listed, pair, pairs, request: last } of this.#extra.values()) {
      // A listed attribute is always in the context, so only an attribute that the context lacks can be missing.
      const own = last === request ? pair : listed === undefined ? pairs.get(missingValue)! : ""
      if (own !== "") text += text === "" ? own : `&${own}`
    }
    if (text === "") return undefined
    this.#requestsOfHour++
    return text
  }

  #follow(contexts: Contexts): void {
    this.#contexts = contexts
    const scheme = schemeText(contexts.scheme)
    // Models are published every few seconds, mostly with an unchanged scheme.
    if (scheme === this.#scheme) return
    this.#scheme = scheme
    const modelled = contexts.scheme.keys.map(({ name }) => name)
    const notAdditional = new Set([...modelled, ...ownNames, ...this.#dropped])
    this.#room = Math.max(0, recordedNames - modelled.length)
    this.#additional = this.#additional.filter(({ name }) => !notAdditional.has(name)).slice(0, this.#room)
    this.#names = new Map([
      ...Array.from(notAdditional, (name) => [name, null] as const),
      ...this.#additional.map((attribute) => [attribute.name, attribute] as const),
    ])
    this.#followExtra(contexts)
    this.#known.clear()
    this.#recorded.clear()
    this.#allowed = additionalContexts / 2
  }

  /** Finds the attributes that do not fit in contexts, and the attributes with values that the scheme does not list. */
  #followExtra({ scheme }: Contexts): void {
    const unlisted = [...this.#extra.values()].filter(({ listed }) => listed === undefined)
    const earlier = [...unlisted.map(({ name }) => name), ...this.#dropped]
    this.#extra.clear()
    for (const { cuts, name, values } of scheme.keys) {
      if (cuts === undefined && values.length >= listedValues && !this.#omitted.has(name)) {
        this.#addExtra(name, new Set(values))
      }
    }
    for (const name of earlier) if (!scheme.keys.some((key) => key.name === name)) this.#addExtra(name)
  }

  #addExtra(name: string, listed?: ReadonlySet<string>): ExtraAttribute | undefined {
    if (this.#omitted.has(name) || this.#extra.size >= extraNames || ownNames.has(name)) {
      return undefined
    }
    const pairs = new Map([missingValue, otherValue].map((value) => [value, encodeContext([[name, value]])] as const))
    const extra: ExtraAttribute = { name, listed, pairs, requests: 0, request: 0, pair: "" }
    this.#extra.set(name, extra)
    this.#names.set(name, extra)
    return extra
  }

  #omit(name: string): void {
    if (this.#omitted.size < rememberedNames) this.#omitted.add(name)
    this.#extra.delete(name)
    this.#names.set(name, null)
  }

  #takeUp(name: string): AdditionalAttribute | ExtraAttribute | undefined {
    if (this.#dropped.size >= rememberedNames || this.#omitted.size >= rememberedNames || !isShort(name)) {
      return undefined
    }
    if (this.#additional.length >= this.#room) return this.#addExtra(name)
    const attribute: AdditionalAttribute = {
      name,
      values: new Map(),
      texts: [],
      requests: 0,
      request: 0,
      code: notRecorded,
    }
    this.#names.set(name, attribute)
    this.#additional = [...this.#additional, attribute].sort(byName)
    this.#known.clear()
    return attribute
  }

  /** Removes an attribute from contexts. It is recorded outside them if there is room. */
  #drop({ name }: AdditionalAttribute): ExtraAttribute | undefined {
    this.#dropped.add(name)
    this.#names.set(name, null)
    this.#additional = this.#additional.filter((attribute) => attribute.name !== name)
    this.#known.clear()
    return this.#addExtra(name)
  }

  #note(attribute: AdditionalAttribute, value: string, userId: string | undefined, request: number): void {
    const { texts, values } = attribute
    let code = values.get(value)
    if (code === undefined) {
      if (isPersonal(value, userId)) this.#omitted.add(attribute.name)
      if (values.size >= distinctValues || this.#omitted.has(attribute.name)) {
        const extra = this.#drop(attribute)
        // Otherwise this request would be recorded as one without the attribute.
        if (extra !== undefined) this.#noteExtra(extra, value, userId, request)
        return
      }
      if (value === otherValue || value === missingValue || !isShort(value)) code = other
      else values.set(value, code = firstValue + texts.push(value) - 1)
    }
    attribute.requests++
    attribute.request = request
    attribute.code = values.size > provenValues && attribute.requests < 2 * values.size ? notRecorded : code
  }

  #noteExtra(extra: ExtraAttribute, value: string, userId: string | undefined, request: number): void {
    const { listed, name, pairs } = extra
    if (listed?.has(value) === true) return
    let known = pairs.get(value)
    if (known === undefined) {
      if (isPersonal(value, userId)) return this.#omit(name)
      if (pairs.size >= extraValues) {
        if (numberOf(value) === undefined) return this.#omit(name)
        known = encodeContext([[name, roundNumber(value)]])
      } else {
        known = encodeContext([[name, isShort(value) ? value : otherValue]])
        pairs.set(value, known)
      }
    }
    extra.requests++
    extra.request = request
    extra.pair = pairs.size > provenValues && extra.requests < 2 * pairs.size
      ? ""
      : value === missingValue
      ? pairs.get(otherValue)!
      : known
  }

  #make(context: Context, codes: string): ContextKey {
    const values = new Map(decodeContext(context.key))
    this.#additional.forEach(({ name, texts }, i) => {
      const code = codes.charCodeAt(i)
      if (code !== notRecorded) {
        values.set(name, code === missing ? missingValue : code === other ? otherValue : texts[code - firstValue]!)
      }
    })
    const recorded = encodeContext(values)
    if (recorded !== context.key && !this.#recorded.has(recorded)) {
      if (this.#recorded.size >= this.#allowed) {
        this.#narrow()
        return context.key
      }
      this.#recorded.add(recorded)
    }
    const known = this.#known.get(context.key)
    if (known === undefined) this.#known.set(context.key, new Map([[codes, recorded]]))
    else known.set(codes, recorded)
    return recorded
  }

  /**
   * Drops the half of the attributes with the most values, and raises the allowed number of contexts by half of the
   * rest of the budget.
   */
  #narrow(): void {
    const widest = this.#additional.toSorted((a, b) => b.values.size - a.values.size)
    for (const attribute of widest.slice(0, Math.ceil(widest.length / 2))) this.#drop(attribute)
    this.#allowed += Math.floor((additionalContexts - this.#allowed) / 2)
  }
}
