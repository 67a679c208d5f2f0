import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Limits from "../../src/rendering/Limits.ts"
import { parseVars } from "../../src/rendering/Renderer.ts"
import { faultOf, renderVars, textOf } from "./variants.ts"

describe("limits of rendering", () => {
  const fill = (length: number) =>
    `{% assign a = "${"a".repeat(1024)}" %}{% for i in (1..${length / 1024}) %}{{ a }}{% endfor %}`

  it("allow up to 1,048,576 characters per variable", () => {
    assert.strictEqual(textOf(fill(Limits.outputLength)).length, Limits.outputLength)
    const [fault] = faultOf(`${fill(Limits.outputLength)}x`).faults
    assert.deepStrictEqual([fault?.kind, fault?.message], ["limit", "renders to more than 1048576 characters"])
  })

  it("allow up to 2,097,152 characters per variant, including texts without Liquid", () => {
    const half = fill(Limits.outputLength)
    assert.isTrue(Result.isSuccess(renderVars({ a: half, b: half })))
    const over = Result.getOrThrow(Result.flip(renderVars({ a: half, b: half, c: "x" }))).faults
    assert.deepStrictEqual(over.map(({ message, variable }) => [variable, message]), [
      ["b", "makes the variant longer than 2097152 characters"],
    ])
    const texts = Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`v${index}`, "x".repeat(524_288)]))
    const faults = Result.getOrThrow(Result.flip(parseVars(texts, {}))).faults
    assert.deepStrictEqual(faults.map(({ variable }) => variable), ["v4"])
  })

  it("stop a capture that doubles itself before it is large", () => {
    const source = "{% capture a %}0123456789{% endcapture %}{% for i in (1..40) %}" +
      "{% capture a %}{{ a }}{{ a }}{% endcapture %}{% endfor %}{{ a }}"
    assert.strictEqual(faultOf(source).faults[0]?.message, "renders to more than 1048576 characters")
  })

  it("stop a loop over very large numbers", () => {
    assert.strictEqual(textOf("{% for i in (9007199254740992..9007199254740994) %}x{% endfor %}"), "xxx")
  })

  it("apply to all variables of a variant together, and name each unfinished variable", () => {
    const endless = "{% for i in (1..100000) %}{% for j in (1..100000) %}{% endfor %}{% endfor %}"
    const result = renderVars({ a: endless, b: "{{ x }}", c: "text" }, { x: 1 })
    const { faults } = Result.getOrThrow(Result.flip(result))
    assert.deepStrictEqual(faults.map(({ kind, variable }) => [variable, kind]), [["a", "limit"], ["b", "limit"]])
  })

  it("produce the same fault every time, also in strict mode", () => {
    const source = "{{ missing }}{% for i in (1..10000000) %}{% endfor %}"
    assert.deepStrictEqual(faultOf(source).faults, faultOf(source).faults)
    assert.deepStrictEqual(faultOf(source, {}, { strict: true }).faults.map(({ kind }) => kind), ["limit", "undefined"])
  })
})
