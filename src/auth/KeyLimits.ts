import { Clock, Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { randomUUID } from "node:crypto"
import { type RateLimit, windowMillis } from "../text/RateLimit.ts"
import { defaultKeyLimit, Settings } from "../settings/Settings.ts"
import { recordset } from "../store/Recordset.ts"
import { RateWindow } from "./RateWindow.ts"

/** Interval at which nodes exchange their counts. Unit: milliseconds. */
const exchangeMillis = 1000

/** Last known counts of the other nodes, for one key. */
interface Others {
  /** Requests per second that they receive. */
  readonly received: number
  /** Number of their granted requests that will still count at the next exchange. */
  readonly used: number
}

/** A limit in use on this node. */
interface Counted {
  readonly window: RateWindow
  /** Requests received on this node, smoothed. Unit: per second. */
  received: number
}

/**
 * Returns the number of requests that this node may grant in a window. The nodes share the remaining limit in
 * proportion to the requests that they receive, and spare capacity evenly, so that all nodes together reach the limit.
 */
export const allowedOf = (
  { limit, windowSeconds }: { readonly limit: number; readonly windowSeconds: number },
  own: Others,
  others: Others,
  nodes: number,
): number => {
  const wanted = own.received + others.received
  const spare = Math.max(0, limit / windowSeconds - wanted)
  const part = (own.received + spare / nodes) / (wanted + spare)
  const left = Math.max(0, limit - own.used - others.used)
  return Math.max(1, Math.floor(own.used + left * part))
}

/**
 * Counts requests against the limits of keys, in memory. The nodes on one PostgreSQL share a limit without a query per
 * request: once a second each node sends the others its numbers of received and granted requests, and computes its part
 * of the rest (docs/decisions/0015 states the tolerance). Without a limited key, nothing is exchanged.
 */
export class KeyLimits extends Context.Service<KeyLimits, {
  /** Returns the window in which the requests of a key are counted. Undefined for a key without a limit. */
  readonly windowOf: (keyId: string, own: RateLimit | undefined) => RateWindow | undefined
  /** Exchanges counts with the other nodes. Fails with `SqlError` if the database does not respond. */
  readonly exchange: Effect.Effect<void, SqlError>
}>()("parlance/auth/KeyLimits") {
  static readonly layer = Layer.effect(
    KeyLimits,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const { keyRateLimit } = yield* Settings
      const node = randomUUID()
      const counted = new Map<string, Counted>()
      let nodes = 1

      const windowOf = (keyId: string, own: RateLimit | undefined): RateWindow | undefined => {
        const rate = own ?? Option.getOrUndefined(keyRateLimit)
        const known = counted.get(keyId)
        if (rate === undefined) {
          counted.delete(keyId)
          return undefined
        }
        const isAnnounced = rate !== defaultKeyLimit
        if (known?.window.limit === rate.requests && known.window.windowMillis === windowMillis[rate.per]) {
          known.window.isAnnounced = isAnnounced
          return known.window
        }
        const window = new RateWindow(rate.requests, windowMillis[rate.per], () => clock.currentTimeMillisUnsafe())
        window.allowed = Math.max(1, Math.floor(rate.requests / nodes))
        window.isShared = nodes > 1
        window.isAnnounced = isAnnounced
        counted.set(keyId, { window, received: 0 })
        return window
      }

      const exchange = Effect.suspend(() => {
        if (counted.size === 0) return Effect.void
        const reports = [{ key_id: "", received: 0, used: 0 }]
        for (const [keyId, one] of counted) {
          const { window } = one
          one.received = (one.received + window.received * 1000 / exchangeMillis) / 2
          window.received = 0
          if (one.received < 0.01) one.received = 0
          const used = window.used(window.windowMillis - exchangeMillis)
          if (one.received > 0 || used > 0) reports.push({ key_id: keyId, received: one.received, used })
        }
        return Effect.map(
          sql<{ keyId: string; received: number; used: number; nodes: number }>`
            WITH given AS MATERIALIZED (
              SELECT r.* FROM ${recordset(reports, { key_id: "text", received: "float8", used: "float8" })}
            ), reported AS (
              INSERT INTO key_uses AS u (key_id, node_id, asked_per_second, used, reported_at)
              SELECT g.key_id, ${node}, g.received, g.used, now() FROM given g
              ON CONFLICT (key_id, node_id) DO UPDATE SET asked_per_second = EXCLUDED.asked_per_second,
                used = EXCLUDED.used, reported_at = EXCLUDED.reported_at
            )
            SELECT u.key_id, sum(u.asked_per_second) AS received, sum(u.used) AS used, count(*)::int AS nodes FROM key_uses u
            WHERE u.node_id <> ${node} AND u.reported_at > now() - interval '3 seconds'
              AND (u.used > 0 OR u.key_id IN (SELECT g.key_id FROM given g))
            GROUP BY u.key_id`,
          (rows) => {
            const heard = new Map(rows.map((row) => [row.keyId, row]))
            nodes = 1 + (heard.get("")?.nodes ?? 0)
            const own = new Map(reports.map((report) => [report.key_id, report]))
            for (const [keyId, { window }] of counted) {
              window.isShared = nodes > 1
              window.allowed = nodes === 1 ? window.limit : allowedOf(
                { limit: window.limit, windowSeconds: window.windowMillis / 1000 },
                own.get(keyId) ?? { received: 0, used: 0 },
                heard.get(keyId) ?? { received: 0, used: 0 },
                nodes,
              )
            }
          },
        )
      })

      const [row] = yield* sql<{ nodes: number }>`
        SELECT count(*)::int AS nodes FROM key_uses u
        WHERE u.key_id = '' AND u.reported_at > now() - interval '3 seconds'`
      nodes = 1 + row!.nodes
      yield* exchange.pipe(
        // The last division applies while the store is unavailable.
        Effect.catch((error) => Effect.logDebug("Uses of keys were not exchanged", error.message)),
        Effect.delay(exchangeMillis),
        Effect.forever,
        Effect.forkScoped,
      )
      const forget = Effect.suspend(() =>
        counted.size === 0
          ? Effect.void
          : Effect.ignore(sql`DELETE FROM key_uses u WHERE u.reported_at < now() - interval '1 minute'`)
      )
      yield* forget.pipe(Effect.delay("1 minute"), Effect.forever, Effect.forkScoped)
      yield* Effect.addFinalizer(() =>
        counted.size === 0 ? Effect.void : sql`DELETE FROM key_uses u WHERE u.node_id = ${node}`.pipe(
          Effect.timeoutOption("1 second"),
          Effect.ignore,
        )
      )

      return KeyLimits.of({ windowOf, exchange })
    }),
  )
}
