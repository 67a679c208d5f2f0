import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { recordset } from "../../src/store/Recordset.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

const columns = {
  big: "bigint",
  flag: "boolean",
  day: "date",
  ratio: "float8",
  count: "int",
  small: "smallint",
  name: "text",
  key: "uuid",
} as const

const row = {
  big: "9007199254740993",
  flag: true,
  day: "2026-03-01",
  ratio: 0.1,
  count: -7,
  small: 3,
  name: `it's a "name", with \\ and é`,
  key: "00000000-0000-4000-8000-000000000001",
}

const none = { big: null, flag: null, day: null, ratio: null, count: null, small: null, name: null, key: undefined }

describe("recordset", () => {
  const environment = temporaryEnvironment
  layer(layerMigrated(environment), { excludeTestServices: true })((it) => {
    it.effect("passes every value and NULL in the types of the columns", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql`
          SELECT r.big::text AS big, r.flag, r.day::text AS day, r.ratio, r.count, r.small, r.name, r.key::text AS key
          FROM ${recordset([row, none], columns)}`
        assert.deepStrictEqual(rows, [row, { ...none, key: null }])
        const types = yield* sql<{ types: ReadonlyArray<string> }>`
          SELECT ARRAY[pg_typeof(r.big), pg_typeof(r.flag), pg_typeof(r.day), pg_typeof(r.ratio), pg_typeof(r.count),
            pg_typeof(r.small), pg_typeof(r.name), pg_typeof(r.key)]::text[] AS types
          FROM ${recordset([row], columns)}`
        assert.deepStrictEqual(types[0]!.types, [
          "bigint",
          "boolean",
          "date",
          "double precision",
          "integer",
          "smallint",
          "text",
          "uuid",
        ])
      }))

    it.effect("uses the same statement text with one parameter for any number of rows", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const compile = (count: number) =>
          sql`SELECT a.name FROM ${recordset(Array.from({ length: count }, () => row), columns, "a")}`.compile()
        const [none, ...more] = [compile(0), compile(1), compile(100)]
        for (const [text, parameters] of more) {
          assert.strictEqual(text, none![0])
          assert.lengthOf(parameters, 1)
        }
        assert.match(none![0], / AS a\(big bigint, flag boolean, /)
      }))

    it("rejects rows without a column or with a value of another type", () => {
      // @ts-expect-error `name` is missing.
      recordset([{ count: 1 }], { count: "int", name: "text" })
      // @ts-expect-error `count` is a string.
      recordset([{ count: "1" }], { count: "int" })
    })
  })
})
