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

// The tables of suppressions. Everything that is written here runs inside a transaction of its caller, so that an event
// and the suppression it gives are stored together or not at all.

/** Most characters of an entry's origin. */
const maxSource = 100

/** Addresses of one statement. */
const atOnce = 5_000

/** What webhook endpoints are told of a new entry. */
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
 * Adds addresses to the suppression list, and calls `OnSuppressed` with the new ones. An address that is on the list for
 * the same reason keeps its entry; texts that are no addresses are left out. Call it inside a transaction. Returns what is
 * new.
 */
export const addSuppressions = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  added: ReadonlyArray<NewSuppression>,
): Effect.fn.Return<ReadonlyArray<Suppressed>, SqlError, OnSuppressed> {
  const fresh: Array<Suppressed> = []
  for (let start = 0; start < added.length; start += atOnce) {
    const rows = added.slice(start, start + atOnce).flatMap(({ address, at, org, reason, source }) => {
      const key = addressKey(address)
      return key === undefined
        ? []
        : [{ org_slug: org, address_key: key, reason, source: source.slice(0, maxSource), at }]
    })
    if (rows.length === 0) continue
    // In one order, so that two who add the same addresses wait for each other instead of deadlocking.
    fresh.push(
      ...yield* sql<Suppressed>`
        INSERT INTO suppressions AS s (org_slug, address_key, reason, source, suppressed_at)
        SELECT DISTINCT ON (r.org_slug, r.address_key, r.reason) r.org_slug, r.address_key, r.reason, r.source,
          to_timestamp(r.at / 1000.0)
        FROM ${recordset(rows, { org_slug: "text", address_key: "text", reason: "text", source: "text", at: "float8" })}
        ORDER BY r.org_slug, r.address_key, r.reason, r.at
        ON CONFLICT DO NOTHING
        RETURNING s.org_slug AS org, s.address_key AS key, s.reason, s.suppressed_at`,
    )
  }
  const onSuppressed = yield* OnSuppressed
  yield* onSuppressed(sql, fresh)
  yield* announce(sql, fresh.flatMap(eventsOf))
  return fresh
})

/** A soft bounce of a message to an address. */
export interface SoftBounce {
  readonly org: OrgSlug
  readonly address: string
  readonly source: string
  /** Unix milliseconds. */
  readonly at: number
}

/** Sign of life of an address: a delivery to it, or an open or a click by its owner. */
export type AddressActivity = Pick<SoftBounce, "org" | "address" | "at">

/** Rows with the key of their address, one for each address: the latest, with how many there were. */
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

/** Begins counting soft bounces anew for addresses that a message has reached since the last one. Call it in a transaction. */
export const clearSoftBounces = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  arrivals: ReadonlyArray<AddressActivity>,
): Effect.fn.Return<void, SqlError> {
  if (arrivals.length === 0) return
  // Nearly always there are no such entries, so the addresses need not be compared.
  const counting = yield* sql<{ org: string }>`
    SELECT o.org FROM unnest(${[...new Set(arrivals.map(({ org }) => org))]}::text[]) AS o(org)
    WHERE EXISTS (SELECT 1 FROM soft_bounces s WHERE s.org_slug = o.org)`
  const orgs = new Set(counting.map(({ org }) => org))
  const rows = latest(arrivals.filter(({ org }) => orgs.has(org)))
    .map(({ key, one }) => ({ org_slug: one.org, address_key: key, at: one.at }))
  if (rows.length === 0) return
  yield* sql`
    DELETE FROM soft_bounces s
    USING ${recordset(rows, { org_slug: "text", address_key: "text", at: "float8" })}
    WHERE s.org_slug = r.org_slug AND s.address_key = r.address_key AND s.last_at <= to_timestamp(r.at / 1000.0)`
})

/**
 * Counts soft bounces, and suppresses addresses that reach their organization's limit. Call it in a transaction that is
 * alone in counting for these organizations.
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

/** An address of a person who is erased, and the digest that stays of it. */
export interface Replaced {
  readonly key: AddressKey
  readonly digest: AddressKey
}

/** Replaces addresses by their digests, so that erased people stay suppressed. Returns how many entries it changed. */
export const replaceAddresses = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  replaced: ReadonlyArray<Replaced>,
): Effect.fn.Return<number, SqlError> {
  const keys = replaced.map(({ key }) => key)
  yield* sql`DELETE FROM soft_bounces b WHERE b.org_slug = ${org} AND b.address_key = ANY(${keys}::text[])`
  const changed = yield* sql`
    UPDATE suppressions s SET address_key = r.digest
    FROM ${recordset(replaced, { key: "text", digest: "text" })}
    WHERE s.org_slug = ${org} AND s.address_key = r.key
      AND NOT EXISTS (SELECT 1 FROM suppressions d
        WHERE d.org_slug = s.org_slug AND d.address_key = r.digest AND d.reason = s.reason)
    RETURNING s.id`
  // The person was erased before, and suppressed again for the same reason.
  const doubled = yield* sql`
    DELETE FROM suppressions s WHERE s.org_slug = ${org} AND s.address_key = ANY(${keys}::text[]) RETURNING s.id`
  return changed.length + doubled.length
})
