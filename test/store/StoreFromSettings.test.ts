import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

describe("The store of the settings", () => {
  layer(layerMigrated(temporaryEnvironment), { excludeTestServices: true })((it) => {
    it.effect("caches neither texts nor parameters of statements", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const statement = sql<{ one: number }>`SELECT ${1}::int AS one`
        assert.deepStrictEqual(yield* statement, [{ one: 1 }])
        // A kept one would be the same object.
        assert.notStrictEqual(statement.compile(), statement.compile())
        assert.deepStrictEqual(statement.compile(), ["SELECT $1::int AS one", [1]])
      }))
  })
})
