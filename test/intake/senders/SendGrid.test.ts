import { assert, describe, it } from "@effect/vitest"
import { read, receivedAt, testCases } from "./reading.ts"

const noon = receivedAt - 3_600_000

/** An event as SendGrid reports it, with our custom arguments. */
const item = (event: string, more: object = {}) => ({
  email: "ann@example.com",
  timestamp: noon / 1_000,
  event,
  "smtp-id": "<14c5d75ce93.dfd.64b469@ismtpd-555>",
  category: ["cat facts"],
  sg_event_id: "ZyjAM5rnQmuI1KFInHQ3Nw",
  sg_message_id: "14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0",
  tracking_id: "trk_1",
  user_id: "u-1",
  ...more,
})

const bounce = (more: object) => [item("bounce", { type: "bounce", ...more })]
const blocked = (more: object) => [item("bounce", { type: "blocked", ...more })]

describe("SendGrid", () => {
  testCases("sendgrid", [
    ["a processed message as sent", [item("processed")], {
      event: "sent",
      trackingId: "trk_1",
      user: "u-1",
      key: "id:ZyjAM5rnQmuI1KFInHQ3Nw",
      messageKey: JSON.stringify(["14c5d75ce93", "ann@example.com"]),
      occurredAt: noon,
    }],
    ["a delivery", [item("delivered", { response: "250 OK" })], { event: "delivered", automated: false }],
    [
      "no template id, because SendGrid names its own template so",
      [item("open", { template_id: "d-f3a4d0c5b1e24c8f9a7b6c5d4e3f2a1b" })],
      { trackingId: "trk_1", templateId: undefined },
    ],
    ["an open by a person", [item("open", { sg_machine_open: false })], { event: "open", automated: false }],
    ["an open by a machine", [item("open", { sg_machine_open: true })], { event: "open", automated: true }],
    ["an open by a machine, as text", [item("open", { sg_machine_open: "true" })], { automated: true }],
    ["a click", [item("click", { url: "https://shop.example/?a=1" })], {
      event: "click",
      link: "https://shop.example/?a=1",
    }],
    [
      "a click with the tracking id of its link",
      [item("click", { tracking_id: undefined, url: "https://shop.example/?tracking_id=trk_2" })],
      { trackingId: "trk_2" },
    ],
    ["a hard bounce", bounce({ status: "5.1.1", reason: "550 5.1.1 The email account does not exist." }), {
      event: "bounce",
      email: "ann@example.com",
    }],
    ["a bounce with only a status", bounce({ status: "5.0.0", reason: "500 unknown recipient" }), { event: "bounce" }],
    ["a bounce without a type", [item("bounce", { status: "5.1.1", reason: "550 5.1.1 no such user" })], {
      event: "bounce",
    }],
    ["a full mailbox as soft", bounce({ status: "5.2.2", reason: "552 5.2.2 over quota" }), { event: "soft_bounce" }],
    ["a temporary status as soft", bounce({ status: "4.2.1", reason: "450 4.2.1 try later" }), {
      event: "soft_bounce",
    }],
    ["a policy as a failure", bounce({ status: "5.7.1", reason: "550 5.7.1 rejected by policy" }), { event: "failed" }],
    ["content as a failure", bounce({ bounce_classification: "Content", status: "5.1.1" }), { event: "failed" }],
    ["reputation as a failure", bounce({ bounce_classification: "Reputation" }), { event: "failed" }],
    ["volume as a failure", bounce({ bounce_classification: "Frequency or Volume Too High" }), { event: "failed" }],
    ["an invalid address as a bounce", bounce({ bounce_classification: "Invalid Address", status: "5.1.1" }), {
      event: "bounce",
    }],
    ["a blocked message as a failure", blocked({ status: "5.7.1", reason: "554 5.7.1 blocked using Spamhaus" }), {
      event: "failed",
    }],
    ["a blocked message without a reason as a failure", blocked({}), { event: "failed" }],
    ["a blocked message to an unknown user as a failure", blocked({ status: "5.1.1", reason: "550 5.1.1 unknown" }), {
      event: "failed",
    }],
    ["a blocked message over quota as soft", blocked({ status: "5.2.2", reason: "452 4.2.2 over quota" }), {
      event: "soft_bounce",
    }],
    ["an unavailable mailbox as soft", blocked({ bounce_classification: "Mailbox Unavailable" }), {
      event: "soft_bounce",
    }],
    ["technical trouble as soft", blocked({ bounce_classification: "Technical" }), { event: "soft_bounce" }],
    ["an expired message as soft", [item("bounce", { type: "expired" })], { event: "soft_bounce" }],
    ["an expired message by policy as a failure", [
      item("bounce", { type: "expired", reason: "421 4.7.0 our system has detected unusual mail from your IP" }),
    ], { event: "failed" }],
    ["a drop after a bounce as a failure", [item("dropped", { reason: "Bounced Address" })], { event: "failed" }],
    ["a drop after a complaint as a failure", [item("dropped", { reason: "Spam Reporting Address" })], {
      event: "failed",
    }],
    ["a complaint", [item("spamreport")], { event: "spam", email: "ann@example.com" }],
    ["an opt-out", [item("unsubscribe", { asm_group_id: 12 })], { event: "unsubscribe", group: undefined }],
    ["an opt-out of a group", [item("group_unsubscribe", { asm_group_id: 12 })], {
      event: "unsubscribe",
      group: "12",
    }],
    [
      "a late bounce as an event of its recipient",
      [item("bounce", { tracking_id: undefined, user_id: undefined, sg_message_id: "", status: "5.1.1" })],
      {
        event: "bounce",
        trackingId: undefined,
        messageKey: undefined,
        user: "ann@example.com",
        email: "ann@example.com",
      },
    ],
    ["a deferral", [item("deferred", { response: "400 try again later", attempt: "5" })], "ignored"],
    ["an opt-in to a group", [item("group_resubscribe", { asm_group_id: 12 })], "ignored"],
    ["a change of the account", [{ event: "account_status_change", type: "compliance_suspend" }], "ignored"],
    ["an unknown event", [item("teleported")], "ignored"],
  ])

  it("reads every event of a list, and reports what it cannot read", () => {
    const { events, items, skipped } = read("sendgrid", [item("open"), null, {}, item("click", { sg_event_id: "2" })])
    assert.deepStrictEqual([items, events.map(({ event }) => event)], [4, ["open", "click"]])
    assert.deepStrictEqual(skipped.map(({ pointer }) => pointer), ["/1", "/2"])
    assert.strictEqual(read("sendgrid", []).items, 0)
  })
})
