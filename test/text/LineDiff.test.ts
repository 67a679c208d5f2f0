import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { lineDiff } from "../../src/text/LineDiff.ts"

const text = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 }).map((lines) => lines.join("\n"))

describe("lineDiff", () => {
  it("restores both texts line by line", () => {
    fc.assert(fc.property(text, text, (before, after) => {
      const lines = lineDiff(before, after)
      const side = (left: "removed" | "added") =>
        lines.filter(({ kind }) => kind !== left).map((line) => line.text).join("\n")
      assert.strictEqual(side("added"), before)
      assert.strictEqual(side("removed"), after)
    }))
  })

  it("keeps the longest common sequence of lines", () => {
    assert.deepStrictEqual(lineDiff("a\nb\nc\nd", "a\nc\nx\nd").map(({ kind, text }) => `${kind} ${text}`), [
      "same a",
      "removed b",
      "same c",
      "added x",
      "same d",
    ])
  })

  it("compares long texts without common lines quickly", () => {
    const lines = (word: string) => Array.from({ length: 30_000 }, (_, n) => `${word} ${n}`).join("\n")
    assert.strictEqual(lineDiff(lines("a"), lines("b")).length, 60_000)
  })
})
