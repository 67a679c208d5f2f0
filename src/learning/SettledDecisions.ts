import type { TallyCounts } from "../bandit/Tally.ts"
import { dayMillis, hourMillis } from "../bandit/Window.ts"
import { type ValuedOutcome, valuedOutcomes } from "../domain/ObjectiveWeights.ts"
import type { StoredEvent } from "../journal/events/DecisionEvents.ts"
import { outcomesOf } from "../journal/events/Outcomes.ts"

// `Settling` counts each decision once, when it is four days old, with the outcomes of these days.

/** Age of a decision up to which its outcomes count, and at which it is counted. Unit: hours. */
const outcomeHours = 96

/** Whole days from `from` (inclusive) to `to` (exclusive). Unit: Unix milliseconds. */
export interface Days {
  readonly from: number
  readonly to: number
}

/** Returns the start of the day (UTC) of a decision. Unit: Unix milliseconds. */
export const dayOf = (decidedAt: Date): number => Math.floor(decidedAt.getTime() / dayMillis) * dayMillis

/** Returns what the events of a decision within four days add to its counts. */
export const settledCounts = (decidedAt: Date, events: ReadonlyArray<StoredEvent>): TallyCounts => {
  const at = decidedAt.getTime()
  return outcomesOf(at, events.filter(({ occurredAt }) => occurredAt <= at + outcomeHours * hourMillis)).learned
}

/** Returns the outcomes in these counts. */
export const outcomesIn = (counts: TallyCounts): ReadonlyArray<ValuedOutcome> =>
  valuedOutcomes.filter((outcome) => (counts[outcome] ?? 0) > 0)
