import type { KnownOutcomes } from "../bandit/AttributeCounts.ts"
import { AttributeOutcomes } from "../bandit/AttributeOutcomes.ts"
import { hourMillis } from "../bandit/Window.ts"
import type { SimulatedRequest } from "./World.ts"

interface Waiting {
  readonly request: SimulatedRequest
  readonly variant: string
  readonly at: number
  outcomes: number
}

/** Age at which a decision is counted, and the latest age of its outcomes, as in the service. */
const settledMillis = 96 * hourMillis

/** Outcomes of a template's decisions by attribute, counted when the service counts them. */
export class SimulatedOutcomes {
  readonly #counted = new AttributeOutcomes()
  /** Decisions that are not counted yet, in the order of their times. */
  readonly #waiting = new Map<string, Waiting>()

  sent(request: SimulatedRequest, variant: string, now: number): void {
    if (request.attrs.size === 0) return
    this.#waiting.set(keyOf(request, now), { request, variant, at: now, outcomes: 0 })
  }

  observe(request: SimulatedRequest, sentAt: number, now: number): void {
    const waiting = this.#waiting.get(keyOf(request, sentAt))
    if (waiting !== undefined && now <= sentAt + settledMillis) waiting.outcomes = 1
  }

  known(now: number): KnownOutcomes {
    // Hours are settled as a whole.
    const horizon = Math.floor((now - settledMillis) / hourMillis) * hourMillis
    for (const [key, { at, outcomes, request, variant }] of this.#waiting) {
      if (at >= horizon) break
      this.#waiting.delete(key)
      this.#counted.add(request.attrs.entries().map(([name, [value]]) => [name, value!] as const), variant, at, [
        1,
        outcomes,
      ])
    }
    this.#counted.prune(now)
    return { rows: this.#counted.rows(), valueOf: ([, outcomes]) => outcomes! }
  }
}

/** Decisions at one time count as one unless they are about different people. */
const keyOf = ({ person }: SimulatedRequest, at: number): string => `${at} ${person ?? ""}`
