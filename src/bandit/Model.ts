import { Schema } from "effect"
import { type Context, type Contexts, contextsOf } from "./Contexts.ts"
import { packedIndex } from "./Cholesky.ts"
import { ComponentEffects, type Foretold, interceptVariance } from "./Components.ts"
import type { OrganizationPriors } from "./Priors.ts"
import { VerdictState } from "./VerdictState.ts"

const Numbers = Schema.Array(Schema.Finite)

const WindowSchema = Schema.Union([
  Schema.Struct({ mode: Schema.Literal("adaptive"), halfLifeDays: Schema.Finite }),
  Schema.Struct({ mode: Schema.Literal("window"), lookbackDays: Schema.Finite, offsetDays: Schema.Finite }),
])

/**
 * The posterior of one variant. `beta`: effects on the log rate, by coefficient of the scheme (0 is the intercept);
 * `covariance`: their posterior covariance, packed lower triangle row by row. Counts of the sends in the window:
 * `sends` and `clicks` as they are, `maturedSends` times the share of clicks due at their age, `effectiveSends` also
 * times the window's weight.
 */
export const VariantPosterior = Schema.Struct({
  id: Schema.String,
  beta: Numbers,
  covariance: Numbers,
  sends: Schema.Finite,
  maturedSends: Schema.Finite,
  effectiveSends: Schema.Finite,
  clicks: Schema.Finite,
  /** Factor of the counts for decisions about the same people, see `independence`. Range: above 0 to 1. Default: 1. */
  independence: Schema.optionalKey(Schema.Finite),
  /**
   * With effects of earlier exposures in use. `widened`: what their uncertainty adds to the variance of the intercept. `cases`:
   * by equally likely case of the effects, what it adds to the log rate that the data give (see `Fatigue`).
   */
  fatigue: Schema.optionalKey(Schema.Struct({ widened: Schema.Finite, cases: Numbers })),
})
export type VariantPosterior = typeof VariantPosterior.Type

/**
 * What a decision needs to know of the model of one template and window. Plain data: survives JSON to the last
 * bit. Rates are values per send in the objective's unit (clicks, where one click is worth 1); times are Unix milliseconds.
 */
export const ModelSnapshot = Schema.Struct({
  /** Names this snapshot among those of the organization, such as `t:412`. */
  version: Schema.String,
  fittedAt: Schema.Finite,
  window: WindowSchema,
  scheme: Schema.Struct({
    keys: Schema.Array(Schema.Struct({
      name: Schema.String,
      values: Schema.Array(Schema.String),
      cuts: Schema.optionalKey(Numbers),
    })),
    builtIns: Schema.optionalKey(Schema.Array(Schema.String)),
    pairs: Schema.optionalKey(Schema.Array(Schema.Tuple([Schema.String, Schema.String]))),
  }),
  /** Evidence for pairs of attributes that matter together: logarithm of the odds that the data give each. */
  pairEvidence: Schema.optionalKey(Schema.Array(Schema.Tuple([Schema.String, Schema.String, Schema.Finite]))),
  /**
   * Effects of earlier exposures on the log rate, by class (see `exposureClass`), relative to exposures as they are on
   * average; absent unless they are used.
   */
  fatigue: Schema.optionalKey(Numbers),
  /**
   * Effects of earlier exposures for reports, by class after the first: on the log rate relative to a first exposure, with their
   * standard deviation. Absent unless effects are used, and from models of earlier releases.
   */
  reportedFatigue: Schema.optionalKey(
    Schema.Array(Schema.Struct({ effect: Schema.Finite, deviation: Schema.Finite })),
  ),
  /** Log of the base rate, in the objective's unit per send. */
  a0: Schema.Finite,
  /** Value of one outcome, see `Counts.worth`; 1 unless given. */
  worth: Schema.optionalKey(Schema.Finite),
  /** No rate is above this, in the objective's unit per send; without it there is no limit. */
  mostPerSend: Schema.optionalKey(Schema.Finite),
  /** Share of the eventual clicks that had arrived by each of `delayEdges`; absent from models of earlier releases. */
  delays: Schema.optionalKey(Numbers),
  /** Effects of the attribute values on the base rate, by coefficient; 0 for the intercept. */
  f: Numbers,
  /** Effects of the days on the base rate: start of the day (or week) and effect. */
  days: Schema.Array(Schema.Tuple([Schema.Finite, Schema.Finite])),
  /** Standard deviation of the variants' intercepts, with components the one around the sum of their effects. */
  tau0: Schema.Finite,
  /** Of templates whose variants have components in common. */
  components: Schema.optionalKey(ComponentEffects),
  /** Standard deviation of the variants' effects, by attribute of the scheme, the built-in ones last. */
  taus: Numbers,
  /**
   * The standard deviations with which the variants were fitted; those above are one step of learning further. Absent from
   * models of earlier releases.
   */
  fittedWith: Schema.optionalKey(Schema.Struct({ tau0: Schema.Finite, taus: Numbers })),
  /** How many of the variants' intercepts the data determine, 0 to the number of variants. */
  gamma0: Schema.Finite,
  /** Variants with data, by id; every other one has the prior. */
  variants: Schema.Array(VariantPosterior),
  /** Outcomes expected in the next 14 days at the last 3 days' traffic, each counted as 1; null before any traffic. */
  clicksNext14Days: Schema.NullOr(Schema.Finite),
  /** Sends of the last 14 days by context. Its key is stored as `cell`. */
  traffic: Schema.Array(Schema.Struct({ cell: Schema.String, sends: Schema.Finite })),
  /** Start of the oldest bucket that is known, whatever the window; null before any send. */
  firstSendAt: Schema.NullOr(Schema.Finite),
  /** Of a model without a window; absent in models that were published before verdicts were kept. */
  verdict: Schema.optionalKey(VerdictState),
})
export type ModelSnapshot = typeof ModelSnapshot.Type

/** Starting standard deviation of all effects of one attribute, when there are `attributes` of them. */
export const startingTau = (attributes: number): number => 0.2 / Math.sqrt(attributes)

/** That of the effects of a pair, which is there because of evidence for it. */
const startingPairTau = 0.2

/** Starting standard deviations by attribute, then by pair. */
export const startingTaus = ({ attributes, names }: Contexts): ReadonlyArray<number> =>
  names.map((_, j) => j < attributes ? startingTau(attributes) : startingPairTau)

/**
 * The model of a template without data: the organization's base rate and spread of variants (log 0.03 and 0.2 where the
 * organization has none either), so that all variants have equal weights.
 */
export const priorModel = (options: {
  readonly version: string
  readonly now: number
  readonly window: ModelSnapshot["window"]
  readonly scheme: ModelSnapshot["scheme"]
  readonly organization: OrganizationPriors
}): ModelSnapshot => {
  const contexts = contextsOf(options.scheme)
  return {
    version: options.version,
    fittedAt: options.now,
    window: options.window,
    scheme: options.scheme,
    a0: options.organization.a0,
    f: new Array<number>(contexts.size).fill(0),
    days: [],
    tau0: options.organization.tau0,
    taus: startingTaus(contexts),
    gamma0: 0,
    variants: [],
    clicksNext14Days: null,
    traffic: [],
    firstSendAt: null,
  }
}

/** Log of the base rate in a context, for a day like the average one. `context` belongs to the model's scheme. */
export const logBaseRate = ({ a0, f }: ModelSnapshot, { coefficients }: Context): number => {
  let sum = a0
  for (const coefficient of coefficients) if (coefficient >= 0) sum += f[coefficient]!
  return sum
}

/** Mean and standard deviation of a log rate relative to the base rate. */
export interface Posterior {
  readonly mean: number
  readonly sd: number
}

/**
 * Posterior of a variant in a context of the model's scheme: log rate relative to the context's base rate. `undefined` stands
 * for a variant without data, a draw from the variants' spread around what its components foretell: mean 0 without
 * `foretold`. A value the variant has never met adds the
 * attribute's own variance, so that a new context falls back on what is known of the variant.
 */
export const posterior = (
  model: ModelSnapshot,
  variant: VariantPosterior | undefined,
  context: Context,
  foretold?: Foretold,
): Posterior => {
  const { coefficients } = context
  if (variant === undefined) {
    let variance = foretold === undefined ? interceptVariance(model) : model.tau0 ** 2 + foretold.variance
    coefficients.forEach((coefficient, j) => {
      if (coefficient >= 0) variance += model.taus[j]! ** 2
    })
    return { mean: foretold?.mean ?? 0, sd: Math.sqrt(variance) }
  }
  const { beta, covariance } = variant
  let mean = beta[0]!
  let variance = covariance[0]!
  let withIntercept = covariance[0]!
  for (let j = 0; j < coefficients.length; j++) {
    const coefficient = coefficients[j]!
    if (coefficient < 0) continue
    mean += beta[coefficient]!
    // Coefficients ascend, so that the earlier ones are the columns of this row of the lower triangle.
    const row = packedIndex(coefficient, 0)
    let cross = covariance[row]!
    withIntercept += cross
    for (let k = 0; k < j; k++) if (coefficients[k]! >= 0) cross += covariance[row + coefficients[k]!]!
    variance += covariance[row + coefficient]! + 2 * cross
  }
  // An error of the components' effects moves the coefficients by as much as the prior holds them.
  if (foretold !== undefined) variance += (withIntercept / model.tau0 ** 2) ** 2 * foretold.variance
  return { mean, sd: Math.sqrt(Math.max(0, variance)) }
}

/** Sends without an outcome that are added to a variant whose sends all have one. */
const pseudoSends = 4

/** `rate`, or the largest rate that is possible. */
export const possible = ({ mostPerSend = Infinity }: Pick<ModelSnapshot, "mostPerSend">, rate: number): number =>
  Math.min(mostPerSend, rate)

/**
 * An interval of a variant's rate, within the possible rates. An interval above all of them contradicts the data, so that
 * only the outcomes seen are certain: it then begins at their share of the sends.
 */
export const possibleInterval = (
  model: ModelSnapshot,
  variant: VariantPosterior | undefined,
  [low, high]: readonly [number, number],
): readonly [number, number] => {
  const { mostPerSend = Infinity } = model
  if (low < mostPerSend) return [low, possible(model, high)]
  const { clicks, sends } = variant ?? { clicks: 0, sends: 0 }
  return [Math.max(0, clicks) / (sends + pseudoSends), mostPerSend]
}

/** Value per send expected of a variant in a context, on a day like the average one; at most the largest possible. */
export const rate = (
  model: ModelSnapshot,
  variant: VariantPosterior | undefined,
  context: Context,
  foretold?: Foretold,
): number => possible(model, Math.exp(logBaseRate(model, context) + posterior(model, variant, context, foretold).mean))

/** 95 % credible interval of `rate`, lower end first. The base rate counts as known. */
export const interval = (
  model: ModelSnapshot,
  variant: VariantPosterior | undefined,
  context: Context,
  foretold?: Foretold,
): readonly [number, number] => {
  const { mean, sd } = posterior(model, variant, context, foretold)
  const center = logBaseRate(model, context) + mean
  return possibleInterval(model, variant, [Math.exp(center - 1.96 * sd), Math.exp(center + 1.96 * sd)])
}
