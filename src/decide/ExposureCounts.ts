import { Clock, Context, Effect, Exit, Layer, Request, RequestResolver } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { EarlierDecisions } from "../bandit/Policy.ts"
import { LruMap } from "../json/LruMap.ts"
import { readEarlier } from "../journal/decisions/EarlierDecisions.ts"
import { bounded } from "../store/bounded.ts"

/** Cache time of a user's counts. Unit: milliseconds. */
const freshMillis = 60_000

/** Maximum number of counts in memory. Each count is for one variant and user. */
const remembered = 500_000

/** Maximum number of users read by one statement. */
const page = 100

/** A user's earlier decisions, by template. */
type ByTemplate = ReadonlyMap<string, EarlierDecisions>

interface Read extends Request.Request<ByTemplate, SqlError> {
  readonly _tag: "Read"
  readonly org: string
  readonly user: string
}
const Read = Request.tagged<Read>("Read")

const nothing: EarlierDecisions = new Map()

/**
 * The number of earlier decisions about a user by variant, for templates whose model uses it. Read from the decisions
 * for many users at once, and cached for a minute. Decisions of that minute are missing.
 */
export class ExposureCounts extends Context.Service<ExposureCounts, {
  /**
   * Returns the user's earlier decisions of a template, by variant. Undefined if the store does not respond within a
   * second.
   */
  readonly of: (org: string, user: string, template: string) => Effect.Effect<EarlierDecisions | undefined>
}>()("parlance/decide/ExposureCounts") {
  static readonly layer = Layer.effect(
    ExposureCounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const memory = new LruMap<{ readonly templates: ByTemplate; readonly readAt: number }>(remembered)
      const keyOf = (org: string, user: string) => `${org}\0${user}`

      const resolver = RequestResolver.make<Read>((entries) =>
        Effect.map(
          readEarlier(sql, entries.map(({ request }) => request), clock.currentTimeMillisUnsafe()),
          (rows) => {
            const found = entries.map(() => new Map<string, Map<string, number>>())
            for (const { copyId, decisions, place, templateId } of rows) {
              const templates = found[place]!
              const counts = templates.get(templateId)
              if (counts === undefined) templates.set(templateId, new Map([[copyId, decisions]]))
              else counts.set(copyId, decisions)
            }
            entries.forEach((entry, place) => entry.completeUnsafe(Exit.succeed(found[place]!)))
          },
        )
      ).pipe(RequestResolver.batchN(page))

      const read = (org: string, user: string) =>
        Effect.map(Effect.request(Read({ org, user }), resolver), (templates) => {
          const counts = [...templates.values()].reduce((sum, { size }) => sum + size, 1)
          memory.set(keyOf(org, user), { templates, readAt: clock.currentTimeMillisUnsafe() }, counts)
          return templates
        })

      return ExposureCounts.of({
        of: (org, user, template) =>
          Effect.suspend(() => {
            const known = memory.get(keyOf(org, user))
            const templates = known !== undefined && clock.currentTimeMillisUnsafe() - known.readAt < freshMillis
              ? Effect.succeed(known.templates)
              : bounded("1 second")(read(org, user))
            return Effect.map(templates, (templates): EarlierDecisions => templates.get(template) ?? nothing)
          }).pipe(Effect.catchCause(() => Effect.succeed(undefined))),
      })
    }),
  )
}
