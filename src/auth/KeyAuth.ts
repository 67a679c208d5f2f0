import { Clock, Context, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Buffer } from "node:buffer"
import type { KeyKind, Scope } from "../domain/ApiKey.ts"
import type { RateLimit } from "../text/RateLimit.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { sandboxOf } from "../domain/Sandbox.ts"
import { Changes } from "../organizations/Changes.ts"
import * as UnknownIds from "../organizations/UnknownIds.ts"
import { KeyLimits } from "./KeyLimits.ts"
import * as KeyText from "./KeyText.ts"
import type { RateWindow } from "./RateWindow.ts"

/** The key grants no access. `unknown` includes a known id with a wrong secret. */
export class KeyRejected extends Schema.TaggedError<KeyRejected>()("KeyRejected", {
  reason: Schema.Literals(["missing", "unknown", "expired", "revoked"]),
  /** Present if the whole key was right. */
  keyId: Schema.optionalKey(Schema.String),
}) {}

/** The access that a key grants. */
export interface Grant {
  readonly keyId: string
  readonly org: OrgSlug
  /** The organization that stores decisions, events and messages of the key: `org`, or its sandbox for a test key. */
  readonly dataOrg: OrgSlug
  readonly scopes: ReadonlySet<Scope>
  /** The window in which the requests of the key are counted. Undefined for a key without a limit. */
  readonly window: RateWindow | undefined
}

interface Entry extends Grant {
  readonly digest: Buffer
  readonly expiresAtMillis: number
  readonly revoked: boolean
}

/** Returns the limit in a row of `api_keys`. Undefined if the key has no own limit. */
export const rateLimitOf = (
  row: { readonly rateLimit: number | null; readonly ratePer: RateLimit["per"] | null },
): RateLimit | undefined =>
  row.rateLimit === null ? undefined : { requests: row.rateLimit, per: row.ratePer ?? "second" }

/** Maximum number of keys whose digests are cached. */
const maxKept = 1000

/**
 * Caches the digests of accepted keys by their text, because computing one costs more than all other work on a key. A
 * wrong key is never cached, and the digest is compared in any case, so that the duration reveals nothing.
 */
const makeDigests = () => {
  const kept = new Map<string, Buffer>()
  return {
    of: (text: string): Buffer => kept.get(text) ?? Buffer.from(KeyText.digest(text)),
    keep: (text: string, digest: Buffer): void => {
      if (kept.has(text)) return
      if (kept.size >= maxKept) kept.clear()
      kept.set(text, digest)
    },
  }
}

/** Compares digests in a time that does not depend on the position of the difference. */
const isSameDigest = (a: Uint8Array, b: Uint8Array): boolean => {
  let difference = a.length ^ b.length
  for (let i = 0; i < b.length; i++) difference |= a[i]! ^ b[i]!
  return difference === 0
}

const usedEvery = Duration.minutes(1)
// Compared if the id is unknown, so that the duration equals the one for a wrong secret.
const nobody = Buffer.from(KeyText.digest("nobody"))

/**
 * Resolves an API key to its organization, from memory. A changed or revoked key takes effect within 5 seconds (see
 * `Changes`), and a new key is read when it is first used. Keys are stored only as SHA-256. The comparison needs
 * constant time.
 */
export class KeyAuth extends Context.Service<KeyAuth, {
  /** Returns the grant of a key. Fails with `KeyRejected` for an empty, unknown, expired or revoked key. */
  readonly resolve: (key: string) => Effect.Effect<Grant, KeyRejected>
}>()("parlance/auth/KeyAuth") {
  static readonly layer = Layer.effect(
    KeyAuth,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const changes = yield* Changes
      const limits = yield* KeyLimits
      const clock = yield* Clock.Clock
      const byId = new Map<string, Entry>()
      const used = new Map<string, number>()
      const digests = makeDigests()

      yield* changes.subscribe(Effect.fnUntraced(function* (org) {
        const rows = yield* sql<{
          id: string
          kind: KeyKind
          scopes: ReadonlyArray<Scope>
          digest: string
          expiresAt: Date | null
          revokedAt: Date | null
          rateLimit: number | null
          ratePer: RateLimit["per"] | null
        }>`
          SELECT k.id, k.kind, k.scopes, k.digest, k.expires_at, k.revoked_at, k.rate_limit, k.rate_per FROM api_keys k
          WHERE k.org_slug = ${org}`
        for (const row of rows) {
          byId.set(row.id, {
            keyId: row.id,
            org,
            dataOrg: row.kind === "test" ? sandboxOf(org) : org,
            scopes: new Set(row.scopes),
            window: limits.windowOf(row.id, rateLimitOf(row)),
            digest: Buffer.from(row.digest),
            expiresAtMillis: row.expiresAt?.getTime() ?? Infinity,
            revoked: row.revokedAt !== null,
          })
        }
      }))

      const writeUses = Effect.suspend((): Effect.Effect<void, SqlError> => {
        if (used.size === 0) return Effect.void
        const ids = [...used.keys()]
        const times = [...used.values()].map((millis) => new Date(millis))
        used.clear()
        return Effect.asVoid(sql`
          UPDATE api_keys k SET last_used_at = u.at
          FROM unnest(${ids}::text[], ${times}::timestamptz[]) AS u(id, at) WHERE k.id = u.id`)
      })
      yield* Effect.sleep(usedEvery).pipe(
        Effect.andThen(writeUses),
        Effect.catch((error) => Effect.logDebug("The last use of keys was not stored", error.message)),
        Effect.forever,
        Effect.forkScoped,
      )
      yield* Effect.addFinalizer(() => Effect.ignore(writeUses))

      const lookUp = yield* UnknownIds.make((ids) =>
        Effect.map(sql<{ id: string }>`SELECT k.id FROM api_keys k WHERE k.id = ANY(${ids}::text[])`, (rows) => {
          const found = new Set(rows.map(({ id }) => id))
          return ids.map((id) => found.has(id))
        })
      )

      /**
       * Returns the grant of a key with the id `id`, or the reason for its rejection. The duration is equal for an
       * unknown id and a wrong secret.
       */
      const compare = (text: string, id: string | undefined): Grant | KeyRejected => {
        const entry = id === undefined ? undefined : byId.get(id)
        const digest = digests.of(text)
        const isEqual = isSameDigest(digest, entry?.digest ?? nobody)
        if (entry === undefined || !isEqual) return new KeyRejected({ reason: "unknown" })
        digests.keep(text, digest)
        if (entry.revoked) return new KeyRejected({ reason: "revoked", keyId: entry.keyId })
        const now = clock.currentTimeMillisUnsafe()
        if (entry.expiresAtMillis <= now) return new KeyRejected({ reason: "expired", keyId: entry.keyId })
        used.set(entry.keyId, now)
        return entry
      }

      const compared = (text: string, id: string | undefined): Effect.Effect<Grant, KeyRejected> => {
        const grant = compare(text, id)
        return grant instanceof KeyRejected ? Effect.fail(grant) : Effect.succeed(grant)
      }

      const resolve = (text: string): Effect.Effect<Grant, KeyRejected> => {
        if (text === "") return new KeyRejected({ reason: "missing" })
        const id = KeyText.idOf(text)
        return id === undefined || byId.has(id)
          ? compared(text, id)
          : Effect.flatMap(lookUp(id), () => compared(text, id))
      }

      return KeyAuth.of({ resolve })
    }),
  )
}
