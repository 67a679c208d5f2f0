import { assert, describe, it } from "@effect/vitest"
import { lint } from "../support/lint.ts"

/** A function of so many lines, with `comment` in it. */
const functionOf = (lines: number, comment = "1") =>
  `export const f = () => {\n  // ${comment}\n${"  g()\n".repeat(lines - 3)}}\nconst g = () => {}\n`

describe("The lint rule for long functions", () => {
  it("rejects functions of src/ over 150 lines without a stated reason", () => {
    const found = lint("longFunctions.ts", {
      "src/allowed.ts": functionOf(150),
      "src/folder/long.ts": functionOf(151),
      "src/reasoned.ts": functionOf(151, "Long: one table of words."),
      "src/empty.ts": functionOf(151, "Long:"),
      "test/long.ts": functionOf(151),
    })
    const files = [...found.matchAll(/This function has 151 lines[^]*?([a-z]+)\.ts:/g)].map(([, name]) => name).sort()
    assert.deepStrictEqual(files, ["empty", "long"], found)
  })
})
