import { Clock, Context, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Buffer } from "node:buffer"
import { timingSafeEqual } from "node:crypto"
import type { KeyKind, RateLimit, Scope } from "../domain/ApiKey.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { sandboxOf } from "../domain/Sandbox.ts"
import { Changes } from "../organizations/Changes.ts"
import * as UnknownIds from "../organizations/UnknownIds.ts"
import { KeyLimits } from "./KeyLimits.ts"
import * as KeyText from "./KeyText.ts"
import type { RateWindow } from "./RateWindow.ts"

/** The key does not open anything. `unknown` also stands for a known id with a wrong secret. */
export class KeyRejected extends Schema.TaggedError<KeyRejected>()("KeyRejected", {
  reason: Schema.Literals(["missing", "unknown", "expired", "revoked"]),
  /** Set where the whole key was right. */
  keyId: Schema.optionalKey(Schema.String),
}) {}

/** The access that a key grants. */
export interface Grant {
  readonly keyId: string
  readonly org: OrgSlug
  /** Where decisions, events and messages of the key are kept: `org`, or its sandbox for a test key. */
  readonly dataOrg: OrgSlug
  readonly scopes: ReadonlySet<Scope>
  /** Where the requests of the key count; undefined for one without a limit. */
  readonly window: RateWindow | undefined
}

interface Entry extends Grant {
  readonly digest: Buffer
  readonly expiresAtMillis: number
  readonly revoked: boolean
}

/** The limit in a row of `api_keys`; undefined where it has none of its own. */
export const rateLimitOf = (
  row: { readonly rateLimit: number | null; readonly ratePer: RateLimit["per"] | null },
): RateLimit | undefined =>
  row.rateLimit === null ? undefined : { requests: row.rateLimit, per: row.ratePer ?? "second" }

/** The last key that came over a connection, its id and digest, and the stored digest that it was found equal to. */
export interface PresentedKey {
  text?: string
  id?: string | undefined
  digest?: Buffer
  equal?: Buffer | undefined
}

/** The digest of a key. A client whose key is compared with its own last one learns nothing from the time it takes. */
const digestOf = (text: string, presented: PresentedKey | undefined): Buffer => {
  if (presented?.digest !== undefined && presented.text === text) return presented.digest
  const digest = Buffer.from(KeyText.digest(text))
  if (presented !== undefined) {
    presented.text = text
    presented.id = KeyText.idOf(text)
    presented.digest = digest
    presented.equal = undefined
  }
  return digest
}

/** Whether a key has a stored digest. A connection's last key is compared once with each stored digest, which is replaced when it changes. */
const hasDigest = (text: string, stored: Buffer, presented: PresentedKey | undefined): boolean => {
  if (presented !== undefined && presented.equal === stored && presented.text === text) return true
  const isEqual = timingSafeEqual(digestOf(text, presented), stored)
  if (presented !== undefined) presented.equal = isEqual ? stored : undefined
  return isEqual
}

const usedEvery = Duration.minutes(1)
// Compared with when the id is unknown, so that this takes as long as a wrong secret.
const nobody = Buffer.from(KeyText.digest("nobody"))

/**
 * Resolves an API key to its organization, from memory: a changed or revoked key is followed within 5 seconds (see
 * `Changes`), and a new one is looked up when it is used for the first time. Keys are stored only as SHA-256; comparison takes constant time.
 */
export class KeyAuth extends Context.Service<KeyAuth, {
  /** Fails with `KeyRejected` for an empty, unknown, expired or revoked key. */
  readonly resolve: (key: Redacted.Redacted<string>) => Effect.Effect<Grant, KeyRejected>
  /**
   * As `resolve`, from memory alone: undefined for a key that is rejected, or not known yet. `presented`: what the client's
   * connection remembers, so that the digest of a key that it sends again is not made again.
   */
  readonly known: (key: string, presented?: PresentedKey) => Grant | undefined
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

      /** The grant of a key whose id is `id`, or why it has none. Takes the same time for an unknown id and a wrong secret. */
      const compare = (text: string, id: string | undefined, presented?: PresentedKey): Grant | KeyRejected => {
        const entry = id === undefined ? undefined : byId.get(id)
        const isEqual = hasDigest(text, entry?.digest ?? nobody, presented)
        if (entry === undefined || !isEqual) return new KeyRejected({ reason: "unknown" })
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

      const resolve = (key: Redacted.Redacted<string>): Effect.Effect<Grant, KeyRejected> => {
        const text = Redacted.value(key)
        if (text === "") return new KeyRejected({ reason: "missing" })
        const id = KeyText.idOf(text)
        return id === undefined || byId.has(id)
          ? compared(text, id)
          : Effect.flatMap(lookUp(id), () => compared(text, id))
      }

      const known = (text: string, presented?: PresentedKey): Grant | undefined => {
        const id = presented?.text === text ? presented.id : KeyText.idOf(text)
        if (id === undefined) return undefined
        // An unknown id is compared too, so that it takes as long as a wrong secret.
        const grant = compare(text, id, presented)
        return grant instanceof KeyRejected ? undefined : grant
      }

      return KeyAuth.of({ resolve, known })
    }),
  )
}
