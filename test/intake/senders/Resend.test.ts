import { assert, describe, it } from "@effect/vitest"
import { read, receivedAt, testCases, testHostile } from "./reading.ts"

const id = "56761188-7520-42d8-8898-ff6fc54ce618"
const noon = receivedAt - 3_600_000

/** A webhook about an e-mail to one recipient, with our ids in its tags. */
const email = (type: string, more: object = {}) => ({
  type,
  created_at: "2026-02-03T12:00:00.000Z",
  data: {
    created_at: "2026-02-03T11:59:00.000Z",
    email_id: id,
    from: "Acme <onboarding@shop.example>",
    to: ["Delivered@Example.com"],
    subject: "Sending this example",
    tags: { tracking_id: "trk_1", user_id: "u-1" },
    ...more,
  },
})

const bounce = (type: string | undefined, subType: string | undefined, message = "The address bounced.") =>
  email("email.bounced", { bounce: { type, subType, message } })

describe("Resend", () => {
  testCases("resend", [
    ["a send with its tags and its own time", email("email.sent"), {
      event: "sent",
      trackingId: "trk_1",
      user: "u-1",
      messageKey: JSON.stringify([id, "delivered@example.com"]),
      occurredAt: noon,
    }],
    ["a delivery without tags as an event of its recipient", email("email.delivered", { tags: undefined }), {
      event: "delivered",
      trackingId: undefined,
      user: "Delivered@Example.com",
    }],
    ["tags as a list of pairs", email("email.delivered", { tags: [{ name: "Tracking-Id", value: "trk_2" }] }), {
      trackingId: "trk_2",
    }],
    [
      "the header of the message as tracking id",
      email("email.sent", { tags: undefined, headers: [{ name: "X-Tracking-ID", value: "trk_3" }] }),
      { trackingId: "trk_3" },
    ],
    [
      "our own Message-ID as tracking id",
      email("email.sent", { tags: null, message_id: "<0192f0c1-7c1e-7000-8000-000000000001@shop.example>" }),
      { trackingId: "0192f0c1-7c1e-7000-8000-000000000001" },
    ],
    ["an open", email("email.opened"), { event: "open", automated: false }],
    [
      "a click with its link and its own time",
      email("email.clicked", {
        click: {
          ipAddress: "192.0.2.1",
          link: "https://shop.example/?tracking_id=trk_4",
          timestamp: "2026-02-03T12:30:00Z",
        },
        tags: {},
      }),
      {
        event: "click",
        trackingId: "trk_4",
        occurredAt: noon + 1_800_000,
        link: "https://shop.example/?tracking_id=trk_4",
      },
    ],
    ["a permanent bounce", bounce("Permanent", "General"), { event: "bounce", email: "Delivered@Example.com" }],
    [
      "a permanent bounce with a diagnostic code of a block list as a failure",
      email("email.bounced", {
        bounce: { type: "Permanent", subType: "General", diagnosticCode: ["smtp; 550 5.7.1 Blocked using Spamhaus"] },
      }),
      { event: "failed" },
    ],
    ["a permanent bounce of a suppressed address as a failure", bounce("Permanent", "Suppressed"), { event: "failed" }],
    ["an address on the account's list as a failure", bounce("Permanent", "OnAccountSuppressionList"), {
      event: "failed",
    }],
    ["a full mailbox as soft", bounce("Transient", "MailboxFull"), { event: "soft_bounce" }],
    ["an undetermined bounce as soft", bounce("Undetermined", undefined), { event: "soft_bounce" }],
    ["a type of bounce that is not documented as soft", bounce("Unheard", undefined), { event: "soft_bounce" }],
    ["rejected content as a failure", bounce("Transient", "ContentRejected"), { event: "failed" }],
    ["a message that is too large as a failure", bounce("Transient", "MessageTooLarge"), { event: "failed" }],
    [
      "an older hard bounce by its message",
      bounce(undefined, undefined, "The recipient's email provider sent a hard bounce message."),
      { event: "bounce" },
    ],
    [
      "an older bounce of a suppressed address by its message",
      bounce(undefined, undefined, "Resend has suppressed sending to this address because of a hard bounce."),
      { event: "failed" },
    ],
    ["an older bounce with another message as soft", bounce(undefined, undefined), { event: "soft_bounce" }],
    ["a complaint", email("email.complained"), { event: "spam", email: "Delivered@Example.com" }],
    ["a failure", email("email.failed", { failed: { reason: "reached_daily_quota" } }), { event: "failed" }],
    ["a suppressed message as a failure", email("email.suppressed"), { event: "failed" }],
    [
      "an opt-out of a contact",
      {
        type: "contact.updated",
        created_at: "2026-02-03T12:00:00.000Z",
        data: { id: "c-1", audience_id: "a-1", email: "ann@example.com", unsubscribed: true },
      },
      { event: "unsubscribe", email: "ann@example.com", trackingId: undefined, messageKey: undefined },
    ],
    [
      "an opt-in of a contact",
      { type: "contact.updated", data: { email: "a@example.com", unsubscribed: false } },
      "ignored",
    ],
    ["a delayed delivery", email("email.delivery_delayed"), "ignored"],
    ["a scheduled e-mail", email("email.scheduled"), "ignored"],
    ["a domain", { type: "domain.created", data: { id: "d-1" } }, "ignored"],
    ["an unknown type", email("email.unheard"), "ignored"],
    [
      "a message to several people as an event of the message",
      email("email.opened", { to: ["a@b.example", "c@d.example"] }),
      {
        event: "open",
        trackingId: "trk_1",
        user: "u-1",
        messageKey: undefined,
      },
    ],
  ])

  it("identifies an event by the id of the webhook call", () => {
    assert.strictEqual(read("resend", email("email.opened"), { "svix-id": "msg_1" }).events[0]!.key, "id:msg_1")
    const keys = [
      email("email.opened"),
      { ...email("email.opened"), created_at: "2026-02-03T12:00:01.000Z" },
      email("email.opened", { email_id: "other" }),
      email("email.clicked", { click: { link: "https://shop.example/1" } }),
      email("email.clicked", { click: { link: "https://shop.example/2" } }),
    ].map((one) => read("resend", one).events[0]!.key)
    assert.strictEqual(new Set(keys).size, keys.length)
  })

  it("reports what it cannot read without losing the event", () => {
    const { events, incomplete } = read("resend", {
      ...bounce("Permanent", "General"),
      created_at: "soon",
    })
    assert.deepInclude(events[0]!, { event: "bounce", occurredAt: receivedAt })
    assert.deepStrictEqual(incomplete?.map(({ pointer }) => pointer), ["/created_at"])
    const bad = read("resend", [null, "x", {}, { type: "email.opened" }])
    assert.deepStrictEqual([bad.items, bad.skipped.map(({ expected }) => expected)], [4, Array(4).fill(false)])
  })

  testHostile("resend", {
    names: [
      "type",
      "data",
      "created_at",
      "email_id",
      "to",
      "tags",
      "tracking_id",
      "bounce",
      "click",
      "link",
      "headers",
    ],
    texts: ["email.opened", "email.bounced", "contact.updated", "Permanent", "a@example.com", "trk_1"],
    bodyOf: (item) => item,
  })
})
