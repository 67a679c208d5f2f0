import * as Json from "../../json/Json.ts"

/** A mapping exceeded its limit of work for one body. */
export class TooMuchWork extends Error {}

/**
 * Default limit of work for one body. A step is a value that a path reads, eight characters of JSON that are parsed, or
 * a comparison. A body of 20,000 items and a mapping with 10 members of 3 alternatives each need about 2 million steps.
 * 10 million steps take about a second.
 */
const maxSteps = 10_000_000

/**
 * Maximum length of a text in a body that is parsed as JSON, compared, or searched for a parameter. Unit: UTF-16 code
 * units.
 */
export const maxText = 100_000

/** Texts up to this length are parsed each time, which is cheaper than a lookup. Unit: UTF-16 code units. */
const maxUnkept = 32

/**
 * Parsed texts are discarded if the texts together are longer than this, which is slightly more than the largest body.
 * Unit: UTF-16 code units.
 */
const maxKept = 8_500_000

/** Counts the work of a mapping for one body. */
export class MappingWork {
  #left: number
  readonly #max: number

  constructor(max = maxSteps) {
    this.#left = this.#max = max
  }

  get spent(): number {
    return this.#max - this.#left
  }

  /** Counts steps. Throws `TooMuchWork` if the limit is exceeded. */
  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new TooMuchWork()
  }

  /** Counts a search for `needle` in `haystack`, whose worst case grows with both lengths. Unit: code units. */
  search(haystack: number, needle: number): void {
    this.spend(1 + Math.floor(haystack / 64) + (needle > haystack ? 0 : Math.floor((haystack * needle) / 2_048)))
  }
}

/**
 * The JSON texts in one item or in a whole body. Each text is parsed once, even if several rules read it. Values that
 * are already parsed are returned unchanged.
 */
export class ParsedTexts {
  readonly #kept = new Map<string, ReadonlyArray<unknown>>()
  #length = 0

  constructor(readonly work: MappingWork) {}

  /** Returns the parsed value; empty for a text that is not JSON or is longer than 100,000 characters. */
  parse(value: unknown): ReadonlyArray<unknown> {
    if (typeof value === "object" && value !== null) return [value]
    if (typeof value !== "string" || value.length > maxText) return []
    if (value.length <= maxUnkept) return this.#parse(value)
    const known = this.#kept.get(value)
    if (known !== undefined) {
      this.work.spend(1)
      return known
    }
    const parsed = this.#parse(value)
    this.#length += value.length
    if (this.#length > maxKept) {
      this.#kept.clear()
      this.#length = value.length
    }
    this.#kept.set(value, parsed)
    return parsed
  }

  #parse(text: string): ReadonlyArray<unknown> {
    this.work.spend(1 + Math.floor(text.length / 8))
    try {
      return [Json.parse(text)]
    } catch {
      return []
    }
  }
}
