import { exposureClass, type FatigueCounts, fatigueDays, keptByDay, levelOf } from "../bandit/Fatigue.ts"
import { expectedPerDecision } from "../bandit/Expectation.ts"
import type { ModelSnapshot } from "../bandit/Model.ts"
import { dayMillis, hourMillis } from "../bandit/Window.ts"

/** Decisions of a day with equal variant and context. */
interface Alike {
  readonly variant: string
  readonly context: string
  readonly level: number
  readonly seen: number
  decisions: number
  outcomes: number
}

interface Settled extends Omit<Alike, "context"> {
  readonly day: number
  expected: number
}

/** Age at which a decision is counted, as in the service. */
const settledMillis = 96 * hourMillis

/**
 * Earlier decisions of a template by person, and their outcomes by class of exposure, counted when the service counts
 * them.
 */
export class SimulatedExposures {
  readonly #seen = new Map<number, Map<string, number>>()
  readonly #waiting = new Map<number, Map<string, Alike>>()
  readonly #byDecision = new Map<string, Alike>()
  #settled: Array<Settled> = []

  /** Earlier decisions of a person by variant. */
  of(person: number): ReadonlyMap<string, number> {
    return this.#seen.get(person) ?? new Map()
  }

  sent(person: number, variant: string, context: string, now: number): void {
    let seen = this.#seen.get(person)
    if (seen === undefined) this.#seen.set(person, seen = new Map())
    let total = 0
    for (const count of seen.values()) total += count
    const before = seen.get(variant) ?? 0
    seen.set(variant, before + 1)
    const day = Math.floor(now / dayMillis) * dayMillis
    let alike = this.#waiting.get(day)
    if (alike === undefined) this.#waiting.set(day, alike = new Map())
    const key = `${variant} ${context} ${levelOf(total)} ${exposureClass(before)}`
    let own = alike.get(key)
    if (own === undefined) {
      own = { variant, context, level: levelOf(total), seen: exposureClass(before), decisions: 0, outcomes: 0 }
      alike.set(key, own)
    }
    own.decisions++
    this.#byDecision.set(`${person} ${now}`, own)
  }

  observe(person: number, sentAt: number): void {
    const own = this.#byDecision.get(`${person} ${sentAt}`)
    if (own !== undefined) own.outcomes++
  }

  /** Counts the days whose decisions are old enough. */
  settle(model: ModelSnapshot, now: number): void {
    for (const [day, alike] of this.#waiting) {
      if (day + dayMillis + settledMillis > now) continue
      this.#waiting.delete(day)
      const sums = new Map<string, Settled>()
      for (const { context, decisions, level, outcomes, seen, variant } of alike.values()) {
        const key = `${variant} ${level} ${seen}`
        let sum = sums.get(key)
        if (sum === undefined) {
          sums.set(key, sum = { variant, day, level, seen, decisions: 0, outcomes: 0, expected: 0 })
        }
        sum.decisions += decisions
        sum.outcomes += outcomes
        sum.expected += decisions * expectedPerDecision(model, variant, context, day)
      }
      this.#settled.push(...sums.values())
    }
    this.#settled = this.#settled.filter(({ day }) => day > now - fatigueDays * dayMillis)
  }

  counts(now: number): FatigueCounts {
    const today = Math.floor(now / dayMillis) * dayMillis
    return {
      cells: this.#settled.map(({ day, expected, level, outcomes, seen, variant }) => {
        const weight = keptByDay ** ((today - day) / dayMillis)
        return { variant, level, seen, expected: weight * expected, outcomes: weight * outcomes }
      }),
      mixes: Array.from(Map.groupBy(this.#settled, ({ day, variant }) => `${variant} ${day}`).values(), (own) => ({
        variant: own[0]!.variant,
        day: own[0]!.day,
        decisions: [0, 1, 2, 3].map((seen) =>
          own.reduce((sum, one) => one.seen === seen ? sum + one.decisions : sum, 0)
        ),
      })),
    }
  }
}
