import type { Budget } from "./Budget.ts"
import { LimitReached } from "./LimitReached.ts"
import * as Limits from "./Limits.ts"
import { noSnippets, snippetDepth, type SnippetSource, type SnippetSources } from "../domain/Snippet.ts"

/** A request of a loop's or block's content to the surrounding tags. */
export const Jump = { none: 0, break: 1, continue: 2 } as const
/** How a tag ends a loop: not at all, or like `break` or `continue`. */
export type Jump = typeof Jump[keyof typeof Jump]

/** Options of `render` that all variables of one variant share. */
export interface RunOptions {
  /**
   * Whether every unknown variable and unusable value is a fault. Otherwise unknown variables are rendered as nothing,
   * and unusable values are warnings.
   */
  readonly strict: boolean
  /** Time of `"now" | date`. Unit: Unix milliseconds. */
  readonly now: number
  /** IANA name of the zone in which dates are read and written. Default: UTC. */
  readonly timeZone?: string
  /** The snippets that `render` inserts. Default: none. */
  readonly snippets?: SnippetSources
  /** Whether the places of outputs without text are recorded. Default: false. */
  readonly recordsEmpty?: boolean
}

/** A value that cannot be used, with the offset of its use in the source. */
export interface Complaint {
  readonly message: string
  readonly begin: number
  /** A name without a value in a snippet. Absent for unusable values. */
  readonly missing?: { readonly snippet: string; readonly name: string }
}

/** A snippet as the parser returns it: a text without Liquid, or how to render it. */
type Body = string | ((run: Run) => void)

/** The snippet that a run renders. */
interface Place {
  readonly id: string
  /** Offset of the outermost `render` in the source of the variable. */
  readonly begin: number
  readonly depth: number
}

/**
 * The state of rendering one variant. Its variables run one after the other and share only the budget. Every growth is
 * charged before it happens.
 */
export class Run {
  /** The current output: of the variable, or of a `capture`. */
  out = ""
  /** Offset in the source of the tag or output being rendered, to show a fault at its place. */
  at = 0
  jump: Jump = Jump.none
  /** The locale of the variable's text. Undefined if it is unknown. */
  locale: string | undefined
  /** Undefined variables in strict mode, with the offset of their first place. Undefined without any. */
  missing: Map<string, number> | undefined
  /** Undefined without complaints. */
  complaints: Array<Complaint> | undefined
  /** By the offset of an output without text in the source: its first offset in the text. Undefined if not recorded. */
  empty: Map<number, number> | undefined

  // Created on first use, because most variables use none of them.
  #locals: Map<string, unknown> | undefined
  #counters: Map<string, number> | undefined
  #positions: Map<string, number> | undefined
  #loops: Array<{ readonly name: string; value: unknown }> | undefined
  /** Undefined outside of snippets. */
  #place: Place | undefined

  readonly #parse: (snippet: SnippetSource) => Body
  readonly #budget: Budget
  #written: number
  #dirty = false
  #cap = Limits.outputLength

  /** `written` is the length of the variant so far, without this run's output. `parse` returns the body of a snippet. */
  constructor(
    public fields: object,
    readonly options: RunOptions,
    written: number,
    budget: Budget,
    parse: (snippet: SnippetSource) => Body,
  ) {
    this.#written = written
    this.#budget = budget
    this.#parse = parse
  }

  get timeZone(): string {
    return this.options.timeZone ?? "UTC"
  }

  /** Values of `assign` and `capture`. */
  get locals(): Map<string, unknown> {
    return this.#locals ??= new Map()
  }

  /** Values of `increment` and `decrement`. */
  get counters(): Map<string, number> {
    return this.#counters ??= new Map()
  }

  /** Positions of `cycle` groups and of `offset: continue`. */
  get positions(): Map<string, number> {
    return this.#positions ??= new Map()
  }

  /** Variables of the surrounding loops, innermost last. */
  get loops(): Array<{ readonly name: string; value: unknown }> {
    return this.#loops ??= []
  }

  /**
   * Returns the innermost loop variable of this name, otherwise an assigned variable or counter, otherwise the field.
   */
  variable(name: string): unknown {
    const loops = this.#loops
    if (loops !== undefined) {
      for (let index = loops.length - 1; index >= 0; index--) {
        const loop = loops[index]!
        if (loop.name === name) return loop.value
      }
    }
    if (this.#locals?.has(name) === true) return this.#locals.get(name)
    if (this.#counters?.has(name) === true) return this.#counters.get(name)
    return Object.hasOwn(this.fields, name) ? (this.fields as Record<string, unknown>)[name] : undefined
  }

  /**
   * Whether a missing value of this name is reported elsewhere: a preview reports the field that a tag assigned it from.
   */
  isReported(name: string): boolean {
    return this.options.recordsEmpty === true && this.#locals?.has(name) === true
  }

  /** Returns a snippet. Throws `LimitReached` if it does not exist. */
  snippet(id: string): SnippetSource {
    const snippet = (this.options.snippets ?? noSnippets).get(id)
    if (snippet === undefined) throw new LimitReached(`renders the snippet ${JSON.stringify(id)}, which does not exist`)
    return snippet
  }

  /**
   * Renders a snippet in a scope of its own, which has only `args`. Faults within it are reported at the outermost
   * `render`, whose offset is `begin`.
   */
  insert(id: string, snippet: SnippetSource, args: object, begin: number): void {
    const outer = this.#place
    const place = { id, begin: outer?.begin ?? begin, depth: (outer?.depth ?? 0) + 1 }
    if (place.depth > snippetDepth) {
      throw new LimitReached(`renders more than ${snippetDepth} snippets inside each other`)
    }
    const body = this.#parse(snippet)
    if (typeof body === "string") return this.write(body)
    const { empty, fields } = this
    const [locals, counters, positions, loops] = [this.#locals, this.#counters, this.#positions, this.#loops]
    this.#enter(place, args, undefined, undefined, undefined, undefined)
    // Offsets within the snippet are no offsets of the variable.
    this.empty = undefined
    try {
      body(this)
    } finally {
      this.#enter(outer, fields, locals, counters, positions, loops)
      this.empty = empty
      this.at = begin
      this.jump = Jump.none
    }
  }

  #enter(
    place: Place | undefined,
    fields: object,
    locals: Map<string, unknown> | undefined,
    counters: Map<string, number> | undefined,
    positions: Map<string, number> | undefined,
    loops: Array<{ readonly name: string; value: unknown }> | undefined,
  ): void {
    this.#place = place
    this.fields = fields
    this.#locals = locals
    this.#counters = counters
    this.#positions = positions
    this.#loops = loops
  }

  /** Prepares for the next variable, whose text has this locale. */
  begin(locale?: string): void {
    this.locale = locale
    this.out = ""
    this.at = 0
    this.empty = this.options.recordsEmpty === true ? new Map() : undefined
    this.#cap = Math.min(Limits.outputLength, this.#budget.length - this.#written)
    if (!this.#dirty) {
      this.#dirty = true
      return
    }
    this.jump = Jump.none
    this.#locals = undefined
    this.#counters = undefined
    this.#positions = undefined
    this.#loops = undefined
    this.missing = undefined
    this.complaints = undefined
  }

  /** Counts the finished variable towards the variant's total. */
  end(): void {
    this.#written += this.out.length
  }

  /** Charges `count` steps of work. */
  spend(count: number): void {
    this.#budget.spend(count)
  }

  /** Number of remaining steps. */
  get stepsLeft(): number {
    return this.#budget.stepsLeft
  }

  /** Charges a pass over `length` code units at `shift` bits per step: 4 for a copy, fewer for slower work. */
  scan(length: number, shift = 4): void {
    this.spend(1 + Math.floor(length / (1 << shift)))
  }

  /** Charges a search for `needle` code units in `haystack`. */
  search(haystack: number, needle: number): void {
    this.#budget.search(haystack, needle)
  }

  /** Refuses a text before it is created if it is longer than any output may be. */
  room(length: number): void {
    if (!(length <= Limits.outputLength)) {
      throw new LimitReached(`makes a text longer than ${Limits.outputLength} characters`)
    }
  }

  write(text: string): void {
    if (text === "" && this.empty?.has(this.at) === false) this.empty.set(this.at, this.out.length)
    const length = this.out.length + text.length
    if (length > this.#cap) {
      throw new LimitReached(
        this.#cap === Limits.outputLength
          ? `renders to more than ${Limits.outputLength} characters`
          : `makes the variant longer than ${this.#budget.length} characters`,
      )
    }
    this.scan(text.length)
    this.out += text
  }

  /** Records an undefined variable in strict mode. Otherwise the variable is nothing. */
  lacks(name: string, begin: number): void {
    if (!this.options.strict) return
    if (this.#place !== undefined) return this.#lacksInSnippet(name, this.#place)
    const missing = this.missing ??= new Map()
    if (missing.size < Limits.complaints && !missing.has(name)) missing.set(name, begin)
  }

  /** Records a value that a filter cannot use: a fault in strict mode, otherwise a warning. */
  complain(message: string): void {
    const place = this.#place
    if (place === undefined) this.#add({ message, begin: this.at })
    else this.#add({ message: `in the snippet "${place.id}": ${message}`, begin: place.begin })
  }

  #lacksInSnippet(name: string, { begin, id }: Place): void {
    const argument = /^[^.[]*/.exec(name)![0]
    const message = Object.hasOwn(this.fields, argument)
      ? `the snippet "${id}" gets no value for "${name}". Pass another one, or write {{ ${name} | default: "…" }} in the snippet`
      : `the snippet "${id}" needs "${argument}": write {% render '${id}', ${argument}: ${argument} %}`
    this.#add({ message, begin, missing: { snippet: id, name } })
  }

  #add(complaint: Complaint): void {
    this.spend(5)
    const complaints = this.complaints ??= []
    if (complaints.length >= Limits.complaints) return
    if (complaints.some(({ begin, message }) => message === complaint.message && begin === complaint.begin)) return
    complaints.push(complaint)
  }
}
