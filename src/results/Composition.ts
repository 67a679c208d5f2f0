import {
  byCodeUnits,
  type ContextKey,
  type Contexts,
  contextsOf,
  decodeContext,
  encodeContext,
  missingValue,
  otherValue,
} from "../bandit/Contexts.ts"
import { certainChange } from "../bandit/LocalLevel.ts"
import type { ComponentEffect } from "../bandit/ComponentReport.ts"
import type { ModelSnapshot } from "../bandit/Model.ts"
import type { ReportAnswer, ReportRequest, SharedVariant } from "../bandit/Report.ts"
import { countedBounds, dayMillis } from "../bandit/Window.ts"
import { stoppingRule } from "../bandit/Verdict.ts"
import type { VerdictState } from "../bandit/VerdictState.ts"
import { maturedSends } from "../bandit/SendNothing.ts"
import { daysOfData } from "../bandit/Winner.ts"
import { type Attributes, empty, textOf } from "../domain/Attributes.ts"
import { localeIn } from "../journal/decisions/DecisionLocale.ts"
import { learnedOutcomes, weightsOf } from "../domain/ObjectiveWeights.ts"
import { nothing, nothingName } from "../domain/SendNothing.ts"
import type { Condition } from "../domain/Targeting.ts"
import type { Template } from "../domain/Template.ts"
import * as Targeting from "../templates/Targeting.ts"
import { losersOf } from "./Losers.ts"
import { answerOf, gainOf } from "./Preferences.ts"
import { overNothingOf } from "./OverNothing.ts"
import {
  type CountedContext,
  countOf,
  countsOnWire,
  rawRateOf,
  setAsideOf,
  Tabulation,
  trialsOf,
} from "./Tabulation.ts"
import type { TemplateResults, VariantResults, VariantStatus, WinnerResults } from "./TemplateResults.ts"

// Computes the results of a template from counts and a model: prepares the request to `report`, and composes the
// results from its answer. Pure.

/** The data from which the results of a template are computed. */
export interface ResultsInput {
  readonly template: Pick<Template, "id" | "objective"> & {
    readonly variants: ReadonlyArray<
      Pick<Template["variants"][number], "id" | "name" | "active" | "targeting" | "components">
    >
    /** Whether "send nothing" is a candidate. Default: false. */
    readonly sendsNothing?: boolean
  }
  /** Ids of the variants that are active and in season. */
  readonly eligible: ReadonlySet<string>
  /** Share of the traffic that is split evenly, 0 to 0.2. */
  readonly floor: number
  /** See `Policy.runnerUpFloor`. Default: 0. */
  readonly runnerUpFloor?: number
  readonly model: ModelSnapshot
  /**
   * Verdict on all decisions, without regard to the window and segment of the results. Undefined before the first
   * evaluation.
   */
  readonly verdict: VerdictState | undefined
  readonly rows: ReadonlyArray<CountedContext>
  /** Attribute values to which the results are restricted. Empty: no restriction. */
  readonly segment: ReadonlyMap<string, string>
  /** Time of the request. Unit: Unix milliseconds. The window ends at this time, or at its offset before. */
  readonly nowMillis: number
}

/** The request to `report`, and the function that adds the other data to its answer. */
interface Prepared {
  readonly request: ReportRequest
  readonly compose: (answer: ReportAnswer) => TemplateResults
}

/** Days that the rates of a model without a requested window describe. */
const reportedDays = 14

const mostSegments = 100

// Maximum number of entries of all segments together, so that the response of a template with 1,000 variants has an
// acceptable size.
const mostEntries = 10_000
const fewestSegments = 10

/** One value of one attribute, within the restriction. */
interface Marginal {
  readonly values: ReadonlyMap<string, string>
  readonly table: Tabulation
}

const tabulate = (contexts: Contexts, rows: ReadonlyArray<CountedContext>, segment: ReadonlyMap<string, string>) => {
  const everything = new Tabulation()
  const whole = new Tabulation()
  const marginals = new Map<string, Marginal>()
  const read = new Map<string, ReadonlyMap<string, string>>()
  const byLocale = new Map<string, Tabulation>()
  for (const row of rows) {
    let values = read.get(row.context)
    // Converted to the model's scheme, so that counts and rates cover equal contexts.
    if (values === undefined) read.set(row.context, values = decodeContext(contexts.parse(row.context).key))
    everything.add(row)
    if (!contains(values, segment)) continue
    whole.add(row)
    const locale = localeIn(row.context)
    if (locale !== undefined) {
      const table = byLocale.getOrInsertComputed(locale, () => new Tabulation())
      table.add(row)
    }
    for (const [name, value] of values) {
      if (segment.has(name)) continue
      const key = encodeContext([[name, value]])
      const marginal = marginals.getOrInsertComputed(
        key,
        () => ({ values: new Map([...segment, [name, value]]), table: new Tabulation() }),
      )
      marginal.table.add(row)
    }
  }
  return { everything, whole, marginals, byLocale }
}

const contains = (values: ReadonlyMap<string, string>, segment: ReadonlyMap<string, string>): boolean => {
  for (const [name, value] of segment) if (values.get(name) !== value) return false
  return true
}

/**
 * Whether a condition can hold in a context. A context contains only the learning attributes: `other` in place of a
 * rare value, and the group of a number. A condition on a value that the context does not contain counts as true.
 */
const conditionIn = (contexts: Contexts, condition: Condition): (values: ReadonlyMap<string, string>) => boolean => {
  const key = contexts.scheme.keys.find(({ name }) => name === condition.attribute)
  if (key === undefined || key.cuts !== undefined) return () => true
  const listed = key.values
  const audience = Targeting.compile([condition])
  const known = new Map<string, boolean>()
  const judge = (value: string): boolean => {
    if (value === missingValue) return audience.holds(empty)
    const attributes: Attributes = new Map([[condition.attribute, [value]]])
    if (value !== otherValue || listed.includes(otherValue)) return audience.holds(attributes)
    switch (condition.op) {
      case "is":
      case "in":
        return condition.values.some((wanted) => !listed.includes(textOf(wanted)))
      case "not_exists":
        return false
      case "is_not":
      case "not_in":
      case "exists":
      case "starts_with":
      case "contains":
      case "gt":
      case "gte":
      case "lt":
      case "lte":
        return true
    }
  }
  return (values) => {
    const value = values.get(condition.attribute)
    if (value === undefined) return true
    return known.getOrInsertComputed(value, () => judge(value))
  }
}

/** The variants that targeting leaves in each context, for contexts with fewer variants than are eligible. */
const narrow = (
  contexts: Contexts,
  keys: Iterable<ContextKey>,
  { eligible, template }: Pick<ResultsInput, "eligible" | "template">,
): NonNullable<ReportRequest["narrowed"]> => {
  const targeted = template.variants
    .filter(({ id, targeting }) => eligible.has(id) && targeting.length > 0)
    .map(({ id, targeting }) => ({ id, conditions: targeting.map((condition) => conditionIn(contexts, condition)) }))
  if (targeted.length === 0) return []
  // Shared, because many contexts have equal lists.
  const lists = new Map<string, ReadonlyArray<string>>()
  return Array.from(new Set(keys)).flatMap((context) => {
    const values = decodeContext(contexts.parse(context).key)
    const out = targeted.filter(({ conditions }) => !conditions.every((holds) => holds(values))).map(({ id }) => id)
    if (out.length === 0) return []
    const key = out.join("\0")
    let left = lists.get(key)
    if (left === undefined) {
      const without = new Set<string>(out)
      left = [...eligible].filter((id) => !without.has(id))
      // Where no variant is eligible, nothing is no choice.
      lists.set(key, left = left.every((id) => id === nothing) ? [] : left)
    }
    return [{ context, eligible: left }]
  })
}

/** The contexts with traffic of the last 14 days within a segment. Without traffic, the segment itself. */
const contextsIn = (
  model: ModelSnapshot,
  segment: ReadonlyMap<string, string>,
): ReportRequest["groups"][number]["contexts"] => {
  const traffic = model.traffic.filter(({ cell }) => contains(decodeContext(cell), segment))
  return traffic.length > 0 ? traffic : [{ cell: encodeContext(segment), sends: 1 }]
}

/** Conditions that an undecided verdict does not meet. */
const waitingFor = (evidence: {
  readonly contenders: number
  readonly hasOutcomes: boolean
  readonly days: number
  readonly maturedSends: number
}): WinnerResults["waiting_for"] =>
  evidence.contenders < 2 ? ["variants"] : [
    ...(evidence.hasOutcomes ? [] : ["outcomes" as const]),
    ...(evidence.days < stoppingRule.days ? ["days" as const] : []),
    ...(evidence.maturedSends < stoppingRule.maturedSends ? ["sends" as const] : []),
    "certainty",
  ]

/**
 * Returns the verdict for the variants that can be chosen now. It is undecided if the former winner cannot be chosen,
 * such as out of season.
 */
export const verdictNow = (state: VerdictState | undefined, running: ReadonlyArray<string>) => {
  const isOver = state === undefined || state.verdict === "undecided" || running.length < 2 ||
    (state.winner !== null && !running.includes(state.winner))
  return isOver
    ? { verdict: "undecided" as const, winner: null, since: null }
    : { verdict: state.verdict, winner: state.winner, since: iso(state.since) }
}

/** The certain change of a variant's rate. */
const changeOf = ({ levels = [], variants }: ModelSnapshot, id: string): number | null => {
  const place = variants.findIndex((variant) => variant.id === id)
  return certainChange(levels.flatMap(({ changes }) => changes?.[place] === undefined ? [] : [changes[place]])) ?? null
}

/** The first decision in a window, and the days that rates describe. */
const daysOf = ({ firstSendAt, window }: ModelSnapshot, { from, to }: ReturnType<typeof countedBounds>) => {
  const first = firstSendAt === null ? null : Math.max(firstSendAt, from)
  const start = window.mode === "adaptive" ? to - reportedDays * dayMillis : from
  return {
    first_decision: first === null ? null : iso(first),
    rate_days: { from: iso(Math.min(to, Math.max(start, first ?? start))), to: iso(to) },
  }
}

const iso = (millis: number): string => new Date(millis).toISOString()

/**
 * Loss as a share of a rate. Null if it is infinite, and for nothing without an outcome, whose rate is the model's prior.
 */
const lossOf = (id: string, rawRate: number | null, loss: number): number | null =>
  loss < Infinity && (id !== nothing || (rawRate ?? 0) > 0) ? loss : null

/** Returns the counts of each locale, most decisions first. */
const localesOf = (
  byLocale: ReadonlyMap<string, Tabulation>,
  weights: ReturnType<typeof weightsOf>,
  hasRevenue: boolean,
): NonNullable<TemplateResults["locales"]> =>
  [...byLocale].sort(([a, x], [b, y]) => y.decisions - x.decisions || byCodeUnits(a, b)).map(([locale, table]) => ({
    locale,
    decisions: table.decisions,
    variants: [...table.byVariant].sort(([a], [b]) => byCodeUnits(a, b)).map(([copy_id, counts]) => ({
      copy_id,
      ...countsOnWire(counts, hasRevenue),
      raw_rate: rawRateOf(weights, counts),
    })),
  }))

/** Returns the request to `report`, and the function that composes the results from its answer. */
export const prepare = (input: ResultsInput): Prepared => {
  const { floor, model, nowMillis, rows, runnerUpFloor = 0, segment, template } = input
  const contexts = contextsOf(model.scheme)
  const { byLocale, everything, marginals, whole } = tabulate(contexts, rows, segment)
  const authored = new Map<string, { readonly name: string; readonly active: boolean }>(
    template.variants.map((variant) => [variant.id, variant]),
  )
  // Without an eligible variant there is no choice, and an earlier model does not weigh nothing.
  const mayBeNothing = template.sendsNothing === true && input.eligible.size > 0 && model.nothing !== undefined
  const eligible = mayBeNothing ? new Set([...input.eligible, nothing]) : input.eligible
  if (template.sendsNothing === true) {
    authored.set(nothing, { name: nothingName, active: mayBeNothing })
  }
  const ids = [...new Set([...authored.keys(), ...whole.byVariant.keys()])].sort(byCodeUnits)
  const running = ids.filter((id) => eligible.has(id) && authored.has(id))
  const most = Math.min(mostSegments, Math.max(fewestSegments, Math.floor(mostEntries / Math.max(1, ids.length))))
  const parts = [...marginals].filter(([, { table }]) => table.decisions > 0)
    .sort(([a, { table: x }], [b, { table: y }]) => y.decisions - x.decisions || byCodeUnits(a, b))
    .slice(0, most)
    .map(([name, { table, values }]) => ({ name, values, table, contexts: contextsIn(model, values) }))
  /** Maturity depends only on age, and the ages are assumed to be equal in all segments. */
  const maturedIn = (table: Tabulation, id: string): number => {
    const matured = maturedSends(model, id)
    const all = trialsOf(everything.of(id))
    return all > 0 ? matured * Math.min(1, Math.max(0, trialsOf(table.of(id)) / all)) : 0
  }
  const restricted = segment.size > 0
  const matured = (id: string) => restricted ? maturedIn(whole, id) : maturedSends(model, id)
  const wholeContexts = restricted ? contextsIn(model, segment) : model.traffic

  const weights = weightsOf(template.objective)
  const hasRevenue = weights.revenueCap > 0
  const hasOutcomesIn = (counts: Float64Array) => learnedOutcomes(weights, (outcome) => countOf(counts, outcome)) > 0

  const statusOf = (id: string): VariantStatus => {
    const variant = authored.get(id)
    if (variant === undefined) return "removed"
    return eligible.has(id) ? "active" : variant.active ? "out_of_season" : "stopped"
  }

  const rowsOf = (
    table: Tabulation,
    variants: ReadonlyArray<SharedVariant>,
    maturedSends: (id: string) => number,
  ): ReadonlyArray<VariantResults> => {
    const hasOutcomes = hasOutcomesIn(table.total().learned)
    return variants.map(({ expectedLoss, id, interval, pBest, rate, share }) => {
      const counts = table.of(id)
      const trials = trialsOf(counts)
      const status = statusOf(id)
      // Without outcomes, or without decisions of the variant, the model's estimate is only the prior.
      const isKnown = trials > 0 && hasOutcomes && (id !== nothing || model.nothing !== undefined)
      return {
        copy_id: id,
        name: authored.get(id)?.name ?? (id === nothing ? nothingName : id),
        status,
        ...countsOnWire(counts, hasRevenue),
        matured_sends: maturedSends(id),
        raw_rate: rawRateOf(weights, counts),
        rate: isKnown ? rate : null,
        interval: isKnown ? interval : null,
        change: isKnown ? changeOf(model, id) : null,
        p_best: isKnown && status === "active" ? pBest : null,
        expected_loss: isKnown ? lossOf(id, rawRateOf(weights, counts), expectedLoss) : null,
        share,
      }
    })
  }

  const effectOf = ({ interval, kind, lift, value }: ComponentEffect) => ({
    kind,
    value: value === "" ? null : value,
    decisions: template.variants.reduce(
      (sum, { components, id }) =>
        sum +
        ((Object.hasOwn(components, kind) ? components[kind] : "") === value
          ? countOf(whole.of(id).learned, "decisions")
          : 0),
      0,
    ),
    lift,
    interval,
  })

  return {
    request: {
      model,
      floor,
      runnerUpFloor,
      ids,
      eligible: running,
      narrowed: narrow(
        contexts,
        [...wholeContexts, ...parts.flatMap((part) => part.contexts)].map(({ cell }) => cell),
        { eligible, template },
      ),
      contexts: wholeContexts,
      groups: parts.map(({ contexts, name }) => ({ name, contexts })),
      // Constant, so that a repeated request returns equal digits unless the model has changed.
      seed: 1,
    },
    compose: ({ components, groups, overall, personal }) => {
      const totals = whole.total()
      const hasOutcomes = hasOutcomesIn(totals.learned)
      const days = daysOfData(model)
      const shown = rowsOf(whole, overall.variants, matured)
      const segments = parts.map(({ table, values }, part) => ({
        segment: Object.fromEntries(values),
        decisions: table.decisions,
        variants: rowsOf(table, groups[part]!.variants, (id) => maturedIn(table, id)),
      }))
      const { window } = model
      const bounds = countedBounds(window, nowMillis)
      const { first_decision, rate_days } = daysOf(model, bounds)
      const winner = winnerOf(overall, shown, {
        contenders: running.length,
        hasOutcomes,
        days,
        maturedSends: hasOutcomes && overall.leader !== null ? matured(overall.leader) : 0,
        ...verdictNow(input.verdict, running),
      }, restricted ? undefined : segments)
      const about = { segment: Object.fromEntries(segment), segments, variants: shown, winner }
      return {
        template_id: template.id,
        objective: template.objective,
        window: {
          mode: window.mode,
          lookback_days: window.mode === "window" ? window.lookbackDays : null,
          offset_days: window.mode === "window" ? window.offsetDays : null,
          half_life_days: window.mode === "adaptive" ? window.halfLifeDays : null,
          from: iso(bounds.from),
          to: iso(bounds.to),
          first_decision,
        },
        rate_days,
        policy_version: model.version,
        fitted_at: iso(model.fittedAt),
        ...countsOnWire(totals, hasRevenue),
        set_aside: setAsideOf(totals),
        ...about,
        answer: answerOf(about, hasOutcomes ? personal : undefined),
        ...(hasOutcomes && overall.overNothing !== undefined
          ? { send_nothing: overNothingOf(overall.overNothing, shown) }
          : {}),
        components: hasOutcomes ? components.map(effectOf) : [],
        ...(byLocale.size === 0 ? {} : { locales: localesOf(byLocale, weights, hasRevenue) }),
      }
    },
  }
}

const winnerOf = (
  { leader, lift, overSplit, valueRemaining }: ReportAnswer["overall"],
  variants: ReadonlyArray<VariantResults>,
  evidence: ReturnType<typeof verdictNow> & Parameters<typeof waitingFor>[0],
  segments: TemplateResults["segments"] | undefined,
): WinnerResults => {
  const { days, hasOutcomes, maturedSends, since, verdict, winner } = evidence
  const first = hasOutcomes ? variants.find(({ copy_id }) => copy_id === leader) : undefined
  const isCompared = first !== undefined && first.rate !== null &&
    (variants.find(({ copy_id }) => copy_id === lift?.baseline)?.rate ?? 0) > 0
  return {
    state: verdict === "firm_winner" ? "firm" : verdict,
    verdict,
    since,
    copy_id: winner,
    leader: first?.copy_id ?? null,
    p_best: first?.p_best ?? null,
    expected_loss: first?.expected_loss ?? null,
    value_remaining: first?.expected_loss == null || valueRemaining === Infinity ? null : valueRemaining,
    lift: lift === null || !isCompared ? null : { ...gainOf(lift), baseline: lift.baseline },
    lift_over_split: overSplit === null || !isCompared ? null : gainOf(overSplit),
    losers: segments === undefined ? [] : losersOf(variants, segments, { days, leader: first?.copy_id ?? null }),
    days,
    matured_sends: maturedSends,
    waiting_for: verdict === "undecided" ? waitingFor(evidence) : [],
  }
}
