import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { organizationRows } from "../organizations/OrganizationRows.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { announce, type Announced } from "../webhooks/Announce.ts"
import { recordset } from "../store/Recordset.ts"
import { type AddressKey, addressKey } from "./AddressKey.ts"
import { OnSuppressed, type Suppressed } from "./OnSuppressed.ts"
import type { NewSuppression } from "./Suppression.ts"
import type { SuppressionReason } from "../domain/SuppressionReason.ts"

// Writes the tables of suppressions. All writes run in a transaction of the caller, so that an event and the resulting
// suppression are stored together or not at all.

/** Maximum length of an entry's source. Unit: characters. */
const maxSource = 100

/** Maximum number of addresses in one statement. */
const atOnce = 5_000

/**
 * Many platforms round the times of reports down to seconds. If an opt-in and an opt-out are less than a second apart,
 * the opt-out counts.
 */
const timesWithin = "interval '1 second'"

/** Identifies these locks among the advisory locks of the database. See `EventLock` for the others. */
const lockClass = 7205

/**
 * Locks the suppression lists of organizations until the transaction ends. All transactions that change entries,
 * removals or soft bounces call it before, because they change these tables in different orders. Call it after all
 * other advisory locks.
 */
export const lockSuppressions = (sql: SqlClient.SqlClient, orgs: Iterable<string>) =>
  sql`
    SELECT pg_advisory_xact_lock(${lockClass}::int, n.key)
    FROM (SELECT DISTINCT hashtext(t.org) AS key FROM unnest(${[...orgs]}::text[]) AS t(org) ORDER BY 1) n`

/** Webhook events for a new suppression entry. */
const eventsOf = ({ key, org, reason, suppressedAt }: Suppressed): ReadonlyArray<Announced> => {
  const at = suppressedAt.toISOString()
  const added = { org, address: key, reason, suppressed_at: at }
  return [
    { type: "suppression.added", data: added, addressKey: key },
    ...(reason === "unsubscribe"
      ? [{ type: "person.unsubscribed" as const, data: { org, address: key, unsubscribed_at: at }, addressKey: key }]
      : []),
  ]
}

/**
 * Adds addresses to the suppression list, and calls `OnSuppressed` with new entries. An address that already has an
 * entry for the reason keeps it. An address that was removed from the list for the reason at a later time stays off it,
 * regardless of the order of arrival. Texts that are no addresses are left out. Call this in a transaction. Returns the
 * new entries.
 */
export const addSuppressions = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  added: ReadonlyArray<NewSuppression>,
): Effect.fn.Return<ReadonlyArray<Suppressed>, SqlError, OnSuppressed> {
  const fresh: Array<Suppressed> = []
  const coarseness = sql.literal(timesWithin)
  for (let start = 0; start < added.length; start += atOnce) {
    const rows = added.slice(start, start + atOnce).flatMap(({ address, at, org, reason, source }) => {
      const key = addressKey(address)
      return key === undefined
        ? []
        : [{ org_slug: org, address_key: key, reason, source: source.slice(0, maxSource), at }]
    })
    if (rows.length === 0) continue
    // Sorted, so that two callers that add equal addresses do not deadlock.
    fresh.push(
      ...yield* sql<Suppressed>`
        WITH reported AS (
          SELECT r.org_slug, r.address_key, r.reason, (array_agg(r.source ORDER BY r.at))[1] AS source,
            to_timestamp(min(r.at) / 1000.0) AS first_at, to_timestamp(max(r.at) / 1000.0) AS last_at
          FROM ${
        recordset(rows, { org_slug: "text", address_key: "text", reason: "text", source: "text", at: "float8" })
      }
          LEFT JOIN suppression_removals m ON m.org_slug = r.org_slug AND m.address_key = r.address_key
            AND m.reason = r.reason AND m.removed_at > to_timestamp(r.at / 1000.0) + ${coarseness}
          WHERE m.org_slug IS NULL
          GROUP BY r.org_slug, r.address_key, r.reason
        ), added AS (
          INSERT INTO suppressions AS s (org_slug, address_key, reason, source, suppressed_at, last_reported_at)
          SELECT p.org_slug, p.address_key, p.reason, p.source, p.first_at, p.last_at FROM reported p
          ORDER BY p.org_slug, p.address_key, p.reason
          ON CONFLICT (org_slug, address_key, reason) DO UPDATE SET last_reported_at = EXCLUDED.last_reported_at
            WHERE EXCLUDED.last_reported_at > COALESCE(s.last_reported_at, s.suppressed_at)
          RETURNING s.org_slug, s.address_key, s.reason, s.suppressed_at, xmax = 0 AS is_new
        )
        SELECT a.org_slug AS org, a.address_key AS key, a.reason, a.suppressed_at FROM added a WHERE a.is_new`,
    )
  }
  const onSuppressed = yield* OnSuppressed
  yield* onSuppressed(sql, fresh)
  yield* announce(sql, fresh.flatMap(eventsOf))
  return fresh
})

/** A removal of an address from the list for one reason. */
interface Removal {
  readonly org: string
  readonly key: AddressKey
  readonly reason: SuppressionReason
  /** Unit: Unix milliseconds. */
  readonly at: number
}

const removalColumns = { org_slug: "text", address_key: "text", reason: "text", at: "float8" } as const

/** Stores removals, so that older reports that arrive later have no effect. Call this in a transaction. */
export const noteRemovals = (sql: SqlClient.SqlClient, removals: ReadonlyArray<Removal>) => {
  const rows = removals.map(({ at, key, org, reason }) => ({ org_slug: org, address_key: key, reason, at }))
  return sql`
    INSERT INTO suppression_removals AS m (org_slug, address_key, reason, removed_at)
    SELECT r.org_slug, r.address_key, r.reason, to_timestamp(max(r.at) / 1000.0)
    FROM ${recordset(rows, removalColumns)}
    GROUP BY r.org_slug, r.address_key, r.reason ORDER BY r.org_slug, r.address_key, r.reason
    ON CONFLICT (org_slug, address_key, reason) DO UPDATE
      SET removed_at = GREATEST(m.removed_at, EXCLUDED.removed_at)`
}

/** An opt-in: the person wants messages again. */
interface OptIn {
  readonly org: string
  readonly address: string
  /** Unit: Unix milliseconds. */
  readonly at: number
}

/**
 * Removes entries with the reason `unsubscribe` that are older than an opt-in of their address. Entries for other
 * reasons stay. Call this in a transaction.
 */
export const applyOptIns = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  optIns: ReadonlyArray<OptIn>,
): Effect.fn.Return<void, SqlError> {
  const removals = optIns.flatMap(({ address, at, org }): ReadonlyArray<Removal> => {
    const key = addressKey(address)
    return key === undefined ? [] : [{ org, key, reason: "unsubscribe", at }]
  })
  if (removals.length === 0) return
  yield* noteRemovals(sql, removals)
  yield* sql`
    DELETE FROM suppressions s
    USING ${
    recordset(removals.map(({ at, key, org }) => ({ org_slug: org, address_key: key, at })), {
      org_slug: "text",
      address_key: "text",
      at: "float8",
    })
  }
    WHERE s.org_slug = r.org_slug AND s.address_key = r.address_key AND s.reason = 'unsubscribe'
      AND COALESCE(s.last_reported_at, s.suppressed_at) + ${sql.literal(timesWithin)} < to_timestamp(r.at / 1000.0)`
})

/** A soft bounce of a message to an address. */
interface SoftBounce {
  readonly org: OrgSlug
  readonly address: string
  readonly source: string
  /** Unit: Unix milliseconds. */
  readonly at: number
}

/** Activity of an address: a delivery to it, or an open or a click by its owner. */
export type AddressActivity = Pick<SoftBounce, "org" | "address" | "at">

/** Groups rows by address. Returns the latest row of each address, its key, and the number of rows. */
const latest = <A extends AddressActivity>(all: ReadonlyArray<A>) => {
  const byKey = new Map<string, { readonly one: A; readonly key: AddressKey; readonly count: number }>()
  for (const one of all) {
    const key = addressKey(one.address)
    if (key === undefined) continue
    const id = `${one.org}\0${key}`
    const before = byKey.get(id)
    const later = before !== undefined && before.one.at > one.at ? before.one : one
    byKey.set(id, { one: later, key, count: (before?.count ?? 0) + 1 })
  }
  return [...byKey.entries()].sort(([a], [b]) => a < b ? -1 : 1).map(([, row]) => row)
}

/** An address whose count of soft bounces a later message resets. */
interface Reached {
  readonly org: string
  readonly key: AddressKey
  /** Unit: Unix milliseconds. */
  readonly at: number
}

const reachedColumns = { org_slug: "text", address_key: "text", at: "float8" } as const

const reachedRows = (sql: SqlClient.SqlClient, reached: ReadonlyArray<Reached>) => {
  const rows = reached.map(({ at, key, org }) => ({ org_slug: org, address_key: key, at }))
  return sql`${recordset(rows, reachedColumns)}
    WHERE s.org_slug = r.org_slug AND s.address_key = r.address_key AND s.last_at <= to_timestamp(r.at / 1000.0)`
}

/** Finds the addresses with a count of soft bounces that a message has reached since the last bounce. */
export const withSoftBounces = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  arrivals: ReadonlyArray<AddressActivity>,
): Effect.fn.Return<ReadonlyArray<Reached>, SqlError> {
  if (arrivals.length === 0) return []
  // Organizations usually have no counted bounces, so their addresses need no comparison.
  const counting = yield* sql<{ org: string }>`
    SELECT o.org FROM unnest(${[...new Set(arrivals.map(({ org }) => org))]}::text[]) AS o(org)
    WHERE EXISTS (SELECT 1 FROM soft_bounces s WHERE s.org_slug = o.org)`
  const orgs = new Set(counting.map(({ org }) => org))
  const rows = latest(arrivals.filter(({ org }) => orgs.has(org)))
    .map(({ key, one: { at, org } }): Reached => ({ org, key, at }))
  if (rows.length === 0) return []
  const found = yield* sql<{ org: string; key: AddressKey }>`
    SELECT s.org_slug AS org, s.address_key AS key FROM soft_bounces s, ${reachedRows(sql, rows)}`
  const names = new Set(found.map(({ key, org }) => `${org}\0${key}`))
  return rows.filter(({ key, org }) => names.has(`${org}\0${key}`))
})

/** Resets the count of soft bounces of addresses found by `withSoftBounces`. Call this in a transaction. */
export const clearSoftBounces = (
  sql: SqlClient.SqlClient,
  reached: ReadonlyArray<Reached>,
): Effect.Effect<unknown, SqlError> =>
  reached.length === 0 ? Effect.void : sql`DELETE FROM soft_bounces s USING ${reachedRows(sql, reached)}`

/**
 * Counts soft bounces, and suppresses addresses that reach their organization's limit. Call this in a transaction. At
 * the same time, no other transaction may count for these organizations.
 */
export const countSoftBounces = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  bounces: ReadonlyArray<SoftBounce>,
): Effect.fn.Return<void, SqlError, OnSuppressed> {
  const counted = latest(bounces)
  if (counted.length === 0) return
  const rows = counted.map(({ count, key, one }) => ({ org_slug: one.org, address_key: key, count, at: one.at }))
  const reached = yield* sql<{ orgSlug: OrgSlug; addressKey: AddressKey }>`
    WITH counted AS (
      INSERT INTO soft_bounces AS s (org_slug, address_key, count, last_at)
      SELECT r.org_slug, r.address_key, r.count, to_timestamp(r.at / 1000.0)
      FROM ${recordset(rows, { org_slug: "text", address_key: "text", count: "int", at: "float8" })}
      ON CONFLICT (org_slug, address_key) DO UPDATE SET count = s.count + EXCLUDED.count,
        last_at = greatest(s.last_at, EXCLUDED.last_at)
      RETURNING s.org_slug, s.address_key, s.count
    )
    SELECT c.org_slug, c.address_key FROM counted c JOIN ${
    sql.literal(organizationRows("soft_bounce_limit"))
  } ON o.slug = c.org_slug
    WHERE c.count >= o.soft_bounce_limit`
  if (reached.length === 0) return
  const isReached = new Set(reached.map(({ addressKey, orgSlug }) => `${orgSlug}\0${addressKey}`))
  yield* addSuppressions(
    sql,
    counted.flatMap(({ key, one }) =>
      isReached.has(`${one.org}\0${key}`) ? [{ ...one, reason: "soft_bounce" as const }] : []
    ),
  )
})

/** Deletes the counts of soft bounces of addresses. */
export const forgetSoftBounces = (
  sql: SqlClient.SqlClient,
  org: string,
  keys: ReadonlyArray<AddressKey>,
): Effect.Effect<unknown, SqlError> =>
  sql`DELETE FROM soft_bounces b WHERE b.org_slug = ${org} AND b.address_key = ANY(${keys}::text[])`

/** An address of an erased person, and the digest that replaces it. */
interface Replaced {
  readonly key: AddressKey
  readonly digest: AddressKey
}

/**
 * Replaces addresses by their digests, so that erased people stay suppressed. Returns the number of changed entries.
 */
export const replaceAddresses = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  replaced: ReadonlyArray<Replaced>,
): Effect.fn.Return<number, SqlError> {
  const keys = replaced.map(({ key }) => key)
  yield* lockSuppressions(sql, [org])
  yield* forgetSoftBounces(sql, org, keys)
  yield* sql`DELETE FROM suppression_removals m WHERE m.org_slug = ${org} AND m.address_key = ANY(${keys}::text[])`
  const changed = yield* sql`
    UPDATE suppressions s SET address_key = r.digest
    FROM ${recordset(replaced, { key: "text", digest: "text" })}
    WHERE s.org_slug = ${org} AND s.address_key = r.key
      AND NOT EXISTS (SELECT 1 FROM suppressions d
        WHERE d.org_slug = s.org_slug AND d.address_key = r.digest AND d.reason = s.reason)
    RETURNING s.id`
  // These people were erased before and suppressed again for an equal reason, so their digest already has an entry.
  const doubled = yield* sql`
    DELETE FROM suppressions s WHERE s.org_slug = ${org} AND s.address_key = ANY(${keys}::text[]) RETURNING s.id`
  return changed.length + doubled.length
})
