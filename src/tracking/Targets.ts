import { type Cause, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { dayMillis } from "../bandit/Window.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { Settings } from "../settings/Settings.ts"
import { LruMap } from "../json/LruMap.ts"
import { recordset } from "../store/Recordset.ts"
import { bounded } from "../store/bounded.ts"
import { ReadOwnTargets } from "./ReadOwnTargets.ts"
import { idPlace, type Tracked } from "./Rewriting.ts"
import type { Token } from "./Token.ts"

/** The target of a click. */
export interface Target {
  /** An absolute URL in ASCII. */
  readonly url: string
  /** Identifies the link in the click event: its target, or its number if the target may contain personal data. */
  readonly name: string
}

/** Memory for targets that messages share, and for targets of single messages. Unit: characters, for each. */
const memory = 16_000_000

/** Fixed overhead of a cache entry. Unit: characters. */
const overhead = 100

/** Maximum number of shared targets that are read at the start of the service: the most recently used. */
const readAtStart = 20_000

/** A shared target in memory. Its URL contains the placeholder of the tracking id. */
interface Shared extends Target {
  /** The last day of use according to the database, in days since 1970. */
  readonly usedOn: number
}

const sharedKey = (org: string, key: string) => `${org}/${key}`

/**
 * Matches the tracking parameter that Deliver appends to links. It is not needed in events, which identify their
 * message anyway.
 */
const parameter = new RegExp(`[?&]tracking_id=${idPlace}(?=&|#|$)`)

/** Link targets stored together with a message. */
interface OwnTargets extends Pick<Tracked, "own" | "shared"> {
  readonly org: OrgSlug
  readonly id: string
}

/**
 * Returns the targets of tracked links from memory. A node keeps the targets of messages that it queued, and reads
 * shared targets when it starts. An unknown target, such as the target of a message that another node queued, is read
 * from the database once.
 */
export class Targets extends Context.Service<Targets, {
  /** Returns the target of a click token from memory; undefined if it is not in memory. */
  readonly known: (token: Token) => Target | undefined
  /**
   * Returns the target of a click token; undefined if the message or its link was deleted. Reads the database only if
   * the target is not in memory. Fails with `SqlError` if the database does not respond, and with `TimeoutError` if it
   * is too slow.
   */
  readonly find: (token: Token) => Effect.Effect<Target | undefined, SqlError | Cause.TimeoutError>
  /**
   * Stores shared targets that are not known to be stored as used today. Call this in the transaction of the messages.
   * Fails with `SqlError` if the database does not respond.
   */
  readonly save: (messages: ReadonlyArray<OwnTargets>) => Effect.Effect<void, SqlError>
  /** Keeps the targets of messages in memory. Call this after the commit. */
  readonly remember: (messages: ReadonlyArray<OwnTargets>) => Effect.Effect<void>
}>()("parlance/tracking/Targets") {
  static readonly layer = Layer.effect(
    Targets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const readOwnTargets = yield* ReadOwnTargets
      const { storeTimeout } = yield* Settings
      const shared = new LruMap<Shared>(memory)
      const own = new LruMap<ReadonlyArray<string>>(memory)

      const keep = (org: string, key: string, target: string, usedOn: number) => {
        const place = sharedKey(org, key)
        const name = target.replace(parameter, "").replaceAll(idPlace, "")
        const kept: Shared = { url: target, name, usedOn }
        shared.set(place, kept, place.length + target.length + name.length + overhead)
        return kept
      }

      const keepOwn = (org: string, id: string, targets: ReadonlyArray<string>) =>
        own.set(sharedKey(org, id), targets, targets.reduce((sum, { length }) => sum + length + overhead, overhead))

      const sharedTarget = ({ name, url }: Shared, id: string): Target =>
        url.includes(idPlace) ? { url: url.replaceAll(idPlace, id), name } : { url, name }

      const ownTarget = (targets: ReadonlyArray<string>, number: number, id: string): Target | undefined => {
        const url = targets[number]
        return url === undefined ? undefined : { url: url.replaceAll(idPlace, id), name: `link ${number + 1}` }
      }

      const known = ({ id, link, org }: Token): Target | undefined => {
        if (typeof link === "string") {
          const found = shared.get(sharedKey(org, link))
          return found && sharedTarget(found, id)
        }
        const targets = link === undefined ? undefined : own.get(sharedKey(org, id))
        return targets && ownTarget(targets, link!, id)
      }

      const readShared = Effect.fnUntraced(function* (org: OrgSlug, key: string, id: string) {
        const [row] = yield* sql<{ target: string }>`
          SELECT l.target FROM tracked_links l WHERE l.org_slug = ${org} AND l.key = ${key}`.pipe(bounded(storeTimeout))
        return row && sharedTarget(keep(org, key, row.target, 0), id)
      })

      const readOwn = Effect.fnUntraced(function* (org: OrgSlug, id: string, number: number) {
        const targets = yield* readOwnTargets(org, id).pipe(bounded(storeTimeout))
        if (targets == null) return undefined
        keepOwn(org, id, targets)
        return ownTarget(targets, number, id)
      })

      const find = (token: Token): Effect.Effect<Target | undefined, SqlError | Cause.TimeoutError> => {
        const { id, link, org } = token
        const target = known(token)
        if (target !== undefined || link === undefined) return Effect.succeed(target)
        return typeof link === "number" ? readOwn(org, id, link) : readShared(org, link, id)
      }

      const today = Effect.clockWith((clock) =>
        Effect.sync(() => Math.floor(clock.currentTimeMillisUnsafe() / dayMillis))
      )

      const save = (messages: ReadonlyArray<OwnTargets>) =>
        Effect.flatMap(today, (day) => {
          const rows = new Map<string, { readonly org_slug: string; readonly key: string; readonly target: string }>()
          for (const { org, shared: targets } of messages) {
            for (const [key, target] of targets) {
              const name = sharedKey(org, key)
              if ((shared.get(name)?.usedOn ?? 0) < day) rows.set(name, { org_slug: org, key, target })
            }
          }
          if (rows.size === 0) return Effect.void
          // Sorted by key, so that two nodes that store equal keys do not deadlock.
          const sorted = [...rows.entries()].sort(([a], [b]) => a < b ? -1 : 1).map(([, row]) => row)
          return Effect.asVoid(sql`
            INSERT INTO tracked_links AS l (org_slug, key, target, used_on)
            SELECT r.org_slug, r.key, r.target, (now() AT TIME ZONE 'UTC')::date
            FROM ${recordset(sorted, { org_slug: "text", key: "text", target: "text" })}
            ON CONFLICT (org_slug, key) DO UPDATE SET used_on = EXCLUDED.used_on WHERE l.used_on < EXCLUDED.used_on`)
        })

      const remember = (messages: ReadonlyArray<OwnTargets>) =>
        Effect.map(today, (day) => {
          for (const { id, org, own: targets, shared: others } of messages) {
            for (const [key, target] of others) keep(org, key, target, day)
            if (targets.length > 0) keepOwn(org, id, targets)
          }
        })

      // Runs in the background. Until it is done, every target is read individually, which is only slower.
      yield* sql<{ orgSlug: string; key: string; target: string }>`
        SELECT l.org_slug, l.key, l.target FROM tracked_links l ORDER BY l.used_on DESC LIMIT ${readAtStart}`.pipe(
        Effect.map((rows) => {
          for (const { key, orgSlug, target } of [...rows].reverse()) {
            if (shared.get(sharedKey(orgSlug, key)) === undefined) keep(orgSlug, key, target, 0)
          }
        }),
        Effect.catch((error) =>
          Effect.logWarning("Tracked links could not be preloaded. Each is read when it is clicked", error.message)
        ),
        Effect.forkScoped,
      )

      return Targets.of({ known, find, save, remember })
    }),
  )
}
