import { assert } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { describe, it } from "vitest"
import { bundleEditor, bundlePath } from "../../../scripts/writeEditor.ts"

describe("The script of the editor", () => {
  it("is what its sources and the pinned packages make; scripts/writeEditor.ts renews it", async () => {
    const made = await bundleEditor()
    assert.isTrue(made === readFileSync(bundlePath, "utf8"), "run deno run -A scripts/writeEditor.ts")
  })
})
