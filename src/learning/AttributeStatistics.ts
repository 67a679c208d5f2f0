import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { AttributeCounts, type AttributeDay } from "../bandit/AttributeCounts.ts"
import type { Attributes } from "../domain/Attributes.ts"
import { recordset } from "../store/Recordset.ts"

/**
 * Maximum number of requests of one template counted between two writes. Only the shares of traffic matter, not the
 * totals.
 */
const countedRequests = 2000

/** Number of rows of one template at which they are merged into one. */
const manyRows = 100

type CountsOfDay = Omit<AttributeDay, "start">

/**
 * Attributes of requests by template and day, from which learning attributes are chosen. Counted in memory and written
 * every few seconds, so that a crash loses only a small part of the counts.
 */
export class AttributeStatistics extends Context.Service<AttributeStatistics, {
  /** Counts one decision at `now` (Unix milliseconds). */
  readonly observe: (org: string, template: string, attrs: Attributes, now: number) => void
  /** Writes the counts. Fails with `SqlError` if the database does not respond. */
  readonly flush: Effect.Effect<void, SqlError>
  /**
   * Returns the written counts of the attributes of the last 14 days, from all nodes. Fails with `SqlError` if the
   * database does not respond.
   */
  readonly read: (org: string, template: string) => Effect.Effect<ReadonlyArray<AttributeDay>, SqlError>
}>()("parlance/learning/AttributeStatistics") {
  static readonly layer = Layer.effect(
    AttributeStatistics,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      let counting = new Map<string, Map<string, { readonly attributeCounts: AttributeCounts; requests: number }>>()

      const observe = (org: string, template: string, attrs: Attributes, now: number): void => {
        const templates = counting.getOrInsertComputed(org, () => new Map())
        const entry = templates.getOrInsertComputed(
          template,
          () => ({ attributeCounts: new AttributeCounts(), requests: 0 }),
        )
        if (entry.requests >= countedRequests) return
        entry.requests++
        entry.attributeCounts.add(attrs, now)
      }

      const insert = (days: ReadonlyArray<{ org: string; template: string; day: AttributeDay }>) => {
        const rows = days.map(({ day: { start, ...counts }, org, template }) => ({
          org_slug: org,
          template_id: template,
          day: start,
          counts: JSON.stringify(counts),
        }))
        return sql`
          INSERT INTO attribute_counts (org_slug, template_id, day, counts)
          SELECT r.org_slug, r.template_id, to_timestamp(r.day / 1000.0), r.counts::json
          FROM ${recordset(rows, { org_slug: "text", template_id: "text", day: "float8", counts: "text" })}`
      }

      const flush = Effect.suspend(() => {
        const counted = counting
        if (counted.size === 0) return Effect.void
        counting = new Map()
        const rows = [...counted].flatMap(([org, templates]) =>
          [...templates].flatMap(([template, { attributeCounts }]) =>
            attributeCounts.days().map((day) => ({ org, template, day }))
          )
        )
        return Effect.asVoid(insert(rows))
      })

      const read = Effect.fnUntraced(function* (org: string, template: string) {
        const now = clock.currentTimeMillisUnsafe()
        const rows = yield* sql<{ id: number; day: Date; counts: CountsOfDay }>`
          SELECT a.id::float8 AS id, a.day, a.counts FROM attribute_counts a
          WHERE a.org_slug = ${org} AND a.template_id = ${template}`
        const attributeCounts = new AttributeCounts()
        attributeCounts.merge(rows.map(({ counts, day }) => ({ start: day.getTime(), ...counts })))
        attributeCounts.prune(now)
        const days = attributeCounts.days()
        if (rows.length > manyRows) {
          yield* sql.withTransaction(Effect.gen(function* () {
            const gone = (yield* sql`
              DELETE FROM attribute_counts a USING ${recordset(rows, { id: "bigint" })}
              WHERE a.org_slug = ${org} AND a.template_id = ${template} AND a.id = r.id`.raw) as { rowCount: number }
            // If another node has merged the rows first, its row is kept.
            if (gone.rowCount < rows.length) return yield* Effect.fail("overtaken" as const)
            yield* insert(days.map((day) => ({ org, template, day })))
          })).pipe(Effect.ignore)
        }
        return days
      })

      return AttributeStatistics.of({ observe, flush, read })
    }),
  )
}
