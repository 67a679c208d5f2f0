import { betaThompson, type Learner, type LearnerKind, type Setting } from "../../src/simulation/Learners.ts"
import { chance } from "../../src/simulation/Chance.ts"
import type { Eligible, SimulatedRequest } from "../../src/simulation/World.ts"

/**
 * Maximum number of features. Later features are ignored, because the earliest features are mostly the most frequent.
 */
const mostFeatures = 256

/** Ridge regression of the outcome of one variant on features that are 0 or 1, with a prior precision of 1. */
class Ridge {
  #capacity = 1
  /** Inverse of the precision, row by row. */
  #inverse = Float64Array.of(1)
  #coefficients = new Float64Array(1)

  #reserve(count: number): void {
    if (count <= this.#capacity) return
    const capacity = Math.max(count, 2 * this.#capacity)
    const inverse = new Float64Array(capacity * capacity)
    for (let i = 0; i < capacity; i++) {
      if (i < this.#capacity) {
        inverse.set(this.#inverse.subarray(i * this.#capacity, (i + 1) * this.#capacity), i * capacity)
      } else inverse[i * capacity + i] = 1
    }
    const coefficients = new Float64Array(capacity)
    coefficients.set(this.#coefficients)
    this.#inverse = inverse
    this.#coefficients = coefficients
    this.#capacity = capacity
  }

  mean(features: ReadonlyArray<number>): number {
    return features.reduce((sum, i) => sum + (this.#coefficients[i] ?? 0), 0)
  }

  /** Variance of the mean, for outcomes of variance 1. */
  variance(features: ReadonlyArray<number>): number {
    let sum = 0
    for (const i of features) {
      for (const j of features) {
        const isKnown = i < this.#capacity && j < this.#capacity
        sum += isKnown ? this.#inverse[i * this.#capacity + j]! : i === j ? 1 : 0
      }
    }
    return sum
  }

  #along(features: ReadonlyArray<number>): Float64Array {
    this.#reserve(Math.max(...features) + 1)
    const along = new Float64Array(this.#capacity)
    for (const i of features) {
      for (let j = 0; j < along.length; j++) along[j] = along[j]! + this.#inverse[i * this.#capacity + j]!
    }
    return along
  }

  /** Counts an outcome of 0 (Sherman and Morrison). */
  sent(features: ReadonlyArray<number>): void {
    const along = this.#along(features)
    const mean = this.mean(features)
    const scale = 1 + features.reduce((sum, i) => sum + along[i]!, 0)
    for (let i = 0; i < along.length; i++) {
      const step = along[i]! / scale
      if (step === 0) continue
      this.#coefficients[i] = this.#coefficients[i]! - step * mean
      const row = i * this.#capacity
      for (let j = 0; j < along.length; j++) this.#inverse[row + j] = this.#inverse[row + j]! - step * along[j]!
    }
  }

  /** Adds `outcome` to a message that `sent` has counted. */
  observe(features: ReadonlyArray<number>, outcome: number): void {
    const along = this.#along(features)
    for (let i = 0; i < along.length; i++) this.#coefficients[i] = this.#coefficients[i]! + outcome * along[i]!
  }
}

/** Returns the names of a request's features: each attribute value and, with `pairs`, each pair of values. */
const namesOf = ({ attrs }: SimulatedRequest, pairs: boolean): ReadonlyArray<string> => {
  const single = Array.from(attrs, ([name, values]) => `${name} ${values.join(" ")}`)
  return pairs ? [...single, ...single.flatMap((a, i) => single.slice(i + 1).map((b) => `${a} ${b}`))] : single
}

/**
 * Fits a linear model for each variant. Selects the variant with the largest mean plus `width()` standard deviations of
 * the mean.
 */
class Linear implements Learner {
  readonly #setting: Setting
  readonly #pairs: boolean
  readonly #width: () => number
  readonly #ridges = new Map<number, Ridge>()
  readonly #places = new Map<string, number>()
  readonly #known = new Map<SimulatedRequest, ReadonlyArray<number>>()
  #sends = 0
  #squares = 0

  constructor(setting: Setting, pairs: boolean, width: () => number) {
    this.#setting = setting
    this.#pairs = pairs
    this.#width = width
  }

  /** Returns the indexes of the features that are 1: the intercept and the features of the request. */
  #features(request: SimulatedRequest): ReadonlyArray<number> {
    const known = this.#known.get(request)
    if (known !== undefined) return known
    const places = this.#places
    for (const name of namesOf(request, this.#pairs)) {
      if (!places.has(name) && places.size + 1 < mostFeatures) places.set(name, places.size + 1)
    }
    const features = [0, ...namesOf(request, this.#pairs).flatMap((name) => places.get(name) ?? [])]
    this.#known.set(request, features)
    return features
  }

  #ridge(request: SimulatedRequest, arm: number): Ridge {
    const at = request.template * this.#setting.arms.length + arm
    let ridge = this.#ridges.get(at)
    if (ridge === undefined) this.#ridges.set(at, ridge = new Ridge())
    return ridge
  }

  weights(request: SimulatedRequest, { arms }: Eligible): Float64Array {
    const features = this.#features(request)
    const spread = Math.sqrt((this.#squares + 1) / (this.#sends + 2))
    const scores = arms.map((arm) => {
      const ridge = this.#ridge(request, arm)
      return ridge.mean(features) + this.#width() * spread * Math.sqrt(ridge.variance(features))
    })
    const weights = new Float64Array(arms.length)
    weights[scores.indexOf(Math.max(...scores))] = 1
    return weights
  }

  sent(request: SimulatedRequest, arm: number): void {
    this.#sends++
    this.#ridge(request, arm).sent(this.#features(request))
  }

  observe(request: SimulatedRequest, arm: number, _sentAt: number, _now: number, outcome: number): void {
    this.#squares += outcome ** 2
    this.#ridge(request, arm).observe(this.#features(request), outcome)
  }
}

/** LinUCB (L. Li et al., 2010) with a model per variant and a width of one standard deviation of the outcomes. */
export const linUcb: LearnerKind = { name: "LinUCB", make: (setting) => new Linear(setting, false, () => 1) }

/**
 * Linear Thompson sampling (S. Agrawal, N. Goyal, 2013) with a model for each variant, on attribute values and pairs of
 * values.
 */
export const linThompson: LearnerKind = {
  name: "LinTS with pairs",
  make: (setting) => new Linear(setting, true, chance(setting.seed).normal),
}

/** Beta Thompson sampling, separate for each combination of attribute values. */
export const segmentBeta: LearnerKind = {
  name: "Beta per segment",
  make: (setting) => {
    const own = new Map<string, Learner>()
    const of = (request: SimulatedRequest): Learner => {
      const key = namesOf(request, false).join("\n")
      let learner = own.get(key)
      if (learner === undefined) {
        own.set(key, learner = betaThompson().make({ ...setting, seed: setting.seed + own.size }))
      }
      return learner
    }
    return {
      weights: (request, eligible, now) => of(request).weights(request, eligible, now),
      sent: (request, arm, now) => of(request).sent(request, arm, now),
      observe: (request, arm, sentAt, now, outcome) => of(request).observe(request, arm, sentAt, now, outcome),
    }
  },
}
