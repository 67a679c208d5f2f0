import { assert } from "@effect/vitest"
import { describe, it } from "vitest"
import { freeId, idOfName } from "../../src/templates/SuggestedId.ts"

describe("ids suggested from names", () => {
  it("contain at most 60 lowercase Latin letters, digits and hyphens", () => {
    assert.strictEqual(idOfName("  Cart reminder: 2nd try! "), "cart-reminder-2nd-try")
    assert.strictEqual(idOfName("Été à Genève"), "ete-a-geneve")
    assert.strictEqual(idOfName("Größe, œuvre, Łódź"), "grosse-oeuvre-lodz")
    assert.strictEqual(idOfName("Sale חורף 2026"), "sale-2026")
    assert.strictEqual(idOfName("2026/27"), "2026-27")
    assert.strictEqual(idOfName(`${"a".repeat(59)} b`), "a".repeat(59))
  })

  it("are empty for names without Latin letters, whose digits alone would say little", () => {
    for (const name of ["עברית 2026", "مرحبا 2", "双11", "🎉 50 %", "…"]) assert.strictEqual(idOfName(name), "", name)
  })

  it("are numbered if they are taken", () => {
    const taken = new Set(["cart", "cart-2"])
    assert.strictEqual(freeId("cart", (id) => taken.has(id)), "cart-3")
    assert.strictEqual(freeId("welcome", (id) => taken.has(id)), "welcome")
  })
})
