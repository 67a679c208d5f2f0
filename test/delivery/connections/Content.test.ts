import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { contentOf } from "../../../src/delivery/connections/Content.ts"
import type { Message } from "../../../src/delivery/Connection.ts"

const contentWith = (vars: Message["vars"], formats: Message["formats"] = {}) =>
  contentOf({ vars: { subject: "Hi", ...vars }, formats })

describe("the content of a message", () => {
  it("takes the HTML from body, html or body_html, in this order", () => {
    const htmlOf = (vars: Message["vars"], formats?: Message["formats"]) =>
      Result.getOrThrow(contentWith(vars, formats)).html
    assert.strictEqual(htmlOf({ body: "<p>a</p>" }, { body: "html" }), "<p>a</p>")
    assert.strictEqual(htmlOf({ body_html: "<p>b</p>" }, { body_html: "html" }), "<p>b</p>")
    assert.strictEqual(htmlOf({ html: "<p>c</p>", body_html: "<p>b</p>" }), "<p>c</p>")
    const both = Result.getOrThrow(contentWith({ body: "plain", body_html: "<p>b</p>" }))
    assert.deepInclude(both, { text: "plain", html: "<p>b</p>" })
  })

  it("is rejected without a body", () => {
    const refused = contentWith({ footer: "x" })
    assert.match(Result.isFailure(refused) ? refused.failure : "", /no body/)
  })
})
