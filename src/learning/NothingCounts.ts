import { Counts, type Valuation } from "../bandit/Counts.ts"
import { fit, type FitInput } from "../bandit/Fit.ts"
import type { ModelSnapshot, NothingModels } from "../bandit/Model.ts"
import { nothing } from "../domain/SendNothing.ts"
import type { Tally, TallyCounts } from "../bandit/Tally.ts"
import { bucketAt } from "../bandit/Window.ts"
import { isTimed, type ObjectiveWeights, valuedOutcomes } from "../domain/ObjectiveWeights.ts"
import type { RepeatTally } from "./RepeatTallies.ts"

/** How an objective enters counts. */
interface ValuedTallies {
  readonly names: ReadonlyArray<string>
  readonly valuation: Valuation
  readonly amountsOf: (counts: TallyCounts) => ReadonlyArray<number>
}

/** Log of the rate of opt-outs that is expected before any data: 1 in 1,000 messages. */
const usualCostRate = Math.log(0.001)

/** Share of the outcomes that people without a message are expected to have, before any data. */
const usualOrganicShare = 0.5

const withWeights = (weights: ObjectiveWeights, weightOf: (weight: number) => number): ObjectiveWeights => ({
  ...weights,
  ...Object.fromEntries(valuedOutcomes.map((outcome) => [outcome, weightOf(weights[outcome])])),
})

/** Counts valued by an objective. */
export class ValuedCounts {
  readonly counts: Counts
  readonly #tallied: ValuedTallies

  constructor(tallied: ValuedTallies) {
    this.counts = new Counts(tallied.valuation)
    this.#tallied = tallied
  }

  add({ context, copyId, counts, start }: Omit<Tally, "track">, now: number): void {
    const sends = (counts.decisions ?? 0) - (counts.voided ?? 0)
    this.counts.add(copyId, context, bucketAt(start, now).start, sends, ...this.#tallied.amountsOf(counts))
  }

  addRepeats({ again, copyId: variant, outcome, seen, start }: RepeatTally, now: number): void {
    const of = (amount: number) => this.#tallied.names.map((name) => name === outcome ? amount : 0)
    this.counts.addRepeats({ variant, start: bucketAt(start, now).start, again: of(again), seen: of(seen) })
  }
}

/** The counts behind the models that weigh messages against no message. */
export class NothingCounts {
  readonly #gains: ValuedCounts
  readonly #costs: ValuedCounts
  readonly #organic: ValuedCounts
  /** Whether people who get no message can have outcomes of value: conversions. */
  readonly #hasOrganic: boolean

  constructor(weights: ObjectiveWeights, valuationOf: (weights: ObjectiveWeights) => ValuedTallies) {
    const gains = valuationOf(withWeights(weights, (weight) => Math.max(0, weight)))
    const costs = withWeights(weights, (weight) => Math.max(0, -weight))
    this.#gains = new ValuedCounts(gains)
    this.#costs = new ValuedCounts(valuationOf({ ...costs, revenue: 0, revenueCap: 0 }))
    this.#organic = new ValuedCounts(gains)
    this.#hasOrganic = isTimed(weights, "conversion")
  }

  /** Decisions to send nothing. */
  get organic(): Counts {
    return this.#organic.counts
  }

  add(tally: Omit<Tally, "track">, now: number): void {
    const parts = tally.copyId === nothing ? [this.#organic] : [this.#gains, this.#costs]
    for (const part of parts) part.add(tally, now)
  }

  addRepeats(repeats: RepeatTally, now: number): void {
    for (const part of [this.#gains, this.#costs]) part.addRepeats(repeats, now)
  }

  rollUp(now: number): void {
    for (const { counts } of [this.#gains, this.#costs, this.#organic]) counts.rollUp(now)
  }

  /**
   * Returns the model of a template's own fit with the models of gains, costs and no message, and with the traffic of
   * all decisions. `before`: the models from which the fits start.
   */
  fit(model: ModelSnapshot, input: FitInput, before: NothingModels | undefined): ModelSnapshot {
    const { composition: _, fatigue: _fatigue, start: _start, ...common } = input
    const fitPart = ({ counts }: ValuedCounts, start: ModelSnapshot | null | undefined, a0: number) =>
      fit({ ...common, counts, organization: { ...input.organization, a0 }, ...(start ? { start } : {}) })
    const gains = fitPart(this.#gains, before?.gains, input.organization.a0)
    const costs = fitPart(this.#costs, before?.costs, usualCostRate)
    const usual = gains.a0 - Math.log(gains.worth ?? 1) + Math.log(usualOrganicShare)
    const organic = fitPart(this.#organic, before?.organic, usual)
    return {
      ...model,
      traffic: sumOf([...model.traffic, ...organic.traffic]),
      nothing: { gains, costs, organic: this.#hasOrganic ? organic : null },
    }
  }
}

/** Traffic with one entry for each context, sorted by it. */
const sumOf = (traffic: ModelSnapshot["traffic"]): ModelSnapshot["traffic"] =>
  Array.from(Map.groupBy(traffic, ({ cell }) => cell), ([cell, own]) => ({
    cell,
    sends: own.reduce((sum, { sends }) => sum + sends, 0),
  })).sort((a, b) => a.cell < b.cell ? -1 : 1)
