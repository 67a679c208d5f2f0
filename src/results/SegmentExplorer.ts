import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { builtIns, contextsOf } from "../bandit/Contexts.ts"
import { dayMillis, firstBucketFrom } from "../bandit/Window.ts"
import type { TemplateNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import * as Json from "../json/Json.ts"
import { Store } from "../store/Store.ts"
import { Learning } from "../learning/Learning.ts"
import { countsOverTime, seriesMeasures } from "../learning/TallyReports.ts"
import { Templates } from "../templates/Templates.ts"
import {
  comparedOutcome,
  type ComparedSegment,
  compareSegments,
  type DayCount,
  type SegmentQuestion,
} from "./SegmentComparison.ts"
import { monday } from "./SeriesComposition.ts"

/** Maximum number of compared days, so that the counts of busy templates are read quickly. */
const mostDays = 60

/** Age from which decisions count, because later outcomes are few. Unit: days. */
const settledDays = 4

/** Maximum number of rows: one for each of the two variants, a context and a day. */
const mostRows = 30_000

/** A comparison of decisions from `from` to `to` (Unix milliseconds). */
export interface Explored {
  readonly from: number
  readonly to: number
  /** Null if the template has too many contexts to compare. */
  readonly segments: ReadonlyArray<ComparedSegment> | null
}

type Row = readonly [first: number, moment: number, copyId: string, context: string, ...counts: ReadonlyArray<number>]

const countAt = (row: Row, measure: typeof seriesMeasures[number]): number =>
  row[4 + seriesMeasures.indexOf(measure)] as number

/** Compares two variants in the segments of two attributes. A broken store is a defect. */
export class SegmentExplorer extends Context.Service<SegmentExplorer, {
  /** Returns the learning attributes of a template. Fails with `TemplateNotFound` for an unknown template. */
  readonly attributes: (org: OrgSlug, template: string) => Effect.Effect<ReadonlyArray<string>, TemplateNotFound>
  /**
   * Compares the variants. Fails with `TemplateNotFound` for an unknown template. An unknown variant or attribute has
   * no segments.
   */
  readonly explore: (
    org: OrgSlug,
    template: string,
    question: SegmentQuestion,
  ) => Effect.Effect<Explored, TemplateNotFound>
}>()("parlance/results/SegmentExplorer") {
  static readonly layer = Layer.effect(
    SegmentExplorer,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* Store
      const learning = yield* Learning
      const templates = yield* Templates

      const attributes = Effect.fn("SegmentExplorer.attributes")(function* (org: OrgSlug, id: string) {
        const template = yield* templates.outline(org, id)
        const { scheme } = yield* learning.model(org, template.id, undefined)
        return [...scheme.keys.map(({ name }) => name), ...(scheme.builtIns ?? builtIns.map(({ name }) => name))]
      })

      const explore = Effect.fn("SegmentExplorer.explore")(
        function* (org: OrgSlug, id: string, question: SegmentQuestion) {
          const template = yield* templates.outline(org, id)
          const { scheme, variants } = yield* learning.model(org, template.id, undefined)
          const now = yield* Clock.currentTimeMillis
          const from = firstBucketFrom(now - (mostDays + settledDays) * dayMillis, now)
          const to = firstBucketFrom(now - settledDays * dayMillis, now)
          const { count, rows } = yield* store.read(Effect.orDie(countsOverTime(sql, org, template.id, {
            from: new Date(from),
            to: new Date(to),
            length: dayMillis,
            origin: monday,
            byContext: true,
            copyIds: [question.variant, question.against],
            limit: mostRows,
          })))
          if (count > mostRows) return { from, to, segments: null }
          const outcome = comparedOutcome(template.objective)
          const counts = (Json.parseStored(rows) as ReadonlyArray<Row>).map((row): DayCount => ({
            day: Math.floor((row[0] - monday) / dayMillis),
            copyId: row[2],
            context: row[3],
            trials: countAt(row, "decisions") - countAt(row, "voided"),
            outcomes: countAt(row, outcome),
          }))
          const shareOf = (copyId: string) => variants.find(({ id }) => id === copyId)?.independence ?? 1
          const shares = { variant: shareOf(question.variant), against: shareOf(question.against) }
          return { from, to, segments: compareSegments(contextsOf(scheme), question, counts, shares) }
        },
      )

      return SegmentExplorer.of({ attributes, explore })
    }),
  )
}
