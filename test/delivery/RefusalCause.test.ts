import { assert, describe, it } from "@effect/vitest"
import { refusalCause } from "../../src/delivery/RefusalCause.ts"
import { isAboutAddress as isClassAboutAddress } from "../../src/domain/refusals/BounceEvent.ts"
import { classifyRefusal } from "../../src/domain/refusals/Refusals.ts"

const smtp = (reply: string) => `The SMTP server answered ${reply}`

const isAboutAddress = (said: string) => isClassAboutAddress(classifyRefusal({ said }).class)

describe("RefusalCause", () => {
  it("assigns refusals with one cause one name for all recipients", () => {
    const alike: ReadonlyArray<ReadonlyArray<string>> = [
      [
        smtp("554 5.7.1 <ada@example.com>: Relay access denied"),
        smtp("554 5.7.1 <bob@other.example>: Relay access denied"),
        smtp("550-5.7.1 Our system has detected unsolicited mail from 192.0.2.7. p12-20020a17090"),
      ],
      [
        smtp("554 Transaction failed: spam message rejected, id 4fJk2x0, see https://example.com/a?id=77"),
        smtp("554 Transaction failed: spam message rejected, id 9zzz2x1, see https://example.com/b"),
      ],
      [
        smtp("554 5.0.0 mail from news@shop.example rejected (host mx1.example.net 10.0.0.1)"),
        smtp("554 5.0.0 mail from news@shop.example rejected (host mx2.example.net 10.0.0.2)"),
      ],
      [
        'The webhook answered 422: {"error":"template 8817 is archived","request":"0198c0de-7c1e-7000-8000-000000000001"}',
        'The webhook answered 422: {"error":"template 8818 is archived","request":"0198c0df-7c1e-7000-8000-000000000002"}',
      ],
      [
        'Braze answered 400: {"message":"no campaign for ada@example.com"}',
        'Braze answered 400: {"message":"no campaign for bob.smith@sub.example.org"}',
      ],
    ]
    const classes = alike.map((reasons) => [...new Set(reasons.map(refusalCause))])
    for (const [n, found] of classes.entries()) assert.lengthOf(found, 1, `${alike[n]}`)
    assert.lengthOf([...new Set(classes.flat())], alike.length, "different causes differ")
  })

  it("assigns refusals with different causes to different classes", () => {
    const reasons = [
      smtp("550 5.1.1 No such user"),
      smtp("550 5.7.1 Blocked"),
      smtp("554 5.7.23 SPF validation failed"),
      smtp("554 Blocked"),
      smtp("552 Blocked"),
      smtp("554 Go away"),
      smtp("554"),
      "Iterable answered 400: no",
    ]
    assert.lengthOf([...new Set(reasons.map(refusalCause))], reasons.length)
  })

  it("recognizes refusals of the recipient's address", () => {
    const address = [
      "550 5.1.1 <ada@example.com>: Recipient address rejected: User unknown",
      "550 5.1.2 Bad destination system address",
      "556 5.1.10 Recipient address has null MX",
      "552 5.2.2 Over quota",
      "550 5.2.1 Mailbox disabled",
      "550 5.4.1 Recipient address rejected: Access denied",
      "550 5.4.4 Host not found",
      "550 No such user here",
      "550 ada@example.com... User unknown",
      "551 User not local",
      "550 5.5.0 Requested action not taken: mailbox unavailable",
      "550 Requested action not taken: mailbox unavailable",
      "550 The email account that you tried to reach does not exist",
      "554 delivery error: This user doesn't have an example.com account (ada@example.com): mailbox not found",
      "The mailbox is full. The SMTP server answered 552 Storage exceeded",
    ]
    const other = [
      "554 5.7.1 <ada@example.com>: Recipient address rejected: Access denied",
      "554 5.7.1 Message looks like spam",
      "550 5.7.26 Unauthenticated email from shop.example is not accepted",
      "550 5.1.8 Sender address rejected: domain not found",
      "550 5.1.7 Bad sender address",
      "550 5.2.3 Message too long",
      "554 Transaction failed",
      "554 5.0.0 Your account is suspended",
      "550 Blocked, see https://example.com/blocklist",
      "554 Relay access denied",
    ]
    assert.deepStrictEqual(address.filter((reply) => !isAboutAddress(smtp(reply))), [])
    assert.deepStrictEqual(other.filter((reply) => isAboutAddress(smtp(reply))), [])
    assert.isTrue(isAboutAddress('Iterable answered 400: {"msg":"Invalid email: x","code":"InvalidEmailAddressError"}'))
    assert.isFalse(isAboutAddress('Braze answered 400: {"message":"campaign is not active"}'))
  })

  it("classifies long reasons in linear time", () => {
    for (const text of ["a@", "<", "a.", "1a ", "mailbox ", "https://x"]) {
      const reason = text.repeat(Math.ceil(1_000 / text.length))
      refusalCause(reason)
      isAboutAddress(reason)
    }
  })
})
