import { Context, Effect, Layer, Schedule, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug } from "../domain/Ids.ts"

/** Reloads the cached data of an organization. */
type Reload = (org: OrgSlug) => Effect.Effect<void, SqlError>

/**
 * Notifies the caches of this process of changes in the database by any node. Every writer raises its organization's
 * revision in its own transaction (`bump`). Every node polls the revisions once a second, so that a change or a revoked
 * key takes effect everywhere within 5 seconds, and at once on its own node (`refresh`).
 */
export class Changes extends Context.Service<Changes, {
  /**
   * Raises the revision of `org`. Call it inside the transaction of the change. Fails with `SqlError` if the database
   * does not respond.
   */
  readonly bump: (org: OrgSlug) => Effect.Effect<void, SqlError>
  /**
   * Updates the caches of this process now. Call it after the transaction. If the database is down, the poll does it
   * later.
   */
  readonly refresh: Effect.Effect<void>
  /** Registers a cache and loads it for every organization. Fails with `SqlError` if the database does not respond. */
  readonly subscribe: (reload: Reload) => Effect.Effect<void, SqlError>
}>()("parlance/organizations/Changes") {
  static readonly layer = Layer.effect(
    Changes,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const seen = new Map<OrgSlug, number>()
      const views: Array<Reload> = []
      const one = yield* Semaphore.make(1)

      const read = sql<{ slug: OrgSlug; revision: number }>`
        SELECT o.slug, o.revision::float8 AS revision FROM organizations o`

      const poll = one.withPermits(1)(Effect.gen(function* () {
        for (const { slug, revision } of yield* read) {
          if (seen.get(slug) === revision) continue
          for (const reload of views) yield* reload(slug)
          seen.set(slug, revision)
        }
      }))

      const subscribe = Effect.fn("Changes.subscribe")((reload: Reload) =>
        one.withPermits(1)(Effect.gen(function* () {
          for (const { slug } of yield* read) yield* reload(slug)
          views.push(reload)
        }))
      )

      const refresh = poll.pipe(
        Effect.catch((error) =>
          Effect.logWarning("Cached views could not be refreshed. The next poll retries", error.message)
        ),
        Effect.withSpan("Changes.refresh"),
      )

      // Failures are frequent while a database restarts, and each is followed by another attempt.
      yield* poll.pipe(
        Effect.catchCause((cause) => Effect.logDebug("Poll for changes failed", cause)),
        Effect.repeat(Schedule.spaced("1 second")),
        Effect.forkScoped,
      )

      return Changes.of({
        bump: (org) => Effect.asVoid(sql`UPDATE organizations o SET revision = o.revision + 1 WHERE o.slug = ${org}`),
        refresh,
        subscribe,
      })
    }),
  )
}
