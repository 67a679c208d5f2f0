import { assert, describe, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { KeyAuth } from "../../src/auth/KeyAuth.ts"
import { KeyLimits } from "../../src/auth/KeyLimits.ts"
import { Keys } from "../../src/auth/Keys.ts"
import { OrgSlug } from "../../src/domain/Ids.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { Changes } from "../../src/organizations/Changes.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

const acme = Schema.decodeSync(OrgSlug)("acme")

const layerKeys = Layer.mergeAll(KeyAuth.layer, Keys.layer, Organizations.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(Changes.layer, KeyLimits.layer)),
)

describe("KeyAuth", () => {
  const environment = temporaryEnvironment
  layer(layerKeys.pipe(Layer.provideMerge(layerMigrated(environment))), { excludeTestServices: true })((it) => {
    const rejected = (key: string) =>
      Effect.gen(function* () {
        const auth = yield* KeyAuth
        return (yield* Effect.flip(auth.resolve(key))).reason
      })

    it.effect("resolves a key to its organization and scopes", () =>
      Effect.gen(function* () {
        yield* Effect.ignore((yield* Organizations).create({ slug: acme, name: "Acme" }))
        const keys = yield* Keys
        const auth = yield* KeyAuth
        const { key } = yield* keys.create(acme, { name: "plain" })
        const grant = yield* auth.resolve(key)
        assert.strictEqual(grant.org, acme)
        assert.deepStrictEqual([...grant.scopes], ["generate", "deliver"])
        const events = yield* keys.create(acme, { name: "events", scopes: ["events"] })
        assert.deepStrictEqual([...(yield* auth.resolve(events.key)).scopes], ["events"])
      }))

    it.effect("rejects missing, unknown, wrong, expired and revoked keys", () =>
      Effect.gen(function* () {
        const keys = yield* Keys
        const { id, key } = yield* keys.create(acme, { name: "short-lived" })
        assert.strictEqual(yield* rejected(""), "missing")
        assert.strictEqual(yield* rejected("anything"), "unknown")
        const other = key.at(-10) === "a" ? "b" : "a"
        assert.strictEqual(yield* rejected(key.slice(0, -10) + other + key.slice(-9)), "unknown")
        const past = yield* keys.create(acme, { name: "past", expiresAt: DateTime.makeUnsafe("2020-01-01T00:00:00Z") })
        assert.strictEqual(yield* rejected(past.key), "expired")
        yield* keys.revoke(acme, id)
        assert.strictEqual(yield* rejected(key), "revoked")
      }))

    it.effect("accepts a cached key again, and rejects a wrong secret and a revoked key", () =>
      Effect.gen(function* () {
        const keys = yield* Keys
        const { resolve } = yield* KeyAuth
        const { id, key } = yield* keys.create(acme, { name: "again" })
        const wrong = key.slice(0, -1) + (key.at(-1) === "a" ? "b" : "a")
        for (let times = 0; times < 3; times++) {
          assert.strictEqual((yield* resolve(key)).keyId, id)
          assert.strictEqual(yield* rejected(wrong), "unknown")
        }
        yield* keys.revoke(acme, id)
        assert.strictEqual(yield* rejected(key), "revoked")
      }))

    it.effect("stores no part of a key from which it could be recovered", () =>
      Effect.gen(function* () {
        const { key } = yield* (yield* Keys).create(acme, { name: "secret" })
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql`SELECT k.* FROM api_keys k`
        assert.notInclude(JSON.stringify(rows), key.slice(21))
      }))

    it.effect("rejects a key revoked by another node within 5 seconds", () =>
      Effect.gen(function* () {
        const { id, key } = yield* (yield* Keys).create(acme, { name: "elsewhere" })
        const sql = yield* SqlClient.SqlClient
        // Another node's revocation leaves these rows in the store.
        yield* sql.withTransaction(Effect.gen(function* () {
          yield* sql`UPDATE api_keys k SET revoked_at = now() WHERE k.id = ${id}`
          yield* sql`UPDATE organizations o SET revision = o.revision + 1 WHERE o.slug = ${acme}`
        }))
        const gone = Effect.map(
          Effect.exit(rejected(key)),
          (exit) => exit._tag === "Success" && exit.value === "revoked",
        )
        yield* Effect.sleep("50 millis").pipe(
          Effect.andThen(gone),
          Effect.repeat({ until: (done) => done }),
          Effect.timeout("5 seconds"),
        )
      }))
  })
})
