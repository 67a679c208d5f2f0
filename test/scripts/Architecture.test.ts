import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"

const page = readFileSync("docs/architecture.md", "utf8")

/** Work that goes on while the process serves: repeated for ever, in a fiber of a layer. */
const hasLoop = (text: string) =>
  /forkScoped|forkIn/.test(text) && /Effect\.forever|Effect\.repeat\(Schedule\.(spaced|fixed)/.test(text)

describe("docs/architecture.md", () => {
  it("names every folder", () => {
    const folders = readdirSync("src", { withFileTypes: true }).filter((entry) => entry.isDirectory())
    for (const { name } of folders) assert.include(page, `\`${name}/\``)
  })

  it("names every file that works in the background", () => {
    const files = readdirSync("src", { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && !/^(demo|simulation|cli|learning)\//.test(path))
      .filter((path) => hasLoop(readFileSync(`src/${path}`, "utf8")))
    assert.isAbove(files.length, 20)
    assert.deepStrictEqual(files.filter((path) => !page.includes(`\`${path}\``)), [])
  })
})
