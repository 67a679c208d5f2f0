import { contextsOf } from "./Contexts.ts"
import { type ComponentEffect, componentEffects } from "./ComponentReport.ts"
import { type ModelSnapshot, possible, possibleInterval } from "./Model.ts"
import { type EligibleSet, eligibleSet, Policy } from "./Policy.ts"
import { nothing } from "../domain/SendNothing.ts"
import { type Choices, personalPlaces, type PersonalReport, personalReport } from "./Personal.ts"
import { reportModels } from "./ReportModels.ts"
import { drawValues } from "./SendNothing.ts"
import { seededNormal } from "./SeededNormal.ts"
import {
  compareRates,
  type ContextTraffic,
  drawPlaces,
  estimateRates,
  type Place,
  type VariantComparison,
  type VariantReport,
} from "./Winner.ts"

// The report on a template as a pure function of plain data, so that it can run in a worker: request and response
// survive structured cloning.

/**
 * The content of the report. Ids of variants are distinct; contexts are keys under the model's scheme, see
 * `encodeContext`.
 */
export interface ReportRequest {
  readonly model: ModelSnapshot
  /** Share of the traffic that is split randomly, 0 to 0.2. */
  readonly floor: number
  /** See `Policy.runnerUpFloor`. Default: 0. */
  readonly runnerUpFloor?: number
  /** All variants to report, in the order of the response. */
  readonly ids: ReadonlyArray<string>
  /** The eligible variants. Only these can be best, win, and have a share. */
  readonly eligible: ReadonlyArray<string>
  /** Contexts in which fewer variants are eligible because of targeting. */
  readonly narrowed?: ReadonlyArray<{ readonly context: string; readonly eligible: ReadonlyArray<string> }>
  /** Contexts of the whole report with their traffic. Default: the model's contexts of the last 14 days. */
  readonly contexts?: ReadonlyArray<ContextTraffic>
  /** Groups of contexts to report in addition to the whole. */
  readonly groups: ReadonlyArray<{ readonly name: string; readonly contexts: ReadonlyArray<ContextTraffic> }>
  /**
   * Number of draws for the whole. Default: 4,000, or fewer if each draw is expensive. Each group gets at most 1,000
   * draws.
   */
  readonly draws?: number
  /** Any whole number. Equal requests with equal seeds have equal responses. */
  readonly seed: number
}

/** A variant's rate, and its present share of the traffic, 0 to 1. The shares of the eligible variants sum to 1. */
export interface SharedVariant extends VariantReport {
  readonly share: number
}

/** Variants in the order of the request's ids. */
export interface ReportAnswer {
  readonly overall: Omit<VariantComparison, "variants"> & { readonly variants: ReadonlyArray<SharedVariant> }
  /** In the order of the request. */
  readonly groups: ReadonlyArray<{ readonly name: string; readonly variants: ReadonlyArray<SharedVariant> }>
  readonly components: ReadonlyArray<ComponentEffect>
  /** Absent without traffic, with fewer than two eligible variants, and if nothing is one of them. */
  readonly personal?: PersonalReport
}

const mostDraws = 4000
const fewestDraws = 400
const groupDraws = 1000
const fewestGroupDraws = 200

// Maximum number of multiplications for the draws of the whole, about 0.3 seconds, and of numbers kept for the groups
// (8 MB).
const drawBudget = 120_000_000
const keptNumbers = 1_000_000

// Maximum number of pairs of context and variant for which weights are computed, for the contexts with most traffic
// first.
const weightBudget = 40_000
const fewestContexts = 20

/** Returns the function that finds the choices in the contexts with traffic: most traffic first, within the budget. */
const choicesOf = ({ eligible, floor, ids, model, narrowed = [], runnerUpFloor }: ReportRequest) => {
  const policy = new Policy(model, floor, runnerUpFloor)
  const everywhere = eligibleSet(eligible)
  const sets = new Map<string, EligibleSet>(narrowed.map(({ context, eligible }) => [context, eligibleSet(eligible)]))
  const most = Math.max(fewestContexts, Math.floor(weightBudget / Math.max(1, ids.length)))
  return (parts: ReadonlyArray<ContextTraffic>): Choices => {
    const traffic = parts.filter(({ sends }) => sends > 0).sort((a, b) => b.sends - a.sends).slice(0, most)
    const choices = (traffic.length > 0 ? traffic : [{ cell: "", sends: 1 }]).map(({ cell }) =>
      policy.choice(policy.contexts.parse(cell), sets.get(cell) ?? everywhere)
    )
    return { traffic, choices }
  }
}

/** Average share of each variant over the contexts, weighted by their traffic. */
const sharesIn = (ids: ReadonlyArray<string>, { choices, traffic }: Choices): Float64Array => {
  const index = new Map(ids.map((id, v) => [id, v]))
  const shares = new Float64Array(ids.length)
  let total = 0
  choices.forEach((choice, at) => {
    if (choice.ids.length === 0) return
    const sends = traffic[at]?.sends ?? 1
    total += sends
    choice.ids.forEach((id, i) => {
      const v = index.get(id)
      if (v !== undefined) shares[v] = shares[v]! + sends * choice.weights[i]!
    })
  })
  return total > 0 ? shares.map((share) => share / total) : shares
}

/** Returns the numbers of draws for the whole and for each group, within the budgets of time and memory. */
const drawsOf = ({ draws, groups, ids, model }: ReportRequest, contexts: number): { whole: number; group: number } => {
  const { names, size } = contextsOf(model.scheme)
  const multiplications = Math.max(1, ids.length) * (size * size * 1.5 + contexts * (names.length + 1) * 2)
  const affordable = Math.max(fewestDraws, Math.min(mostDraws, Math.floor(drawBudget / multiplications)))
  const whole = draws ?? affordable
  const kept = Math.floor(keptNumbers / Math.max(1, ids.length * groups.length))
  return { whole, group: Math.min(whole, groupDraws, Math.max(fewestGroupDraws, kept)) }
}

/** Makes an equal number of draws from each model of a report. */
export const drawAll = (
  model: ModelSnapshot,
  ids: ReadonlyArray<string>,
  seed: number,
  places: ReadonlyArray<Place>,
): ReadonlyArray<ReadonlyArray<Float64Array>> => {
  const normal = seededNormal(seed)
  return drawValues(model, ids, (model, ids) => drawPlaces(reportModels(model), ids, normal, places))
}

/**
 * Compares the variants of a template, over all contexts and within groups of contexts, by draws from the untempered
 * posterior of the models in `reportModels`, and returns each variant's present share of the traffic. A variant that is
 * not eligible is reported too, but cannot be best.
 *
 * Costs about half a second of one core for 20 variants with 288 contexts of 6 attributes and 40 groups of 108 contexts.
 */
export const report = (request: ReportRequest): ReportAnswer => {
  const { eligible, groups, ids, model, seed } = request
  const contexts = request.contexts ?? model.traffic
  const draws = drawsOf(request, contexts.length)
  const contenders = new Set(eligible)
  const choices = choicesOf(request)
  const present = choices(contexts)
  const isPersonal = contenders.size > 1 && present.traffic.length > 0 && !contenders.has(nothing)
  const [whole, ...parts] = drawAll(model, ids, seed, [
    { traffic: contexts, draws: draws.whole },
    ...groups.map((group) => ({ traffic: group.contexts, draws: draws.group })),
    ...isPersonal ? personalPlaces(present, Math.min(draws.whole, groupDraws)) : [],
  ])
  const posteriors = new Map(model.variants.map((variant) => [variant.id, variant]))
  const shared = (variants: ReadonlyArray<VariantReport>, choices: Choices) => {
    const share = sharesIn(ids, choices)
    return variants.map((variant, v): SharedVariant => ({
      ...variant,
      rate: possible(model, variant.rate),
      interval: possibleInterval(model, posteriors.get(variant.id), variant.interval),
      share: share[v]!,
    }))
  }
  const { variants, ...comparison } = compareRates(ids, whole!, contenders)
  return {
    overall: {
      ...comparison,
      variants: shared(variants, present),
    },
    groups: groups.map(({ contexts, name }, g) => ({
      name,
      variants: shared(estimateRates(ids, parts[g]!, contenders), choices(contexts)),
    })),
    components: componentEffects(model),
    ...isPersonal ? { personal: personalReport(ids, contenders, parts.slice(groups.length)) } : {},
  }
}
