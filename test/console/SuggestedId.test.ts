import { assert } from "@effect/vitest"
import { describe, it } from "vitest"
import { freeId, idOfName } from "../../src/templates/SuggestedId.ts"

describe("ids suggested from names", () => {
  it("contain at most 60 lowercase Latin letters, digits and hyphens", () => {
    assert.strictEqual(idOfName("  Cart reminder: 2nd try! "), "cart-reminder-2nd-try")
    assert.strictEqual(idOfName("Été à Genève"), "ete-a-geneve")
    assert.strictEqual(idOfName("עברית 🎉"), "")
    assert.strictEqual(idOfName(`${"a".repeat(59)} b`), "a".repeat(59))
  })

  it("are numbered if they are taken", () => {
    const taken = new Set(["cart", "cart-2"])
    assert.strictEqual(freeId("cart", (id) => taken.has(id)), "cart-3")
    assert.strictEqual(freeId("welcome", (id) => taken.has(id)), "welcome")
  })
})
