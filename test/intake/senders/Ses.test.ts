import { assert, describe, it } from "@effect/vitest"
import { read, receivedAt, testCases } from "./reading.ts"

const noon = "2026-02-03T12:00:00.123Z"
const at = Date.parse(noon)
const id = "0100017f-33322211-cccc-000000"

/** The message of a record, with our tags. */
const mail = (more: object = {}) => ({
  timestamp: "2026-02-03T11:59:00.000Z",
  messageId: id,
  source: "news@shop.example",
  destination: ["jane@example.com"],
  headersTruncated: false,
  headers: [{ name: "From", value: "news@shop.example" }, { name: "X-Tracking-Id", value: "trk_h" }],
  tags: { "ses:configuration-set": ["main"], tracking_id: ["trk_1"], user_id: ["u-1"] },
  ...more,
})

const sns = (record: unknown, more: object = {}) => ({
  Type: "Notification",
  MessageId: "19ba9823",
  TopicArn: "arn:aws:sns:us-east-1:123456789012:mail",
  Subject: "Amazon SES Email Event Notification",
  Message: typeof record === "string" ? record : `${JSON.stringify(record)}\n`,
  Timestamp: "2026-02-03T12:30:00.000Z",
  ...more,
})

const record = (eventType: string, more: object = {}, ofMail: object = {}) => ({
  eventType,
  mail: mail(ofMail),
  ...more,
})

const bounce = (bounceType: string, bounceSubType: string, recipient: object = {}) =>
  sns(record("Bounce", {
    bounce: {
      bounceType,
      bounceSubType,
      bouncedRecipients: [{ emailAddress: "jane@example.com", action: "failed", ...recipient }],
      timestamp: noon,
      feedbackId: "fb-1",
    },
  }))

const complaint = (more: object = {}) =>
  sns(record("Complaint", {
    complaint: {
      complainedRecipients: [{ emailAddress: "jane@example.com" }],
      timestamp: noon,
      feedbackId: "fb-2",
      ...more,
    },
  }))

const subscription = (newTopicPreferences: object, oldTopicPreferences?: object) =>
  sns(record("Subscription", {
    subscription: { contactList: "all", timestamp: noon, newTopicPreferences, oldTopicPreferences },
  }))

const topics = (...statuses: ReadonlyArray<readonly [topicName: string, subscriptionStatus: string]>) => ({
  unsubscribeAll: false,
  topicSubscriptionStatus: statuses.map(([topicName, subscriptionStatus]) => ({ topicName, subscriptionStatus })),
})

const unknownUser = { status: "5.1.1", diagnosticCode: "smtp; 550 5.1.1 <jane@example.com>... User unknown" }

describe("Ses", () => {
  testCases("ses", [
    ["a send with its tags", sns(record("Send", { send: {} })), {
      event: "sent",
      trackingId: "trk_1",
      user: "u-1",
      key: "id:19ba9823",
      messageKey: JSON.stringify([id, "jane@example.com"]),
      occurredAt: Date.parse("2026-02-03T11:59:00.000Z"),
    }],
    ["a delivery", sns(record("Delivery", { delivery: { timestamp: noon, recipients: ["jane@example.com"] } })), {
      event: "delivered",
      occurredAt: at,
    }],
    [
      "a delivery of identity notifications by its header",
      sns({
        notificationType: "Delivery",
        mail: mail({ tags: undefined }),
        delivery: { timestamp: noon, recipients: ["jane@example.com"] },
      }),
      { event: "delivered", trackingId: "trk_h", user: "jane@example.com" },
    ],
    [
      "a message of this service by its Message-ID",
      sns(record("Send", {}, {
        tags: {},
        headers: [{ name: "Message-ID", value: "<5f0c1d5e-0000-4000-8000-000000000001@shop.example>" }],
      })),
      { trackingId: "5f0c1d5e-0000-4000-8000-000000000001" },
    ],
    ["an open", sns(record("Open", { open: { timestamp: noon, ipAddress: "192.0.2.1", userAgent: "Mail" } })), {
      event: "open",
      automated: false,
      occurredAt: at,
    }],
    [
      "a click with the tracking id of its link",
      sns(record("Click", { click: { timestamp: noon, link: "https://shop.example/?tracking_id=trk_2" } }, {
        tags: {},
        headers: [],
      })),
      { event: "click", trackingId: "trk_2", link: "https://shop.example/?tracking_id=trk_2" },
    ],
    [
      "an open of a message to several recipients without a person",
      sns(record("Open", { open: { timestamp: noon } }, {
        destination: ["a@example.com", "b@example.com"],
        tags: { tracking_id: ["trk_1"] },
      })),
      { event: "open", trackingId: "trk_1", user: undefined, messageKey: undefined },
    ],
    ["a hard bounce", bounce("Permanent", "General", unknownUser), {
      event: "bounce",
      email: "jane@example.com",
      key: "id:fb-1",
      occurredAt: at,
    }],
    ["an address without a mailbox", bounce("Permanent", "NoEmail"), { event: "bounce" }],
    ["an address on the suppression list of SES", bounce("Permanent", "Suppressed", unknownUser), { event: "failed" }],
    ["an address on the list of the account", bounce("Permanent", "OnAccountSuppressionList"), { event: "failed" }],
    [
      "a block list as a failure",
      bounce("Permanent", "General", {
        status: "5.7.1",
        diagnosticCode: "smtp; 550 5.7.1 blocked using Spamhaus",
      }),
      { event: "failed" },
    ],
    ["a full mailbox", bounce("Transient", "MailboxFull"), { event: "soft_bounce" }],
    ["a transient bounce", bounce("Transient", "General"), { event: "soft_bounce" }],
    ["a subtype that is not documented as soft", bounce("Transient", "Unheard"), { event: "soft_bounce" }],
    ["an undetermined bounce", bounce("Undetermined", "Undetermined"), { event: "soft_bounce" }],
    ["a message that was too large", bounce("Transient", "MessageTooLarge"), { event: "failed" }],
    ["refused content", bounce("Transient", "ContentRejected"), { event: "failed" }],
    ["a complaint", complaint({ complaintFeedbackType: "abuse" }), {
      event: "spam",
      email: "jane@example.com",
      key: "id:fb-2",
    }],
    ["a complaint without a type", complaint(), { event: "spam" }],
    ["a report of no spam", complaint({ complaintFeedbackType: "not-spam" }), "ignored"],
    ["a report of a virus", complaint({ complaintFeedbackType: "virus" }), "ignored"],
    ["a complaint of the suppression list", complaint({ complaintSubType: "OnAccountSuppressionList" }), {
      event: "failed",
    }],
    ["a rejected message", sns(record("Reject", { reject: { reason: "Bad content" } })), {
      event: "failed",
      occurredAt: Date.parse("2026-02-03T12:30:00.000Z"),
    }],
    ["a failed rendering", sns(record("Rendering Failure", { failure: { errorMessage: "x" } })), { event: "failed" }],
    ["an opt-out of all topics", subscription({ unsubscribeAll: true }), { event: "unsubscribe", group: undefined }],
    [
      "an opt-out of a topic",
      subscription({
        unsubscribeAll: false,
        topicSubscriptionStatus: [{ topicName: "news", subscriptionStatus: "OptOut" }],
      }),
      { event: "unsubscribe", group: "news" },
    ],
    [
      "an opt-in",
      subscription({
        unsubscribeAll: false,
        topicSubscriptionStatus: [{ topicName: "news", subscriptionStatus: "OptIn" }],
      }),
      "ignored",
    ],
    [
      "an opt-in to a topic next to an earlier opt-out of another",
      subscription(topics(["news", "OptIn"], ["tips", "OptOut"]), topics(["news", "OptOut"], ["tips", "OptOut"])),
      "ignored",
    ],
    [
      "an opt-out of one more topic",
      subscription(topics(["news", "OptOut"], ["tips", "OptOut"]), topics(["news", "OptIn"], ["tips", "OptOut"])),
      { event: "unsubscribe", group: "news" },
    ],
    [
      "the test of a topic for notifications of an identity",
      sns({
        notificationType: "AmazonSnsSubscriptionSucceeded",
        message: "You have successfully subscribed your topic",
      }),
      "ignored",
    ],
    ["a delay", sns(record("DeliveryDelay", { deliveryDelay: { delayType: "MailboxFull" } })), "ignored"],
    ["an unknown event", sns(record("Teleport")), "ignored"],
    ["the test of a topic", sns("Successfully validated SNS topic for Amazon SES event publishing."), "ignored"],
    ["the end of a subscription", sns("x", { Type: "UnsubscribeConfirmation" }), "ignored"],
    [
      "an event of EventBridge",
      {
        version: "0",
        id: "eb-1",
        "detail-type": "Email Bounced",
        source: "aws.ses",
        time: "2026-02-03T12:30:00Z",
        detail: JSON.parse(bounce("Permanent", "General", unknownUser).Message),
      },
      { event: "bounce", key: "id:fb-1", occurredAt: at },
    ],
    [
      "an event of EventBridge by its type alone",
      { id: "eb-2", "detail-type": "Email Sent", time: "2026-02-03T12:30:00Z", detail: { mail: mail(), send: {} } },
      { event: "sent", key: "id:eb-2" },
    ],
    ["a notice of EventBridge", { id: "eb-3", "detail-type": "Advisor Recommendation", detail: {} }, "ignored"],
    ["a record alone", record("Open", { open: { timestamp: noon } }), { event: "open", trackingId: "trk_1" }],
  ])

  it("makes an event for each recipient of a record", () => {
    const people = ["Jane@example.com", "mary@example.com"]
    const { events, items } = read(
      "ses",
      sns(record("Bounce", {
        bounce: {
          bounceType: "Permanent",
          bounceSubType: "General",
          bouncedRecipients: [{ emailAddress: people[0], ...unknownUser }, {
            emailAddress: people[1],
            diagnosticCode: "smtp; 552 5.2.2 mailbox full",
          }],
          feedbackId: "fb-1",
        },
      })),
    )
    assert.deepStrictEqual([items, events.map(({ event }) => event)], [2, ["bounce", "soft_bounce"]])
    assert.deepStrictEqual(events.map(({ email }) => email), people)
    assert.deepStrictEqual(events.map(({ key }) => key), ["id:fb-1 jane@example.com", "id:fb-1 mary@example.com"])
    const sent = read("ses", sns(record("Send", {}, { destination: people })))
    assert.deepStrictEqual(sent.events.map(({ messageKey }) => messageKey), [
      JSON.stringify([id, "jane@example.com"]),
      JSON.stringify([id, "mary@example.com"]),
    ])
  })

  it("shows whether a subscription was confirmed", () => {
    const body = sns("You have chosen to subscribe", { Type: "SubscriptionConfirmation", SubscribeURL: "https://…" })
    assert.deepInclude(read("ses", body).skipped[0]!, { expected: true })
    const failed = read("ses", body, { "sns-confirmation": "no answer within 5 seconds" }).skipped[0]!
    assert.deepInclude(failed, { expected: false, member: "/SubscribeURL" })
    assert.include(failed.reason, "no answer within 5 seconds")
  })

  it("reports what it cannot read", () => {
    const wrong = [
      sns("no record"),
      {},
      { "detail-type": "Email Sent" },
      null,
      5,
      [null],
      sns({ mail: {} }),
      sns(record("Send", {}, { destination: [], tags: {}, headers: [] })),
    ]
    for (const body of wrong) {
      const { events, skipped } = read("ses", body)
      assert.deepStrictEqual(
        [events.length, skipped.map(({ expected }) => expected)],
        [0, [false]],
        JSON.stringify(body),
      )
    }
    const { incomplete } = read("ses", bounce("Permanent", "General", { emailAddress: "jane at home" }))
    assert.deepStrictEqual(incomplete?.map(({ pointer }) => pointer), [
      "/Message/bounce/bouncedRecipients/0/emailAddress",
    ])
    const late = bounce("Permanent", "General")
    assert.strictEqual(read("ses", late).events[0]!.occurredAt <= receivedAt, true)
  })
})
