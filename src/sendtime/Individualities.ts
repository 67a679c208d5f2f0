import {
  addTouches,
  emptyHistogram,
  foldedHours,
  type Individuality,
  personal,
  usualIndividuality,
} from "./Attention.ts"
import type { Clocks } from "./Clocks.ts"

// How individual the people of an organization are: pure. The individuality is the one under which one half of the
// messages of each person predicts the engagements with the other half best.

/** Maximum number of people of an organization that are compared. */
export const comparedPeople = 1_000

/** Least difference in log likelihood between the best candidate and the usual one. */
const doubt = 5

const candidates: ReadonlyArray<Individuality> = [
  usualIndividuality,
  { ...usualIndividuality, alikePrior: -2 },
  ...[0.5, 2].flatMap((shapePrior) => [1, -2].map((alikePrior) => ({ shapePrior, alikePrior }))),
]

/** Scores the candidates by the log likelihood of engagements that they predict. */
export class Individualities {
  readonly #scores = new Float64Array(candidates.length)
  /** Number of people whose messages could be compared. */
  count = 0

  /** Adds a person within a group whose attention is `group`. `codes` are in order of time. */
  add(codes: Float64Array, clocks: Clocks, fresh: Float64Array, nowMillis: number, group: Float64Array): void {
    const known = emptyHistogram()
    const predicted = emptyHistogram()
    addTouches(known, codes.filter((_, i) => i % 2 === 0), clocks, fresh, nowMillis)
    addTouches(predicted, codes.filter((_, i) => i % 2 === 1), clocks, fresh, nowMillis)
    if (!known.engaged.some((count) => count > 0) || !predicted.engaged.some((count) => count > 0)) return
    this.count++
    candidates.forEach((candidate, place) => {
      const attention = personal(known, group, candidate)
      for (let k = 0; k < foldedHours; k++) {
        const count = predicted.engaged[k]!
        if (count > 0) this.#scores[place]! += count * Math.log(attention[k]!)
        this.#scores[place]! -= predicted.exposed[k]! * attention[k]!
      }
    })
  }

  /** Returns the best candidate, or `usualIndividuality` unless the best one is better beyond doubt. */
  best(): Individuality {
    let best = 0
    for (let place = 1; place < candidates.length; place++) if (this.#scores[place]! > this.#scores[best]!) best = place
    return this.#scores[best]! - this.#scores[0]! > doubt ? candidates[best]! : usualIndividuality
  }
}
