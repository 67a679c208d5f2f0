import { assert, describe, it } from "@effect/vitest"
import { defaultReading, normalizer } from "../../../src/intake/Sources.ts"
import { bytesOf, read, receivedAt, testCases, testHostile } from "./reading.ts"

const noon = receivedAt - 3_600_000

const item = (topic: string, properties: object, more: object = {}) => ({
  topic: topic.startsWith("event:") ? topic : `event:klaviyo.${topic}`,
  external_id: "evt-1",
  payload: {
    data: {
      type: "event",
      id: "5vQ",
      attributes: { timestamp: 1_770_120_000, datetime: "2026-02-03T12:00:00+00:00", event_properties: properties },
      relationships: { profile: { data: { type: "profile", id: "01PROFILE" } } },
    },
    ...more,
  },
})

const body = (...data: ReadonlyArray<unknown>) => ({ meta: { timestamp: "2026-02-03T12:00:01+00:00" }, data })

const ofAnn = { email_address: "ann@example.com" }

const envelope = (topic: string, properties: object = ofAnn, more: object = {}) => body(item(topic, properties, more))

describe("Klaviyo", () => {
  testCases("klaviyo", [
    ["a received e-mail as a delivery", envelope("received_email", { ...ofAnn, $message: "WZ1", Subject: "Hi" }), {
      event: "delivered",
      user: "ann@example.com",
      messageKey: JSON.stringify(["WZ1", "01PROFILE"]),
      key: "id:evt-1",
      occurredAt: noon,
    }],
    ["an open", envelope("opened_email"), { event: "open", automated: false }],
    ["an open by Apple's privacy protection as automated", envelope("opened_email", { "Apple Privacy Open": "True" }), {
      event: "open",
      automated: true,
      user: "01PROFILE",
    }],
    ["a machine open as automated", envelope("opened_email", { ...ofAnn, machine_open: true }), { automated: true }],
    [
      "a click with the tracking id of its link",
      envelope("clicked_email", {
        ...ofAnn,
        URL: "https://shop.example/?tracking_id=trk_1",
        $message: "WZ1",
      }),
      { event: "click", trackingId: "trk_1", messageKey: JSON.stringify(["WZ1", "01PROFILE"]) },
    ],
    ["a tracking id among the properties", envelope("opened_email", { tracking_id: "trk_2" }), { trackingId: "trk_2" }],
    ["a click on the opt-out page as no opt-out", envelope("clicked_email_to_unsubscribe"), { event: "other" }],
    ["a hard bounce", envelope("bounced_email", { ...ofAnn, "Bounce Type": "Hard" }), {
      event: "bounce",
      email: "ann@example.com",
    }],
    ["a soft bounce", envelope("bounced_email", { ...ofAnn, "Bounce Type": "Soft" }), { event: "soft_bounce" }],
    ["a bounce without a type as soft", envelope("bounced_email"), { event: "soft_bounce" }],
    ["a dropped e-mail as a failure", envelope("dropped_email"), { event: "failed" }],
    ["a complaint", envelope("marked_email_as_spam"), { event: "spam", email: "ann@example.com" }],
    ["an opt-out", envelope("unsubscribed_from_email_marketing"), { event: "unsubscribe", email: "ann@example.com" }],
    ["an opt-out of SMS as one of another channel", envelope("unsubscribed_from_sms_marketing", ofAnn), {
      event: "unsubscribe",
      otherChannel: true,
    }],
    ["a bounced push message as one of another channel", envelope("bounced_push"), {
      event: "bounce",
      otherChannel: true,
    }],
    [
      "the person's own id first",
      envelope("opened_email", ofAnn, {
        included: [{ type: "profile", id: "01PROFILE", attributes: { external_id: "u-1", email: "ann@example.com" } }],
      }),
      { user: "u-1" },
    ],
    [
      "the address of the profile",
      envelope("marked_email_as_spam", {}, {
        included: [{ type: "profile", attributes: { email: "ann@example.com" } }],
      }),
      { user: "ann@example.com", email: "ann@example.com" },
    ],
    ["an inbound SMS", envelope("received_sms"), "ignored"],
    ["a suppression by the account's staff", envelope("manually_suppressed_from_email_marketing"), "ignored"],
    ["a metric of the site", envelope("active_on_site"), "ignored"],
    ["an order without a tracking id", envelope("event:shopify.placed_order", { $value: 20 }), "ignored"],
    ["an order with a tracking id", envelope("event:shopify.placed_order", { $value: 20, tracking_id: "trk_3" }), {
      event: "conversion",
      trackingId: "trk_3",
      value: 20,
    }],
  ])

  it("counts metrics that the organization declares as conversions", () => {
    const reading = { ...defaultReading, conversions: new Set(["placed_order"]) }
    const found = normalizer("klaviyo", reading)(bytesOf(envelope("event:api.placed_order")), {}, receivedAt)
    assert.deepStrictEqual("events" in found && found.events.map(({ event, user }) => [event, user]), [
      ["conversion", "ann@example.com"],
    ])
  })

  it("reads every item of a batch for itself", () => {
    const { events, items, skipped } = read(
      "klaviyo",
      body(item("opened_email", ofAnn), 5, {}, item("opened_email", {})),
    )
    assert.deepStrictEqual([items, events.length], [4, 2])
    assert.deepStrictEqual(skipped.map(({ expected, pointer }) => [pointer, expected]), [["/data/1", false], [
      "/data/2",
      false,
    ]])
    assert.strictEqual(read("klaviyo", body()).items, 0)
  })

  it("names the missing list in other bodies", () => {
    const found = normalizer("klaviyo")(bytesOf({ event: "opened" }), {}, receivedAt)
    assert.include("reason" in found ? found.reason : "", "no list data")
  })

  testHostile("klaviyo", {
    names: ["topic", "payload", "data", "attributes", "event_properties", "included", "type", "external_id", "$value"],
    texts: ["event:klaviyo.opened_email", "event:klaviyo.bounced_email", "event:api.order", "profile", "a@example.com"],
    bodyOf: (item) => body(item),
  })
})
