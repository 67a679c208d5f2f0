import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { dayMillis } from "../bandit/Window.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { dailyDays } from "../learning/Tallies.ts"
import { dailyDecisions, variantDecisions } from "../learning/TallyReports.ts"

/** Number of days of traffic, including today. */
export const trafficDays = dailyDays

/**
 * Recent numbers of decisions, by day and by variant sent. Some seconds old, like tallies. Includes forced decisions
 * and fallbacks.
 */
export class Traffic extends Context.Service<Traffic, {
  /** Returns the decisions of each template on each of the last `trafficDays` days (UTC), oldest first. */
  readonly daily: (
    org: OrgSlug,
    templates: ReadonlyArray<string>,
  ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<number>>>
  /** Returns the decisions of each variant of a template, summed over the last `trafficDays` days. */
  readonly byVariant: (org: OrgSlug, template: string) => Effect.Effect<ReadonlyMap<string, number>>
}>()("parlance/results/Traffic") {
  static readonly layer = Layer.effect(
    Traffic,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const firstDay = (now: number) => (Math.floor(now / dayMillis) - trafficDays + 1) * dayMillis

      const daily = Effect.fn("Traffic.daily")(function* (org: OrgSlug, templates: ReadonlyArray<string>) {
        const first = firstDay(yield* Clock.currentTimeMillis)
        const rows = yield* Effect.orDie(dailyDecisions(sql, org, templates, new Date(first)))
        const byTemplate = new Map(templates.map((id) => [id, new Array<number>(trafficDays).fill(0)]))
        for (const { day, decisions, id } of rows) {
          const at = (day.getTime() - first) / dayMillis
          // A decision that a fast clock dates to tomorrow is shown tomorrow.
          if (at < trafficDays) byTemplate.get(id)![at] = decisions
        }
        return byTemplate
      })

      const byVariant = Effect.fn("Traffic.byVariant")(function* (org: OrgSlug, template: string) {
        const first = firstDay(yield* Clock.currentTimeMillis)
        const rows = yield* Effect.orDie(variantDecisions(sql, org, template, new Date(first)))
        return new Map(rows.map(({ copyId, decisions }) => [copyId, decisions]))
      })

      return Traffic.of({ daily, byVariant })
    }),
  )
}
