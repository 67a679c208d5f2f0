import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { integerText, seededText } from "../support/collisions.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

describe("JSON columns", () => {
  const environment = temporaryEnvironment
  layer(layerMigrated(environment), { excludeTestServices: true })((it) => {
    const read = (text: string) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql<{ json: unknown; jsonb: unknown; list: unknown; none: unknown }>`
          SELECT ${text}::text::json AS json, ${text}::text::jsonb AS jsonb, ARRAY[${text}::text::json] AS list,
            NULL::jsonb AS none`
        return rows[0]!
      })

    it.effect("are parsed like JSON.parse", () =>
      Effect.gen(function* () {
        const text = '{"b": [1, -0.5e3, "é\\u0001", null, true], "a": {"__proto__": 1, "10": {}}, "": []}'
        const { json, jsonb, list, none } = yield* read(text)
        assert.strictEqual(JSON.stringify(json), JSON.stringify(JSON.parse(text)))
        assert.deepStrictEqual(jsonb, JSON.parse(text))
        assert.deepStrictEqual(list, [JSON.parse(text)])
        assert.isNull(none)
      }))

    it.effect("keep the digits of long integers, and large doubles as numbers", () =>
      Effect.gen(function* () {
        const { jsonb } = yield* read('{"id": 12345678901234567890, "list": [9007199254740993], "sum": 1.5e21}')
        assert.deepStrictEqual(jsonb, { id: "12345678901234567890", list: ["9007199254740993"], sum: 1.5e21 })
      }))

    it.effect("accept any number of strings, and stored names with colliding hashes", () =>
      Effect.gen(function* () {
        const strings = Array.from({ length: 200_000 }, (_, index) => integerText(index))
        assert.deepStrictEqual((yield* read(JSON.stringify(strings))).jsonb, strings)
        const names = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [seededText(index), index]))
        assert.deepStrictEqual((yield* read(JSON.stringify(names))).json, names)
      }))
  })
})
