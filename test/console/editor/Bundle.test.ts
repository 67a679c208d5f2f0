import { assert } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { describe, it } from "vitest"
import { bundleEditor, bundlePath } from "../../../scripts/writeEditor.ts"

describe("the script of the editor", () => {
  it("equals the bundle of its sources and the pinned packages; scripts/writeEditor.ts renews it", async () => {
    const made = await bundleEditor()
    assert.isTrue(made === readFileSync(bundlePath, "utf8"), "run deno run -A scripts/writeEditor.ts")
  })
})
