import { hourMillis } from "../bandit/Window.ts"

/** Expected clicks of some messages: with a random split, as chosen, and with all rates known. */
export interface Clicks {
  readonly even: number
  readonly ours: number
  readonly oracle: number
}

/** Expected clicks without choices. */
export const none: Clicks = { even: 0, ours: 0, oracle: 0 }

/** Returns the sum of two sets of expected clicks. */
export const plus = (a: Clicks, b: Clicks): Clicks => ({
  even: a.even + b.even,
  ours: a.ours + b.ours,
  oracle: a.oracle + b.oracle,
})

/**
 * Returns the expected clicks of one message, given the true `rates` of the variants for its user, of which one was
 * chosen.
 */
export const ofChoice = (rates: ReadonlyArray<number>, chosen: number): Clicks => ({
  even: rates.reduce((sum, rate) => sum + rate, 0) / rates.length,
  ours: rates[chosen]!,
  oracle: Math.max(...rates),
})

/**
 * Returns the position between a random split (0) and knowing every rate (1). Below 0 if worse than a random split.
 * Undefined without a possible gain, or without choices.
 */
export const captured = ({ even, oracle, ours }: Clicks): number | undefined =>
  oracle - even > 1e-12 * oracle ? (ours - even) / (oracle - even) : undefined

interface Hour {
  clicks: Clicks
  readonly choices: Array<number>
}

/** Sums choices in all and by hour, so that the last day can be compared with the first. */
export class Gain {
  readonly #hours = new Map<number, Hour>()
  readonly #variants: number
  #clicks = none

  constructor(variants: number) {
    this.#variants = variants
  }

  /** Counts one choice at `time` (Unix milliseconds). */
  add(time: number, rates: ReadonlyArray<number>, chosen: number): void {
    const clicks = ofChoice(rates, chosen)
    const at = Math.floor(time / hourMillis)
    let hour = this.#hours.get(at)
    if (hour === undefined) {
      this.#hours.set(at, hour = { clicks: none, choices: new Array<number>(this.#variants).fill(0) })
    }
    hour.clicks = plus(hour.clicks, clicks)
    hour.choices[chosen]!++
    this.#clicks = plus(this.#clicks, clicks)
  }

  /** All choices so far. */
  get total(): Clicks {
    return this.#clicks
  }

  /**
   * Returns the choices of the 24 hours before `now` (Unix milliseconds), in whole hours, and their number by variant.
   */
  lastDay(now: number): { readonly clicks: Clicks; readonly choices: ReadonlyArray<number> } {
    const last = Math.floor(now / hourMillis)
    let clicks = none
    const choices = new Array<number>(this.#variants).fill(0)
    for (let at = last - 23; at <= last; at++) {
      const hour = this.#hours.get(at)
      if (hour === undefined) continue
      clicks = plus(clicks, hour.clicks)
      hour.choices.forEach((count, variant) => choices[variant]! += count)
    }
    return { clicks, choices }
  }
}
