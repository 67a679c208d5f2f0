import type { Attributes } from "../domain/Attributes.ts"
import { nothing } from "../domain/SendNothing.ts"
import { type Context, Contexts, decodeContext } from "./Contexts.ts"
import { foretellings, type Foretold } from "./Components.ts"
import { exposureClass } from "./Fatigue.ts"
import {
  intervalAround,
  logBaseRate,
  type ModelSnapshot,
  possible,
  type Posterior,
  type VariantPosterior,
} from "./Model.ts"
import { mixed, type ModelPart, modelParts } from "./ModelParts.ts"
import { Net } from "./SendNothing.ts"
import { bestArmProbabilities, epsilonWeights, kappa, mixFloor, raiseRunnerUp } from "./Weights.ts"
import { hourMillis, windowBounds } from "./Window.ts"

/** Maximum number of cached numbers of a policy per snapshot: 2 million, 16 MB. */
const cachedNumbers = 2_000_000

/** Cost of a cached choice in addition to its arrays. Unit: numbers. */
const choiceOverhead = 30

/**
 * Probability of the leader to be best from which it is close to winning. Below it, a share of the runner-up would mostly
 * cost messages in tests that cannot be decided.
 */
const closeToWinning = 0.8

/** Default share of the traffic that is split randomly. Each organization can set its own. */
export const defaultFloor = 0.01

/**
 * A set of eligible variants. Created once per template snapshot and result of targeting, because every decision uses
 * its key.
 */
export interface EligibleSet {
  /** Identifies the set: equal keys mean equal sets. */
  readonly key: string
  /** Distinct ids in the order of their UTF-16 code units. */
  readonly ids: ReadonlyArray<string>
}

/** Returns the set of these variants, in any order and with repetitions. Default of `key`: the joined ids. */
export const eligibleSet = (ids: Iterable<string>, key?: string): EligibleSet => {
  const sorted = [...new Set(ids)].sort()
  // Ids contain no control characters, so the joined text is unambiguous.
  return { key: key ?? sorted.join("\u0000"), ids: sorted }
}

/** Number of a user's earlier decisions of the template, by variant. A variant without an entry has 0. */
export type EarlierDecisions = ReadonlyMap<string, number>

/** The probability of each eligible variant. Draw with `sample(choice.weights, u)`. */
export interface Choice {
  /** `single` if there is only one variant, `epsilon` if the caller supplied an epsilon. */
  readonly mode: "bandit" | "epsilon" | "single"
  readonly ids: ReadonlyArray<string>
  /** Sums to 1. The weight of the drawn variant is its propensity. */
  readonly weights: Float64Array
  /**
   * Mean and standard deviation of the posterior, untempered: of the log relative rates, or of the net values if one
   * candidate is `nothing`.
   */
  readonly means: Float64Array
  readonly sds: Float64Array
  /** Tempering of the posterior in (0, 1]. Null if it did not apply. */
  readonly kappa: number | null
  /** Share that is split randomly. Null if it did not apply. */
  readonly floor: number | null
  /** Minimum share of the runner-up, times the number of variants. Null if it did not apply. */
  readonly runnerUpFloor: number | null
  readonly epsilon: number | null
}

/** One eligible variant in a trace. Counts as in `VariantPosterior`, 0 for a variant without data. */
interface TracedCandidate {
  readonly id: string
  readonly sends: number
  readonly effectiveSends: number
  readonly clicks: number
  readonly rate: number
  readonly interval: readonly [number, number]
  /** Probability of being the best, untempered and without floor. */
  readonly pBest: number
  readonly weight: number
}

/** The data behind a choice. */
interface Trace {
  readonly mode: Choice["mode"]
  readonly policyVersion: string
  /** Attribute values by name. */
  readonly context: Readonly<Record<string, string>>
  readonly window: {
    readonly mode: "adaptive" | "window"
    readonly lookbackDays: number | null
    readonly offsetDays: number | null
    /** Period of the counted sends, `[from, to)` in Unix milliseconds, as of the fit. */
    readonly from: number
    readonly to: number
  }
  readonly epsilon: number | null
  readonly kappa: number | null
  readonly floor: number | null
  readonly runnerUpFloor: number | null
  /** Null in window mode. */
  readonly halfLifeDays: number | null
  /** Clicks per send in this context on an average day, for an average variant. */
  readonly baseRate: number
  readonly candidates: ReadonlyArray<TracedCandidate>
}

/** The posteriors of the candidates under one part of the model. */
interface Posteriors {
  readonly probability: number
  readonly posteriors: ReadonlyArray<Posterior>
}

/** The probability of each candidate to be the best, averaged over the parts, with deviations multiplied by `kappa`. */
const probabilitiesOfBest = (parts: ReadonlyArray<Posteriors>, kappa: number): Float64Array => {
  const all = parts.map(({ posteriors, probability }) => {
    const best = bestArmProbabilities(posteriors.map(({ mean }) => mean), posteriors.map(({ sd }) => kappa * sd))
    return parts.length === 1 ? best : best.map((own) => probability * own)
  })
  return all.reduce((sum, one) => sum.map((value, i) => value + one[i]!))
}

/** The choices that follow from one model snapshot. Caches computed weights in bounded memory. */
export class Policy {
  readonly model: ModelSnapshot
  /** Share that is split randomly, 0 to 0.2. */
  readonly floor: number
  /**
   * Minimum share of the runner-up of a context, times the number of candidates, before the random split. 0 to 0.2.
   * Applies while there is no verdict, but a leader is the best with a probability of at least 80 %. A window has no
   * verdict, so that it never applies there.
   */
  readonly runnerUpFloor: number
  /** Tempering of the posterior, in (0, 1]; see `kappa`. */
  readonly kappa: number
  /** Contexts of the model's scheme. Contexts of another scheme must not be passed to this policy. */
  readonly contexts: Contexts
  readonly #variants: ReadonlyMap<string, VariantPosterior>
  readonly #parts: ReadonlyArray<ModelPart>
  readonly #foretold: ((id: string) => Foretold) | undefined
  readonly #net: Net | undefined
  readonly #choices = new Map<string, Map<string, Choice>>()
  #cached = 0

  constructor(model: ModelSnapshot, floor = defaultFloor, runnerUpFloor = 0) {
    this.model = model
    this.floor = floor
    this.runnerUpFloor = runnerUpFloor
    const ageHours = (model.fittedAt - (model.firstSendAt ?? model.fittedAt)) / hourMillis
    this.kappa = kappa(model.window.mode, model.clicksNext14Days ?? undefined, ageHours)
    this.contexts = new Contexts(model.scheme, model.traffic.map(({ cell }) => cell))
    this.#variants = new Map(model.variants.map((variant) => [variant.id, variant]))
    this.#parts = modelParts(model)
    if (model.components !== undefined) this.#foretold = foretellings(model.components)
    if (model.nothing !== undefined) this.#net = new Net(model.nothing)
  }

  /** Returns the context of a request; `hourOfWeek` as in `Contexts.contextOf`. */
  contextOf(attrs: Attributes, hourOfWeek: number): Context {
    return this.contexts.contextOf(attrs, hourOfWeek)
  }

  /**
   * Returns the weights of the eligible variants in a context. `epsilon` in [0, 1] replaces both tempering and floor;
   * any other `epsilon` throws a `RangeError`. A single variant has weight 1. Without eligible variants, the choice is
   * empty. `seen` are the user's earlier decisions, which matter only if the model has effects of fatigue.
   */
  choice(context: Context, eligible: EligibleSet, epsilon?: number, seen?: EarlierDecisions): Choice {
    const effects = seen === undefined ? undefined : this.#effects(eligible, seen)
    const key = effects === undefined ? eligible.key : effects.key
    const known = this.#choices.get(context.key)?.get(key)
    const choice = known ?? this.#keep(context, eligible.ids.length, key, this.#choose(context, eligible, effects?.by))
    if (epsilon === undefined || eligible.ids.length < 2) return choice
    const weights = epsilonWeights(choice.means, epsilon)
    return { ...choice, mode: "epsilon", weights, kappa: null, floor: null, runnerUpFloor: null, epsilon }
  }

  /** Returns the data behind a `choice` with equal arguments. */
  trace(context: Context, eligible: EligibleSet, epsilon?: number, seen?: EarlierDecisions): Trace {
    const { model } = this
    const choice = this.choice(context, eligible, epsilon, seen)
    const effects = seen === undefined ? undefined : this.#effects(eligible, seen)?.by
    const best = probabilitiesOfBest(this.#posteriors(context, choice.ids, effects), 1)
    const base = logBaseRate(model, context)
    const isNet = this.#isNet(choice.ids)
    const { window } = model
    return {
      mode: choice.mode,
      policyVersion: model.version,
      context: Object.fromEntries(decodeContext(context.key)),
      window: {
        mode: window.mode,
        lookbackDays: window.mode === "window" ? window.lookbackDays : null,
        offsetDays: window.mode === "window" ? window.offsetDays : null,
        ...windowBounds(window, model.fittedAt),
      },
      epsilon: choice.epsilon,
      kappa: choice.kappa,
      floor: choice.floor,
      runnerUpFloor: choice.runnerUpFloor,
      halfLifeDays: window.mode === "adaptive" ? window.halfLifeDays : null,
      baseRate: Math.exp(base),
      candidates: choice.ids.map((id, i) => {
        const variant = this.#variants.get(id)
        const mean = choice.means[i]!
        const center = base + mean - (effects?.[i] ?? 0)
        const reach = 1.96 * choice.sds[i]!
        return {
          id,
          sends: variant?.sends ?? 0,
          effectiveSends: variant?.effectiveSends ?? 0,
          clicks: variant?.clicks ?? 0,
          rate: isNet ? mean : possible(model, Math.exp(center)),
          interval: isNet ? [mean - reach, mean + reach] : intervalAround(model, variant, center, choice.sds[i]!),
          pBest: best[i]!,
          weight: choice.weights[i]!,
        }
      }),
    }
  }

  /**
   * Returns the effects of exposures by variant of a set, and a cache key for the set with these effects. Returns
   * undefined if the user has seen all variants equally often, because then all rates change alike.
   */
  #effects({ ids, key }: EligibleSet, seen: EarlierDecisions) {
    const { fatigue } = this.model
    if (fatigue === undefined) return undefined
    const classes = ids.map((id) => exposureClass(seen.get(id) ?? 0))
    if (classes.every((own) => own === classes[0])) return undefined
    // Keys of sets end with other characters, and ids contain no control characters.
    return { key: `${key}\u0001${classes.join("")}`, by: classes.map((own) => fatigue[own] ?? 0) }
  }

  #isNet(ids: ReadonlyArray<string>): boolean {
    return this.#net !== undefined && ids.includes(nothing)
  }

  /**
   * The posteriors of the candidates under each part of the model, with `effects` of exposures. Net values, if one
   * candidate is `nothing`.
   */
  #posteriors(
    context: Context,
    ids: ReadonlyArray<string>,
    effects?: ReadonlyArray<number>,
  ): ReadonlyArray<Posteriors> {
    if (this.#isNet(ids)) return [{ probability: 1, posteriors: this.#net!.of(ids, context, effects) }]
    return this.#parts.map(({ posterior, probability }) => ({
      probability,
      posteriors: ids.map((id, i) => {
        const { mean, sd } = posterior(this.#variants.get(id), context, this.#foretold?.(id))
        return { mean: mean + (effects?.[i] ?? 0), sd }
      }),
    }))
  }

  #choose(context: Context, { ids }: EligibleSet, effects?: ReadonlyArray<number>): Choice {
    const parts = this.#posteriors(context, ids, effects)
    const own = ids.map((_, i) =>
      mixed(parts.map(({ posteriors, probability }) => ({ ...posteriors[i]!, probability })))
    )
    const means = Float64Array.from(own, ({ mean }) => mean)
    const sds = Float64Array.from(own, ({ sd }) => sd)
    if (ids.length < 2) {
      const weights = new Float64Array(ids.length).fill(1)
      return { mode: "single", ids, weights, means, sds, kappa: null, floor: null, runnerUpFloor: null, epsilon: null }
    }
    const { floor, kappa } = this
    const { verdict, window } = this.model
    const isClose = window.mode === "adaptive" && verdict?.verdict === "undecided" &&
      (verdict.leaderBest ?? 0) >= closeToWinning
    const runnerUpFloor = isClose && this.runnerUpFloor > 0 ? this.runnerUpFloor : null
    const best = probabilitiesOfBest(parts, kappa)
    const q = runnerUpFloor === null ? best : raiseRunnerUp(best, means, runnerUpFloor / ids.length)
    return { mode: "bandit", ids, weights: mixFloor(q, floor), means, sds, kappa, floor, runnerUpFloor, epsilon: null }
  }

  #keep(context: Context, size: number, key: string, choice: Choice): Choice {
    this.#cached += 3 * size + choiceOverhead
    if (this.#cached > cachedNumbers) {
      // Clears the whole cache: entries in use are computed again at once, so decisions need not track usage.
      this.#choices.clear()
      this.#cached = 3 * size + choiceOverhead
    }
    const choices = this.#choices.get(context.key)
    if (choices === undefined) this.#choices.set(context.key, new Map([[key, choice]]))
    else choices.set(key, choice)
    return choice
  }
}
