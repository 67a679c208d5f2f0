import { assert, describe, it } from "@effect/vitest"
import { read, receivedAt, testCases, testHostile } from "./reading.ts"

const noon = receivedAt - 3_600_000
const id = "<202602031200.12345678901@smtp-relay.example>"

/** A transactional webhook with our ids in the header `X-Mailin-custom`. */
const record = (event: string, more: object = {}) => ({
  event,
  email: "Ann@Example.com",
  id: 991,
  date: "2026-02-03 13:00:00",
  ts: 1_770_123_600,
  "message-id": id,
  ts_event: 1_770_123_600,
  ts_epoch: 1_770_120_000_000,
  subject: "Hello",
  template_id: 22,
  tags: ["welcome"],
  sending_ip: "192.0.2.1",
  "X-Mailin-custom": '{"tracking_id":"trk_1","user_id":"u-1"}',
  ...more,
})

describe("Brevo", () => {
  testCases("brevo", [
    ["a request as a send, at the time without a zone of the account", record("request"), {
      event: "sent",
      trackingId: "trk_1",
      user: "u-1",
      messageKey: JSON.stringify([id.slice(1, -1), "ann@example.com"]),
      occurredAt: noon,
    }],
    ["a delivery", record("delivered"), { event: "delivered" }],
    ["a first open", record("unique_opened"), { event: "open", automated: false }],
    ["an open", record("opened"), { event: "open", automated: false }],
    ["an open by a proxy as automated", record("unique_proxy_open"), { event: "open", automated: true }],
    ["a repeated open by a proxy as automated", record("proxy_open"), { event: "open", automated: true }],
    ["a click", record("click", { link: "https://shop.example/" }), { event: "click", link: "https://shop.example/" }],
    ["a click with the tracking id of its link", {
      ...record("click", { link: "https://shop.example/?tracking_id=trk_2" }),
      "X-Mailin-custom": "",
    }, { trackingId: "trk_2", user: "Ann@Example.com" }],
    [
      "a click of a campaign, whose link is the member URL",
      {
        event: "click",
        email: "Ann@Example.com",
        camp_id: 4,
        ts_event: noon / 1_000,
        URL: "https://shop.example/?tracking_id=trk_2",
      },
      { trackingId: "trk_2", link: "https://shop.example/?tracking_id=trk_2", occurredAt: noon },
    ],
    ["pairs in the header", record("opened", { "X-Mailin-custom": "tracking_id:trk_3|user_id:u-3" }), {
      trackingId: "trk_3",
      user: "u-3",
    }],
    ["a bare tracking id in the header", record("opened", { "X-Mailin-custom": "trk_4" }), { trackingId: "trk_4" }],
    ["a text in the header that is no id", record("opened", { "X-Mailin-custom": "spring campaign" }), {
      trackingId: undefined,
    }],
    [
      "a tracking id among the tags",
      record("opened", { "X-Mailin-custom": null, tags: ["news", "tracking_id:trk_5"] }),
      {
        trackingId: "trk_5",
      },
    ],
    [
      "a tracking id in a tag with JSON text",
      record("opened", {
        "X-Mailin-custom": undefined,
        tags: undefined,
        tag: '["tracking_id:trk_6"]',
      }),
      { trackingId: "trk_6" },
    ],
    ["a hard bounce", record("hard_bounce", { reason: " 550 5.1.1 unknown user" }), {
      event: "bounce",
      email: "Ann@Example.com",
    }],
    ["a hard bounce in the spelling of the settings", record("hardBounce"), { event: "bounce" }],
    ["an invalid address as a bounce", record("invalid_email"), { event: "bounce" }],
    ["a hard bounce of a full mailbox as soft", record("hard_bounce", { reason: "552 5.2.2 mailbox full" }), {
      event: "soft_bounce",
    }],
    ["a soft bounce", record("soft_bounce", { reason: "452 4.2.2 mailbox full" }), { event: "soft_bounce" }],
    ["a soft bounce by a policy as a failure", record("soft_bounce", { reason: "554 5.7.1 blocked using Spamhaus" }), {
      event: "failed",
    }],
    ["an address on Brevo's own list as a failure", record("blocked"), { event: "failed" }],
    ["an error as a failure", record("error"), { event: "failed" }],
    ["a complaint", record("spam"), { event: "spam", email: "Ann@Example.com" }],
    ["an opt-out", record("unsubscribed"), { event: "unsubscribe", email: "Ann@Example.com" }],
    ["an event of a campaign as an event of the person", {
      event: "opened",
      email: "ann@example.com",
      camp_id: 3,
      "campaign name": "Spring",
      date_event: "2026-02-03 13:00:00",
      ts_event: 1_770_120_000,
    }, { event: "open", user: "ann@example.com", trackingId: undefined, messageKey: undefined, occurredAt: noon }],
    ["seconds in ts_epoch", record("delivered", { ts_epoch: 1_770_120_000 }), { occurredAt: noon }],
    [
      "our own Message-ID as tracking id",
      record("opened", {
        "X-Mailin-custom": undefined,
        "message-id": "<0192f0c1-7c1e-7000-8000-000000000001@shop.example>",
      }),
      { trackingId: "0192f0c1-7c1e-7000-8000-000000000001" },
    ],
    ["a deferred message", record("deferred"), "ignored"],
    ["a change of a contact", record("contact_updated"), "ignored"],
    ["an unknown event", record("unheard"), "ignored"],
    ["inbound mail", { items: [{ Uuid: ["x"] }] }, "ignored"],
  ])

  it("reads batches as a list and as events of an object", () => {
    const items = [record("delivered"), record("opened"), 5]
    for (const [body, at] of [[items, "/2"], [{ events: items }, "/events/2"]] as const) {
      const found = read("brevo", body)
      assert.deepStrictEqual(found.events.map(({ event }) => event), ["delivered", "open"])
      assert.deepStrictEqual(found.skipped.map(({ pointer }) => pointer), [at])
    }
  })

  it("identifies events by their content, never by the id of the webhook", () => {
    const keys = [
      record("opened"),
      record("unique_opened"),
      record("opened", { ts_epoch: 1_770_120_001_000 }),
      record("opened", { email: "bob@example.com" }),
      record("opened", { "message-id": "<other@smtp-relay.example>" }),
      record("click", { link: "https://shop.example/1" }),
      record("click", { link: "https://shop.example/2" }),
    ].map((one) => read("brevo", one).events[0]!.key)
    assert.strictEqual(new Set(keys).size, keys.length)
    assert.strictEqual(read("brevo", record("opened", { id: 7, subject: "x" })).events[0]!.key, keys[0])
  })

  testHostile("brevo", {
    names: ["event", "email", "message-id", "ts_epoch", "X-Mailin-custom", "tags", "tag", "link", "reason", "items"],
    texts: ["opened", "hard_bounce", "a@example.com", "tracking_id:trk_1|user_id:u", "{", "[1]", "trk_1"],
    bodyOf: (item) => item,
  })
})
