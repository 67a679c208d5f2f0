import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { OrgSlug } from "../../src/domain/Ids.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { Changes } from "../../src/organizations/Changes.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

const acme = Schema.decodeSync(OrgSlug)("acme")

describe("Changes", () => {
  const environment = temporaryEnvironment
  layer(
    Organizations.layer.pipe(Layer.provideMerge(Changes.layer), Layer.provideMerge(layerMigrated(environment))),
    { excludeTestServices: true },
  )((it) => {
    it.effect("continues polling after a view failed to load a change", () =>
      Effect.gen(function* () {
        const changes = yield* Changes
        const sql = yield* SqlClient.SqlClient
        yield* (yield* Organizations).create({ slug: acme, name: "Acme" })
        let tries = 0
        let isBroken = false
        const taken = yield* Deferred.make<void>()
        yield* changes.subscribe(() =>
          Effect.suspend(() => {
            if (!isBroken) return Effect.void
            return ++tries === 1 ? Effect.die("A bug of this view") : Deferred.succeed(taken, undefined)
          })
        )
        isBroken = true
        yield* sql.withTransaction(changes.bump(acme))
        yield* Deferred.await(taken)
        assert.strictEqual(tries, 2)
      }))
  })
})
