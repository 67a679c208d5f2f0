import { assert, describe, it } from "@effect/vitest"
import { ParsedSources } from "../../src/rendering/ParsedSources.ts"

const source = (name: string) => `{{ ${name} }}`.padEnd(1000)

describe("ParsedSources", () => {
  it("returns the same parsed form for the same content and format", () => {
    const sources = new ParsedSources({ maxBytes: 1_000_000 })
    const first = sources.parse(source("a"), "text")
    assert.strictEqual(sources.parse(["{{ a", " }}"].join("").padEnd(1000), "text"), first)
    assert.notStrictEqual(sources.parse(source("a"), "html"), first)
    assert.notStrictEqual(sources.parse(source("b"), "text"), first)
  })

  it("stays within its size, and drops the least recently used source", () => {
    const one = new ParsedSources({ maxBytes: 1_000_000 })
    one.parse(source("a"), "text")
    const sources = new ParsedSources({ maxBytes: 3 * one.bytes })
    const [a, b] = [sources.parse(source("a"), "text"), sources.parse(source("b"), "text")]
    sources.parse(source("c"), "text")
    assert.strictEqual(sources.parse(source("a"), "text"), a)
    sources.parse(source("d"), "text")
    assert.isAtMost(sources.bytes, 3 * one.bytes)
    assert.strictEqual(sources.parse(source("a"), "text"), a)
    assert.notStrictEqual(sources.parse(source("b"), "text"), b)
  })

  it("stays within its size over many sources in both formats", () => {
    const sources = new ParsedSources({ maxBytes: 200_000 })
    for (let index = 0; index < 500; index++) {
      sources.parse(source(`v${index % 50}`), index % 3 === 0 ? "html" : "text")
      assert.isAtMost(sources.bytes, 200_000)
    }
    assert.isAbove(sources.bytes, 100_000)
  })

  it("caches neither faults nor texts without Liquid", () => {
    const sources = new ParsedSources({ maxBytes: 1_000_000 })
    sources.parse("{{ broken", "text")
    sources.parse("plain", "html")
    assert.strictEqual(sources.bytes, 0)
  })

  it("parses a source larger than its limit without caching it", () => {
    const sources = new ParsedSources({ maxBytes: 100 })
    assert.property(sources.parse("{{ a }}", "text"), "render")
    assert.strictEqual(sources.bytes, 0)
  })
})
