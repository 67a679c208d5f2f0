import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { readFileSync } from "node:fs"
import * as Migrations from "../../../src/store/Migrations.ts"
import { layerMigrated } from "../../support/stores.ts"
import { snapshot } from "../../support/schemaSnapshot.ts"
import type { Contract } from "./contract.ts"

/** An empty database gets the schema of `schema/snapshot.sql`. */
export const migrations: Contract = (environment) =>
  layer(layerMigrated(environment), { excludeTestServices: true })((it) => {
    it.effect("result in the tables of schema/snapshot.sql, and change nothing when they are applied again", () =>
      Effect.gen(function* () {
        const expected = readFileSync(new URL("../../../schema/snapshot.sql", import.meta.url), "utf8")
        assert.strictEqual(yield* snapshot, expected)
        assert.deepStrictEqual(yield* Migrations.migrate, [])
      }))

    it.effect("roll back if one fails", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const broken = Effect.andThen(sql`CREATE TABLE broken (n integer)`, sql`SELECT 1 / 0`)
        yield* Effect.flip(sql.withTransaction(broken))
        assert.deepStrictEqual(yield* sql`SELECT to_regclass('broken') AS found`, [{ found: null }])
      }))
  })
