import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import * as Attributes from "../../src/domain/Attributes.ts"

const parsed = (input: unknown): Record<string, ReadonlyArray<string>> =>
  Object.fromEntries(Result.getOrThrow(Attributes.parse(input)))

const faults = (input: unknown): ReadonlyArray<string> =>
  Result.match(Attributes.parse(input), {
    onSuccess: () => [],
    onFailure: (all) => all.map(({ detail, pointer }) => `${pointer} ${detail}`),
  })

describe("Attributes.parse", () => {
  it("converts every scalar to a list with one lowercase text", () => {
    assert.deepStrictEqual(
      parsed({ tier: "GOLD", age: 42, price: 1.5, big: 1e21, minus: -0, vip: true, opted: false, city: "Zürich ÖÇ" }),
      {
        tier: ["gold"],
        age: ["42"],
        price: ["1.5"],
        big: ["1e+21"],
        minus: ["0"],
        vip: ["true"],
        opted: ["false"],
        city: ["zürich öç"],
      },
    )
  })

  it("lowercases by Unicode and not by the locale of the process", () => {
    assert.deepStrictEqual(parsed({ a: "INTERNET", b: "İ", c: "ΟΔΟΣ" }), { a: ["internet"], b: ["i̇"], c: ["οδος"] })
  })

  it("keeps names as they were sent", () => {
    assert.deepStrictEqual(parsed({ Tier: "a", tier: "b", "": "c", "a b/~": "d" }), {
      Tier: ["a"],
      tier: ["b"],
      "": ["c"],
      "a b/~": ["d"],
    })
  })

  it("keeps the elements of an array in their order, repetitions included", () => {
    assert.deepStrictEqual(parsed({ tags: ["B", "a", 3, true, "b"] }), { tags: ["b", "a", "3", "true", "b"] })
  })

  it("omits null, an empty array and null elements", () => {
    assert.deepStrictEqual(parsed({ a: null, b: [], c: [null], d: [null, "X", null] }), { d: ["x"] })
  })

  it("keeps an empty string", () => {
    assert.deepStrictEqual(parsed({ a: "", b: [""] }), { a: [""], b: [""] })
  })

  it("returns no attributes for an empty or absent object", () => {
    assert.deepStrictEqual(parsed({}), {})
    assert.deepStrictEqual(parsed(undefined), {})
  })

  it.each([null, [], ["a"], "a", 1, true])("refuses %j in place of an object", (input) => {
    assert.deepStrictEqual(faults(input), [" must be an object"])
  })

  it("reports every fault with its pointer", () => {
    assert.deepStrictEqual(
      faults({
        ok: "x",
        address: { city: "Bern" },
        tier: [{ a: 1 }, "gold", ["x"], null, Infinity],
        age: NaN,
        "a/b~c": {},
        nul: "a\u0000b",
        surrogate: "\ud800",
        "na\u0000me": "x",
      }),
      [
        "/address must be a string, a number, a boolean, or an array of them",
        "/tier/0 must be a string, a number or a boolean",
        "/tier/2 must be a string, a number or a boolean",
        "/tier/4 must be a finite number",
        "/age must be a finite number",
        "/a~1b~0c must be a string, a number, a boolean, or an array of them",
        "/nul must be well-formed Unicode without NUL",
        "/surrogate must be well-formed Unicode without NUL",
        "/na\u0000me the name must be well-formed Unicode without control characters",
      ],
    )
  })

  it("rejects a number that is not finite", () => {
    assert.deepStrictEqual(faults(JSON.parse('{"n": 1e400, "l": [-1e400]}')), [
      "/n must be a finite number",
      "/l/0 must be a finite number",
    ])
  })

  it("accepts the names of object members", () => {
    const input = JSON.parse('{"__proto__": "A", "constructor": "B", "toString": ["C"], "hasOwnProperty": null}')
    assert.deepStrictEqual([...Result.getOrThrow(Attributes.parse(input))], [
      ["__proto__", ["a"]],
      ["constructor", ["b"]],
      ["toString", ["c"]],
    ])
    assert.strictEqual(({} as Record<string, unknown>)["A"], undefined)
    assert.deepStrictEqual(faults(JSON.parse('{"__proto__": {"polluted": true}}')), [
      "/__proto__ must be a string, a number, a boolean, or an array of them",
    ])
  })

  it("ignores inherited properties", () => {
    assert.deepStrictEqual(parsed(Object.create({ tier: "gold" })), {})
  })

  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]))

  it("accepts 1,000 attributes and rejects 1,001", () => {
    assert.strictEqual(Result.getOrThrow(Attributes.parse(many(1_000))).size, 1_000)
    assert.deepStrictEqual(faults(many(1_001)), [" must have at most 1,000 attributes"])
  })

  it("accepts 1,000 elements and rejects 1,001 without checking them", () => {
    assert.strictEqual(parsed({ a: Array(1_000).fill("x") })["a"]!.length, 1_000)
    assert.deepStrictEqual(faults({ a: Array(1_001).fill({}), b: {} }), [
      "/a must have at most 1,000 elements",
      "/b must be a string, a number, a boolean, or an array of them",
    ])
  })

  it("accepts 1,000 characters and rejects 1,001, alone and in an array", () => {
    const long = "x".repeat(1_000)
    assert.deepStrictEqual(parsed({ a: long, b: [long, 1] }), { a: [long], b: [long, "1"] })
    assert.deepStrictEqual(faults({ a: `${long}x`, b: ["x", `${long}x`], c: "x" }), [
      "/a must have at most 1,000 characters",
      "/b/1 must have at most 1,000 characters",
    ])
  })

  it("accepts 20,000 characters in an array and rejects 20,001", () => {
    const list = Array(20).fill("x".repeat(1_000))
    assert.strictEqual(parsed({ a: [...list, null, 1] })["a"]!.length, 21)
    assert.strictEqual(parsed({ a: Array(500).fill("123e4567-e89b-12d3-a456-426614174000") })["a"]!.length, 500)
    assert.deepStrictEqual(faults({ a: [...list, "x"], b: [{}] }), [
      "/a must have at most 20,000 characters in all elements together",
      "/b/0 must be a string, a number or a boolean",
    ])
  })

  it("reports at most 100 faults", () => {
    assert.strictEqual(faults({ a: Array(1_000).fill({}) }).length, 100)
    assert.strictEqual(faults(Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`k${i}`, {}]))).length, 100)
  })

  it("accepts exactly the JSON without faults", () => {
    const isScalar = (value: unknown) =>
      value === null || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value)) ||
      (typeof value === "string" && value.isWellFormed() && !value.includes("\u0000"))
    const isName = (name: string) => name.isWellFormed() && !/[\p{Cc}--[\u0080-\u009f]]/v.test(name)
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "binary", maxLength: 4 }), fc.jsonValue({ maxDepth: 3 })),
        (input) => {
          const valid = Object.entries(input).every(([name, value]) =>
            isName(name) && (isScalar(value) || (Array.isArray(value) && value.every(isScalar)))
          )
          const result = Attributes.parse(input)
          assert.strictEqual(Result.isSuccess(result), valid)
          if (Result.isSuccess(result)) {
            for (const values of result.success.values()) {
              assert.isAbove(values.length, 0)
              for (const value of values) assert.strictEqual(value, value.toLowerCase())
            }
          } else assert.isAbove(result.failure.length, 0)
        },
      ),
    )
  })
})
