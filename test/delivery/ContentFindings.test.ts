import { assert } from "@effect/vitest"
import { describe, it } from "vitest"
import { imagesOf } from "../../src/delivery/Composition.ts"
import type { CheckedContent } from "../../src/delivery/ContentFinding.ts"
import { clippedAt, contentFindings } from "../../src/delivery/ContentFindings.ts"

const content: CheckedContent = {
  subject: "New shoes for autumn",
  preheader: undefined,
  images: { count: 1, withoutAlt: 0, insecure: 0, textLength: 400 },
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

const allOk = Object.fromEntries(
  ["subject", "size", "links", "images", "unsubscribe", "plain-text", "wording", "placeholders"].map((
    check,
  ) => [check, "ok"]),
)

describe("Checks of content", () => {
  it("reports no problem for an ordinary message", () => {
    assert.deepStrictEqual(statuses({}), allOk)
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
      allOk,
    )
  })

  it("warns about subjects that are cut, shout or deceive, and counts characters as readers do", () => {
    const cases: ReadonlyArray<readonly [subject: string, warning: string]> = [
      ["", "is empty"],
      ["x".repeat(71), "has 71 characters"],
      ["👩‍👩‍👧".repeat(70), ""],
      ["LAST CHANCE: EVERYTHING MUST GO", "in capitals"],
      ["SALE", ""],
      ["Новая коллекция обуви", ""],
      ["セール開催中のお知らせです", ""],
      ["Sale! Now!", "2 exclamation marks"],
      ["Sale!", ""],
      ["Re: your order", "like a reply"],
      ["AW: Bestellung", "like a reply"],
      ["Reminder: your basket", ""],
    ]
    for (const [subject, warning] of cases) {
      assert.strictEqual(statuses({ subject })["subject"], warning === "" ? "ok" : "warn", subject)
      assert.include(detailOf("subject", { subject }), warning)
    }
  })

  it("warns about images without alt or encryption, and messages of images alone", () => {
    const images = { count: 3, withoutAlt: 2, insecure: 1, textLength: 20 }
    const detail = detailOf("images", { images })
    for (const part of ["Images without alt: 2 of 3", "20 characters of text", "1 of 3. Use https:// in src"]) {
      assert.include(detail, part)
    }
    assert.strictEqual(statuses({ images: { ...images, count: 0, withoutAlt: 0, insecure: 0 } })["images"], "ok")
    const html = `<style>p{}</style><title>Long title</title><img src="http://x.example/a.png"><p> Two  words </p>
      <img src="https://x.example/b.png" alt=""><img width=1 height=1 src="https://x.example/o.gif">`
    assert.deepStrictEqual(imagesOf(html), { count: 2, withoutAlt: 1, insecure: 1, textLength: 9 })
  })

  it("warns about shortened links, phrases of spam and placeholders, from data", () => {
    assert.include(detailOf("links", { hrefs: ["https://bit.ly/x"] }), "distrust shortened links")
    for (const href of ["https://notbit.ly/x", "https://bit.ly.shop.example/", "https://shop.example/bit.ly"]) {
      assert.strictEqual(statuses({ hrefs: [href] })["links"], "ok", href)
    }
    assert.include(detailOf("wording", { text: "ACT  NOW:\nyou have won" }), '"act now", "you have won"')
    assert.include(detailOf("wording", { text: "Hurry!!!" }), "shouts")
    for (
      const text of ["Hi {{ name }}", "Hi *|FNAME|*", "Hi %%first_name%%", "Hi [First Name]", "[object Object]", "TODO"]
    ) {
      assert.strictEqual(statuses({ text })["placeholders"], "warn", text)
    }
    for (const text of ["50% off, 20% off", "todo list", "A * B | C", "[1] source", "{ a }", "[first_name]"]) {
      assert.strictEqual(statuses({ text })["placeholders"], "ok", text)
    }
  })
})
