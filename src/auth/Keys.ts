import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { organizationRows } from "../organizations/OrganizationRows.ts"
import { type ApiKey, defaultScopes, type KeyKind, type Scope } from "../domain/ApiKey.ts"
import type { RateLimit } from "../text/RateLimit.ts"
import { KeyNotFound, OrganizationNotFound } from "../domain/Errors.ts"
import type { KeyId, OrgSlug } from "../domain/Ids.ts"
import { ensureSandbox } from "../organizations/Sandboxes.ts"
import { Changes } from "../organizations/Changes.ts"
import { existingOrganization } from "../organizations/Existing.ts"
import { rateLimitOf } from "./KeyAuth.ts"
import * as KeyText from "./KeyText.ts"

interface Row {
  readonly id: KeyId
  readonly name: string
  readonly kind: KeyKind
  readonly scopes: ReadonlyArray<Scope>
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly lastUsedAt: Date | null
  readonly rateLimit: number | null
  readonly ratePer: RateLimit["per"] | null
}

const fromRow = (row: Row): ApiKey => ({
  id: row.id,
  name: row.name,
  kind: row.kind,
  scopes: row.scopes,
  created_at: row.createdAt.toISOString(),
  expires_at: row.expiresAt?.toISOString() ?? null,
  revoked_at: row.revokedAt?.toISOString() ?? null,
  last_used_at: row.lastUsedAt?.toISOString() ?? null,
  rate_limit: rateLimitOf(row) ?? null,
})

/**
 * A new key's settings. Default of `kind`: live. Default of `expiresAt`: valid until it is revoked. Default of
 * `rateLimit`: the default limit.
 */
interface KeyInput {
  readonly name: string
  readonly kind?: KeyKind | undefined
  readonly scopes?: ReadonlyArray<Scope> | undefined
  readonly expiresAt?: DateTime.Utc | undefined
  readonly rateLimit?: RateLimit | undefined
}

/** Changes of a key. Undefined members stay unchanged. A `rateLimit` of null removes the key's own limit. */
interface KeyChange {
  readonly name?: string | undefined
  readonly rateLimit?: RateLimit | null | undefined
}

/** Creates, lists and revokes API keys. A broken store is a defect in all methods. */
export class Keys extends Context.Service<Keys, {
  /**
   * Creates a key. Only this response contains `key`. Fails with `OrganizationNotFound` for an unknown organization.
   */
  readonly create: (
    org: OrgSlug,
    input: KeyInput,
  ) => Effect.Effect<ApiKey & { readonly key: string }, OrganizationNotFound>
  /**
   * Returns all keys ever created, including revoked and expired ones, oldest first. Fails with `OrganizationNotFound`
   * for an unknown organization.
   */
  readonly list: (org: OrgSlug) => Effect.Effect<ReadonlyArray<ApiKey>, OrganizationNotFound>
  /**
   * Changes a key. Takes effect on this node at once, and on other nodes within 5 seconds. Fails with `KeyNotFound` for
   * an unknown key.
   */
  readonly update: (org: OrgSlug, id: string, change: KeyChange) => Effect.Effect<ApiKey, KeyNotFound>
  /**
   * Revokes a key on this node at once, and on other nodes within 5 seconds. A second call has no effect. Fails with
   * `KeyNotFound` for an unknown key.
   */
  readonly revoke: (org: OrgSlug, id: string) => Effect.Effect<void, KeyNotFound>
}>()("parlance/auth/Keys") {
  static readonly layer = Layer.effect(
    Keys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const changes = yield* Changes

      const create = Effect.fn("Keys.create")(function* (org: OrgSlug, input: KeyInput) {
        const kind = input.kind ?? "live"
        const { id, key } = KeyText.make(kind)
        const now = yield* DateTime.nowAsDate
        const scopes = [...new Set(input.scopes ?? defaultScopes)]
        const expiresAt = input.expiresAt === undefined ? null : DateTime.toDate(input.expiresAt)
        const rows = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          const inserted = yield* sql<Row>`
            INSERT INTO api_keys AS k (id, org_slug, name, kind, scopes, digest, created_at, expires_at, rate_limit,
              rate_per)
            SELECT ${id}, o.slug, ${input.name}, ${kind}, ${scopes}::text[], ${
            KeyText.digest(key)
          }, ${now}, ${expiresAt},
              ${input.rateLimit?.requests ?? null}::integer, ${input.rateLimit?.per ?? null}::text
            FROM ${sql.literal(organizationRows("sandbox_of"))} WHERE o.slug = ${org} AND o.sandbox_of IS NULL
            RETURNING k.*`
          if (kind === "test") yield* ensureSandbox(sql, org)
          yield* changes.bump(org)
          return inserted
        })))
        if (rows[0] === undefined) return yield* new OrganizationNotFound({ id: org })
        yield* changes.refresh
        return { ...fromRow(rows[0]), key }
      })

      const list = Effect.fn("Keys.list")(function* (org: OrgSlug) {
        yield* Effect.catchTag(existingOrganization(sql, org), "SqlError", Effect.die)
        const rows = yield* Effect.orDie(
          sql<Row>`SELECT k.* FROM api_keys k WHERE k.org_slug = ${org} ORDER BY k.created_at, k.id`,
        )
        return rows.map(fromRow)
      })

      const update = Effect.fn("Keys.update")(function* (org: OrgSlug, id: string, { name, rateLimit }: KeyChange) {
        const rows = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          const updated = yield* sql<Row>`
            UPDATE api_keys k SET name = COALESCE(${name ?? null}::text, k.name),
              rate_limit = CASE WHEN ${rateLimit === undefined}::boolean THEN k.rate_limit
                ELSE ${rateLimit?.requests ?? null}::integer END,
              rate_per = CASE WHEN ${rateLimit === undefined}::boolean THEN k.rate_per ELSE ${
            rateLimit?.per ?? null
          }::text END
            WHERE k.id = ${id} AND k.org_slug = ${org} RETURNING k.*`
          yield* changes.bump(org)
          return updated
        })))
        if (rows[0] === undefined) return yield* new KeyNotFound({ id })
        yield* changes.refresh
        return fromRow(rows[0])
      })

      const revoke = Effect.fn("Keys.revoke")(function* (org: OrgSlug, id: string) {
        const now = yield* DateTime.nowAsDate
        const rows = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          const updated = yield* sql`
            UPDATE api_keys k SET revoked_at = coalesce(k.revoked_at, ${now})
            WHERE k.id = ${id} AND k.org_slug = ${org} RETURNING k.id`
          yield* changes.bump(org)
          return updated
        })))
        if (rows.length === 0) return yield* new KeyNotFound({ id })
        yield* changes.refresh
      })

      return Keys.of({ create, list, update, revoke })
    }),
  )
}
