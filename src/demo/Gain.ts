import { hourMillis } from "../bandit/Window.ts"

/** Expected clicks of some messages: as chosen, with a random split, and knowing every rate. */
export interface Clicks {
  readonly even: number
  readonly ours: number
  readonly oracle: number
}

/** Nothing has been chosen. */
export const none: Clicks = { even: 0, ours: 0, oracle: 0 }

export const plus = (a: Clicks, b: Clicks): Clicks => ({
  even: a.even + b.even,
  ours: a.ours + b.ours,
  oracle: a.oracle + b.oracle,
})

/** The expected clicks of one message, given the true `rates` of the variants for its user, of which one was chosen. */
export const ofChoice = (rates: ReadonlyArray<number>, chosen: number): Clicks => ({
  even: rates.reduce((sum, rate) => sum + rate, 0) / rates.length,
  ours: rates[chosen]!,
  oracle: Math.max(...rates),
})

/**
 * The share of the way from a random split to knowing every rate: 1 is the whole possible gain, 0 none, below 0 worse
 * than a random split. Undefined without a possible gain, or without choices.
 */
export const captured = ({ even, oracle, ours }: Clicks): number | undefined =>
  oracle - even > 1e-12 * oracle ? (ours - even) / (oracle - even) : undefined

interface Hour {
  clicks: Clicks
  readonly choices: Array<number>
}

/** Adds choices up, on the whole and by the hour, so that the last day can be told from the first. */
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

  /** The choices of the 24 hours before `now` (Unix milliseconds), to the hour, and how they fell on the variants. */
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
