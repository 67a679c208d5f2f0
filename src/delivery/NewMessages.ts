import { recordset } from "../store/Recordset.ts"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Decision } from "../journal/decisions/Decision.ts"
import { insertDecisions } from "../journal/decisions/DecisionLog.ts"
import { insertAliases, type TrackingAlias } from "../journal/decisions/TrackingAliases.ts"
import type { CopyId, OrgSlug } from "../domain/Ids.ts"
import { addressKey } from "../suppressions/AddressKey.ts"
import type { Targets } from "../tracking/Targets.ts"
import type { Idempotency } from "./DeliverRequest.ts"
import { type ExistingRequest, keptHours, readExisting } from "./KnownRequests.ts"

// Stores the rows of new messages.

/** A message and its decision, which are stored together. */
export interface NewMessage {
  readonly id: string
  readonly org: OrgSlug
  /**
   * Undefined if the decision is stored separately: as a new claim of a sticky choice, or as an earlier sticky choice.
   */
  readonly decision: Decision | undefined
  /** Adds the message's id to an earlier decision, if a sticky choice is repeated. */
  readonly alias: TrackingAlias | undefined
  readonly templateId: string
  readonly copyId: CopyId
  readonly email: string
  readonly vars: Readonly<Record<string, string>>
  /** Link targets: shared targets by key, and targets unique to this message (`own`). */
  readonly shared: ReadonlyMap<string, string>
  readonly own: ReadonlyArray<string>
  readonly formats: Readonly<Record<string, "text" | "html">>
  readonly sendAt: number | undefined
  readonly expiresAt: number | undefined
  readonly isTransactional: boolean
  readonly idempotency: Idempotency | undefined
  /** The caller's trace, if it is exported. */
  readonly traceparent: string | undefined
}

/**
 * The result of storing a message. `repeated` and `reused`: nothing was stored, because the idempotency key is in use
 * with an equal or a different body.
 */
export type StoreResult = "queued" | "repeated" | "reused"

const keyOf = ({ idempotency, org }: Omit<KeyClaim, "id">) => `${org}\0${idempotency!.key}`

/**
 * Stores messages with their decisions and aliases. Call this in a transaction. A message whose idempotency key is in
 * use stores nothing.
 */
export const insertMessages = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  targets: Targets["Service"],
  entries: ReadonlyArray<NewMessage>,
  nowMillis: number,
): Effect.fn.Return<ReadonlyArray<StoreResult>, SqlError> {
  const refused = yield* claimKeys(sql, entries)
  const accepted = refused.size === 0 ? entries : entries.filter((entry) => !refused.has(entry))
  const decisions = accepted.flatMap(({ decision }) => decision === undefined ? [] : [decision])
  if (decisions.length > 0) yield* insertDecisions(sql, decisions)
  const aliases = accepted.flatMap(({ alias }) => alias ?? [])
  if (aliases.length > 0) yield* insertAliases(sql, aliases, nowMillis)
  if (accepted.length > 0) {
    yield* targets.save(accepted)
    yield* insertDeliveries(sql, accepted)
  }
  return entries.map((entry): StoreResult => refused.get(entry) ?? "queued")
})

const deliveryColumns = {
  org_slug: "text",
  id: "text",
  template_id: "text",
  copy_id: "text",
  email: "text",
  address_key: "text",
  vars: "text",
  size: "int",
  formats: "text",
  links: "text",
  send_at: "float8",
  expires_at: "float8",
  is_transactional: "boolean",
  traceparent: "text",
} as const

const insertDeliveries = (sql: SqlClient.SqlClient, entries: ReadonlyArray<NewMessage>) => {
  const rows = entries.map((entry) => {
    const vars = JSON.stringify(entry.vars)
    return {
      org_slug: entry.org,
      id: entry.id,
      template_id: entry.templateId,
      copy_id: entry.copyId,
      email: entry.email,
      address_key: addressKey(entry.email),
      vars,
      size: vars.length,
      formats: JSON.stringify(entry.formats),
      links: entry.own.length === 0 ? undefined : JSON.stringify(entry.own),
      send_at: entry.sendAt,
      expires_at: entry.expiresAt,
      is_transactional: entry.isTransactional,
      traceparent: entry.traceparent,
    }
  })
  const isTraced = entries.some(({ traceparent }) => traceparent !== undefined)
  const [traceColumn, traceValue] = (isTraced ? [", traceparent", ", r.traceparent"] : ["", ""]).map((part) =>
    sql.literal(part)
  )
  // Due times use the clock of the store, so that all nodes agree.
  return sql`
    INSERT INTO deliveries (org_slug, id, template_id, copy_id, email, address_key, vars, size, formats, links, state,
      due_at, queued_at, expires_at, is_transactional${traceColumn})
    SELECT r.org_slug, r.id, r.template_id, r.copy_id, r.email, r.address_key, r.vars::json, r.size, r.formats::json,
      r.links::json, 'queued', GREATEST(now(), to_timestamp(r.send_at / 1000.0)), now(),
      to_timestamp(r.expires_at / 1000.0), r.is_transactional${traceValue}
    FROM ${recordset(rows, deliveryColumns)}`
}

/** A message or another answer that claims an idempotency key. `id`: as `ExistingRequest.deliveryId`. */
type KeyClaim = Pick<NewMessage, "id" | "idempotency" | "org">

/** Claims the idempotency keys of new answers. Returns the answers whose key is in use. */
export const claimKeys = Effect.fnUntraced(function* <A extends KeyClaim>(
  sql: SqlClient.SqlClient,
  entries: ReadonlyArray<A>,
): Effect.fn.Return<ReadonlyMap<A, StoreResult>, SqlError> {
  const refused = new Map<A, StoreResult>()
  const first = new Map<string, A>()
  for (const entry of entries) {
    if (entry.idempotency !== undefined && !first.has(keyOf(entry))) first.set(keyOf(entry), entry)
  }
  if (first.size === 0) return refused
  // Sorted by key, so that two nodes that claim equal keys do not deadlock.
  const rows = [...first.entries()].sort(([a], [b]) => a < b ? -1 : 1).map(([, { id, idempotency, org }]) => ({
    org_slug: org,
    key: idempotency!.key,
    digest: idempotency!.digest,
    delivery_id: id,
  }))
  const found = yield* sql<ExistingRequest>`
    WITH given AS MATERIALIZED (
      SELECT r.* FROM ${recordset(rows, { org_slug: "text", key: "text", digest: "text", delivery_id: "text" })}
    ), taken AS (
      INSERT INTO idempotency_keys AS k (org_slug, key, digest, delivery_id, created_at)
      SELECT g.org_slug, g.key, g.digest, g.delivery_id, now() FROM given g
      ON CONFLICT (org_slug, key) DO UPDATE SET
        digest = CASE WHEN k.created_at < now() - ${keptHours} * interval '1 hour' THEN EXCLUDED.digest ELSE k.digest END,
        delivery_id = CASE WHEN k.created_at < now() - ${keptHours} * interval '1 hour' THEN EXCLUDED.delivery_id
          ELSE k.delivery_id END,
        created_at = CASE WHEN k.created_at < now() - ${keptHours} * interval '1 hour' THEN EXCLUDED.created_at
          ELSE k.created_at END
      RETURNING k.org_slug, k.key, k.digest, k.delivery_id
    )
    SELECT t.org_slug, t.key, t.digest, t.delivery_id FROM taken t`
  const existing = yield* Effect.forEach(found, readExisting)
  const byKey = new Map(existing.map((row) => [`${row.orgSlug}\0${row.key}`, row]))
  for (const entry of entries) {
    if (entry.idempotency === undefined) continue
    const row = byKey.get(keyOf(entry))!
    if (row.deliveryId === entry.id) continue
    refused.set(entry, row.digest === entry.idempotency.digest ? "repeated" : "reused")
  }
  return refused
})
