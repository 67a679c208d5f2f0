import { assert, describe, it } from "@effect/vitest"
import { read, receivedAt, testCases, testHostile } from "./reading.ts"

const id = "883953f4-6105-42a2-a16a-77a8eac79483"

/** A record for one recipient, with our ids in its metadata. */
const record = (RecordType: string, more: object) => ({
  RecordType,
  MessageStream: "outbound",
  ServerID: 23,
  MessageID: id,
  Metadata: { tracking_id: "trk_1", user_id: "u-1" },
  Tag: "welcome-email",
  ...more,
})

const bounce = (Type: string, more: object = {}) =>
  record("Bounce", {
    ID: 4323372036,
    Type,
    Email: "john@example.com",
    From: "sender@shop.example",
    BouncedAt: "2026-02-03T07:00:00.1234567-05:00",
    DumpAvailable: true,
    Inactive: true,
    ...more,
  })

const change = (more: object) =>
  record("SubscriptionChange", {
    ChangedAt: "2026-02-03T12:00:00Z",
    Recipient: "john@example.com",
    Origin: "Recipient",
    SuppressSending: true,
    SuppressionReason: "ManualSuppression",
    ...more,
  })

const noon = receivedAt - 3_600_000

describe("Postmark", () => {
  testCases("postmark", [
    [
      "a delivery with its metadata",
      record("Delivery", {
        Recipient: "John@Example.com",
        DeliveredAt: "2026-02-03T12:00:00.9070259Z",
        Details: "Test delivery webhook details",
      }),
      {
        event: "delivered",
        trackingId: "trk_1",
        user: "u-1",
        messageKey: JSON.stringify([id, "john@example.com"]),
        occurredAt: noon + 907,
        email: undefined,
        automated: false,
      },
    ],
    [
      "an open without metadata as an event of its recipient",
      { ...record("Open", { Recipient: "john@example.com", ReceivedAt: "2026-02-03T12:00:00Z" }), Metadata: {} },
      { event: "open", trackingId: undefined, user: "john@example.com", automated: false },
    ],
    [
      "a click with the tracking id of its link",
      {
        ...record("Click", {
          Recipient: "john@example.com",
          ReceivedAt: "2026-02-03T12:00:00Z",
          OriginalLink: "https://shop.example/?tracking_id=trk_2",
        }),
        Metadata: null,
      },
      { event: "click", trackingId: "trk_2", link: "https://shop.example/?tracking_id=trk_2" },
    ],
    [
      "metadata in other spellings",
      { ...bounce("HardBounce"), Metadata: { "Tracking-Id": "trk_3", "USER_ID": "u-3" } },
      { trackingId: "trk_3", user: "u-3" },
    ],
    [
      "a hard bounce of an address that does not exist",
      bounce("HardBounce", { Details: "smtp;550 5.1.1 The email account that you tried to reach does not exist." }),
      { event: "bounce", email: "john@example.com", key: "id:4323372036", occurredAt: noon + 123 },
    ],
    ["a bad address as a bounce", bounce("BadEmailAddress"), { event: "bounce" }],
    ["an id beyond 2^53 in full", JSON.stringify(bounce("HardBounce")).replace("4323372036", "9007199254740993"), {
      key: "id:9007199254740993",
    }],
    [
      "a hard bounce of a full mailbox as soft",
      bounce("HardBounce", { Details: "smtp;552 5.2.2 The email account that you tried to reach is over quota." }),
      { event: "soft_bounce" },
    ],
    [
      "a hard bounce of a sender on a block list as a failure",
      bounce("HardBounce", { Details: "smtp;554 5.7.1 Service unavailable; Client host blocked using Spamhaus" }),
      { event: "failed" },
    ],
    ["a soft bounce", bounce("SoftBounce"), { event: "soft_bounce" }],
    ["an unknown bounce as soft", bounce("Unknown"), { event: "soft_bounce" }],
    ["a kind of bounce that is not documented as soft", bounce("Unheard"), { event: "soft_bounce" }],
    ["a bounce with only the disputed code as soft", { ...bounce("x"), Type: null, TypeCode: 16 }, {
      event: "soft_bounce",
    }],
    ["a blocked message as a failure", bounce("Blocked"), { event: "failed" }],
    ["a message held by a spam filter as a failure", bounce("SpamNotification"), { event: "failed" }],
    ["a refusal by a DMARC policy as a failure", bounce("DMARCPolicy"), { event: "failed" }],
    ["an inactive recipient as a failure", bounce("ManuallyDeactivated"), { event: "failed" }],
    ["an opt-out by mail", bounce("Unsubscribe"), { event: "unsubscribe" }],
    ["a delayed message", bounce("Transient"), "ignored"],
    ["an automatic reply", bounce("AutoResponder"), "ignored"],
    [
      "a complaint",
      {
        ...bounce("SpamComplaint", { ID: 42, TypeCode: 512 }),
        RecordType: "SpamComplaint",
      },
      { event: "spam", email: "john@example.com", key: "id:42" },
    ],
    ["an opt-out by the recipient", change({}), {
      event: "unsubscribe",
      email: "john@example.com",
      occurredAt: noon,
    }],
    ["a suppression after a hard bounce", change({ SuppressionReason: "HardBounce" }), { event: "bounce" }],
    ["a suppression after a complaint", change({ SuppressionReason: "SpamComplaint" }), { event: "spam" }],
    ["a suppression by the account's staff", change({ Origin: "Customer", MessageID: null }), "ignored"],
    ["a suppression by Postmark", change({ Origin: "Admin" }), "ignored"],
    ["a reactivation", change({ SuppressSending: false, SuppressionReason: null }), "ignored"],
    ["inbound mail", { FromFull: { Email: "a@example.com" }, MessageID: id }, "ignored"],
    ["an unknown record", record("Inbound", {}), "ignored"],
  ])

  it("identifies an event by the id of the webhook call", () => {
    const body = record("Open", { Recipient: "a@example.com", ReceivedAt: "2026-02-03T12:00:00Z" })
    assert.strictEqual(read("postmark", body, { "x-pm-webhook-trace-id": "t-1" }).events[0]!.key, "id:t-1")
    const keys = [
      body,
      { ...body, ReceivedAt: "2026-02-03T12:00:01Z" },
      { ...body, Recipient: "b@example.com" },
      { ...body, RecordType: "Click", OriginalLink: "https://shop.example/1" },
      { ...body, RecordType: "Click", OriginalLink: "https://shop.example/2" },
    ].map((one) => read("postmark", one).events[0]!.key)
    assert.strictEqual(new Set(keys).size, keys.length)
    assert.strictEqual(read("postmark", { ...body, ReadSeconds: 3 }).events[0]!.key, keys[0])
  })

  it("reports what it cannot read without losing the event", () => {
    const { events, incomplete } = read("postmark", bounce("HardBounce", { BouncedAt: "soon", Email: "john at home" }))
    assert.deepInclude(events[0]!, { event: "bounce", trackingId: "trk_1", occurredAt: receivedAt })
    assert.notProperty(events[0], "email")
    assert.deepStrictEqual(incomplete?.map(({ pointer }) => pointer), ["/BouncedAt", "/Email"])
    const bad = read("postmark", [null, "x", {}, { RecordType: "Open" }])
    assert.deepStrictEqual([bad.items, bad.skipped.map(({ expected }) => expected)], [4, Array(4).fill(false)])
  })

  testHostile("postmark", {
    names: ["RecordType", "Type", "MessageID", "Metadata", "tracking_id", "Recipient", "Email", "ReceivedAt", "ID"],
    texts: ["Open", "Bounce", "HardBounce", "SubscriptionChange", "a@example.com", "trk_1", "2026-02-03T12:00:00Z"],
    bodyOf: (item) => item,
  })
})
