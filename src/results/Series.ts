import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { dayMillis, firstBucketFrom, hourMillis, keptMillis, windowBounds } from "../bandit/Window.ts"
import type { TemplateNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { Store } from "../store/Store.ts"
import { Learning } from "../learning/Learning.ts"
import { countsOverTime, delayRows } from "../learning/TallyReports.ts"
import type { TemplateOutline } from "../templates/TemplateContent.ts"
import { Templates } from "../templates/Templates.ts"
import { TemplateCache } from "../templates/TemplateCache.ts"
import type { ResultsOptions } from "./ResultsOptions.ts"
import { windowOf } from "./Results.ts"
import { ResultsWorker } from "./ResultsWorker.ts"
import { monday, type SeriesInput } from "./SeriesComposition.ts"
import type { TemplateSeries } from "./TemplateSeries.ts"

/** Maximum number of rows with contexts. With more, the database sums over contexts. */
const mostRows = 30_000

/** Maximum number of periods of a response. A period is an hour if they fit, otherwise a day, otherwise a week. */
const mostPoints = 100

/** All decisions count alike in a gain, however old they are. */
const allDays = { lookbackDays: keptMillis / dayMillis, offsetDays: 0 }

const steps = [["hour", hourMillis], ["day", dayMillis], ["week", 7 * dayMillis]] as const

/**
 * Results of a template's variants over time, from tallies: traffic, rates with credible intervals, the probably best
 * variant, the gain over a random split, and the hours of engagement. Reads one
 * template's rows by its key, never decisions or events. A broken store is a defect.
 */
export class Series extends Context.Service<Series, {
  /**
   * Returns at most 20 variants: first the `named` ones, then the variants with most decisions. Fails with
   * `TemplateNotFound` for an unknown template.
   */
  readonly series: (
    org: OrgSlug,
    template: string,
    options: ResultsOptions,
    named?: ReadonlyArray<string>,
  ) => Effect.Effect<TemplateSeries, TemplateNotFound>
}>()("parlance/results/Series") {
  static readonly layer = Layer.effect(
    Series,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* Store
      const templates = yield* Templates
      const templateCache = yield* TemplateCache
      const learning = yield* Learning
      const worker = yield* ResultsWorker

      /** Reads the counts as one text for the worker, so that many rows do not block this thread. */
      const read = Effect.fnUntraced(function* (org: OrgSlug, template: string, from: Date, to: Date, length: number) {
        const added = (byContext: boolean) =>
          countsOverTime(sql, org, template, { from, to, length, origin: monday, byContext, limit: mostRows })
        const apart = yield* added(true)
        return apart.count <= mostRows
          ? { rows: apart.rows, byContext: true }
          : { rows: (yield* added(false)).rows, byContext: false }
      }, Effect.orDie)

      const readDelays = (org: OrgSlug, template: string) => Effect.orDie(delayRows(sql, org, template))

      const series = Effect.fn("Series.series")(function* (
        org: OrgSlug,
        id: string,
        options: ResultsOptions,
        named: ReadonlyArray<string> = [],
      ) {
        const template = yield* templates.outline(org, id)
        yield* worker.start
        const window = windowOf(options)
        const model = yield* learning.model(org, template.id, window)
        const ofAllDays = window === undefined ? yield* learning.model(org, template.id, allDays) : model
        return yield* store.read(seriesOf(org, template, { model, ofAllDays }, options, named))
      })

      const seriesOf = Effect.fnUntraced(function* (
        org: OrgSlug,
        template: TemplateOutline,
        models: Pick<SeriesInput, "model" | "ofAllDays">,
        options: ResultsOptions,
        named: ReadonlyArray<string>,
      ) {
        const { model } = models
        const now = yield* Clock.currentTimeMillis
        const { from, to } = windowBounds(model.window, now)
        const oldest = Math.max(from, model.firstSendAt ?? now)
        const [step, length] = steps.find(([, length]) => (Math.min(now, to) - oldest) / length <= mostPoints) ??
          steps[2]
        const { byContext, rows } = yield* read(
          org,
          template.id,
          new Date(firstBucketFrom(from, now)),
          new Date(firstBucketFrom(to, now)),
          length,
        )
        return yield* worker.series({
          template: template.id,
          objective: template.objective,
          targeted: template.variants.flatMap(({ id, targeting }) => targeting.length > 0 ? [id] : []),
          named,
          ...models,
          segment: options.segment ?? new Map(),
          now,
          step,
          length,
          rows,
          byContext,
          delays: yield* readDelays(org, template.id),
          zone: templateCache.template(org, template.id)?.org.timeZone ?? "UTC",
        })
      })

      return Series.of({ series })
    }),
  )
}
