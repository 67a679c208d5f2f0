import { assert, describe, it } from "@effect/vitest"
import { addressIn, isAligned, isComplaintSender } from "../../../src/intake/bounces/ComplaintSenders.ts"

describe("isComplaintSender", () => {
  it("accepts the addresses of known feedback loops", () => {
    for (
      const address of [
        "feedback@arf.mail.yahoo.com",
        "Staff@Hotmail.com",
        "complaints@email-abuse.amazonses.com",
        "complaints@eu-west-1.email-abuse.amazonses.com",
        "feedbackloop@comcastfbl.senderscore.net",
        "feedbackloop@fbl.fastmail.com",
      ]
    ) assert.isTrue(isComplaintSender(address, []), address)
  })

  it("rejects addresses of people, even at a provider with a feedback loop", () => {
    for (
      const address of [
        "ann@hotmail.com",
        "staff@hotmail.com.evil.example",
        "feedback@yahoo.com",
        "feedback@xarf.mail.yahoo.com",
        "a@fastmail.com",
        "senderscore.net@evil.example",
      ]
    ) assert.isFalse(isComplaintSender(address, []), address)
  })

  it("accepts the addresses and domains that the operator adds", () => {
    const added = ["FBL.provider.example", "reports@post.example"]
    for (const address of ["a@fbl.provider.example", "a@eu.fbl.provider.example", "reports@post.example"]) {
      assert.isTrue(isComplaintSender(address, added), address)
    }
    for (const address of ["a@provider.example", "other@post.example"]) {
      assert.isFalse(isComplaintSender(address, added), address)
    }
  })
})

describe("isAligned", () => {
  it("accepts the sender's domain, its parents and its subdomains", () => {
    for (const domain of ["arf.mail.yahoo.com", "yahoo.com", "x.arf.mail.yahoo.com"]) {
      assert.isTrue(isAligned(domain, "feedback@ARF.mail.yahoo.com"), domain)
    }
    for (const domain of ["evil.example", "other.mail.yahoo.com", "ahoo.com"]) {
      assert.isFalse(isAligned(domain, "feedback@arf.mail.yahoo.com"), domain)
    }
  })

  it("rejects a parent under which anyone can register a domain", () => {
    assert.isTrue(isAligned("cox.net", "x@fbl.cox.net"))
    assert.isFalse(isAligned("net", "x@fbl.cox.net"))
    assert.isTrue(isAligned("provider.co.uk", "x@fbl.provider.co.uk"))
    for (const domain of ["co.uk", "uk"]) assert.isFalse(isAligned(domain, "x@fbl.provider.co.uk"), domain)
  })
})

describe("addressIn", () => {
  it("returns the address of a sender with or without a name", () => {
    assert.strictEqual(addressIn(" Feedback <a@fbl.example>"), "a@fbl.example")
    assert.strictEqual(addressIn("a@fbl.example (loop)"), "a@fbl.example")
  })

  it("rejects a sender with two addresses, such as one in the name", () => {
    assert.isUndefined(addressIn('"feedback@arf.mail.yahoo.com" <a@evil.example>'))
    assert.isUndefined(addressIn("a@b.example, c@d.example"))
    assert.isUndefined(addressIn("nobody"))
  })

  it("rejects a sender of more than 1,000 characters", () => {
    assert.isUndefined(addressIn(`${"a".repeat(256 * 1_024)} <a@fbl.example>`))
  })
})
