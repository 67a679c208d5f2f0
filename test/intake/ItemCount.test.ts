import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { countItems as countParsed } from "../../src/intake/CustomEvents.ts"
import { countItems } from "../../src/intake/ItemCount.ts"

const count = (text: string) => countItems(new TextEncoder().encode(text))

/** The number of items found by parsing. */
const expected = (text: string) => {
  try {
    return countParsed(JSON.parse(text))
  } catch {
    return undefined
  }
}

const agrees = Effect.fnUntraced(function* (text: string) {
  const counted = yield* count(text)
  assert.strictEqual("items" in counted ? counted.items : undefined, expected(text), text.slice(0, 200))
})

const wrapper = fc.constantFrom("events", "batch", "data", "other", "__proto__")
const json = fc.oneof(
  fc.json({ maxDepth: 4 }),
  fc.tuple(fc.array(fc.tuple(wrapper, fc.json({ maxDepth: 2 })), { maxLength: 4 }), fc.constantFrom("", " ", "\n\t"))
    .map(([members, space]) =>
      `{${members.map(([name, value]) => `${space}"${name}"${space}:${value}`).join(`${space},`)}${space}}`
    ),
)
/** JSON with some characters changed, so that most texts are invalid. */
const broken = fc.tuple(json, fc.array(fc.tuple(fc.nat(60), fc.constantFrom(...'[]{},:"\\0-1.eEnu tf\u0001'))))
  .map(([text, changes]) =>
    changes.reduce((all, [at, character]) => all.slice(0, at) + character + all.slice(at + 1), text)
  )

describe("countItems", () => {
  it("agrees with the JSON parser on count and validity", () =>
    fc.assert(fc.asyncProperty(fc.oneof(json, broken), (text) => Effect.runPromise(agrees(text))), { numRuns: 2_000 }))

  it.effect("accepts every syntax of JSON", () =>
    Effect.forEach(
      [
        "",
        " ",
        "1",
        "-0",
        "-",
        "01",
        "1.",
        "1.5e+3",
        ".5",
        "1e",
        '"a"',
        '"',
        '"\\u00e9"',
        '"\\u00g9"',
        '"\\x"',
        '"\n"',
        "true",
        "tru",
        "nulls",
        "[]",
        "[,]",
        "[1,]",
        "[1 2]",
        "{}",
        "{,}",
        '{"a"}',
        '{"a":}',
        '{"a":1,}',
        "{1:1}",
        "[}",
        '{"events":[1,2],"events":3}',
        '{"data":[1],"events":[1,2,3]}',
        '{"\\u0065vents":[1,2]}',
        '{"a":{"events":[1,2]}}',
        '{"events":[[1,2,3],{"events":[1,2,3]}]}',
        "[[1,2],[3]]",
        "[] []",
      ],
      agrees,
      { discard: true },
    ))

  it.effect("reports the position of invalid JSON and of invalid UTF-8", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* count('{"a":1,}'), {
        reason: "The body is not valid JSON: expected a name in quotes at character 8",
      })
      assert.deepStrictEqual(yield* countItems(new Uint8Array([0x22, 0xff, 0x22])), {
        reason: "The body is not valid UTF-8 at line 1, column 2. Send it as UTF-8",
      })
    }))

  it.effect("continues across time slices inside strings, escapes and names", () =>
    Effect.forEach(Array.from({ length: 12 }, (_, i) => i), (shift) => {
      const space = " ".repeat(shift)
      const long = `${"x".repeat(2 ** 16 - 20)}\\u00e9\\\\\\"é${"y".repeat(2 ** 17)}`
      return Effect.forEach([
        `${space}["${long}","${long}",3]`,
        `${space}{"${long}":[1,2],"events":[1,2,3]}`,
        `${space}{"events":["${long}",{"${long}":1}],"other":[1]}`,
        `${space}["${long}`,
      ], agrees)
    }, { discard: true }))

  it.effect("counts millions of items and levels", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* count(`[${"[],".repeat(1_000_000)}1]`), { items: 1_000_001 })
      assert.deepStrictEqual(yield* count("[".repeat(2_000_000) + "]".repeat(2_000_000)), { items: 1 })
    }))
})
