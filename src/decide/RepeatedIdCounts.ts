import { Clock, Context, Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { hourMillis } from "../bandit/Window.ts"
import { recordset } from "../store/Recordset.ts"

/** Requests of the last 24 hours that repeated a tracking id for another person or message. */
export interface RepeatedIds {
  readonly templateId: string
  readonly requests: number
  /** Members that differed in the latest of them, such as `user_id, attrs.tier`. */
  readonly members: string
}

/** Requests of one template in one hour that are not stored yet. */
interface Counted {
  readonly org: string
  readonly template: string
  readonly hour: number
  requests: number
  members: string
}

/** Hours that count, the current one included. */
const countedHours = 24

/** Longest text of members that is stored. Unit: UTF-16 code units. */
const longestMembers = 200

const repeated = Metric.counter("parlance_repeated_tracking_ids_total", { incremental: true })
const process = Context.empty()

const columns = { org_slug: "text", template_id: "text", hour: "float8", requests: "bigint", members: "text" } as const

const startOfHour = (millis: number): number => Math.floor(millis / hourMillis) * hourMillis

/**
 * Counts requests that repeated a tracking id for another person or message, by template and hour. Counted in memory and
 * written every 10 seconds: a crash loses the counts since the last write.
 */
export class RepeatedIdCounts extends Context.Service<RepeatedIdCounts, {
  /** Counts a request in which `members` differed from the decision of its tracking id. */
  readonly count: (org: string, template: string, members: ReadonlyArray<string>) => void
  /** Writes the counts, and deletes counts that are older than 25 hours. Fails with `SqlError` when the database does not respond. */
  readonly flush: Effect.Effect<void, SqlError>
  /**
   * The templates of an organization with such requests in the last 24 hours, on all nodes, as far as written, most requests
   * first. Fails with `SqlError` when the database does not respond.
   */
  readonly recent: (org: string) => Effect.Effect<ReadonlyArray<RepeatedIds>, SqlError>
}>()("parlance/decide/RepeatedIdCounts") {
  static readonly layer = Layer.effect(
    RepeatedIdCounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      let counts = new Map<string, Counted>()
      yield* Metric.update(repeated, 0)

      const count = (org: string, template: string, members: ReadonlyArray<string>): void => {
        repeated.updateUnsafe(1, process)
        const hour = startOfHour(clock.currentTimeMillisUnsafe())
        const key = `${org}\0${template}\0${hour}`
        let counted = counts.get(key)
        if (counted === undefined) counts.set(key, counted = { org, template, hour, requests: 0, members: "" })
        counted.requests++
        counted.members = members.join(", ").slice(0, longestMembers)
      }

      const write = (some: ReadonlyArray<Counted>) => {
        const rows = some.map(({ hour, members, org, requests, template }) => ({
          org_slug: org,
          template_id: template,
          hour,
          requests,
          members: members.toWellFormed(),
        }))
        // In one order on all nodes, which write the same rows.
        return sql`
          INSERT INTO repeated_tracking_ids AS t (org_slug, template_id, hour, requests, members)
          SELECT r.org_slug, r.template_id, to_timestamp(r.hour / 1000), r.requests, r.members
          FROM ${recordset(rows, columns)} ORDER BY 1, 2, 3
          ON CONFLICT (org_slug, template_id, hour) DO UPDATE SET requests = t.requests + EXCLUDED.requests,
            members = EXCLUDED.members`
      }

      const restore = (some: ReadonlyArray<Counted>) =>
        Effect.sync(() => {
          for (const one of some) {
            const key = `${one.org}\0${one.template}\0${one.hour}`
            const later = counts.get(key)
            if (later === undefined) counts.set(key, one)
            else later.requests += one.requests
          }
        })

      const flush = Effect.suspend(() => {
        const some = [...counts.values()]
        counts = new Map()
        return some.length === 0 ? Effect.void : Effect.asVoid(write(some)).pipe(Effect.onError(() => restore(some)))
      }).pipe(
        Effect.andThen(sql`DELETE FROM repeated_tracking_ids t WHERE t.hour < now() - interval '25 hours'`),
        Effect.asVoid,
      )

      const recent = (org: string) =>
        Effect.suspend(() =>
          sql<RepeatedIds>`
            SELECT t.template_id, sum(t.requests)::float8 AS requests, (array_agg(t.members ORDER BY t.hour DESC))[1] AS members
            FROM repeated_tracking_ids t
            WHERE t.org_slug = ${org} AND t.hour > ${new Date(
            startOfHour(clock.currentTimeMillisUnsafe()) - countedHours * hourMillis,
          )}
            GROUP BY t.template_id ORDER BY 2 DESC, 1`
        )

      yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(flush, "2 seconds")))
      return RepeatedIdCounts.of({ count, flush, recent })
    }),
  )
}
