import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { makeBodySearch } from "../erasure/BodySearch.ts"
import { isInParts, whole } from "../erasure/searchParts.ts"
import { changed, pages, type Work } from "../erasure/Work.ts"

/** Number of rows of counted attribute values read by one statement. Each row has up to 1.5 megabytes. */
const countsAtOnce = 5

/**
 * Deletes counts of attribute values that contain one of the names, because templates choose learning attributes from
 * them.
 */
export const eraseAttributeCounts = (work: Work): Effect.Effect<void, SqlError> =>
  Effect.andThen(eraseCensus(work), eraseOutcomes(work))

const eraseCensus = (work: Work): Effect.Effect<void, SqlError> => {
  const { org, sql } = work
  const search = makeBodySearch(work.names)
  return pages<{ readonly templateId: string; readonly id: number; readonly counts: string }>(
    (after) =>
      sql`
        SELECT a.template_id, a.id::float8 AS id, a.counts::text AS counts FROM attribute_counts a
        WHERE a.org_slug = ${org} AND (a.template_id, a.id) > (${after?.templateId ?? ""}, ${after?.id ?? 0})
        ORDER BY a.org_slug, a.template_id, a.id LIMIT ${countsAtOnce}`,
    (rows) =>
      Effect.gen(function* () {
        for (const { counts, id, templateId } of rows) {
          if (!(yield* isInParts(search, new TextEncoder().encode(counts), whole))) continue
          work.count(
            "attribute_counts",
            yield* work.step(changed(sql`
              DELETE FROM attribute_counts a
              WHERE a.org_slug = ${org} AND a.template_id = ${templateId} AND a.id = ${id}`)),
          )
        }
      }),
  )
}

/** Deletes counts of outcomes by attribute. */
const eraseOutcomes = (work: Work): Effect.Effect<void, SqlError> => {
  const { org, sql } = work
  const search = makeBodySearch(work.names)
  return pages<{ readonly templateId: string; readonly period: string; readonly name: string; readonly text: string }>(
    (after) =>
      sql`
        SELECT a.template_id, a.period::text AS period, a.name, concat(a.name, ' ', a.counts) AS text FROM attribute_outcomes a
        WHERE a.org_slug = ${org}
          AND (a.template_id, a.period, a.name) > (${after?.templateId ?? ""}, ${
        after?.period ?? "epoch"
      }::timestamptz, ${after?.name ?? ""})
        ORDER BY a.org_slug, a.template_id, a.period, a.name LIMIT ${countsAtOnce}`,
    (rows) =>
      Effect.gen(function* () {
        for (const { name, period, templateId, text } of rows) {
          if (!(yield* isInParts(search, new TextEncoder().encode(text), whole))) continue
          work.count(
            "attribute_counts",
            yield* work.step(changed(sql`
              DELETE FROM attribute_outcomes a
              WHERE a.org_slug = ${org} AND a.template_id = ${templateId} AND a.period = ${period}::timestamptz
                AND a.name = ${name}`)),
          )
        }
      }),
  )
}
