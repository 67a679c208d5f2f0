import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { hourMillis } from "../bandit/Window.ts"
import { isSandbox } from "../domain/Sandbox.ts"
import { recordset } from "../store/Recordset.ts"
import { showRepeated } from "./RepeatedCount.ts"

/**
 * Reasons for a notice about requests. `repeated`: a tracking id used again for another person or message. `unfilled`:
 * an unfilled placeholder.
 */
export type NoticeKind = "repeated" | "unfilled"

/** The requests for a template in the last 24 hours that share one reason for a notice. */
export interface RequestNotice {
  readonly templateId: string
  readonly kind: NoticeKind
  readonly requests: number
  /** Members of the latest request that are the reason, such as `user_id, attrs.tier`. */
  readonly members: string
}

/** Returns the notice of a kind and template. Undefined without such requests. */
export const noticed = (
  notices: ReadonlyArray<RequestNotice>,
  kind: NoticeKind,
  templateId: string,
): RequestNotice | undefined => notices.find((one) => one.kind === kind && one.templateId === templateId)

/** Requests of one kind for one template in one hour that are not stored yet. */
interface Counted {
  readonly org: string
  readonly template: string
  readonly kind: NoticeKind
  readonly hour: number
  requests: number
  members: string
}

/** Number of hours that count, including the current one. */
const countedHours = 24

/** Maximum length of the stored text of members. Unit: UTF-16 code units. */
const longestMembers = 200

const columns = {
  org_slug: "text",
  template_id: "text",
  kind: "text",
  hour: "float8",
  requests: "bigint",
  members: "text",
} as const

const startOfHour = (millis: number): number => Math.floor(millis / hourMillis) * hourMillis

const keyOf = ({ hour, kind, org, template }: Pick<Counted, "hour" | "kind" | "org" | "template">): string =>
  `${org}\0${template}\0${kind}\0${hour}`

/**
 * Counts requests that the owners of a template should know of, by kind and hour. Counted in memory and written every
 * 10 seconds: a crash loses the counts since the last write.
 */
export class RequestNotices extends Context.Service<RequestNotices, {
  /** Counts a request, except in a sandbox. `members`: the members that are the reason. */
  readonly count: (kind: NoticeKind, org: string, template: string, members: ReadonlyArray<string>) => void
  /**
   * Writes the counts, and deletes counts older than 25 hours. Fails with `SqlError` if the database does not respond.
   */
  readonly flush: Effect.Effect<void, SqlError>
  /**
   * Returns the notices of an organization in the last 24 hours, by template and kind, most requests first, from the
   * written counts of all nodes. Fails with `SqlError` if the database does not respond.
   */
  readonly recent: (org: string) => Effect.Effect<ReadonlyArray<RequestNotice>, SqlError>
}>()("parlance/decide/RequestNotices") {
  static readonly layer = Layer.effect(
    RequestNotices,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      yield* showRepeated
      let counts = new Map<string, Counted>()

      const count = (kind: NoticeKind, org: string, template: string, members: ReadonlyArray<string>): void => {
        if (isSandbox(org)) return
        const hour = startOfHour(clock.currentTimeMillisUnsafe())
        const key = keyOf({ org, template, kind, hour })
        let counted = counts.get(key)
        if (counted === undefined) counts.set(key, counted = { org, template, kind, hour, requests: 0, members: "" })
        counted.requests++
        counted.members = members.join(", ").slice(0, longestMembers)
      }

      const write = (some: ReadonlyArray<Counted>) => {
        const rows = some.map(({ hour, kind, members, org, requests, template }) => ({
          org_slug: org,
          template_id: template,
          kind,
          hour,
          requests,
          members: members.toWellFormed(),
        }))
        // Sorted in one order on all nodes, because they write to shared rows and could deadlock.
        return sql`
          INSERT INTO request_notices AS t (org_slug, template_id, kind, hour, requests, members)
          SELECT r.org_slug, r.template_id, r.kind, to_timestamp(r.hour / 1000), r.requests, r.members
          FROM ${recordset(rows, columns)} ORDER BY 1, 2, 3, 4
          ON CONFLICT (org_slug, template_id, kind, hour) DO UPDATE SET requests = t.requests + EXCLUDED.requests,
            members = EXCLUDED.members`
      }

      const restore = (some: ReadonlyArray<Counted>) =>
        Effect.sync(() => {
          for (const one of some) {
            const key = keyOf(one)
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
        Effect.andThen(sql`DELETE FROM request_notices t WHERE t.hour < now() - interval '25 hours'`),
        Effect.asVoid,
      )

      const recent = (org: string) =>
        Effect.suspend(() =>
          sql<RequestNotice>`
            SELECT t.template_id, t.kind, sum(t.requests)::float8 AS requests, (array_agg(t.members ORDER BY t.hour DESC))[1]
              AS members
            FROM request_notices t
            WHERE t.org_slug = ${org} AND t.hour > ${new Date(
            startOfHour(clock.currentTimeMillisUnsafe()) - countedHours * hourMillis,
          )}
            GROUP BY t.template_id, t.kind ORDER BY 3 DESC, 1, 2`
        )

      yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(flush, "2 seconds")))
      return RequestNotices.of({ count, flush, recent })
    }),
  )
}
