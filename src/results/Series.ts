import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { cellsOf, decodeCell } from "../bandit/Cells.ts"
import { delayCurve, delayEdges, type DelayRow, Delays, maturity } from "../bandit/Maturity.ts"
import { bucketAgeHours, bucketAt, dayMillis, hourMillis, windowBounds } from "../bandit/Window.ts"
import * as Clocks from "../delay/Clocks.ts"
import type { TemplateNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Objective } from "../domain/Template.ts"
import { Learning } from "../learning/Learning.ts"
import { readDelays } from "../learning/Tallies.ts"
import { Templates } from "../templates/Templates.ts"
import { Views } from "../templates/Views.ts"
import { gainOver, levelsOf, stretchFactors, worthOf } from "./Gain.ts"
import type { ResultsOptions } from "./ResultsOptions.ts"
import { firstBucketFrom, windowOf } from "./Results.ts"
import { SegmentRates } from "./SegmentRates.ts"
import { intervalOf, meanOf, probabilitiesOfBest, Standing } from "./Standing.ts"
import type { TemplateSeries } from "./TemplateSeries.ts"

/** Variants that are told apart. */
const mostVariants = 20

/** Rows of tallies that are read at once; beyond that segments are added up by the database. */
const mostRows = 30_000

/** Stretches of an answer at most: an hour each while they fit, else a day, else a week. */
const mostPoints = 100

/** From here on a stretch is complete. */
const completeFrom = 0.95

interface Row {
  /** Of the stretch, to the length of a step. */
  readonly start: Date
  /** Start of the first bucket, and sum over decisions of those of their buckets. Unix milliseconds. */
  readonly first: number
  readonly moment: number
  readonly copyId: string
  readonly segment: string
  readonly decisions: number
  readonly voided: number
  readonly open: number
  readonly click: number
  readonly conversion: number
  readonly negative: number
}

type Weights = { readonly [outcome in "open" | "click" | "conversion" | "negative"]?: number | undefined }
const outcomes = ["open", "click", "conversion", "negative"] as const

const weightsOf = (objective: Objective): Weights => typeof objective === "string" ? { [objective]: 1 } : objective

const steps = [["hour", hourMillis], ["day", dayMillis], ["week", 7 * dayMillis]] as const

/** 1970-01-05, a Monday. */
const monday = 4 * dayMillis

const startOf = (time: number, length: number): number =>
  length > dayMillis ? Math.floor((time - monday) / length) * length + monday : Math.floor(time / length) * length

const iso = (millis: number) => new Date(millis).toISOString()

/** Start and end of the stretch of a bucket. Days before a whole week is one bucket do not fit into hours, nor weeks into days. */
const stretchOf = (start: number, length: number, now: number): readonly [number, number] => {
  const bucket = bucketAt(start, now)
  if (bucket.end - bucket.start >= length) return [bucket.start, bucket.end]
  const from = startOf(start, length)
  return [from, from + length]
}

/**
 * How the variants of a template did over time, from tallies: traffic, rates with credible intervals, who was probably best,
 * the gain over an even choice, and when people engage. Reads one template's rows by its key, never decisions or events. A
 * broken store is a defect.
 */
export class Series extends Context.Service<Series, {
  readonly series: (
    org: OrgSlug,
    template: string,
    options: ResultsOptions,
  ) => Effect.Effect<TemplateSeries, TemplateNotFound>
}>()("parlance/results/Series") {
  static readonly layer = Layer.effect(
    Series,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const templates = yield* Templates
      const views = yield* Views
      const learning = yield* Learning

      const read = Effect.fnUntraced(function* (org: OrgSlug, template: string, from: Date, to: Date, length: number) {
        const added = (segment: Statement.Fragment) =>
          sql<Row>`
            SELECT date_bin(make_interval(secs => ${length / 1000}::float8), t.bucket_start, ${new Date(
            monday,
          )}) AS start,
              extract(epoch FROM min(t.bucket_start))::float8 * 1000 AS first,
              sum(t.decisions * extract(epoch FROM t.bucket_start))::float8 * 1000 AS moment,
              t.copy_id, ${segment} AS segment, sum(t.decisions)::float8 AS decisions, sum(t.voided)::float8 AS voided,
              sum(t.open)::float8 AS open, sum(t.click)::float8 AS click, sum(t.conversion)::float8 AS conversion,
              sum(t.negative)::float8 AS negative
            FROM tallies t
            WHERE t.org_slug = ${org} AND t.template_id = ${template} AND t.track = 'learned'
              AND t.bucket_start >= ${from} AND t.bucket_start < ${to}
            GROUP BY 1, 4, 5
            LIMIT ${mostRows + 1}`
        const rows = yield* added(sql`t.segment`)
        return rows.length <= mostRows ? { rows, bySegment: true } : { rows: yield* added(sql`''`), bySegment: false }
      }, Effect.orDie)

      const series = Effect.fn("Series.series")(function* (org: OrgSlug, id: string, options: ResultsOptions) {
        const template = yield* templates.get(org, id)
        const model = yield* learning.model(org, template.id, windowOf(options))
        const now = yield* Clock.currentTimeMillis
        const { from, to } = windowBounds(model.window, now)
        const asked = options.segment ?? new Map<string, string>()
        const oldest = Math.max(from, model.firstSendAt ?? now)
        const [step, length] = steps.find(([, length]) => (Math.min(now, to) - oldest) / length <= mostPoints) ??
          steps[2]
        const { bySegment, rows: all } = yield* read(
          org,
          template.id,
          new Date(firstBucketFrom(from, now)),
          new Date(firstBucketFrom(to, now)),
          length,
        )
        const cells = cellsOf(model.scheme)
        const segments = new Map<string, string>()
        const rows = all.flatMap((row) => {
          // As the model reads it, so that few segments with many decisions are compared.
          let segment = segments.get(row.segment)
          if (segment === undefined) segments.set(row.segment, segment = cells.parse(row.segment).id)
          if (asked.size > 0) {
            const values = decodeCell(segment)
            for (const [name, value] of asked) if (values.get(name) !== value) return []
          }
          return [{
            ...row,
            segment,
            start: row.first,
            sentAt: row.decisions > 0 ? row.moment / row.decisions : row.first,
          }]
        })
        const worths = weightsOf(template.objective)
        const valueOf = (row: Omit<Row, "start">, power: 1 | 2) =>
          outcomes.reduce((sum, outcome) => sum + (worths[outcome] ?? 0) ** power * row[outcome], 0)

        const delays = yield* Effect.orDie(readDelays(sql, org, template.id))
        const known = new Delays()
        known.merge(delays.map(({ delays, hour }): DelayRow => {
          const counts: Array<number> = []
          for (const [key, count] of Object.entries(delays)) {
            const [outcome, at] = key.split(":") as [keyof Weights, string]
            if ((worths[outcome] ?? 0) > 0) counts[Number(at)] = (counts[Number(at)] ?? 0) + count
          }
          return [hour, Array.from(counts, (count) => count ?? 0)]
        }))
        const curve = delayCurve(known.counts(now))
        const maturityOf = (start: number) => maturity(curve, bucketAgeHours(bucketAt(start, now), now))

        const totals = new Map<string, number>()
        for (const { copyId, decisions } of rows) totals.set(copyId, (totals.get(copyId) ?? 0) + decisions)
        const ids = [...totals].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, mostVariants)
          .map(([id]) => id).sort()
        const place = new Map(ids.map((id, index) => [id, index]))
        const stretches = new Map<
          number,
          { readonly start: number; end: number; readonly rows: Array<typeof rows[0]> }
        >()
        for (const row of rows) {
          if (!place.has(row.copyId)) continue
          const [start, end] = stretchOf(row.start, length, now)
          const there = stretches.get(start)
          if (there === undefined) stretches.set(start, { start, end, rows: [row] })
          else there.rows.push(row)
        }
        const ordered = [...stretches.values()].sort((a, b) => a.start - b.start)

        // When each variant was running: from its first decision to its last.
        const seen = ids.map(() => ({ from: Infinity, to: -1 }))
        const places = new Map<string, number>()
        const counts = ordered.flatMap((one, stretch) =>
          one.rows.map((row) => {
            const variant = place.get(row.copyId)!
            if (row.decisions > 0) {
              seen[variant]!.from = Math.min(seen[variant]!.from, stretch)
              seen[variant]!.to = Math.max(seen[variant]!.to, stretch)
            }
            let segment = places.get(row.segment)
            if (segment === undefined) places.set(row.segment, segment = places.size)
            const trials = row.decisions - row.voided
            return {
              stretch,
              variant,
              segment,
              trials,
              exposure: trials * maturityOf(row.sentAt),
              value: valueOf(row, 1),
              square: valueOf(row, 2),
            }
          })
        )
        const chosen = new Set(counts.filter(({ trials }) => trials > 0).map((one) => `${one.variant}/${one.segment}`))
        const targeted = new Set(
          template.variants.flatMap(({ id, targeting }) => targeting.length > 0 ? [place.get(id)] : []),
        )
        const size = { variants: ids.length, segments: places.size }
        const rates = new SegmentRates(model, ids, [...places.keys()])
        const factors = stretchFactors(counts, ordered.length, rates)
        const gains = gainOver(
          counts,
          factors,
          size,
          rates,
          levelsOf(counts, factors, ids.length, rates),
          (variant, stretch) => seen[variant]!.from <= stretch && stretch <= seen[variant]!.to,
          // Where a targeted variant was never chosen, it is taken not to have been eligible.
          (variant, segment) => !targeted.has(variant) || chosen.has(`${variant}/${segment}`),
        )

        // Rates up to each stretch; what is older fades with the half-life of the model.
        const halfLife = model.window.mode === "adaptive" ? model.window.halfLifeDays : null
        const traffic = new Map(model.traffic.map(({ cell, sends }) => [cell, sends]))
        const weights = Array.from(places.keys(), (segment) => traffic.get(segment) ?? 0)
        const worth = worthOf(counts)
        const standing = () => new Standing(rates, ids.length, weights, worth)
        const addTo = (to: Standing, { exposure, segment, stretch, value, variant }: typeof counts[0]) =>
          to.add(variant, value, exposure * factors[stretch]! * rates.of(variant, segment))
        /** Goes through the stretches, with what had been added before faded, and says what was known at the end of each. */
        const through = function* () {
          const state = standing()
          let before = ordered[0]?.start ?? now
          for (const [stretch, one] of ordered.entries()) {
            const end = Math.min(one.end, now)
            state.fade(halfLife === null ? 1 : 0.5 ** (Math.max(0, end - before) / dayMillis / halfLife))
            before = end
            for (const count of byStretch.get(stretch) ?? []) addTo(state, count)
            yield state
          }
        }
        const byStretch = Map.groupBy(counts, ({ stretch }) => stretch)
        let last: ReadonlyArray<number> = []
        for (const state of through()) last = ids.map((_, v) => state.outcomes(v))
        const states = through()
        const points = ordered.map((one, stretch) => {
          const state = states.next().value!
          const posteriors = ids.map((_, v) => state.posterior(v, last[v]!))
          const started = ids.map((_, v) => seen[v]!.from <= stretch)
          const best = probabilitiesOfBest(posteriors.filter((_, v) => started[v]))
          let next = 0
          const decisions = one.rows.reduce((sum, row) => sum + row.decisions, 0)
          const own = ids.map((id) => one.rows.filter(({ copyId }) => copyId === id))
          const mature = decisions === 0
            ? maturityOf(one.start)
            : one.rows.reduce((sum, row) => sum + row.decisions * maturityOf(row.sentAt), 0) / decisions
          return {
            start: iso(one.start),
            end: iso(one.end),
            decisions,
            maturity: mature,
            complete: one.end <= now && mature >= completeFrom,
            variants: ids.map((copy_id, v) => {
              const mine = own[v]!.reduce((sum, row) => sum + row.decisions, 0)
              return {
                copy_id,
                decisions: mine,
                value: own[v]!.reduce((sum, row) => sum + valueOf(row, 1), 0),
                share: decisions > 0 ? mine / decisions : null,
                rate: meanOf(posteriors[v]!),
                interval: intervalOf(posteriors[v]!),
                p_best: started[v] ? best[next++]! : 0,
              }
            }),
            gain: gains[stretch]!,
          }
        })

        const zone = views.template(org, template.id)?.org.timeZone ?? "UTC"
        return {
          template_id: template.id,
          objective: template.objective,
          segment: Object.fromEntries(asked),
          window: { from: iso(from), to: iso(to), half_life_days: halfLife },
          step,
          variants: ids,
          left_out: totals.size - ids.length,
          by_segment: bySegment,
          points,
          hours: hoursOfWeek(delays, zone),
        }
      })

      return Series.of({ series })
    }),
  )
}

/** Engagements by hour of the week: each at the decision's hour and the middle of its delay. */
const hoursOfWeek = (
  hours: ReadonlyArray<{ readonly hour: number; readonly delays: { readonly [key: string]: number } }>,
  zone: string,
): TemplateSeries["hours"] => {
  const clocks = Clocks.of(zone)
  const counts = new Array<number>(168).fill(0)
  for (const { delays, hour } of hours) {
    for (const [key, count] of Object.entries(delays)) {
      const at = Number(key.slice(key.indexOf(":") + 1))
      const delay = (delayEdges[at]! + delayEdges[at + 1]!) / 2
      // A decision is as likely at any time of its hour: take the middle. 1970-01-01 was a Thursday.
      const local = clocks.localHour(hour + (delay + 0.5) * hourMillis) + 3 * 24
      counts[((local % 168) + 168) % 168]! += count
    }
  }
  return counts.flatMap((engagements, at) =>
    engagements === 0 ? [] : [{ day: Math.floor(at / 24) + 1, hour: at % 24, engagements }]
  )
}
