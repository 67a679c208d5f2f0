import { assert, describe, it } from "@effect/vitest"
import { feedbackIdOf } from "../../src/delivery/FeedbackId.ts"

const message = { copyId: "a", templateId: "welcome", org: "acme-shop" }

describe("feedbackIdOf", () => {
  it("returns variant, template, kind and sender", () => {
    assert.strictEqual(feedbackIdOf(message, undefined), "a:welcome:bulk:acme-shop")
    assert.strictEqual(feedbackIdOf({ ...message, isTransactional: true }, "acme5"), "a:welcome:transactional:acme5")
  })

  it("replaces characters and cuts parts that Gmail does not accept", () => {
    const id = feedbackIdOf({ copyId: "grün: ä\r\nBcc: x", templateId: "t".repeat(500), org: "a" }, undefined)
    assert.match(id, /^gr_n_____Bcc__x:t{64}:bulk:org-[0-9a-f]{11}$/)
    const senders = ["a", "b", "a-very-long-organization"].map((org) => feedbackIdOf({ ...message, org }, undefined))
    assert.strictEqual(new Set(senders).size, 3)
  })
})
