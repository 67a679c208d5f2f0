import { exposureEffects } from "../../src/results/ExposureEffects.ts"
import type { ResultsAnswer } from "../../src/results/Answer.ts"
import { report } from "../../src/bandit/Report.ts"
import { revenueUnit, squareUnit } from "../../src/bandit/Revenue.ts"
import { measures } from "../../src/bandit/Tally.ts"
import { dayMillis } from "../../src/bandit/Window.ts"
import { missingValue } from "../../src/bandit/Contexts.ts"
import { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import { prepare } from "../../src/results/Composition.ts"
import type { CountedContext } from "../../src/results/Tabulation.ts"
import { type Outlook, outlookOf } from "../../src/results/Outlook.ts"
import { composeSeries } from "../../src/results/SeriesComposition.ts"
import type { TemplateResults } from "../../src/results/TemplateResults.ts"
import type { TemplateSeries } from "../../src/results/TemplateSeries.ts"
import { attributeOf, audienceRates, type HonestyWorld, honestyWorld } from "./HonestyWorld.ts"
import type { LearnerKind } from "../../src/simulation/Learners.ts"
import { type Feature, type Knowledge, Product } from "../../src/simulation/Product.ts"
import { run } from "../../src/simulation/Run.ts"
import { worldStart } from "../../src/simulation/World.ts"

// Checks the numbers in results against the truth: the product decides in a world with known rates, and its results are
// read once a day by the functions that answer requests.

/** An estimate with its 95 % interval, and the true value. */
export interface Checked {
  readonly shown: number
  readonly interval: readonly [number, number]
  readonly truth: number
}

/** The results on one day. */
export interface Look {
  readonly day: number
  readonly verdict: TemplateResults["winner"]["verdict"]
  readonly winner: string | null
  /** The answer of the results. Undefined if the run does not read them. */
  readonly answer: ResultsAnswer["kind"] | undefined
  /** The losing variants in the results. Empty if the run does not read them. */
  readonly losers: ReadonlyArray<string>
  /** The estimate of the days until a winner. Undefined without an estimate, and if the run does not read estimates. */
  readonly outlook: Outlook | undefined
}

/** One run of a setting. */
export interface HonestyRun {
  readonly looks: ReadonlyArray<Look>
  /** Share of the decisions of the last 7 days that chose each variant. */
  readonly lastShares: ReadonlyArray<number>
  /** Ids of the variants with the highest true rate. */
  readonly best: ReadonlySet<string>
  /**
   * Outcomes beyond a random split over the whole run. Null if the results show no gain. If people tire, the truth in
   * `gain` is for equal exposure to all variants, and the truth in `gainAsSeen` is for a separate random choice at each
   * decision.
   */
  readonly gain: Checked | null
  readonly gainAsSeen: Checked | null
  /** The lift of the leader over the next best variant. Null if the results show no lift. */
  readonly lift: Checked | null
  /** The lift of the leader over a random split. Null if the results show no lift. */
  readonly liftOverSplit: Checked | null
  /** The gain of the last choices over the best single variant and over a random split, and the losses of each variant. */
  readonly gainOverBest: Checked | null
  readonly gainOverSplit: Checked | null
  readonly shipping: ReadonlyArray<Checked>
  /** One per variant with a rate. */
  readonly rates: ReadonlyArray<Checked>
  /** The rates of the last day in the series. */
  readonly seriesRates: ReadonlyArray<Checked>
  /** One per variant and attribute value with a rate. */
  readonly segmentRates: ReadonlyArray<Checked>
  /** Whether the model has effects of fatigue in use at the end. */
  readonly usesFatigue: boolean
  /** The effects of earlier exposures at the end, as changes of the rate. Empty if the model does not use them. */
  readonly fatigueEffects: ReadonlyArray<Checked>
}

/** The first day on which losers and the days until a winner are read. */
const firstEstimate = 3

const covers = ({ interval: [low, high], truth }: Checked): boolean => low <= truth && truth <= high

/** Share of the intervals that contain the truth; NaN without any. */
export const coverage = (all: ReadonlyArray<Checked>): number => all.filter(covers).length / all.length

/** Returns the objective of a setting, and a function that converts outcomes to the counts of tallies. */
const talliesOf = ({ values }: HonestyWorld, worth: number) => {
  if (values === undefined) return { objective: "click" as const, countsOf: (value: number) => ({ click: value }) }
  const squares = worth / squareUnit(values.cap)
  return {
    objective: { revenue: 1, revenue_cap: values.cap },
    // The model only checks whether conversions exist, not their number. Squares have an equal ratio in all rows.
    countsOf: (value: number) => ({ conversion: value, revenue: value / revenueUnit, revenue_square: value * squares }),
  }
}

/** Composes the results from the knowledge, as for a request. */
const resultsOf = (
  { counts, model }: Knowledge,
  setting: HonestyWorld,
  arms: ReadonlyArray<string>,
  now: number,
): TemplateResults => {
  const { countsOf, objective } = talliesOf(setting, counts.worth())
  const rows = counts.series().map(({ clicks, context, sends, variant }): CountedContext => {
    const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((all, one) => all + one, 0)
    const counted: { readonly [measure: string]: number } = { decisions: sum(sends), ...countsOf(sum(clicks)) }
    return { copyId: variant, context, track: "learned", counts: measures.map((name) => counted[name] ?? 0) }
  })
  const { compose, request } = prepare({
    template: {
      id: TemplateId.make("t0"),
      objective,
      variants: arms.map((id) => ({ id: CopyId.make(id), name: id, active: true, targeting: [], components: {} })),
    },
    eligible: new Set(arms),
    floor: 0.01,
    model,
    verdict: model.verdict,
    rows,
    segment: new Map(),
    nowMillis: now,
  })
  return compose(report(request))
}

/** Composes the series from the knowledge, as for a request. */
const seriesOf = (
  { counts, delays, model, ofAllDays }: Knowledge,
  setting: HonestyWorld,
  now: number,
): TemplateSeries => {
  const { countsOf, objective } = talliesOf(setting, counts.worth())
  return composeSeries({
    template: "t0",
    objective,
    targeted: [],
    named: [],
    model,
    ofAllDays: ofAllDays(),
    segment: new Map(),
    now,
    step: "day",
    length: dayMillis,
    rows: counts.series().flatMap(({ context, clicks, sends, starts, variant }) =>
      starts.map((start, i) => ({
        first: start,
        moment: start * sends[i]!,
        copyId: variant,
        context,
        decisions: sends[i]!,
        voided: 0,
        open: 0,
        click: 0,
        conversion: 0,
        negative: 0,
        revenue: 0,
        revenue_square: 0,
        ...countsOf(clicks[i]!),
      }))
    ),
    byContext: true,
    delays: delays.rows().flatMap(([hour, classes]) =>
      classes.map((count, delayClass) => ({
        hour,
        outcome: objective === "click" ? "click" : "conversion",
        delayClass,
        count,
      }))
    ),
    zone: "UTC",
  })
}

/**
 * The means of the true rates by variant over the decisions of the last 14 days, in total and by value of the
 * attribute. If people tire, results show the rates of a first exposure, multiplied by the mean factor of fatigue over
 * all decisions. Decisions have the weights of the model in this mean.
 */
class Truth {
  readonly #arms: number
  readonly #from: number
  readonly #sums = new Map<string, { count: number; readonly rates: Float64Array }>()
  readonly #days: Array<{ decisions: number; freshness: number; freshGain: number }> = []
  gainAsSeen = 0

  constructor(arms: number, from: number) {
    this.#arms = arms
    this.#from = from
  }

  /** `fresh` are the rates of a first exposure, and `rates` the rates of this person. */
  add(at: number, value: string | undefined, arm: number, rates: Float64Array, fresh = rates): void {
    const beyondSplit = (of: Float64Array) => of[arm]! - of.reduce((sum, rate) => sum + rate, 0) / this.#arms
    this.gainAsSeen += beyondSplit(rates)
    const day = this.#days[Math.floor((at - worldStart) / dayMillis)] ??= { decisions: 0, freshness: 0, freshGain: 0 }
    day.decisions++
    // If people do not tire, a variant that fails for this person has the rate 0.
    day.freshness += fresh === rates ? 1 : rates[arm]! / fresh[arm]!
    day.freshGain += beyondSplit(fresh)
    if (at < this.#from) return
    for (const key of value === undefined ? [""] : ["", value]) {
      let sum = this.#sums.get(key)
      if (sum === undefined) this.#sums.set(key, sum = { count: 0, rates: new Float64Array(this.#arms) })
      sum.count++
      fresh.forEach((rate, i) => sum.rates[i]! += rate)
    }
  }

  /** Sum of the gains of all days, each at the exposures of its decisions. */
  get gain(): number {
    return this.#days.reduce((sum, { decisions, freshGain, freshness }) => sum + freshGain * freshness / decisions, 0)
  }

  /** The values of the attribute with their share of the decisions. Without an attribute, one empty value. */
  get people(): ReadonlyArray<{ readonly value: string; readonly share: number }> {
    const all = this.#sums.get("")!.count
    return [...this.#sums].filter(([value]) => value !== "" || this.#sums.size === 1)
      .map(([value, { count }]) => ({ value, share: count / all }))
  }

  /** `halfLifeDays` is the half-life of the model. */
  rate(halfLifeDays: number, arm: number, value = ""): number {
    const { count, rates } = this.#sums.get(value)!
    let decisions = 0
    let freshness = 0
    this.#days.forEach((day, at) => {
      const weight = 0.5 ** ((this.#days.length - 1 - at) / halfLifeDays)
      decisions += weight * day.decisions
      freshness += weight * day.freshness
    })
    return rates[arm]! / count * freshness / decisions
  }
}

/** Returns the rates of the variants in the results, with the true rates. */
const checkRates = (
  variants: ReadonlyArray<{
    readonly copy_id: string
    readonly rate: number | null
    readonly interval: readonly [number, number] | null
  }>,
  truth: (id: string) => number,
): ReadonlyArray<Checked> =>
  variants.flatMap(({ copy_id, interval, rate }) =>
    rate === null || interval === null ? [] : [{ shown: rate, interval, truth: truth(copy_id) }]
  )

/** Returns the lifts of the leader in the results, with the true lifts. */
const checkLifts = (
  { leader, lift, lift_over_split: overSplit }: TemplateResults["winner"],
  arms: ReadonlyArray<string>,
  truth: (id: string) => number,
): Pick<HonestyRun, "lift" | "liftOverSplit"> => {
  if (leader === null || lift === null || overSplit === null) return { lift: null, liftOverSplit: null }
  const split = arms.reduce((sum, id) => sum + truth(id), 0) / arms.length
  return {
    lift: { shown: lift.value, interval: lift.interval, truth: truth(leader) / truth(lift.baseline) - 1 },
    liftOverSplit: { shown: overSplit.value, interval: overSplit.interval, truth: truth(leader) / split - 1 },
  }
}

/** Returns the gains of the last choices and the losses of each variant, with the true ones. */
const checkChoices = (
  { answer, segments, variants }: TemplateResults,
  arms: ReadonlyArray<string>,
  attribute: string | undefined,
  people: ReadonlyArray<{ readonly value: string; readonly share: number; readonly rates: ReadonlyArray<number> }>,
): Pick<HonestyRun, "gainOverBest" | "gainOverSplit" | "shipping"> => {
  const { gain_over_best: overBest, gain_over_split: overSplit, shipping } = answer
  if (overBest === null || overSplit === null) return { gainOverBest: null, gainOverSplit: null, shipping: [] }
  const valueOf = (weightOf: (arm: string, value: string) => number) =>
    people.reduce(
      (sum, { rates, share, value }) =>
        sum + share * arms.reduce((all, id, arm) => all + weightOf(id, value) * rates[arm]!, 0),
      0,
    )
  // An attribute that is not learned does not change the choices.
  const choices = valueOf((id, value) =>
    (segments.find(({ segment }) => attribute !== undefined && segment[attribute] === value)?.variants ?? variants)
      .find(({ copy_id }) => copy_id === id)!.share
  )
  const single = new Map(arms.map((id) => [id, valueOf((one) => one === id ? 1 : 0)]))
  const best = Math.max(...single.values())
  const split = valueOf(() => 1 / arms.length)
  const check = ({ interval, value }: NonNullable<typeof overBest>, truth: number) => ({
    shown: value,
    interval,
    truth,
  })
  return {
    gainOverBest: check(overBest, choices / best - 1),
    gainOverSplit: check(overSplit, choices / split - 1),
    shipping: shipping.map(({ copy_id, interval, loss }) => ({
      shown: loss,
      interval,
      truth: choices - single.get(copy_id)!,
    })),
  }
}

/** Options of a run. */
export interface HonestyOptions {
  readonly estimates?: boolean
  /** Whether the run reads the answer each day. Default: only with `estimates`. */
  readonly answers?: boolean
  /** Minimum simulated time between two fits. Unit: hours. */
  readonly refitHours?: number
  /** Parts of the model that are omitted. */
  readonly without?: ReadonlyArray<Feature>
  /** See `Policy.runnerUpFloor`. Default: 0. */
  readonly runnerUpFloor?: number
}

/**
 * Runs the product in a world of the setting, reads the results once a day, and compares the last results with the
 * truth. With `estimates`, it also reads the losers and the days until a winner each day, which takes 50 % longer.
 */
export const honestyRun = (
  setting: HonestyWorld,
  seed: number,
  { estimates = false, answers = estimates, refitHours = 3, runnerUpFloor = 0, without = [] }: HonestyOptions = {},
): HonestyRun => {
  const world = honestyWorld(setting, seed)
  const { arms, at, requestOf, requests } = world
  const end = worldStart + setting.days * dayMillis
  const truth = new Truth(arms.length, end - 14 * dayMillis)
  const lastDay = new Truth(arms.length, end - dayMillis)
  const looks: Array<Look> = []
  const lastChosen = arms.map(() => 0)
  const fresh = setting.fatigue && new Float64Array(arms.length)
  let learner: Product | undefined
  const policy: LearnerKind = {
    name: "adaptive",
    make: (options) => learner = new Product(options, { refitHours, runnerUpFloor, without }),
  }
  const look = (now: number) => {
    // Results show the verdict that the model stores.
    const known = learner!.knowledge(0, now)
    const { verdict = "undecided", winner = null } = known.model.verdict ?? {}
    const day = looks.length + 1
    if (!answers || day < firstEstimate) {
      looks.push({ day, verdict, winner, answer: undefined, losers: [], outlook: undefined })
      return
    }
    const results = resultsOf(known, setting, arms, now)
    const points = estimates && verdict === "undecided" ? seriesOf(known, setting, now).points : []
    const outlook = outlookOf({ ...results, points, runnerUpFloor, now })
    looks.push({
      day,
      verdict,
      winner,
      answer: results.answer.kind,
      losers: results.winner.losers,
      outlook,
    })
  }
  const people = audienceRates(setting)
  const attribute = attributeOf(setting)?.name
  run(world, policy, seed, (decision, arm, rewards) => {
    const rates = people ?? rewards
    while (at[decision]! >= worldStart + (looks.length + 1) * dayMillis) look(at[decision]!)
    if (fresh !== undefined) world.rates(decision, fresh)
    const { attrs } = requests[requestOf[decision]!]!
    const value = attribute === undefined ? undefined : attrs.get(attribute)?.[0] ?? missingValue
    truth.add(at[decision]!, value, arm, rates, fresh)
    lastDay.add(at[decision]!, value, arm, rates)
    if (at[decision]! >= end - 7 * dayMillis) lastChosen[arm]!++
  })
  look(end)
  const known = learner!.knowledge(0, end)
  const results = resultsOf(known, setting, arms, end)
  const series = seriesOf(known, setting, end)
  const armOf = new Map(arms.map((id, arm) => [id, arm]))
  const { window } = known.model
  const halfLifeDays = window.mode === "adaptive" ? window.halfLifeDays : Infinity
  const rateOf = (id: string, value?: string) => truth.rate(halfLifeDays, armOf.get(id)!, value)
  const gain = series.points.at(-1)?.gain ?? null
  const gainAgainst = (truth: number): Checked | null =>
    gain === null ? null : { shown: gain.gained, interval: gain.interval, truth }
  const highest = Math.max(...arms.map((id) => rateOf(id)))
  const lastDecisions = lastChosen.reduce((sum, count) => sum + count, 0)
  return {
    looks,
    lastShares: lastChosen.map((count) => count / lastDecisions),
    best: new Set(arms.filter((id) => rateOf(id) >= highest * (1 - 1e-9))),
    gain: gainAgainst(truth.gain),
    gainAsSeen: gainAgainst(truth.gainAsSeen),
    ...checkLifts(results.winner, arms, (id) => rateOf(id)),
    ...checkChoices(
      results,
      arms,
      attribute,
      truth.people.map(({ share, value }) => ({
        value,
        share,
        rates: arms.map((id) => rateOf(id, value)),
      })),
    ),
    rates: checkRates(results.variants, (id) => rateOf(id)),
    // If people tire, the exposures of the series are the exposures of its own days, so it is not checked.
    seriesRates: fresh === undefined
      ? checkRates(series.points.at(-1)?.variants ?? [], (id) => lastDay.rate(Infinity, armOf.get(id)!))
      : [],
    segmentRates: results.segments.flatMap(({ segment: { tier }, variants }) =>
      tier === undefined ? [] : checkRates(variants, (id) => rateOf(id, tier))
    ),
    usesFatigue: known.model.fatigue !== undefined,
    fatigueEffects: exposureEffects(known.model).map(({ change, interval }, at) => ({
      shown: change,
      interval,
      truth: Math.exp(setting.fatigue?.effects[at + 1] ?? 0) - 1,
    })),
  }
}
