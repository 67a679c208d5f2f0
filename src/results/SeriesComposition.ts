import { type ContextKey, contextsOf, decodeContext } from "../bandit/Contexts.ts"
import { foretellings } from "../bandit/Components.ts"
import { delayCurve, delayEdges, type DelayRow, Delays, delaySpan, maturity } from "../bandit/Maturity.ts"
import { type ModelSnapshot, possible, possibleInterval } from "../bandit/Model.ts"
import { revenueIn, revenueUnit, squareUnit } from "../bandit/Revenue.ts"
import { bucketAgeHours, bucketAt, countedBounds, dayMillis, hourMillis } from "../bandit/Window.ts"
import * as Clocks from "../sendtime/Clocks.ts"
import { isTimed, learnedOutcomes, valuedOutcomes, weightsOf } from "../domain/ObjectiveWeights.ts"
import { nothing } from "../domain/SendNothing.ts"
import type { Objective } from "../domain/Template.ts"
import type { TimedOutcome } from "../journal/Ledger.ts"
import type { SeriesCounts } from "../learning/TallyReports.ts"
import { overTime, type PeriodRate } from "./Gain.ts"
import { ContextRates } from "./ContextRates.ts"
import type { TemplateSeries } from "./TemplateSeries.ts"

// Computes the results of a template's variants over time from counts and a model. Pure: input and output are plain
// data.

/** Maximum number of variants in a series. */
const mostVariants = 20

/** The estimates of a variant without a decision so far. */
const unknownRate = { rate: null, interval: null, p_best: null }

/** Maturity from which a period is complete. */
const completeFrom = 0.95

/** The estimates of a variant in a period, limited to possible rates, as those of the table of variants are. */
const possibleOf = (model: ModelSnapshot, id: string, known: PeriodRate) =>
  known === null ? unknownRate : {
    ...known,
    rate: possible(model, known.rate),
    interval: possibleInterval(model, model.variants.find((variant) => variant.id === id), known.interval),
  }

/** Counts of a variant in a context in one period. */
export interface CountedPeriod extends SeriesCounts {
  /** Start of the first bucket, and the sum over decisions of the starts of their buckets. Unit: Unix milliseconds. */
  readonly first: number
  readonly moment: number
  readonly copyId: string
  readonly context: ContextKey
}

/** First outcomes of the decisions of an hour (start in Unix milliseconds) with a class of delay. */
export interface DelayedOutcomes {
  readonly hour: number
  readonly outcome: string
  readonly delayClass: number
  readonly count: number
}

/** The data from which the series of a template is computed. */
export interface SeriesInput {
  readonly template: string
  readonly objective: Objective
  /** Ids of the variants with targeting. */
  readonly targeted: ReadonlyArray<string>
  /** Variants that are included, if they have decisions, before variants with more decisions. */
  readonly named: ReadonlyArray<string>
  readonly model: ModelSnapshot
  /** The model of all days alike, for the gain. */
  readonly ofAllDays: ModelSnapshot
  /** Attribute values to which the series is restricted. Empty: no restriction. */
  readonly segment: ReadonlyMap<string, string>
  /** Time of the request. Unit: Unix milliseconds. */
  readonly now: number
  /** Name of the period's length, and the length in milliseconds. */
  readonly step: TemplateSeries["step"]
  readonly length: number
  readonly rows: ReadonlyArray<CountedPeriod>
  /** Whether the rows distinguish contexts. */
  readonly byContext: boolean
  readonly delays: ReadonlyArray<DelayedOutcomes>
  /** The organization's time zone. */
  readonly zone: string
}

/** 1970-01-05, a Monday. */
export const monday = 4 * dayMillis

const startOf = (time: number, length: number): number =>
  length > dayMillis ? Math.floor((time - monday) / length) * length + monday : Math.floor(time / length) * length

const iso = (millis: number) => new Date(millis).toISOString()

/**
 * Returns start and end of the period that contains a bucket. A daily bucket is longer than an hour and a weekly bucket
 * longer than a day, so such a bucket is its own period.
 */
const periodOf = (start: number, length: number, now: number): readonly [number, number] => {
  const bucket = bucketAt(start, now)
  if (bucket.end - bucket.start >= length) return [bucket.start, bucket.end]
  const from = startOf(start, length)
  return [from, from + length]
}

/** Returns the results of a template's variants over time. */
export const composeSeries = (input: SeriesInput): TemplateSeries => {
  // Long: each step adds arrays that most later steps read, so separate functions would pass a dozen of them around.
  const { byContext, delays, length, model, now, objective, ofAllDays, segment: restriction, step, template, zone } =
    input
  const { from, to } = countedBounds(model.window, now)
  const contexts = contextsOf(model.scheme)
  const keys = new Map<ContextKey, { readonly context: ContextKey; readonly isShown: boolean }>()
  const rows = input.rows.flatMap((row) => {
    // A series is about messages.
    if (row.copyId === nothing) return []
    // Converted to the model's scheme, so that few contexts with many decisions are compared.
    let key = keys.get(row.context)
    if (key === undefined) {
      const context = contexts.parse(row.context).key
      const values = decodeContext(context)
      const isShown = restriction.entries().every(([name, value]) => values.get(name) === value)
      keys.set(row.context, key = { context, isShown })
    }
    return [{
      ...row,
      ...key,
      start: row.first,
      sentAt: row.decisions > 0 ? row.moment / row.decisions : row.first,
    }]
  })
  const worths = weightsOf(objective)
  const valueOf = (row: CountedPeriod, power: 1 | 2) =>
    valuedOutcomes.reduce((sum, outcome) => sum + worths[outcome] ** power * row[outcome], 0) +
    worths.revenue ** power *
      (power === 1 ? row.revenue * revenueUnit : row.revenue_square * squareUnit(worths.revenueCap))

  const known = new Delays()
  known.merge(delays.flatMap(({ count, delayClass, hour, outcome }): ReadonlyArray<DelayRow> => {
    if (!isTimed(worths, outcome as TimedOutcome)) return []
    const counts = new Array<number>(delayClass + 1).fill(0)
    counts[delayClass] = count
    return [[hour, counts]]
  }))
  // The model's own curve, so that its rates and these exposures describe equal outcomes.
  const curve = model.delays?.length === delayEdges.length ? model.delays : delayCurve(known.counts(now))
  const maturityOf = (start: number) => maturity(curve, bucketAgeHours(bucketAt(start, now), now))

  const totals = new Map<string, number>()
  for (const { copyId, decisions, isShown } of rows) {
    if (isShown) totals.set(copyId, (totals.get(copyId) ?? 0) + decisions)
  }
  const byDecisions = [...totals].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([id]) => id)
  const ids = [...new Set([...input.named.filter((id) => totals.has(id)), ...byDecisions])].slice(0, mostVariants)
    .sort()
  const place = new Map(ids.map((id, index) => [id, index]))
  const periods = new Map<
    number,
    { readonly start: number; end: number; readonly rows: Array<typeof rows[0]> }
  >()
  for (const row of rows) {
    if (!place.has(row.copyId)) continue
    const [start, end] = periodOf(row.start, length, now)
    const there = periods.get(start)
    if (there === undefined) periods.set(start, { start, end, rows: [row] })
    else there.rows.push(row)
  }
  const ordered = [...periods.values()].sort((a, b) => a.start - b.start)

  // The periods in which each variant was running: from its first decision to its last.
  const seen = ids.map(() => ({ from: Infinity, to: -1 }))
  const places = new Map<string, number>()
  const shownPlaces: Array<boolean> = []
  const counts = ordered.flatMap((one, period) =>
    one.rows.map((row) => {
      const variant = place.get(row.copyId)!
      if (row.decisions > 0) {
        seen[variant]!.from = Math.min(seen[variant]!.from, period)
        seen[variant]!.to = Math.max(seen[variant]!.to, period)
      }
      let context = places.get(row.context)
      if (context === undefined) {
        places.set(row.context, context = places.size)
        shownPlaces.push(row.isShown)
      }
      const trials = row.decisions - row.voided
      return {
        period,
        variant,
        context,
        trials,
        exposure: trials * maturityOf(row.sentAt),
        value: valueOf(row, 1),
        square: valueOf(row, 2),
      }
    })
  )
  const chosen = new Set(counts.filter(({ trials }) => trials > 0).map((one) => `${one.variant}/${one.context}`))
  const targeted = new Set(input.targeted.map((id) => place.get(id)))
  const independence = ids.map((id) => model.variants.find((variant) => variant.id === id)?.independence ?? 1)
  const fatigue = ids.map((id) => {
    const { cases = [], freshness } = ofAllDays.variants.find((variant) => variant.id === id)?.fatigue ?? {}
    // The cases have a wider prior than the effects of choices, so their mean is not 0.
    const mean = cases.reduce((sum, one) => sum + one, 0) / Math.max(1, cases.length)
    return { deviations: cases.map((one) => one - mean), freshness, fresher: Math.exp(-mean) }
  })
  const dayOf = ordered.map(({ start }) => Math.max(0, ofAllDays.days.findLastIndex(([day]) => day <= start)))
  const trafficOf = new Map(model.traffic.map(({ cell, sends }) => [cell, sends]))
  const hasTraffic = places.entries().some(([context, at]) => shownPlaces[at] && trafficOf.has(context))
  const traffic = Array.from(
    places,
    ([context, at]) => !shownPlaces[at] ? 0 : hasTraffic ? trafficOf.get(context) ?? 0 : 1,
  )
  const allTraffic = traffic.reduce((sum, sends) => sum + sends, 0)
  const estimates = overTime({
    counts,
    starts: ordered.map(({ start }) => start),
    fatigue: fatigue.map(({ deviations }) => deviations),
    freshness: (variant, period) => {
      const { fresher, freshness } = fatigue[variant]!
      return fresher * (freshness?.[dayOf[period]!] ?? 1)
    },
    contexts: places.size,
    rates: new ContextRates(ofAllDays, ids, [...places.keys()]),
    centers: ids.map((id) => ofAllDays.components === undefined ? 0 : foretellings(ofAllDays.components)(id).mean),
    tau0: ofAllDays.tau0,
    independence,
    runs: (variant, period) => seen[variant]!.from <= period && period <= seen[variant]!.to,
    // A targeted variant that was never chosen in a context counts as not eligible in it.
    fits: (variant, context) => !targeted.has(variant) || chosen.has(`${variant}/${context}`),
    concerns: (context) => shownPlaces[context]!,
    traffic: traffic.map((sends) => sends / allTraffic),
    began: (variant, period) => seen[variant]!.from <= period,
  })

  let outcomesSoFar = 0
  const points = ordered.map(({ end, rows, start }, period) => {
    const shownRows = rows.filter(({ isShown }) => isShown)
    outcomesSoFar += shownRows.reduce((sum, row) => sum + learnedOutcomes(worths, (outcome) => row[outcome]), 0)
    // Without outcomes, or before its first decision, a variant has no estimate. Net values have none over time.
    const isKnown = outcomesSoFar > 0 && model.nothing === undefined
    const rates = estimates.rates[period]!
    const decisions = shownRows.reduce((sum, row) => sum + row.decisions, 0)
    const own = ids.map((id) => shownRows.filter(({ copyId }) => copyId === id))
    const mature = decisions === 0
      ? maturityOf(start)
      : shownRows.reduce((sum, row) => sum + row.decisions * maturityOf(row.sentAt), 0) / decisions
    return {
      start: iso(start),
      end: iso(end),
      decisions,
      maturity: mature,
      complete: end <= now && mature >= completeFrom,
      variants: ids.map((copy_id, v) => {
        const mine = own[v]!.reduce((sum, row) => sum + row.decisions, 0)
        return {
          copy_id,
          decisions: mine,
          value: own[v]!.reduce((sum, row) => sum + valueOf(row, 1), 0),
          ...(worths.revenueCap > 0 ? { revenue: revenueIn(own[v]!.reduce((sum, row) => sum + row.revenue, 0)) } : {}),
          share: decisions > 0 ? mine / decisions : null,
          ...possibleOf(model, copy_id, isKnown ? rates[v] ?? null : null),
        }
      }),
      gain: outcomesSoFar > 0 ? estimates.gains[period]! : null,
    }
  })

  return {
    template_id: template,
    objective,
    segment: Object.fromEntries(restriction),
    window: {
      from: iso(from),
      to: iso(to),
      half_life_days: model.window.mode === "adaptive" ? model.window.halfLifeDays : null,
    },
    step,
    variants: ids,
    left_out: totals.size - ids.length,
    by_segment: byContext,
    points,
    hours: hoursOfWeek(delays, zone),
  }
}

/** Engagements by hour of the week, each at the decision's hour plus the middle of its delay. */
const hoursOfWeek = (delays: ReadonlyArray<DelayedOutcomes>, zone: string): TemplateSeries["hours"] => {
  const clocks = Clocks.of(zone)
  const counts = new Array<number>(168).fill(0)
  for (const { count, delayClass, hour } of delays) {
    const [from, to] = delaySpan(delayClass)
    const delay = (from + to) / 2
    // A decision is equally likely at any time of its hour, so its middle is used. 1970-01-01 was a Thursday.
    const local = clocks.localHour(hour + (delay + 0.5) * hourMillis) + 3 * 24
    counts[((local % 168) + 168) % 168]! += count
  }
  return counts.flatMap((engagements, at) =>
    engagements === 0 ? [] : [{ day: Math.floor(at / 24) + 1, hour: at % 24, engagements }]
  )
}
