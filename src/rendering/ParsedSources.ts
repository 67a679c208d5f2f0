import type { RenderedFormat } from "../domain/Template.ts"
import { isParsed, type LiquidFault, parse, type Parsed, tooMuchLiquid } from "./Source.ts"

interface Entry extends Partial<Record<RenderedFormat, Parsed>> {
  /** Whether the entry was used after it last became the newest. */
  isUsed: boolean
}

/**
 * Estimated memory of a parsed source in bytes. Measured: 20 to 98 bytes per character of Liquid. The text around it is
 * not copied, but the source stays in memory.
 */
const sizeOf = (source: string, { liquidLength }: Parsed): number => 1_024 + 2 * source.length + 80 * liquidLength

/**
 * A cache of parsed sources by content and format. If the estimate of their memory exceeds `maxBytes`, the oldest
 * entries are dropped, except that an entry used in the meantime becomes the newest again once ("second chance"). So a
 * use costs one look-up and changes no order.
 */
export class ParsedSources {
  readonly #maxBytes: number
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  constructor(options: { readonly maxBytes: number }) {
    this.#maxBytes = options.maxBytes
  }

  /** Estimated memory of the entries. Unit: bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Like `parse` of `Source.ts`, but returns one shared value while it is cached. Faults are not cached. */
  parse(source: string, format: RenderedFormat, maxLiquid?: number): Parsed | LiquidFault {
    const entry: Entry = this.#entries.get(source) ?? { isUsed: false }
    const kept = entry[format]
    if (kept !== undefined) {
      entry.isUsed = true
      return maxLiquid !== undefined && kept.liquidLength > maxLiquid ? tooMuchLiquid : kept
    }
    const parsed = parse(source, format, maxLiquid)
    // A text without Liquid is its own parsed form.
    if (!isParsed(parsed) || typeof parsed.render === "string") return parsed
    entry[format] = parsed
    entry.isUsed = false
    // A Map iterates in the order of insertion: its first entry is the oldest.
    this.#entries.delete(source)
    this.#entries.set(source, entry)
    this.#bytes += sizeOf(source, parsed)
    for (const [oldest, old] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) break
      this.#entries.delete(oldest)
      if (old.isUsed) {
        old.isUsed = false
        this.#entries.set(oldest, old)
      } else for (const one of [old.html, old.text]) if (one !== undefined) this.#bytes -= sizeOf(oldest, one)
    }
    return parsed
  }
}
