import { assert, describe, it } from "@effect/vitest"
import { brokenLinks, missingFiles } from "../../scripts/checkLinks.ts"

describe("The link check", () => {
  it("finds missing files and anchors, outside of code", () => {
    const text =
      "[a](b.md) [c](b.md#x) [d](b.md#here)\n`[e](no.md)`\n```\n[f](no.md)\n```\n[g](#top) [h](/docs) [i](/no)"
    assert.deepStrictEqual(brokenLinks("docs/a.md", text, (file) => file === "docs/b.md" ? "# Here" : undefined), [
      "docs/a.md:1: docs/b.md has no heading #x",
      "docs/a.md:6: docs/a.md has no heading #top",
      "docs/a.md:6: there is no file docs/no",
    ])
  })

  it("finds names of missing files in code", () => {
    const text =
      "`src/a.ts` and `src/b` and src/c\n`schema/NNNN_verb.sql`, `/src/d`, `src/intake/NAME.ts` and `test/e.ts --x`"
    assert.deepStrictEqual(missingFiles("a.md", text, (file) => file === "src/a.ts"), [
      "a.md:1: there is no file src/b",
      "a.md:2: there is no file test/e.ts",
    ])
  })
})
