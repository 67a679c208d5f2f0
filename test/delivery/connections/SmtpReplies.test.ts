import { assert, describe, it } from "@effect/vitest"
import type { SmtpFault } from "../../../src/delivery/connections/SmtpReplies.ts"
import { sortFault } from "../../../src/delivery/connections/SmtpReplies.ts"
import { replies } from "../../domain/refusals/replies.ts"

const fault = (stage: SmtpFault["stage"], detail: string): SmtpFault => ({
  stage,
  code: Number(detail.slice(0, 3)),
  detail,
  uncertain: false,
})

const refusalOf = (stage: SmtpFault["stage"], detail: string) => {
  const result = sortFault(fault(stage, detail), [])
  return result._tag === "refused" ? result.refusal : result._tag
}

describe("A reply to RCPT or to a message", () => {
  it("refuses it for the reason that the same words have in a report", () => {
    for (const [name, sources] of Object.entries(replies)) {
      // Other replies end the session, or ask for another attempt.
      const final = Object.values(sources).flat().filter((text) =>
        /^5\d\d/.test(text) && !/^5(?:03|3[0458])/.test(text)
      )
      for (const text of final) {
        assert.strictEqual(refusalOf("recipient", text), name, text)
        assert.strictEqual(refusalOf("data", text), name, text)
      }
    }
  })

  it("asks for another attempt if it is temporary, whatever its words are", () => {
    assert.strictEqual(refusalOf("recipient", "450 4.1.1 User unknown"), "retry")
    assert.strictEqual(refusalOf("data", "452 4.2.2 Mailbox full"), "retry")
  })

  it("names a full mailbox in its reason, and no size of a message", () => {
    const reasonOf = (detail: string) => {
      const result = sortFault(fault("data", detail), [])
      return "reason" in result ? result.reason : ""
    }
    assert.match(reasonOf("552 5.2.2 over quota"), /^The mailbox is full\. The SMTP server answered 552/)
    assert.match(reasonOf("552 storage exceeded"), /^The mailbox is full\. /)
    assert.match(reasonOf("552 5.3.4 message too big"), /^The SMTP server answered 552/)
  })
})

describe("A reply before a recipient was named", () => {
  it("says which setting fits a server without STARTTLS, and none for a certificate that is not trusted", () => {
    const reasonOf = (one: SmtpFault) => {
      const result = sortFault({ ...one, cause: "tls" }, [])
      return result._tag === "broken" ? result.reason : ""
    }
    assert.match(
      reasonOf(fault("connect", "502 no such command")),
      /no encryption by STARTTLS: 502 .* `none` for a server of your/,
    )
    const untrusted = { ...fault("connect", "self-signed certificate"), code: undefined }
    assert.match(reasonOf(untrusted), /no encryption that can be trusted: self-signed certificate$/)
  })

  it("says nothing about an address", () => {
    assert.strictEqual(refusalOf("sender", "550 5.1.1 User unknown"), "broken")
    assert.strictEqual(refusalOf("connect", "554 5.7.1 Client host blocked"), "broken")
    assert.isUndefined(refusalOf("sender", "552 5.3.4 message size exceeds the limit"))
  })
})
