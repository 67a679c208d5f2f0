import type { Attributes } from "../domain/Attributes.ts"
import {
  builtIns,
  type Context,
  type ContextKey,
  type Contexts,
  decodeContext,
  encodeContext,
  missingValue,
  otherValue,
  schemeText,
} from "../bandit/Contexts.ts"

/** Most attributes of a recorded context, including those of the model's scheme, without the built-in ones. */
export const recordedNames = 12

/** Most values of one attribute beyond the model's scheme; an attribute with more is no longer recorded. */
export const distinctValues = 50

/** An attribute with more values than this is recorded only while each value has at least two requests on average. */
export const provenValues = 12

/** Most contexts of a template beyond those of the model's scheme, while the scheme stays the same. */
export const furtherContexts = 512

/** Longest name and value. Unit: UTF-16 code units. */
const longestText = 100

/** Longest name and value after percent-encoding. Unit: characters. */
const longestEncoded = 300

/** Most names that are remembered as dropped. After so many, no further name is recorded. */
const rememberedNames = 100

// Codes of an attribute. Values have the codes from `firstValue` on.
const notRecorded = 0
const missing = 1
const other = 2
const firstValue = 3

/** A further attribute: one beyond the model's scheme. */
interface Further {
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

const isShort = (text: string): boolean =>
  text.length <= longestText && encodeURIComponent(text.toWellFormed()).length <= longestEncoded

const byName = (a: Further, b: Further): number => a.name < b.name ? -1 : a.name > b.name ? 1 : 0

/**
 * Makes the contexts that are recorded with the decisions on one template: the attributes that the model uses, and, first
 * come, first served, further attributes that a model may use later. `Contexts.parse` reads the attributes of its scheme from
 * the recorded key.
 *
 * Bounds: a recorded context has at most 12 attributes, a further attribute at most 50 values, and a scheme fewer than 512
 * contexts beyond its own. An attribute that seems to name people (a value with an `@`, or the request's user id) is not
 * recorded, nor is an attribute with more than 12 values and fewer than two requests a value.
 */
export class ContextRecorder {
  #contexts: Contexts | undefined
  #scheme: string | undefined
  /** Null for attributes of the scheme and for dropped ones. */
  #names = new Map<string, Further | null>()
  /** The further attributes, sorted by name. */
  #further: Array<Further> = []
  readonly #dropped = new Set<string>()
  #room = 0
  #requests = 0
  /** Recorded contexts beyond the scheme's. */
  readonly #recorded = new Set<string>()
  /** Number of contexts at which the attributes with the most values are dropped. */
  #allowed = furtherContexts / 2
  /** Recorded contexts by the key of the model's context and by one code per further attribute. */
  readonly #known = new Map<ContextKey, Map<string, ContextKey>>()

  /**
   * The key of the context to record with a request. `contexts` are those of the adaptive model, `context` is the
   * request's context among them. Takes 0.1 to 3 µs, or 4 to 10 µs for a new context.
   */
  recordedContextOf(contexts: Contexts, context: Context, attrs: Attributes, userId: string | undefined): ContextKey {
    if (contexts !== this.#contexts) this.#follow(contexts)
    const request = ++this.#requests
    for (const [name, [value]] of attrs) {
      const known = this.#names.get(name)
      if (known === null || value === undefined) continue
      const further = known ?? this.#takeUp(name)
      if (further !== undefined) this.#note(further, value, userId, request)
    }
    if (this.#further.length === 0) return context.key
    let codes = ""
    for (const further of this.#further) {
      codes += String.fromCharCode(further.request === request ? further.code : missing)
    }
    return this.#known.get(context.key)?.get(codes) ?? this.#make(context, codes)
  }

  #follow(contexts: Contexts): void {
    this.#contexts = contexts
    const scheme = schemeText(contexts.scheme)
    // Models are published every few seconds, mostly with the scheme of the previous one.
    if (scheme === this.#scheme) return
    this.#scheme = scheme
    const modelled = contexts.scheme.keys.map(({ name }) => name)
    const notFurther = new Set([...modelled, ...builtIns.map(({ name }) => name), ...this.#dropped])
    this.#room = Math.max(0, recordedNames - modelled.length)
    this.#further = this.#further.filter(({ name }) => !notFurther.has(name)).slice(0, this.#room)
    this.#names = new Map([
      ...Array.from(notFurther, (name) => [name, null] as const),
      ...this.#further.map((further) => [further.name, further] as const),
    ])
    this.#known.clear()
    this.#recorded.clear()
    this.#allowed = furtherContexts / 2
  }

  #takeUp(name: string): Further | undefined {
    if (this.#further.length >= this.#room || this.#dropped.size >= rememberedNames || !isShort(name)) return undefined
    const further: Further = { name, values: new Map(), texts: [], requests: 0, request: 0, code: notRecorded }
    this.#names.set(name, further)
    this.#further = [...this.#further, further].sort(byName)
    this.#known.clear()
    return further
  }

  #drop({ name }: Further): void {
    this.#dropped.add(name)
    this.#names.set(name, null)
    this.#further = this.#further.filter((further) => further.name !== name)
    this.#known.clear()
  }

  #note(further: Further, value: string, userId: string | undefined, request: number): void {
    const { texts, values } = further
    let code = values.get(value)
    if (code === undefined) {
      if (value.includes("@") || value === userId?.toLowerCase() || values.size >= distinctValues) {
        return this.#drop(further)
      }
      if (value === otherValue || value === missingValue || !isShort(value)) code = other
      else values.set(value, code = firstValue + texts.push(value) - 1)
    }
    further.requests++
    further.request = request
    further.code = values.size > provenValues && further.requests < 2 * values.size ? notRecorded : code
  }

  #make(context: Context, codes: string): ContextKey {
    const values = new Map(decodeContext(context.key))
    this.#further.forEach(({ name, texts }, i) => {
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
   * Drops the half of the attributes with the most values, and gives each other attribute half of the remaining budget.
   */
  #narrow(): void {
    const widest = this.#further.toSorted((a, b) => b.values.size - a.values.size)
    for (const further of widest.slice(0, Math.ceil(widest.length / 2))) this.#drop(further)
    this.#allowed += Math.floor((furtherContexts - this.#allowed) / 2)
  }
}
