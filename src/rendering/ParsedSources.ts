import type { Format } from "../domain/Template.ts"
import { isParsed, type LiquidFault, parse, type Parsed, tooMuchLiquid } from "./Source.ts"

type Entry = Partial<Record<Format, Parsed>>

/** Memory of a parsed source, measured at 4 to 90 bytes per code unit. */
const sizeOf = (source: string): number => 1_024 + 64 * source.length

/** Parsed sources by content and format. The least recently used go when the estimate of their memory passes `maxBytes`. */
export class ParsedSources {
  readonly #maxBytes: number
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  constructor(options: { readonly maxBytes: number }) {
    this.#maxBytes = options.maxBytes
  }

  /** Estimated memory held now, in bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** As `parse` of `Source.ts`, and the very same value while it is kept. Faults are not. */
  parse(source: string, format: Format, maxLiquid?: number): Parsed | LiquidFault {
    const entry = this.#entries.get(source) ?? {}
    const kept = entry[format]
    if (kept !== undefined) {
      // A Map iterates in the order of insertion: its first entry is the least recently used.
      this.#entries.delete(source)
      this.#entries.set(source, entry)
      return maxLiquid !== undefined && kept.liquidLength > maxLiquid ? tooMuchLiquid : kept
    }
    const parsed = parse(source, format, maxLiquid)
    // A text without Liquid is its own parsed form.
    if (!isParsed(parsed) || typeof parsed.render === "string") return parsed
    entry[format] = parsed
    this.#entries.delete(source)
    this.#entries.set(source, entry)
    this.#bytes += sizeOf(source)
    for (const [oldest, { html, text }] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) break
      this.#entries.delete(oldest)
      this.#bytes -= sizeOf(oldest) * (Number(html !== undefined) + Number(text !== undefined))
    }
    return parsed
  }
}
