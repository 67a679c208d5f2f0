import { JsonPointer } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { comparedSettings } from "../../src/domain/Blanked.ts"
import { difference, pointerParts } from "../../src/domain/Difference.ts"

describe("difference", () => {
  it("contains the changed fields, without a side that is absent", () => {
    const before = { "/name": "A", "/gone": 1, "/same": { a: [1] }, "/list": [1] }
    const after = { "/name": "B", "/same": { a: [1] }, "/list": [], "/new": null }
    assert.deepStrictEqual(difference(before, after), {
      fields: [
        { field: "/name", before: "A", after: "B" },
        { field: "/list", before: [1], after: [] },
        { field: "/new", after: null },
        { field: "/gone", before: 1 },
      ],
      omitted: 0,
    })
    assert.deepStrictEqual(difference(after, after), { fields: [], omitted: 0 })
    assert.deepStrictEqual(difference(undefined, { "/a": 1 }).fields, [{ field: "/a", after: 1 }])
  })

  it("keeps the context of changes in long texts, even within one line", () => {
    const lines = Array.from({ length: 5000 }, (_, n) => `line ${n}`)
    const [change] = difference({ "/t": lines.join("\n") }, { "/t": lines.with(4000, "new").join("\n") }).fields
    assert.strictEqual(change!.line, 3998)
    assert.strictEqual(change!.after, "line 3997\nline 3998\nline 3999\nnew\nline 4001\nline 4002\nline 4003")
    const minified = "x".repeat(60_000)
    const [one] = difference({ "/t": `${minified}old` }, { "/t": `${minified}new` }).fields
    assert.strictEqual(one!.before, `…${"x".repeat(200)}old`)
    assert.strictEqual(one!.after, `…${"x".repeat(200)}new`)
  })

  it("is limited in size for any records", () => {
    const record = (of: string) =>
      Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`/${n}${"n".repeat(500)}`, `${of}\n`.repeat(20_000)]))
    const { fields, omitted } = difference(record("a"), record("b"))
    assert.strictEqual(fields.length + omitted, 3000)
    assert.isBelow(JSON.stringify(fields).length, 45_000)
    assert.isTrue(fields.every(({ cut }) => cut))
    const nested = difference({ "/s": {} }, { "/s": { deep: "x".repeat(50_000) } }).fields[0]!
    assert.isTrue(nested.cut)
    assert.isBelow(JSON.stringify(nested).length, 10_000)
  })

  it("has pointers that round-trip any name", () => {
    assert.deepStrictEqual(pointerParts(`/vars/${JsonPointer.escapeToken("a/b~1")}`), ["vars", "a/b~1"])
  })
})

describe("comparedSettings", () => {
  it("reports that a secret changed without its value, at any depth", () => {
    const [before, after] = comparedSettings(
      { url: "https://a.example", region: "eu", headers: { authorization: "one", accept: "x" } },
      { url: "https://b.example", region: "us", headers: { authorization: "two", accept: "x" } },
    )
    assert.notMatch(JSON.stringify([before, after]), /example|one|two/)
    const { fields } = difference(before, after)
    assert.deepStrictEqual(fields.map(({ field }) => field), ["/settings/url", "/settings/region", "/settings/headers"])
  })
})
