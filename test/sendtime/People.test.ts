import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { changed, replaceHistories } from "../../src/sendtime/Histories.ts"
import { People } from "../../src/sendtime/People.ts"
import { Profiles } from "../../src/profiles/Profiles.ts"
import { layerQuiet } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"

describe("People", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    const store = Effect.fnUntraced(
      function* (org: string, histories: Readonly<Record<string, ReadonlyArray<number>>>) {
        const sql = yield* SqlClient.SqlClient
        yield* replaceHistories(
          sql,
          Object.entries(histories).map(([person, codes]) =>
            [{ org, kind: "user", person }, changed([], [], codes)] as const
          ),
        )
      },
    )
    const codesOf = (asked: { readonly org: string; readonly user?: string; readonly email?: string }) =>
      Effect.flatMap(People, ({ find }) =>
        Effect.map(
          find({ user: undefined, email: undefined, ...asked }),
          (known) => known === undefined ? undefined : Array.from(known.codes),
        ))

    it.effect("are found by name for any number of concurrent requests", () =>
      Effect.gen(function* () {
        const names = Array.from({ length: 700 }, (_, n) => `u${n}`)
        yield* store("many", Object.fromEntries(names.map((name, n) => [name, [n, 1000 + n]])))
        const asked = [...names, ...names, "stranger"]
        const found = yield* Effect.forEach(asked, (user) => codesOf({ org: "many", user }), {
          concurrency: "unbounded",
        })
        assert.deepStrictEqual(found, [
          ...[...names, ...names].map((name) => [Number(name.slice(1)), 1000 + Number(name.slice(1))]),
          [],
        ])
        assert.deepStrictEqual(yield* codesOf({ org: "other", user: "u1" }), [], "another organization's are not")
      }))

    it.effect("are cached until they are removed", () =>
      Effect.gen(function* () {
        const people = yield* People
        const ann = { org: "memory", user: "ann", email: undefined }
        yield* store("memory", { ann: [1] })
        assert.isUndefined(people.peek(ann))
        assert.deepStrictEqual(yield* codesOf({ org: "memory", user: "ann" }), [1])
        yield* store("memory", { ann: [1, 2] })
        assert.deepStrictEqual(Array.from(people.peek(ann)!.codes), [1])
        people.forget("memory", ["ann"])
        assert.deepStrictEqual(yield* codesOf({ org: "memory", user: "ann" }), [1, 2])
      }))

    it.effect("are one person under both names if the profile connects them", () =>
      Effect.gen(function* () {
        yield* store("names", { ann: [1, 3], "ann@example.com": [2, 3], "other@example.com": [9], bob: [5] })
        yield* (yield* Profiles).apply([{
          org: "names",
          user: "ann",
          email: "ann@example.com",
          traits: { a: 1 },
          occurredAt: 1,
          key: "1",
        }])
        assert.deepStrictEqual(yield* codesOf({ org: "names", user: "ann" }), [1, 2, 3])
        assert.deepStrictEqual(yield* codesOf({ org: "names", email: "ann@example.com" }), [1, 2, 3])
        assert.deepStrictEqual(yield* codesOf({ org: "names", email: "ANN@example.com" }), [1, 2, 3])
        assert.deepStrictEqual(
          yield* codesOf({ org: "names", user: "ann", email: "other@example.com" }),
          [1, 2, 3],
          "the profile knows the address better",
        )
        assert.deepStrictEqual(yield* codesOf({ org: "names", user: "bob", email: "other@example.com" }), [5, 9])
        assert.deepStrictEqual(yield* codesOf({ org: "names", email: "other@example.com" }), [9])
      }))
  })
})
