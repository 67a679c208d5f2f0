import type { AttributeDay } from "../bandit/AttributeCounts.ts"
import { AttributeCounts, type KnownOutcomes, schemeOf } from "../bandit/AttributeCounts.ts"
import type { AttributeOutcomesRow } from "../bandit/AttributeOutcomes.ts"
import { emptyScheme } from "../bandit/Contexts.ts"
import type { Composition } from "../bandit/Components.ts"
import type { Counts, Valuation } from "../bandit/Counts.ts"
import { type ExposureMix, type Fatigue, type FatigueCell, fatigueOf } from "../bandit/Fatigue.ts"
import { fit, type FitInput } from "../bandit/Fit.ts"
import { learnDelays, organizationDelays } from "../bandit/DelayPrior.ts"
import { type DelayCurve, type DelayRow, Delays } from "../bandit/Maturity.ts"
import type { ModelSnapshot, OrganizationPriors } from "../bandit/Model.ts"
import { withPairs } from "../bandit/PairEvidence.ts"
import { contributionOf, type PriorContribution } from "../bandit/Priors.ts"
import { revenueUnit, squareUnit } from "../bandit/Revenue.ts"
import { nothing } from "../domain/SendNothing.ts"
import type { Tally, TallyCounts } from "../bandit/Tally.ts"
import { type FollowedDelays, followFaster } from "../bandit/FasterReactions.ts"
import { variantCurves } from "../bandit/VariantDelays.ts"
import { look } from "../bandit/Verdict.ts"
import { dayMillis, hourMillis, windowOf } from "../bandit/Window.ts"
import {
  hasCost,
  isTimed,
  type ObjectiveWeights,
  type ValuedOutcome,
  valuedOutcomes,
  valueOf,
  weightsOf,
} from "../domain/ObjectiveWeights.ts"
import type { Objective } from "../domain/Template.ts"
import type { LearningWindow } from "../domain/LearningWindow.ts"
import { type DelayCounts, type TimedOutcome, timedOutcomes } from "../journal/Ledger.ts"
import { NothingCounts, ValuedCounts } from "./NothingCounts.ts"
import type { RepeatTally } from "./RepeatTallies.ts"

/** First outcomes of the decisions of one hour (start in Unix milliseconds), by `outcome:class`. */
export interface HourDelays {
  readonly hour: number
  readonly delays: DelayCounts
}

/** First outcomes of a variant's decisions of one day (start in Unix milliseconds, UTC), by `outcome:class`. */
export interface VariantDelays {
  readonly copyId: string
  readonly day: number
  readonly delays: DelayCounts
}

/** Tallies to learn from: either all tallies or only new ones. */
export interface Counted {
  readonly tallies: ReadonlyArray<Omit<Tally, "track">>
  readonly delays: ReadonlyArray<HourDelays>
  readonly variantDelays?: ReadonlyArray<VariantDelays>
  readonly repeats?: ReadonlyArray<RepeatTally>
}

/** All data about a template that the engine needs to learn. */
export interface OpenRequest extends Counted {
  /** The template's objective, which determines the weights of the outcomes. */
  readonly objective: Objective
  /** Whether "send nothing" is a candidate. Default: false. */
  readonly sendNothing?: boolean
  /** The last model, from which the next fit starts. Null before the first. */
  readonly model: ModelSnapshot | null
}

/**
 * Decisions of a variant about people of one level and class of exposure, with their outcomes, all discounted by age.
 */
export type FadedCounts = Omit<FatigueCell, "outcomes"> & { readonly [outcome in ValuedOutcome]: number }

/** Settled counts of fatigue. `hour` is the hour in which they were read, counted since the epoch. */
export interface StoredFatigue {
  readonly hour: number
  readonly cells: ReadonlyArray<FadedCounts>
  readonly mixes: ReadonlyArray<ExposureMix>
}

/** The input of a fit, in addition to the template's own counts. */
export interface FitRequest {
  readonly version: string
  /** Time of the fit. Unit: Unix milliseconds. */
  readonly now: number
  readonly window: LearningWindow | undefined
  readonly organization: OrganizationPriors
  /** Delays of all outcomes of the organization's other templates. */
  readonly organizationDelays: ReadonlyArray<HourDelays>
  /** Ids of the variants that can be served now. */
  readonly active: ReadonlyArray<string>
  /** Components of the template's variants. */
  readonly composition: Composition
  /** See `Policy.runnerUpFloor`. Default: 0. */
  readonly runnerUpFloor?: number
  /** Attributes of recent requests. Present if the fit chooses the learning attributes again. */
  readonly attributeCounts: ReadonlyArray<AttributeDay> | undefined
  /**
   * Settled decisions by attribute. Present with `attributeCounts`. Amounts are the number of decisions, then the
   * numbers of `valuedOutcomes`.
   */
  readonly attributeOutcomes?: ReadonlyArray<AttributeOutcomesRow>
  /** Absent if the template has no decisions about known people. */
  readonly fatigue?: StoredFatigue
}

/** The result of a fit. */
export interface FitAnswer {
  readonly model: ModelSnapshot
  /** The template's contribution to the organization's priors. Null if there is too little data. */
  readonly contribution: PriorContribution | null
  /** Duration of the fit. Unit: milliseconds. */
  readonly millis: number
}

const isRevenue = (name: string): boolean => name === "revenue" || name === "revenue_square"

/** Returns the outcomes that an objective values, and the way in which its tallies enter the counts. */
const valuationOf = (weights: ObjectiveWeights) => {
  const { revenue, revenueCap } = weights
  const outcomes = valuedOutcomes.filter((outcome) => weights[outcome] !== 0)
  const worths = outcomes.map((outcome) => weights[outcome])
  // The sum of values and the sum of squares (see `anyValues`), and the number of conversions, which is the number of
  // outcomes.
  const uncounted = outcomes.includes("conversion") ? [] : (["conversion"] as const)
  const tallied = revenue === 0 ? [] : (["revenue", "revenue_square", ...uncounted] as const)
  const names = [...outcomes, ...tallied]
  const valuation: Valuation = {
    values: [...worths, ...(revenue === 0 ? [] : [revenue * revenueUnit, 0, ...uncounted.map(() => 0)])],
    squares: [
      ...worths.map((weight) => weight ** 2),
      ...(revenue === 0 ? [] : [0, revenue ** 2 * squareUnit(revenueCap), ...uncounted.map(() => 0)]),
    ],
    mostPerSend: [...worths, revenue * revenueCap].reduce((sum, weight) => sum + Math.max(0, weight), 0),
    firstWorth: Math.max(...worths, revenue * revenueCap),
    countedBy: names.map((name, place) => isRevenue(name) ? names.indexOf("conversion") : place),
  }
  return { names, valuation, amountsOf: (counts: TallyCounts) => names.map((name) => counts[name] ?? 0) }
}

/** Delays of the outcomes with a weight, in the form of the maturity curve. */
const delayRows = (weights: ObjectiveWeights, hours: ReadonlyArray<HourDelays>): ReadonlyArray<DelayRow> =>
  hours.map(({ delays, hour }) => {
    const row: Array<number> = []
    for (const [key, count] of Object.entries(delays)) {
      const at = key.indexOf(":")
      const outcome = key.slice(0, at) as TimedOutcome
      if (!timedOutcomes.includes(outcome) || !isTimed(weights, outcome)) continue
      const delayClass = Number(key.slice(at + 1))
      row[delayClass] = (row[delayClass] ?? 0) + count
    }
    return [hour, Array.from(row, (count) => count ?? 0)] as const
  })

/** Returns the model with the verdict on the variants, which continues the previous model's verdict. */
export const withVerdict = (
  model: ModelSnapshot,
  before: ModelSnapshot | null,
  evidence: {
    readonly counts: Counts
    readonly organic?: Counts | undefined
    readonly active: Iterable<string>
    readonly objective: Objective
    readonly runnerUpFloor?: number
  },
): ModelSnapshot => ({
  ...model,
  verdict: look(model, evidence.counts, {
    active: evidence.active,
    organic: evidence.organic,
    objective: JSON.stringify(evidence.objective),
    runnerUpFloor: evidence.runnerUpFloor ?? 0,
    before: before?.verdict,
  }),
})

/** Interval of the search for faster reactions of a template. Unit: milliseconds. */
const followMillis = 600_000

class Template {
  readonly #objective: Objective
  readonly counts: Counts
  readonly #weights: ObjectiveWeights
  readonly #own: ValuedCounts
  /** Present if the template may send nothing. */
  readonly #nothing: NothingCounts | undefined
  readonly #delays = new Delays()
  readonly #variantDelays = new Map<string, Delays>()
  #curves: ReadonlyMap<string, DelayCurve> = new Map()
  /**
   * The period of the last search for faster reactions, and its result. `found` is undefined if reactions are not
   * faster.
   */
  #faster: { readonly period: number; readonly found: FollowedDelays | undefined } = { period: 0, found: undefined }
  #model: ModelSnapshot | null
  #hour = 0
  #fatigue: { readonly hour: number; readonly inUse: Fatigue | undefined } | undefined

  constructor(request: OpenRequest, now: number) {
    this.#objective = request.objective
    this.#weights = weightsOf(request.objective)
    this.#own = new ValuedCounts(valuationOf(this.#weights))
    this.counts = this.#own.counts
    if (request.sendNothing === true && hasCost(this.#weights)) {
      this.#nothing = new NothingCounts(this.#weights, valuationOf)
    }
    this.#model = request.model
    this.apply(request, now)
  }

  apply({ delays, repeats = [], tallies, variantDelays = [] }: Counted, now: number): void {
    for (const tally of tallies) {
      this.#nothing?.add(tally, now)
      if (tally.copyId !== nothing) this.#own.add(tally, now)
    }
    for (const repeat of repeats) {
      this.#nothing?.addRepeats(repeat, now)
      this.#own.addRepeats(repeat, now)
    }
    this.#delays.merge(delayRows(this.#weights, delays))
    for (const { copyId, day, delays } of variantDelays) {
      const own = this.#variantDelays.getOrInsertComputed(copyId, () => new Delays())
      // The last hour of the day: a day contributes once its last send is old enough.
      own.merge(delayRows(this.#weights, [{ hour: day + dayMillis - hourMillis, delays }]))
    }
  }

  /** The effects of exposures in use, computed once an hour. */
  #learnFatigue(stored: StoredFatigue | undefined): Fatigue | undefined {
    if (stored === undefined || this.#weights.revenue !== 0) return undefined
    if (this.#fatigue?.hour !== stored.hour) {
      const counts = { cells: fatigueCells(this.#weights, stored.cells), mixes: stored.mixes }
      this.#fatigue = { hour: stored.hour, inUse: fatigueOf(counts, this.#model?.fatigue !== undefined) }
    }
    return this.#fatigue.inUse
  }

  /** Returns the delay curves, or the curves since people became faster. */
  #follow(known: FollowedDelays, now: number): FollowedDelays {
    const period = Math.floor(now / followMillis)
    if (this.#faster.period !== period) {
      const found = followFaster(known, this.#delays, this.counts, now)
      this.#faster = { period, found: found === known ? undefined : found }
    }
    return this.#faster.found ?? known
  }

  #fitAll(input: FitInput): ModelSnapshot {
    const model = fit(input)
    return this.#nothing === undefined ? model : this.#nothing.fit(model, input, this.#model?.nothing)
  }

  fit(request: FitRequest): FitAnswer {
    const { active, attributeCounts, attributeOutcomes, composition, now, organization, version, window } = request
    const began = performance.now()
    const hour = Math.floor(now / hourMillis)
    if (hour !== this.#hour) {
      this.counts.rollUp(now)
      this.#nothing?.rollUp(now)
      this.#delays.prune(now)
      for (const own of this.#variantDelays.values()) own.prune(now)
    }
    const pooled = new Delays()
    pooled.merge(delayRows(this.#weights, request.organizationDelays))
    const { curve, spread } = learnDelays(this.#delays, organizationDelays(pooled, now), {
      totals: this.counts.totals(),
      worth: this.counts.worth(),
      mostPerSend: this.counts.valuation.mostPerSend,
      organizationLogRate: organization.a0,
    }, now)
    if (hour !== this.#hour) {
      const counts = Array.from(this.#variantDelays, ([id, own]) => [id, own.counts(now)] as const)
      this.#curves = variantCurves(new Map(counts), curve)
      this.#hour = hour
    }
    const followed = this.#follow({ curve, spread, curves: this.#curves }, now)
    let scheme = this.#model?.scheme ?? emptyScheme
    if (attributeCounts !== undefined) {
      const counted = new AttributeCounts()
      counted.merge(attributeCounts)
      const known = knownOutcomes(this.#weights, attributeOutcomes ?? [])
      scheme = schemeOf(counted.totals(now), this.counts.contexts(), scheme, known)
    }
    if (window === undefined) scheme = withPairs(scheme, this.#model?.pairEvidence ?? [])
    const common = {
      version,
      counts: this.counts,
      scheme,
      ...followed,
      now,
      organization,
      active: new Set(active),
      composition,
      fatigue: this.#learnFatigue(request.fatigue),
      ...(this.#model === null ? {} : { start: this.#model }),
    }
    let model: ModelSnapshot
    if (window === undefined) {
      const fitted = this.#fitAll({ ...common, window: windowOf(undefined) })
      model = withVerdict(fitted, this.#model, {
        counts: this.counts,
        organic: this.#nothing?.organic,
        active: this.#nothing === undefined ? active : [nothing, ...active],
        objective: this.#objective,
        runnerUpFloor: request.runnerUpFloor ?? 0,
      })
      this.#model = model
    } else {
      // A window may have little data, so the spread of variants is learned from all data.
      const holdShrinkage = this.#model !== null
      model = this.#fitAll({ ...common, window: windowOf(window), holdShrinkage })
    }
    return {
      model,
      contribution: contributionOf(model) ?? null,
      millis: performance.now() - began,
    }
  }
}

/** Counts by attribute with the value of their outcomes. Excludes revenue, which is not counted by attribute. */
const knownOutcomes = (weights: ObjectiveWeights, rows: ReadonlyArray<AttributeOutcomesRow>): KnownOutcomes => {
  const totals = new Map(valuedOutcomes.map((outcome) => [outcome, 0]))
  for (const { counts } of rows) {
    for (const values of Object.values(counts ?? {})) {
      for (const amounts of Object.values(values)) {
        valuedOutcomes.forEach((outcome, i) => totals.set(outcome, totals.get(outcome)! + (amounts[i + 1] ?? 0)))
      }
    }
  }
  const sum = (worth: (weight: number) => number) =>
    valuedOutcomes.reduce((total, outcome) => total + worth(weights[outcome]) * totals.get(outcome)!, 0)
  // Like `Counts.worth`: the variance of values in this unit is about the variance of a count.
  const value = sum((weight) => weight)
  const square = sum((weight) => weight ** 2)
  const unit = value > Math.sqrt(square) ? square / value : Math.sqrt(square)
  return {
    rows: unit > 0 ? rows : [],
    valueOf: (amounts) =>
      valuedOutcomes.reduce((total, outcome, i) => total + weights[outcome] * amounts[i + 1]!, 0) / unit,
  }
}

/** Cells of fatigue with the value of their outcomes. Excludes revenue, which is not counted by exposure. */
const fatigueCells = (weights: ObjectiveWeights, cells: ReadonlyArray<FadedCounts>): ReadonlyArray<FatigueCell> =>
  cells.map((cell) => ({ ...cell, outcomes: valueOf(weights, (outcome) => outcome === "revenue" ? 0 : cell[outcome]) }))

/** The counts and models of all open templates. Synchronous; runs in a worker. */
export class Engine {
  readonly #templates = new Map<string, Template>()

  /** Replaces the state of a template. `now` is in Unix milliseconds. */
  open(key: string, request: OpenRequest, now: number): void {
    this.#templates.set(key, new Template(request, now))
  }

  /** Adds new tallies to an open template. */
  apply(key: string, counted: Counted, now: number): void {
    this.#of(key).apply(counted, now)
  }

  fit(key: string, request: FitRequest): FitAnswer {
    return this.#of(key).fit(request)
  }

  close(key: string): void {
    this.#templates.delete(key)
  }

  #of(key: string): Template {
    const template = this.#templates.get(key)
    if (template === undefined) throw new Error(`The template ${key} is not open`)
    return template
  }
}
