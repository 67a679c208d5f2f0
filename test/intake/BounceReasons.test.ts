import { assert, describe, it } from "@effect/vitest"
import { bounceByReason } from "../../src/intake/BounceReasons.ts"
import { normalizer } from "../../src/intake/Sources.ts"
import type { SourceId } from "../../src/domain/Source.ts"

const now = Date.UTC(2026, 10, 29, 9)

/** The event of a body with one item. */
const eventOf = (source: SourceId, body: unknown): string => {
  const read = normalizer(source)(new TextEncoder().encode(JSON.stringify(body)), {}, now)
  if (read instanceof Promise || "reason" in read) return "not read"
  return read.events[0]?.event ?? read.skipped[0]?.reason ?? "nothing"
}

describe("A bounce that a platform reports with the words of a server", () => {
  it("is as mild as these words", () => {
    const full = { bounce_reason: "552 5.2.2 Mailbox full" }
    const own = { reason: "550 5.7.1 192.0.2.7 is on a block list" }
    const gone = { diagnostic_code: "550 5.1.1 User unknown" }
    assert.strictEqual(bounceByReason("bounce", [full]), "soft_bounce")
    assert.strictEqual(bounceByReason("bounce", [own]), "failed")
    assert.strictEqual(bounceByReason("soft_bounce", [own]), "failed")
    assert.strictEqual(bounceByReason("bounce", [gone]), "bounce")
    assert.strictEqual(bounceByReason("bounce", [{}, { smtp_response: "452 4.2.2 over quota" }]), "soft_bounce")
    assert.strictEqual(bounceByReason("bounce", [{ status: "5.7.26" }]), "failed")
    assert.strictEqual(bounceByReason("bounce", [{ status: "5.1.1" }]), "bounce")
  })

  it("never gets harder by them", () => {
    const gone = { reason: "550 5.1.1 User unknown" }
    assert.strictEqual(bounceByReason("soft_bounce", [gone]), "soft_bounce")
    for (const event of ["delivered", "open", "failed", "spam", "unsubscribe"] as const) {
      assert.strictEqual(bounceByReason(event, [gone]), event)
    }
  })

  it("stays as the platform says without words that are known", () => {
    for (
      const level of [{}, { reason: "" }, { reason: 7 }, { reason: "nope" }, { status: "bounced" }, { status: 550 }]
    ) {
      assert.strictEqual(bounceByReason("bounce", [level]), "bounce")
      assert.strictEqual(bounceByReason("soft_bounce", [level]), "soft_bounce")
    }
  })

  it("is read in inner members with the words or the reply code", () => {
    const mailgun = (code: number, message: string, enhanced: string) => ({
      event: "failed",
      tracking_id: "t",
      event_id: "e",
      severity: "permanent",
      reason: "bounce",
      "delivery-status": { code, message, "enhanced-code": enhanced },
    })
    const full = "5.2.2 mailbox full: user is over quota"
    assert.strictEqual(eventOf("events", [mailgun(552, full, "5.2.2")]), "soft_bounce")
    const blocked = "5.7.1 Client host blocked using Spamhaus"
    assert.strictEqual(eventOf("events", [mailgun(550, blocked, "5.7.1")]), "failed")
    assert.strictEqual(eventOf("events", [mailgun(550, "5.1.1 user unknown", "5.1.1")]), "bounce")
    assert.strictEqual(eventOf("events", [mailgun(550, "5.1.1 user unknown", "")]), "bounce")
    const ses = (diagnosticCode: string) => ({
      event: "bounce",
      tracking_id: "t",
      event_id: "e",
      bounce: { bounceType: "Permanent", bouncedRecipients: [{ emailAddress: "eva@mail.example", diagnosticCode }] },
    })
    assert.strictEqual(eventOf("events", [ses("smtp; 550 5.7.1 blocked using Spamhaus")]), "failed")
    assert.strictEqual(eventOf("events", [ses("smtp; 550 5.1.1 user unknown")]), "bounce")
  })

  it("counts as the mildest of several texts", () => {
    const level = { reason: "550 5.1.1 user unknown", response: "552 5.2.2 mailbox full" }
    assert.strictEqual(bounceByReason("bounce", [level]), "soft_bounce")
    assert.strictEqual(bounceByReason("bounce", [{ details: { description: "452 4.2.2 over quota" } }]), "soft_bounce")
    assert.strictEqual(bounceByReason("bounce", [{ message: "552 5.2.2 mailbox full" }]), "bounce")
    for (const recipients of [[], [null], "x", {}]) {
      assert.strictEqual(bounceByReason("bounce", [{ bounce: { bouncedRecipients: recipients } }]), "bounce")
    }
  })

  it("is read in the members of each platform, for e-mail alone", () => {
    const own = "554 5.7.1 Client host blocked using a block list"
    const braze = (type: string) => ({
      events: [{
        id: "1",
        event_type: `users.messages.${type}`,
        time: now / 1000,
        user: { external_user_id: "u" },
        properties: { bounce_reason: own, message_extras: { tracking_id: "t" } },
      }],
    })
    assert.strictEqual(eventOf("provider_a", braze("email.Bounce")), "failed")
    assert.strictEqual(eventOf("provider_a", braze("pushnotification.Bounce")), "bounce")
    const iterable = {
      email: "eva@mail.example",
      eventName: "emailBounce",
      dataFields: { bounceReason: own, messageId: "m" },
    }
    assert.strictEqual(eventOf("provider_b", iterable), "failed")
    const customerIo = {
      metric: "bounced",
      object_type: "email",
      event_id: "e",
      timestamp: now / 1000,
      data: { delivery_id: "d", identifiers: { id: "u" }, failure_message: "552 5.2.2 mailbox full" },
    }
    assert.strictEqual(eventOf("provider_c", customerIo), "soft_bounce")
    assert.strictEqual(eventOf("provider_c", { ...customerIo, object_type: "push" }), "bounce")
    const segment = {
      type: "track",
      event: "Email Bounced",
      messageId: "m",
      userId: "u",
      properties: { tracking_id: "t", reason: own },
    }
    assert.strictEqual(eventOf("provider_d", segment), "failed")
    const sfmc = [{
      eventCategoryType: "TransactionalSendEvents.EmailBounced",
      timestampUTC: now,
      mid: 1,
      compositeId: "1.2.3.4",
      info: { to: "eva@mail.example", messageKey: "t", bounceCode: "HARD", smtpReason: own },
    }]
    assert.strictEqual(eventOf("provider_e", sfmc), "failed")
    const custom = { event: "bounce", tracking_id: "t", event_id: "e", status: "5.7.1", reason: "550 5.7.1 blocked" }
    assert.strictEqual(eventOf("events", [custom]), "failed")
    assert.strictEqual(eventOf("events", [{ ...custom, status: "5.1.1", reason: "550 no such user" }]), "bounce")
  })
})
