import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { contentOf } from "../../src/delivery/connections/Content.ts"
import { platforms } from "../../src/delivery/connections/Platforms.ts"
import { sendWarnings } from "../../src/delivery/Sendable.ts"

describe("warnings about variants that cannot be sent", () => {
  it("list exactly the variants whose messages a connection refuses", () => {
    const names = ["subject", "body", "html", "text", "body_html", "title", "constructor"]
    const vars = fc.dictionary(fc.constantFrom(...names), fc.constantFrom("Hi", "<p>Hi</p>"))
    const formats = fc.dictionary(fc.constantFrom(...names), fc.constantFrom("text" as const, "html" as const))
    const variables = fc.constantFrom({}, { subject: "title" }, { body: "title" }, { html: "constructor" })
    fc.assert(
      fc.property(vars, formats, variables, (vars, formats, variables) => {
        const isSent = Result.isSuccess(contentOf({ vars, formats }, variables))
        assert.strictEqual(sendWarnings([{ name: "a", vars, formats }], variables).length, isSent ? 0 : 1)
      }),
    )
  })

  it("name ten variants and count the others", () => {
    const variants = Array.from({ length: 13 }, (_, at) => ({ name: `v${at}`, vars: { subject: "Hi" }, formats: {} }))
    const [warning, ...others] = sendWarnings(variants, {})
    assert.deepStrictEqual(others, [])
    assert.match(warning!, /^Deliver cannot send 13 variants, because they have no body: v0, .*, v9 and 3 more\. /)
  })

  it("are empty for platforms that accept variables of any name", () => {
    const bare = [{ name: "a", vars: { headline: "Hi" }, formats: {} }]
    const warned = Object.entries(platforms).filter(([, { variables }]) => sendWarnings(bare, variables({})).length > 0)
    assert.deepStrictEqual(warned.map(([name]) => name), [
      "smtp",
      "ses",
      "resend",
      "postmark",
      "braze",
      "customerio",
      "sink",
    ])
    assert.deepStrictEqual(sendWarnings(bare, platforms.braze.variables({ transactional_campaign_id: "c" })), [])
  })
})
