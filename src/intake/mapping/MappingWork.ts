import * as Json from "../../domain/Json.ts"

/** A mapping takes too much work for one body. */
export class TooMuchWork extends Error {}

/**
 * Work that a mapping may do for one body. A step is a value that a path looks at, eight characters of JSON that are parsed,
 * or a comparison. A body of 20,000 items, read by a mapping with 10 members of 3 alternates each, takes about 2 million steps;
 * all 10 million take about a second.
 */
const maxSteps = 10_000_000

/** Longest text inside a body that is read as JSON, compared, or searched for a parameter. Unit: UTF-16 code units. */
export const maxText = 100_000

/** Texts up to this length are parsed each time: they cost less than looking them up. Unit: UTF-16 code units. */
const maxUnkept = 32

/**
 * Parsed texts are forgotten when the texts are longer than this in all: a little more than the largest body. Unit: UTF-16
 * code units.
 */
const maxKept = 8_500_000

/** Counts the work that a mapping does for one body. */
export class MappingWork {
  #left: number
  readonly #max: number

  constructor(max = maxSteps) {
    this.#left = this.#max = max
  }

  get spent(): number {
    return this.#max - this.#left
  }

  /** Fails with `TooMuchWork` once more is spent than a body may take. */
  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new TooMuchWork()
  }

  /** Charges a search for `needle` in `haystack`, whose time grows with both in the worst case. Unit: code units. */
  search(haystack: number, needle: number): void {
    this.spend(1 + Math.floor(haystack / 64) + (needle > haystack ? 0 : Math.floor((haystack * needle) / 2_048)))
  }
}

/**
 * The JSON texts inside one item, or inside a whole body, each parsed once however many rules look into it. Values that are
 * parsed already stand for themselves.
 */
export class ParsedTexts {
  readonly #kept = new Map<string, ReadonlyArray<unknown>>()
  #length = 0

  constructor(readonly work: MappingWork) {}

  /** The parsed value, or nothing for a text that is no JSON or longer than 100,000 characters. */
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
