import { assert } from "@effect/vitest"
import { describe, it } from "vitest"
import { type CheckedContent, clippedAt, contentFindings } from "../../src/delivery/ContentFindings.ts"

const content: CheckedContent = {
  html: '<a href="https://shop.example/">Shop</a> <a href="https://shop.example/unsubscribe">Unsubscribe</a>',
  text: "Shop",
  hrefs: ["https://shop.example/", "https://shop.example/unsubscribe"],
  isTransactional: false,
  isListed: true,
}

const statuses = (more: Partial<CheckedContent>) =>
  Object.fromEntries(contentFindings({ ...content, ...more }).map(({ check, status }) => [check, status]))

const detailOf = (check: string, more: Partial<CheckedContent>) =>
  contentFindings({ ...content, ...more }).find((one) => one.check === check)!.detail

describe("Checks of content", () => {
  it("reports no problem for an ordinary message", () => {
    assert.deepStrictEqual(statuses({}), { size: "ok", links: "ok", unsubscribe: "ok", "plain-text": "ok" })
  })

  it("counts bytes, as Gmail does, and warns before its limit", () => {
    assert.strictEqual(statuses({ html: "é".repeat(clippedAt / 2) }).size, "warn")
    assert.strictEqual(statuses({ html: "é".repeat(clippedAt / 2 + 1) }).size, "wrong")
    assert.include(detailOf("size", { html: "a".repeat(110 * 1024) }), "110 kB")
  })

  it("lists links that have no target or are not encrypted", () => {
    for (const href of ["", " # ", "www.shop.example", "/cart", "https://"]) {
      assert.strictEqual(statuses({ hrefs: [href] }).links, "wrong", href)
    }
    for (const href of ["mailto:help@shop.example", "tel:+4930", "#top"]) {
      assert.strictEqual(statuses({ hrefs: [href] }).links, "ok", href)
    }
    const hrefs = [1, 2, 3, 4, 5].map((number) => `http://shop.example/${number}`)
    assert.strictEqual(statuses({ hrefs }).links, "warn")
    assert.include(detailOf("links", { hrefs }), "http://shop.example/3 and 2 more")
  })

  it("warns about a missing unsubscribe link, except in transactional messages, and about missing plain text", () => {
    assert.strictEqual(statuses({ hrefs: [] }).unsubscribe, "warn")
    assert.strictEqual(statuses({ hrefs: [], isTransactional: true }).unsubscribe, "ok")
    assert.strictEqual(statuses({ text: " \r\n" })["plain-text"], "warn")
    assert.deepStrictEqual(
      statuses({ html: undefined, text: "To unsubscribe: https://x.example/u", hrefs: ["https://x.example/u"] }),
      { size: "ok", links: "ok", unsubscribe: "ok", "plain-text": "ok" },
    )
  })
})
