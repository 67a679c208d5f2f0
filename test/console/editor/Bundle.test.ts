import { assert } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { describe, it } from "vitest"
import { bundleMjml, mjmlBundle } from "../../../scripts/writeMjml.ts"
import { bundlePath, bundleScript, scriptNames, textsScript, translations } from "../../../scripts/writeScripts.ts"

describe("MJML of the checking process", () => {
  it("equals the bundle of the pinned packages", async () => {
    assert.isTrue(await bundleMjml() === readFileSync(mjmlBundle, "utf8"), "run deno run -A scripts/writeMjml.ts")
  })
})

describe("the scripts of the console", () => {
  it.each(scriptNames)("%s equals the bundle of its sources and the pinned packages", async (name) => {
    const made = await bundleScript(name)
    assert.isTrue(made === readFileSync(bundlePath(name), "utf8"), "run deno run -A scripts/writeScripts.ts")
  })

  it.each(translations)("have their texts in $name", (language) => {
    const stored = readFileSync(bundlePath(`texts.${language.tag}`), "utf8")
    assert.isTrue(textsScript(language) === stored, "run deno run -A scripts/writeScripts.ts")
  })
})
