import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { canonicalJson, digestKey, digestKeyOfSorted, nameOf } from "../../src/domain/EventKeys.ts"

/** The same value with the names of its objects in another order. */
const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).reverse().map(([name, one]) => [name, reversed(one)]))
}

const deep = (levels: number) => {
  let value: Record<string, unknown> = { end: 1 }
  for (let level = 1; level <= levels; level++) value = { b: value, a: [level] }
  return value
}

describe("canonicalJson", () => {
  it("is identical for any order of names", () => {
    const values: ReadonlyArray<readonly [Record<string, unknown>, string]> = [
      [{}, "{}"],
      [{ a: 1, b: "x", c: null, d: true, e: [] }, '{"a":1,"b":"x","c":null,"d":true,"e":[]}'],
      [{ "10": 1, "9": 2, a: 3 }, '{"10":1,"9":2,"a":3}'],
      [
        { a: { c: [{ z: 1, é: 2 }], b: 'quote " and \ud800' } },
        '{"a":{"b":"quote \\" and \\ud800","c":[{"z":1,"é":2}]}}',
      ],
      [{ a: -0, b: 1e21, c: 0.1, d: 1e-7 }, '{"a":0,"b":1e+21,"c":0.1,"d":1e-7}'],
      [{ A: 1, B: 2, a: 3 }, '{"A":1,"B":2,"a":3}'],
      [{ __proto__x: 1, constructor: 2 }, '{"__proto__x":1,"constructor":2}'],
    ]
    for (const [value, json] of values) {
      assert.strictEqual(canonicalJson(value), json)
      assert.strictEqual(canonicalJson(reversed(value) as Record<string, unknown>), json)
    }
  })

  it("writes undefined as null at every level", () => {
    assert.strictEqual(canonicalJson({ b: undefined, a: { c: undefined } }), '{"a":{"c":null},"b":null}')
    assert.strictEqual(canonicalJson({ a: [undefined] }), '{"a":[null]}')
  })

  it("accepts any depth", () => {
    for (const levels of [3, 5, 50_000]) {
      const json = canonicalJson(deep(levels))
      assert.isTrue(json.startsWith(`{"a":[${levels}],"b":`))
      assert.isTrue(json.endsWith("}".repeat(levels + 1)))
    }
  })
})

describe("digestKey", () => {
  it("is the SHA-256 of the canonical JSON, for sorted and unsorted names", () => {
    const contents = [
      {},
      { a: null, b: "é \ud800", c: 'quote "', d: { e: "1", f: null } },
      {
        createdAt: "2026-11-24 09:30:00 +00:00",
        eventName: "emailclick",
        messageId: null,
        url: "https://a.example",
        user: "u",
      },
    ]
    for (const content of contents) {
      const expected = createHash("sha256").update(canonicalJson(content)).digest("base64url")
      assert.strictEqual(digestKey(reversed(content) as Record<string, unknown>), `digest:${expected}`)
      assert.strictEqual(digestKeyOfSorted(content), `digest:${expected}`)
    }
  })
})

describe("nameOf", () => {
  it("returns texts of up to 200 characters and finite numbers", () => {
    for (const name of ["a", "Ä 1", " a ", "\ufeffa", "😀", "a".repeat(200)]) assert.strictEqual(nameOf(name), name)
    assert.strictEqual(nameOf(-0.5), "-0.5")
  })

  it("rejects blank text, control characters, lone surrogates, long text and other types", () => {
    const wrong = [
      "",
      " ",
      "\u00a0\u2003",
      "a\n",
      "\u007f",
      "a\u0000",
      "\ud83d",
      "a\ude00b",
      "😀\u0007",
      "a".repeat(201),
    ]
    for (const value of [...wrong, NaN, Infinity, true, null, undefined, {}, ["a"]]) assert.isUndefined(nameOf(value))
  })
})
