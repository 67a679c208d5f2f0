import type { LearningWindow } from "../domain/LearningWindow.ts"
import { type AttributeScheme, emptyScheme } from "../bandit/Contexts.ts"
import { AttributeCounts, schemeOf } from "../bandit/AttributeCounts.ts"
import type { Composition } from "../bandit/Components.ts"
import { anyValues, Counts } from "../bandit/Counts.ts"
import { type Fatigue, fatigueOf } from "../bandit/Fatigue.ts"
import { fit } from "../bandit/Fit.ts"
import { learnDelays, type LearnedDelays, type OrganizationDelays, organizationDelays } from "../bandit/DelayPrior.ts"
import { type DelayCurve, Delays } from "../bandit/Maturity.ts"
import { type ModelSnapshot, priorModel } from "../bandit/Model.ts"
import { defaultFloor, Policy as Choices } from "../bandit/Policy.ts"
import { followFaster } from "../bandit/FasterReactions.ts"
import { variantCurves } from "../bandit/VariantDelays.ts"
import { withPairs } from "../bandit/PairEvidence.ts"
import { contributionOf, organizationPriors, type PriorContribution } from "../bandit/Priors.ts"
import { bucketAt, dayMillis, hourMillis, keptMillis, windowOf } from "../bandit/Window.ts"
import { withVerdict } from "../learning/Engine.ts"
import type { Learner, LearnerKind, Setting } from "./Learners.ts"
import { SimulatedExposures } from "./SimulatedExposures.ts"
import { SimulatedRepeats } from "./SimulatedRepeats.ts"
import { SimulatedOutcomes } from "./SimulatedOutcomes.ts"
import type { Eligible, SimulatedRequest } from "./World.ts"

/** Number of days with an hourly search for learning attributes. Afterwards the search runs once a day. */
const schemeDays = 3

/** Parts of the model that a simulation can leave out. */
export const features = ["components", "pairs", "delays", "fatigue", "attributes", "people"] as const
/** A feature of learning that a simulation can turn off. */
export type Feature = typeof features[number]

/** Options of the product in a simulation. */
interface ProductOptions {
  /** Learning window. Unit: days. Default: adaptive. */
  readonly window?: LearningWindow | undefined
  /** Minimum simulated time between two fits of a template. Default: 1. */
  readonly refitHours?: number
  /** Share that is split randomly. Default: 0.01. */
  readonly floor?: number
  /** See `Policy.runnerUpFloor`. Default: 0. */
  readonly runnerUpFloor?: number
  /** Whether verdicts are computed. They need nearly half of the time and do not change decisions. Default: true. */
  readonly verdicts?: boolean
  /** Parts of the model that are left out, to measure their effect. */
  readonly without?: ReadonlyArray<Feature>
  /** Name in tables. Default: derived from the options. */
  readonly name?: string
}

/** The state of one template on a node. */
interface Learned {
  readonly id: string
  readonly counts: Counts
  readonly attributeCounts: AttributeCounts
  readonly delays: Delays
  readonly variantDelays: Map<string, Delays>
  curves: ReadonlyMap<string, DelayCurve>
  scheme: AttributeScheme
  model: ModelSnapshot
  choices: Choices
  /**
   * The choices under each scheme and the start of the scheme, so that a click goes to the context in which its send
   * was counted.
   */
  readonly readings: Array<{ readonly from: number; readonly choices: Choices }>
  /** Ids that could be served at the last decision. */
  active: ReadonlySet<string>
  fitted: boolean
  dirty: boolean
  fittedAt: number
  hour: number
  day: number
  readonly firstDay: number
  readonly exposures: SimulatedExposures
  readonly outcomes: SimulatedOutcomes
  readonly repeats: SimulatedRepeats
  fatigue: Fatigue | undefined
  /** Delay curve of the other templates, and the day of its computation. */
  prior: OrganizationDelays
  priorDay: number
}

const allDays = { mode: "window", lookbackDays: keptMillis / dayMillis, offsetDays: 0 } as const

/** UTC hours since Monday 00:00. The epoch was a Thursday. */
const hourOfWeek = (now: number): number => (Math.floor(now / hourMillis) + 72) % 168

/** The knowledge about a template: the published model, and the counts to which it was fitted. */
export interface Knowledge {
  readonly model: ModelSnapshot
  /** Fits and returns the model of all days alike. */
  readonly ofAllDays: () => ModelSnapshot
  readonly counts: Counts
  readonly delays: Delays
}

/** Calls only `src/bandit` and the engine, when the service calls them: counts by the hour, and fits after a change. */
export class Product implements Learner {
  readonly #arms: ReadonlyArray<string>
  readonly #floor: number
  readonly #runnerUpFloor: number
  readonly #refitMillis: number
  readonly #window: ProductOptions["window"]
  readonly #composition: Composition
  readonly #verdicts: boolean
  readonly #pairs: boolean
  readonly #variantDelays: boolean
  readonly #fatigue: boolean
  readonly #attributes: boolean
  readonly #people: boolean
  readonly #templates: Array<Learned | undefined> = []
  readonly #contributions = new Map<string, PriorContribution>()

  constructor({ arms, composition = [] }: Setting, options: ProductOptions) {
    const has = (feature: Feature) => !(options.without ?? []).includes(feature)
    this.#composition = has("components") ? composition : []
    this.#pairs = has("pairs")
    this.#variantDelays = has("delays")
    this.#fatigue = has("fatigue")
    this.#attributes = has("attributes")
    this.#people = has("people")
    this.#verdicts = options.verdicts ?? true
    this.#arms = arms
    this.#floor = options.floor ?? defaultFloor
    this.#runnerUpFloor = options.runnerUpFloor ?? 0
    this.#refitMillis = (options.refitHours ?? 1) * hourMillis
    this.#window = options.window
  }

  weights(request: SimulatedRequest, eligible: Eligible, now: number): Float64Array {
    const template = this.#template(request.template, now)
    if (template.active.size !== eligible.set.ids.length || eligible.set.ids.some((id) => !template.active.has(id))) {
      template.active = new Set(eligible.set.ids)
    }
    this.#bringUpToDate(template, now)
    const { choices } = template
    const context = choices.contextOf(request.attrs, hourOfWeek(now))
    const seen = request.person === undefined ? undefined : template.exposures.of(request.person)
    return choices.choice(context, eligible.set, undefined, seen).weights
  }

  /** Returns the present knowledge about a template. Fits the template first, as for a request for results. */
  knowledge(index: number, now: number): Knowledge {
    const template = this.#template(index, now)
    this.#bringUpToDate(template, now)
    const { counts, delays, fitted, model } = template
    return { model, ofAllDays: () => fitted ? this.#fit(template, allDays, now) : model, counts, delays }
  }

  sent(request: SimulatedRequest, arm: number, now: number): void {
    const template = this.#template(request.template, now)
    template.attributeCounts.add(request.attrs, now)
    this.#count(template, request, arm, now, now, 1, 0)
    if (this.#people && request.person !== undefined) template.repeats.sent(request.person, this.#arms[arm]!, now)
    if (this.#attributes) template.outcomes.sent(request, this.#arms[arm]!, now)
    if (this.#fatigue && request.person !== undefined) {
      const { key } = template.choices.contextOf(request.attrs, hourOfWeek(now))
      template.exposures.sent(request.person, this.#arms[arm]!, key, now)
    }
  }

  observe(request: SimulatedRequest, arm: number, sentAt: number, now: number, outcome: number): void {
    const template = this.#template(request.template, now)
    const delay = (now - sentAt) / hourMillis
    template.delays.add(sentAt, delay)
    let own = template.variantDelays.get(this.#arms[arm]!)
    if (own === undefined) template.variantDelays.set(this.#arms[arm]!, own = new Delays())
    // By day, like the counts of the service.
    own.add(Math.floor(sentAt / dayMillis) * dayMillis + dayMillis - hourMillis, delay)
    this.#count(template, request, arm, sentAt, now, 0, outcome)
    if (this.#fatigue && request.person !== undefined) template.exposures.observe(request.person, sentAt)
    if (this.#people && request.person !== undefined) {
      const variant = this.#arms[arm]!
      for (const { again, at, seen } of template.repeats.observe(request.person, variant, sentAt)) {
        const { start } = bucketAt(at, now)
        template.counts.addRepeats({ variant, start, again: [again, 0], seen: [seen, 0] })
      }
    }
    if (this.#attributes) template.outcomes.observe(request, sentAt, now)
  }

  #count(
    template: Learned,
    request: SimulatedRequest,
    arm: number,
    sentAt: number,
    now: number,
    sends: number,
    outcome: number,
  ): void {
    const { choices } = template.readings.findLast(({ from }) => from <= sentAt)!
    const context = choices.contextOf(request.attrs, hourOfWeek(sentAt))
    template.counts.add(this.#arms[arm]!, context.key, bucketAt(sentAt, now).start, sends, outcome, outcome ** 2)
    template.dirty = true
  }

  #template(index: number, now: number): Learned {
    const known = this.#templates[index]
    if (known !== undefined) return known
    const id = `t${index}`
    const scheme = emptyScheme
    const model = priorModel({
      version: `${id}:0`,
      now,
      window: windowOf(this.#window),
      scheme,
      organization: organizationPriors(this.#contributions, id),
    })
    const choices = new Choices(model, this.#floor, this.#runnerUpFloor)
    return this.#templates[index] = {
      id,
      counts: new Counts(anyValues),
      attributeCounts: new AttributeCounts(),
      delays: new Delays(),
      variantDelays: new Map(),
      curves: new Map(),
      scheme,
      model,
      choices,
      readings: [{ from: -Infinity, choices }],
      active: new Set(),
      fitted: false,
      dirty: false,
      fittedAt: now,
      hour: Math.floor(now / hourMillis),
      day: Math.floor(now / dayMillis),
      firstDay: Math.floor(now / dayMillis),
      exposures: new SimulatedExposures(),
      outcomes: new SimulatedOutcomes(),
      repeats: new SimulatedRepeats(),
      fatigue: undefined,
      prior: organizationDelays(new Delays(), now),
      priorDay: NaN,
    }
  }

  #bringUpToDate(template: Learned, now: number): void {
    if (!template.dirty || now - template.fittedAt < this.#refitMillis) return
    const day = Math.floor(now / dayMillis)
    const hour = Math.floor(now / hourMillis)
    // The service searches every hour. Here users do not change, so the attributes of the first days remain valid.
    if (day !== template.day || (hour !== template.hour && day <= template.firstDay + schemeDays)) {
      const totals = template.attributeCounts.totals(now)
      const outcomes = this.#attributes ? template.outcomes.known(now) : undefined
      template.scheme = schemeOf(totals, template.counts.contexts(), template.scheme, outcomes)
    }
    if (this.#pairs) template.scheme = withPairs(template.scheme, template.model.pairEvidence ?? [])
    const isNewHour = hour !== template.hour
    template.hour = hour
    if (this.#variantDelays && isNewHour) {
      const { curve } = this.#delays(template, organizationPriors(this.#contributions, template.id).a0, now)
      const counts = Array.from(template.variantDelays, ([id, own]) => [id, own.counts(now)] as const)
      template.curves = variantCurves(new Map(counts), curve)
    }
    if (day !== template.day) {
      template.day = day
      template.counts.rollUp(now)
      template.attributeCounts.prune(now)
      template.delays.prune(now)
      for (const own of template.variantDelays.values()) own.prune(now)
      if (template.fitted) {
        template.exposures.settle(template.model, now)
        template.fatigue = fatigueOf(template.exposures.counts(now), template.fatigue !== undefined)
      }
    }
    const fitted = this.#fit(template, windowOf(this.#window), now)
    const model = this.#window !== undefined || !this.#verdicts
      ? fitted
      : withVerdict(fitted, template.fitted ? template.model : null, {
        counts: template.counts,
        active: template.active,
        objective: "click",
        runnerUpFloor: this.#runnerUpFloor,
      })
    const contribution = contributionOf(model)
    if (contribution !== undefined) this.#contributions.set(template.id, contribution)
    template.model = model
    template.choices = new Choices(model, this.#floor, this.#runnerUpFloor)
    if (model.scheme !== template.readings.at(-1)!.choices.model.scheme) {
      template.readings.push({ from: now, choices: template.choices })
    }
    template.fitted = true
    template.dirty = false
    template.fittedAt = now
  }

  /** Fits the counts of a window, which keeps the spreads of the last model unless the window is adaptive. */
  #fit(template: Learned, window: ModelSnapshot["window"], now: number): ModelSnapshot {
    const organization = organizationPriors(this.#contributions, template.id)
    const { curve, spread } = this.#delays(template, organization.a0, now)
    return fit({
      version: `${template.id}:1`,
      counts: template.counts,
      scheme: template.scheme,
      window,
      ...followFaster({ curve, spread, curves: template.curves }, template.delays, template.counts, now),
      now,
      organization,
      active: template.active,
      composition: this.#composition,
      ...(template.fitted ? { start: template.model } : {}),
      fatigue: template.fatigue,
      holdShrinkage: window === allDays,
    })
  }

  #delays(template: Learned, organizationLogRate: number, now: number): LearnedDelays {
    const day = Math.floor(now / dayMillis)
    if (template.priorDay !== day) {
      template.priorDay = day
      const others = new Delays()
      for (const other of this.#templates) {
        if (other !== undefined && other !== template) others.merge(other.delays.rows())
      }
      others.prune(now)
      template.prior = organizationDelays(others, now)
    }
    return learnDelays(template.delays, template.prior, {
      totals: template.counts.totals(),
      worth: template.counts.worth(),
      mostPerSend: template.counts.valuation.mostPerSend,
      organizationLogRate,
    }, now)
  }
}

/** The product's own policy. */
export const product = (options: ProductOptions = {}): LearnerKind => ({
  name: options.name ??
    (options.window === undefined ? "adaptive" : `window ${options.window.lookbackDays}/${options.window.offsetDays}`),
  make: (setting) => new Product(setting, options),
})
