import { bucketAt, isExpired } from "./Window.ts"

/** What was sent and what came of it, by bucket of the send time (start in Unix milliseconds), oldest bucket first. */
export interface Series {
  readonly variant: string
  readonly cell: string
  readonly starts: ReadonlyArray<number>
  readonly sends: ReadonlyArray<number>
  readonly clicks: ReadonlyArray<number>
}

interface MutableSeries extends Series {
  readonly starts: Array<number>
  readonly sends: Array<number>
  readonly clicks: Array<number>
}

const addAt = ({ clicks, sends, starts }: MutableSeries, start: number, n: number, y: number): void => {
  // Nearly everything belongs to one of the latest buckets.
  let i = starts.length
  while (i > 0 && starts[i - 1]! > start) i--
  if (i > 0 && starts[i - 1] === start) {
    sends[i - 1] = sends[i - 1]! + n
    clicks[i - 1] = clicks[i - 1]! + y
  } else {
    starts.splice(i, 0, start)
    sends.splice(i, 0, n)
    clicks.splice(i, 0, y)
  }
}

const byCodeUnits = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

/**
 * The counts of one template in memory: sends and clicks by variant, cell and bucket. The order in which they were added
 * leaves no trace, so that a model fitted from replayed events equals the first to the last bit (as long as the counts
 * are whole numbers below 2^53, whose sums are exact).
 */
export class Counts {
  readonly #series = new Map<string, Map<string, MutableSeries>>()
  #sorted: ReadonlyArray<Series> | undefined

  /** Adds counts (of either sign) to the bucket that starts at `start`, as `bucketAt` gives it. */
  add(variant: string, cell: string, start: number, sends: number, clicks: number): void {
    let cells = this.#series.get(variant)
    if (cells === undefined) this.#series.set(variant, cells = new Map())
    let series = cells.get(cell)
    if (series === undefined) {
      cells.set(cell, series = { variant, cell, starts: [], sends: [], clicks: [] })
      this.#sorted = undefined
    }
    addAt(series, start, sends, clicks)
  }

  /** Moves counts into the buckets they belong to at `now` (Unix milliseconds) and drops those over 180 days old. */
  rollUp(now: number): void {
    for (const [variant, cells] of this.#series) {
      for (const [cell, old] of cells) {
        const rolled: MutableSeries = { variant, cell, starts: [], sends: [], clicks: [] }
        old.starts.forEach((at, i) => {
          const { start } = bucketAt(at, now)
          if (!isExpired(start, now)) addAt(rolled, start, old.sends[i]!, old.clicks[i]!)
        })
        if (rolled.starts.length > 0) cells.set(cell, rolled)
        else cells.delete(cell)
      }
      if (cells.size === 0) this.#series.delete(variant)
    }
    this.#sorted = undefined
  }

  /** All series, by variant and then cell in the order of their UTF-16 code units. */
  series(): ReadonlyArray<Series> {
    return this.#sorted ??= [...this.#series.keys()].sort(byCodeUnits).flatMap((variant) => {
      const cells = this.#series.get(variant)!
      return [...cells.keys()].sort(byCodeUnits).map((cell) => cells.get(cell)!)
    })
  }

  /** Ids of the cells with counts, each once, in no particular order. */
  cells(): ReadonlySet<string> {
    return new Set(this.series().map(({ cell }) => cell))
  }
}
