import { assert, describe, it } from "@effect/vitest"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { execFileSync } from "node:child_process"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import process from "node:process"

/** A function of so many lines, with `comment` in it. */
const functionOf = (lines: number, comment = "1") =>
  `export const f = () => {\n  // ${comment}\n${"  g()\n".repeat(lines - 3)}}\nconst g = () => {}\n`

/** What `deno lint` with the rule says about files, by their paths. */
const lint = (files: Readonly<Record<string, string>>): string => {
  const folder = mkdtempSync(join(tmpdir(), "parlance-lint-"))
  try {
    const plugin = resolve("scripts/lint/longFunctions.ts")
    writeFileSync(join(folder, "deno.json"), JSON.stringify({ lint: { plugins: [plugin], rules: { tags: [] } } }))
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(folder, path, ".."), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const options = { cwd: folder, encoding: "utf8", env: { ...process.env, NO_COLOR: "1" }, stdio: "pipe" } as const
    return execFileSync(process.execPath, ["lint", "--quiet"], options)
  } catch (error) {
    return (error as { stderr: string }).stderr
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe("The lint rule for long functions", () => {
  it("refuses functions of src/ over 150 lines that state no reason", () => {
    const found = lint({
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
