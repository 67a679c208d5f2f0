import { Schema } from "effect"
import { type Context, type Contexts, contextsOf } from "./Contexts.ts"
import { packedIndex } from "./Cholesky.ts"
import { ComponentEffects, type Foretold, interceptVariance } from "./Components.ts"
import { builtInsOf } from "./Mixture.ts"
import { VerdictState } from "./VerdictState.ts"

const Numbers = Schema.Array(Schema.Finite)

const WindowSchema = Schema.Union([
  Schema.Struct({ mode: Schema.Literal("adaptive"), halfLifeDays: Schema.Finite }),
  Schema.Struct({ mode: Schema.Literal("window"), lookbackDays: Schema.Finite, offsetDays: Schema.Finite }),
])

/**
 * The posterior of one variant. `beta`: effects on the log rate, by coefficient of the scheme (0 is the intercept).
 * `covariance`: their posterior covariance, packed lower triangle row by row. Counts of the sends in the window:
 * `sends` and `clicks` are raw, `maturedSends` are multiplied by the share of clicks expected at their age,
 * `effectiveSends` also by the window's weight.
 */
export const VariantPosterior = Schema.Struct({
  id: Schema.String,
  beta: Numbers,
  covariance: Numbers,
  sends: Schema.Finite,
  maturedSends: Schema.Finite,
  effectiveSends: Schema.Finite,
  clicks: Schema.Finite,
  /**
   * Factor of the counts for decisions about a person who had the variant before, see `independence`. Range: above 0 to
   * 1. Default: 1.
   */
  independence: Schema.optionalKey(Schema.Finite),
  /**
   * Present if effects of earlier exposures are in use. `widened`: the variance that their uncertainty adds to the
   * intercept. `cases`: for each equally likely case of the effects, the amount it adds to the log rate (see
   * `Fatigue`). `freshness`: for each of the model's `days`, the mean factor of earlier exposures on the variant's rate;
   * absent from models of earlier releases.
   */
  fatigue: Schema.optionalKey(
    Schema.Struct({ widened: Schema.Finite, cases: Numbers, freshness: Schema.optionalKey(Numbers) }),
  ),
})
export type VariantPosterior = typeof VariantPosterior.Type

/** How the level of the last days differs from the model: shift, difference of the variance, shared deviation. */
const LevelShift = Schema.Tuple([Schema.Finite, Schema.Finite, Schema.Finite])
export type LevelShift = typeof LevelShift.Type

const fitted = {
  /** Name of this snapshot, unique in the organization, such as `t:412`. */
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
  /** Log odds of the data in favour of each pair of interacting attributes. */
  pairEvidence: Schema.optionalKey(Schema.Array(Schema.Tuple([Schema.String, Schema.String, Schema.Finite]))),
  /**
   * Effects of earlier exposures on the log rate, by class (see `exposureClass`), relative to the present mix of
   * exposures. Absent unless they are used.
   */
  fatigue: Schema.optionalKey(Numbers),
  /**
   * Effects of earlier exposures for reports, by class after the first: on the log rate relative to a first exposure,
   * with their standard deviation. Absent unless effects are used, and from models of earlier releases.
   */
  reportedFatigue: Schema.optionalKey(
    Schema.Array(Schema.Struct({ effect: Schema.Finite, deviation: Schema.Finite })),
  ),
  /** Log of the base rate, in the objective's unit per send. */
  a0: Schema.Finite,
  /** Value of one outcome, see `Counts.worth`. Default: 1. */
  worth: Schema.optionalKey(Schema.Finite),
  /** Maximum rate, in the objective's unit per send. Default: no limit. */
  mostPerSend: Schema.optionalKey(Schema.Finite),
  /** Share of the eventual clicks that had arrived by each of `delayEdges`. Absent from models of earlier releases. */
  delays: Schema.optionalKey(Numbers),
  /** Effects of the attribute values on the base rate, by coefficient; 0 for the intercept. */
  f: Numbers,
  /** Effects of the days on the base rate: start of the day (or week), and its effect. */
  days: Schema.Array(Schema.Tuple([Schema.Finite, Schema.Finite])),
  /**
   * Standard deviation of the variants' intercepts. With components, of the intercepts around the sum of the
   * components' effects.
   */
  tau0: Schema.Finite,
  /** Present if variants of the template have components in common. */
  components: Schema.optionalKey(ComponentEffects),
  /** Standard deviation of the variants' effects, by attribute of the scheme, built-in ones last. */
  taus: Numbers,
  /**
   * The standard deviations with which the variants were fitted. `tau0` and `taus` are one learning step newer. Absent
   * from models of earlier releases.
   */
  fittedWith: Schema.optionalKey(Schema.Struct({ tau0: Schema.Finite, taus: Numbers })),
  /**
   * Probability that the built-in attributes have effects on single variants (see `Mixture`). Absent without built-in
   * attributes, and from models of earlier releases, which count as 1.
   */
  builtInProbability: Schema.optionalKey(Schema.Finite),
  /**
   * Log odds of the data alone in favour of effects of each built-in attribute. Absent from models of earlier releases.
   */
  builtInOdds: Schema.optionalKey(Schema.Array(Schema.Tuple([Schema.String, Schema.Finite]))),
  /**
   * Log likelihoods of the `spreads` of the variants' intercepts, without the prediction by components. Absent from
   * models of earlier releases.
   */
  spreads: Schema.optionalKey(Numbers),
  /** Always 0, for earlier releases. */
  gamma0: Schema.Finite,
  /** Variants with data, by id. Every other variant has the prior. */
  variants: Schema.Array(VariantPosterior),
  /**
   * Outcomes expected in the next 14 days at the traffic of the last 3 days, each counted as 1. Null before any
   * traffic.
   */
  clicksNext14Days: Schema.NullOr(Schema.Finite),
  /** Sends of the last 14 days by context. Its key is stored as `cell`. */
  traffic: Schema.Array(Schema.Struct({ cell: Schema.String, sends: Schema.Finite })),
  /** Start of the oldest known bucket, inside or outside the window. Null before any send. */
  firstSendAt: Schema.NullOr(Schema.Finite),
  /**
   * Equally likely cases of the rates of the last 14 days, for reports (see `LocalLevel`). A case has, for each of
   * `variants` and for a variant without data: how much the log rate is higher than the model's, by how much the
   * variance of the intercept differs, and the deviation that all variants share. `changes`: for each of `variants`, the
   * change of the log rate against the days before and its variance; absent without a week of such days. Absent from
   * models of a requested window and of earlier releases.
   */
  levels: Schema.optionalKey(Schema.Array(Schema.Struct({
    variants: Schema.Array(LevelShift),
    common: LevelShift,
    changes: Schema.optionalKey(Schema.Array(Schema.Tuple([Schema.Finite, Schema.Finite]))),
  }))),
}

const Fitted = Schema.Struct(fitted)

/**
 * The models that weigh a message against no message, each under the scheme of the template's model. `gains` and
 * `costs`: values per send of the outcomes that the objective wants, and of the outcomes that lower it (above 0).
 * `organic`: value per decision of people who get no message; null if only messages can have such outcomes, so that
 * this value is 0.
 */
const NothingModels = Schema.Struct({ gains: Fitted, costs: Fitted, organic: Schema.NullOr(Fitted) })
export type NothingModels = typeof NothingModels.Type

/**
 * The part of the model of one template and window that decisions read. Plain data: survives JSON to the last bit.
 * Rates are values per send in the objective's unit (clicks, if one click is worth 1). Times are Unix milliseconds.
 */
export const ModelSnapshot = Schema.Struct({
  ...fitted,
  /** Present in the adaptive model. Absent from models of a requested window and of earlier releases. */
  verdict: Schema.optionalKey(VerdictState),
  /** Present if the template may send nothing. */
  nothing: Schema.optionalKey(NothingModels),
})
export type ModelSnapshot = typeof ModelSnapshot.Type

/** Starting standard deviation of all effects of one attribute, given the number of attributes that share the variance. */
const startingTau = (attributes: number): number => 0.2 / Math.sqrt(attributes)

/** Starting standard deviation of the effects of a pair. Larger, because a pair is used only with evidence for it. */
const startingPairTau = 0.2

/** The priors of a template. */
export interface OrganizationPriors {
  /** Log likelihoods of the `spreads` of intercepts, by the organization's other templates. */
  readonly spreads: ReadonlyArray<number>
  /** Log of the base rate, in outcomes per send. */
  readonly a0: number
  /** Standard deviation of the variants' intercepts. */
  readonly tau0: number
  /** Probability that a built-in attribute has effects in a template, by name. Default: 0.5. */
  readonly builtIns: ReadonlyMap<string, number>
}

/**
 * Starting standard deviations by attribute, then by pair. Built-in attributes do not lower the deviations of the other
 * attributes, because each fit learns from evidence whether built-in attributes have effects.
 */
export const startingTaus = (contexts: Contexts): ReadonlyArray<number> => {
  const { attributes, names } = contexts
  const builtIns = builtInsOf(contexts)
  return names.map((_, j) =>
    j >= attributes ? startingPairTau : startingTau(builtIns.includes(j) ? attributes : attributes - builtIns.length)
  )
}

/**
 * Returns the model of a template without data: the organization's base rate and spread of variants, so that all
 * variants have equal weights. Default of the base rate: log 0.03. Default of the spread: 0.2.
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

/** Log of the base rate in a context, for an average day. `context` belongs to the model's scheme. */
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

/** Mean and variance of the sum of the coefficients of a context, and the covariance of this sum with the intercept. */
export const contextSums = (
  variant: VariantPosterior,
  coefficients: ArrayLike<number>,
): { readonly mean: number; readonly variance: number; readonly withIntercept: number } => {
  const { beta, covariance } = variant
  let mean = beta[0]!
  let variance = covariance[0]!
  let withIntercept = covariance[0]!
  for (let j = 0; j < coefficients.length; j++) {
    const coefficient = coefficients[j]!
    if (coefficient < 0) continue
    mean += beta[coefficient]!
    // Coefficients ascend, so the earlier ones are the columns of this row of the lower triangle.
    const row = packedIndex(coefficient, 0)
    let cross = covariance[row]!
    withIntercept += cross
    for (let k = 0; k < j; k++) if (coefficients[k]! >= 0) cross += covariance[row + coefficients[k]!]!
    variance += covariance[row + coefficient]! + 2 * cross
  }
  return { mean, variance, withIntercept }
}

/**
 * Returns the posterior of a variant in a context of the model's scheme: log rate relative to the context's base rate.
 * `undefined` means a variant without data: a draw from the variants' spread around the intercept predicted from its
 * components (mean 0 without `foretold`). A value that is new to the variant adds the attribute's own variance, so that
 * a new context uses the other knowledge of the variant.
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
  const { mean, variance: own, withIntercept } = contextSums(variant, coefficients)
  let variance = own
  // An error of the components' effects moves the coefficients as far as the prior determines them.
  if (foretold !== undefined) variance += (withIntercept / model.tau0 ** 2) ** 2 * foretold.variance
  return { mean, sd: Math.sqrt(Math.max(0, variance)) }
}

/** Sends without an outcome that are added to a variant all of whose sends have an outcome. */
const pseudoSends = 4

/** Limits `rate` to the largest possible rate. */
export const possible = ({ mostPerSend = Infinity }: Pick<ModelSnapshot, "mostPerSend">, rate: number): number =>
  Math.min(mostPerSend, rate)

/**
 * Limits an interval of a variant's rate to the possible rates. If the whole interval is above them, it contradicts the
 * data, and only the observed outcomes are certain: the result then begins at their share of the sends.
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

/** Expected value per send of a variant in a context, on an average day. Limited to the largest possible rate. */
export const rate = (
  model: ModelSnapshot,
  variant: VariantPosterior | undefined,
  context: Context,
  foretold?: Foretold,
): number => possible(model, Math.exp(logBaseRate(model, context) + posterior(model, variant, context, foretold).mean))

/** 95 % credible interval of a rate with the log `center` ± `sd`, lower end first. Treats the base rate as known. */
export const intervalAround = (
  model: ModelSnapshot,
  variant: VariantPosterior | undefined,
  center: number,
  sd: number,
): readonly [number, number] =>
  possibleInterval(model, variant, [Math.exp(center - 1.96 * sd), Math.exp(center + 1.96 * sd)])
