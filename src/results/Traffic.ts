import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { dayMillis } from "../bandit/Window.ts"
import type { OrgSlug } from "../domain/Ids.ts"

/** Days that are looked back on, today included; the tallies keep the last 35 apart. */
export const trafficDays = 14

/** How long numbers are kept, in milliseconds: a list of templates that many people look at costs one query. */
const keptMillis = 15_000
const keptTemplates = 5_000

/** How much was decided lately, by day and by variant. From tallies, so some seconds behind; forced decisions count. */
export class Traffic extends Context.Service<Traffic, {
  /** Decisions of each template on each of the last `trafficDays` days (UTC), oldest first. */
  readonly daily: (
    org: OrgSlug,
    templates: ReadonlyArray<string>,
  ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<number>>>
  /** Decisions of each variant of a template on the last `trafficDays` days together. */
  readonly byVariant: (org: OrgSlug, template: string) => Effect.Effect<ReadonlyMap<string, number>>
}>()("parlance/results/Traffic") {
  static readonly layer = Layer.effect(
    Traffic,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const kept = new Map<string, { readonly at: number; readonly days: ReadonlyArray<number> }>()

      const firstDay = (now: number) => Math.floor(now / dayMillis) - trafficDays + 1

      const daily = Effect.fn("Traffic.daily")(function* (org: OrgSlug, templates: ReadonlyArray<string>) {
        const now = yield* Clock.currentTimeMillis
        const first = firstDay(now)
        const answer = new Map<string, ReadonlyArray<number>>()
        const asked: Array<string> = []
        for (const id of templates) {
          const known = kept.get(`${org}/${id}`)
          if (known !== undefined && now - known.at < keptMillis) answer.set(id, known.days)
          else asked.push(id)
        }
        if (asked.length === 0) return answer
        const rows = yield* Effect.orDie(
          sql<{ readonly id: string; readonly day: number; readonly decisions: number }>`
            SELECT r.id, d.day, d.decisions
            FROM json_to_recordset(${JSON.stringify(asked.map((id) => ({ id })))}::text::json) AS r(id text)
            CROSS JOIN LATERAL (
              SELECT floor(extract(epoch FROM t.bucket_start) / 86400)::int AS day,
                sum(t.decisions)::float8 AS decisions
              FROM tallies t
              WHERE t.org_slug = ${org} AND t.template_id = r.id AND t.bucket_start >= ${new Date(first * dayMillis)}
              GROUP BY 1
            ) d`,
        )
        const byTemplate = Map.groupBy(rows, ({ id }) => id)
        for (const id of asked) {
          const days = new Array<number>(trafficDays).fill(0)
          for (const { day, decisions } of byTemplate.get(id) ?? []) {
            if (day - first < trafficDays) days[day - first]! += decisions
          }
          answer.set(id, days)
          kept.delete(`${org}/${id}`)
          kept.set(`${org}/${id}`, { at: now, days })
        }
        // Those read longest ago come first in a map.
        for (const key of kept.keys()) {
          if (kept.size <= keptTemplates) break
          kept.delete(key)
        }
        return answer
      })

      const byVariant = Effect.fn("Traffic.byVariant")(function* (org: OrgSlug, template: string) {
        const now = yield* Clock.currentTimeMillis
        const rows = yield* Effect.orDie(sql<{ readonly copyId: string; readonly decisions: number }>`
          SELECT t.copy_id, sum(t.decisions)::float8 AS decisions FROM tallies t
          WHERE t.org_slug = ${org} AND t.template_id = ${template}
            AND t.bucket_start >= ${new Date(firstDay(now) * dayMillis)}
          GROUP BY t.copy_id`)
        return new Map(rows.map(({ copyId, decisions }) => [copyId, decisions]))
      })

      return Traffic.of({ daily, byVariant })
    }),
  )
}
