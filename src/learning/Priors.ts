import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { PriorContribution } from "../bandit/Priors.ts"
import type { HourDelays } from "./Engine.ts"
import * as Tallies from "./Tallies.ts"

/** Priors that the templates of an organization share. */
export interface Taught {
  /** Contributions by template id. */
  readonly contributions: ReadonlyMap<string, PriorContribution>
  /** Sum of the delays of all templates. */
  readonly delays: ReadonlyArray<HourDelays>
}

/** Cache time of priors: 50 times the duration of reading them, at most one minute. */
const timesCost = 50
const longestMillis = 60_000

interface Entry {
  readonly one: Semaphore.Semaphore
  taught?: Taught
  readAt: number
  usedUntil: number
}

/**
 * Statistics of an organization's templates, read once for all actors of this node. If each actor read them, the cost
 * would grow with the square of the number of templates.
 */
export class Priors extends Context.Service<Priors, {
  /**
   * Returns the statistics as of `notBefore` (Unix milliseconds) or later. Fails with `SqlError` if the database does
   * not respond.
   */
  readonly read: (org: string, notBefore: number) => Effect.Effect<Taught, SqlError>
}>()("parlance/learning/Priors") {
  static readonly layer = Layer.effect(
    Priors,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const entries = new Map<string, Entry>()

      const fetch = Effect.fnUntraced(function* (org: string) {
        const rows = yield* sql<{ templateId: string; contribution: PriorContribution }>`
          SELECT s.template_id, s.contribution FROM bandit_states s
          WHERE s.org_slug = ${org} AND s.contribution IS NOT NULL`
        return {
          contributions: new Map(rows.map(({ contribution, templateId }) => [templateId, contribution])),
          delays: yield* Tallies.readAllDelays(sql, org),
        } satisfies Taught
      })

      const read = Effect.fnUntraced(function* (org: string, notBefore: number) {
        const known: Entry = entries.getOrInsertComputed(
          org,
          () => ({ one: Semaphore.makeUnsafe(1), readAt: 0, usedUntil: 0 }),
        )
        return yield* known.one.withPermits(1)(Effect.gen(function* () {
          const start = clock.currentTimeMillisUnsafe()
          if (known.taught !== undefined && known.readAt >= notBefore && start < known.usedUntil) return known.taught
          const taught = yield* fetch(org)
          const end = clock.currentTimeMillisUnsafe()
          known.taught = taught
          known.readAt = start
          known.usedUntil = end + Math.min(longestMillis, timesCost * (end - start))
          return taught
        }))
      })

      return Priors.of({ read })
    }),
  )
}

/** Subtracts the delays of one template from the delays of all templates. */
export const without = (all: ReadonlyArray<HourDelays>, own: ReadonlyArray<HourDelays>): ReadonlyArray<HourDelays> => {
  const mine = new Map(own.map(({ delays, hour }) => [hour, delays]))
  return all.flatMap(({ delays, hour }) => {
    const ours = mine.get(hour)
    if (ours === undefined) return [{ hour, delays }]
    const left: Record<string, number> = {}
    for (const [key, count] of Object.entries(delays)) {
      // The two were read at different times. Counts added in between belong to this template.
      const others = (count ?? 0) - (ours[key] ?? 0)
      if (others > 0) left[key] = others
    }
    return Object.keys(left).length === 0 ? [] : [{ hour, delays: left }]
  })
}
