import { assert, describe, it } from "@effect/vitest"
import { bounceByMember } from "../../src/intake/BounceMembers.ts"
import { normalize } from "../../src/intake/CustomEvents.ts"
import { compile } from "../../src/intake/mapping/Mapping.ts"

const cases: ReadonlyArray<readonly [expected: string, members: ReadonlyArray<object>]> = [
  ["bounce", [
    {},
    { type: "bounce" },
    { bounce_type: "Permanent" },
    { "Bounce Type": "Hard" },
    { bounceType: "hard" },
    { bounce: { bounceType: "Permanent", bounceSubType: "General" } },
    { bounce: { type: "Permanent", subType: "NoEmail" } },
    { Type: "HardBounce", TypeCode: 1 },
    { TypeCode: 100000 },
    { bounce_class: "10" },
    { bounce_class: 30 },
    { bounce_classification: "Invalid Address" },
    { hard_bounce: true, blocked: false },
    { hard_bounce: "1" },
    { recipientState: "HardBounce" },
    { type: "marketing", category: "newsletter", reason: "550 5.1.1 user unknown" },
    { msg: { bounce_description: "bad_mailbox" } },
    { reason: "hard" },
    { failureReason: "USER_NOT_FOUND" },
    { bounce_type: "Hard Bounce - Invalid" },
    { bounce_type: "hard_bounce_invalid" },
    { bounce_type: "Permanent: no such person" },
    { bounce_type: "5.1.1" },
    { bounce_type: " 5.1.6 " },
    ...["content", "old", "volume", "sender", "policy"].flatMap((word) => [
      { category: word, reason: "550 5.1.1 user unknown" },
      { type: word, reason: "550 5.1.1 user unknown" },
    ]),
    { bounce_type: null },
    { bounce_type: " " },
  ]],
  ["soft_bounce", [
    { bounce_type: "Transient" },
    { bounce_type: "Undetermined" },
    { bounce_type: "Hard Bounce - Mailbox Full" },
    { bounce_type: "hardly" },
    { bounce_type: "5.2.2" },
    { bounce_type: "5.1.8" },
    { "Bounce Type": "Soft" },
    { bounceType: "what is this" },
    { bounce: { type: "Transient", subType: "MailboxFull" } },
    { bounce: { bounceType: "Permanent", bounceSubType: "MailboxFull" } },
    { Type: "SoftBounce", TypeCode: 4096 },
    { Type: "Transient" },
    { Type: "DnsError" },
    { TypeCode: 2 },
    { bounce_class: "22" },
    { bounce_class: 70 },
    { bounce_class: 999 },
    { bounce_classification: "Mailbox Unavailable" },
    { hard_bounce: false },
    { is_permanent: "no" },
    { soft: true },
    { severity: "temporary" },
    { type: "S" },
    { recipientState: "SoftBounce" },
    { msg: { bounce_description: "mailbox_full" } },
    { failureReason: "MAILBOX_FULL" },
    { type: "bounce", bounce_classification: "Technical" },
  ]],
  ["failed", [
    { type: "blocked" },
    { type: "blocked", bounce_classification: "Invalid Address" },
    { bounce_classification: "Reputation" },
    { bounce_classification: "Frequency or Volume" },
    { bounce_type: "block" },
    { bounce: { type: "Permanent", subType: "OnAccountSuppressionList" } },
    { Type: "SpamNotification", TypeCode: 512 },
    { Type: "DMARCPolicy" },
    { bounce_class: "51" },
    { hard_bounce: true, blocked: true },
    { category: "POLICY" },
    { bounce_type: "Permanent - Blocked" },
    { type: "blocked", reason: "550 5.1.1 user unknown" },
    { bounce: { type: "content" }, reason: "550 5.1.1 user unknown" },
  ]],
]

const eventOf = (members: object, event = "bounce"): string => {
  const { events, skipped } = normalize({ event, tracking_id: "t", event_id: "e", ...members }, {
    receivedAt: Date.UTC(2026, 0, 1),
    webhookId: undefined,
    strict: true,
  })
  assert.deepStrictEqual(skipped, [])
  return events[0]!.event
}

describe("members that say which kind of bounce it is", () => {
  for (const [expected, all] of cases) {
    for (const members of all) {
      it(`reads ${JSON.stringify(members)} as ${expected}`, () => {
        assert.strictEqual(eventOf(members), expected)
        const { event: _, ...rest } = { event: "", ...members }
        assert.strictEqual(bounceByMember("bounce", [rest]), expected)
      })
    }
  }

  it("makes a soft bounce only milder", () => {
    assert.strictEqual(eventOf({ bounce_type: "hard" }, "soft_bounce"), "soft_bounce")
    assert.strictEqual(eventOf({ bounce_type: "blocked" }, "soft_bounce"), "failed")
  })

  it("reads a permanent failure of Mailgun as a bounce, unless the message was not sent", () => {
    assert.strictEqual(eventOf({ severity: "permanent", reason: "bounce" }, "failed"), "bounce")
    assert.strictEqual(eventOf({ severity: "temporary", reason: "generic" }, "failed"), "failed")
    assert.strictEqual(eventOf({ severity: "permanent", reason: "suppress-bounce" }, "failed"), "failed")
    assert.strictEqual(eventOf({ bounce_type: "hard" }, "failed"), "failed")
  })

  it("leaves other events alone", () => {
    assert.strictEqual(eventOf({ bounce_type: "hard" }, "open"), "open")
    assert.strictEqual(eventOf({ type: "soft" }, "spam"), "spam")
  })

  it("applies to the bounces of a mapping", () => {
    const read = compile({ event: "$.kind", tracking_id: "$.id" })
    const body = new TextEncoder().encode(JSON.stringify([
      { kind: "bounce", id: "t", bounce: { type: "Transient" } },
      { kind: "bounce", id: "t", data: { bounce_type: "Permanent" } },
      { kind: "Spam Report", id: "t" },
      { kind: "sms_bounced", id: "t" },
    ]))
    const result = read(body, {}, Date.UTC(2026, 0, 1))
    assert.isTrue("events" in result)
    if ("events" in result) {
      assert.deepStrictEqual(result.events.map(({ event }) => event), ["soft_bounce", "bounce", "spam"])
    }
  })
})
