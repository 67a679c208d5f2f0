import { assert, describe, it } from "@effect/vitest"
import type { Normalized, NormalizedEvent } from "../../../src/domain/Event.ts"
import { normalize } from "../../../src/intake/platforms/CustomerIo.ts"
import { assertAccounted, jsonOf } from "./hostile.ts"
import { withAddress } from "./addresses.ts"

const receivedAt = Date.parse("2026-03-10T12:00:00Z")
const at = 1_773_140_000
const bytes = (text: string) => new TextEncoder().encode(text)

const read = (body: unknown): Normalized => {
  const result = normalize(bytes(JSON.stringify(body)), {}, receivedAt)
  if ("reason" in result) assert.fail(result.reason)
  return result
}

const one = (body: unknown): NormalizedEvent => {
  const { events, items, skipped } = read(body)
  assert.deepStrictEqual([items, events.length, skipped], [1, 1, []])
  return events[0]!
}

const identifiers = { id: "cust-88", email: "nora@shop.test", cio_id: "a3000001f202" }
const origin = { campaign_id: 31, action_id: 402, journey_id: "01JNW4", content_id: 9, parent_action_id: null }
const delivery = {
  identifiers,
  customer_id: "cust-88",
  delivery_id: "ZOXKFwAB",
  recipient: "nora@shop.test",
  ...origin,
}
const event = (metric: string, data: object = {}, more: object = {}) => ({
  event_id: `01JP0${metric}`,
  object_type: "email",
  metric,
  timestamp: at,
  data: { ...delivery, subject: "Noch da? 🎉", ...data },
  ...more,
})

/** The expected event of an e-mail, with the given members replaced. */
const expected = (metric: string, more: Partial<NormalizedEvent>): NormalizedEvent => ({
  event: "sent",
  trackingId: undefined,
  templateId: undefined,
  user: "cust-88",
  key: `id:01JP0${metric}`,
  occurredAt: at * 1_000,
  automated: false,
  messageKey: "ZOXKFwAB",
  link: undefined,
  ...more,
})

const headers = { "Content-Language": ["de"], "x-tracking-ID": ["trk-310"] }
const href = "https://shop.test/korb?utm_source=cio&tracking_id=trk-310#top"

const payloads: ReadonlyArray<readonly [name: string, body: unknown, event: NormalizedEvent]> = [
  [
    "sent, with the headers of the message",
    event("sent", { content: "<html>…</html>", headers }),
    expected("sent", { trackingId: "trk-310" }),
  ],
  ["sent, without content", event("sent"), expected("sent", {})],
  ["delivered", event("delivered"), expected("delivered", { event: "delivered" })],
  [
    "opened by a person",
    event("opened", { proxied: false, prefetched: false }),
    expected("opened", { event: "open" }),
  ],
  [
    "opened by Apple's proxy",
    event("opened", { proxied: false, prefetched: true }),
    expected("opened", { event: "open", automated: true }),
  ],
  [
    "opened through a proxy",
    event("opened", { proxied: true, prefetched: false }),
    expected("opened", { event: "open", automated: true }),
  ],
  [
    "clicked",
    event("clicked", { href, link_id: 12, machine: false }),
    expected("clicked", { event: "click", trackingId: "trk-310", link: href }),
  ],
  [
    "clicked by a scanner, on a link without our id",
    event("clicked", { href: "https://shop.test/agb", link_id: 13, machine: true }),
    expected("clicked", { event: "click", automated: true, link: "https://shop.test/agb" }),
  ],
  ["converted", event("converted"), expected("converted", { event: "conversion" })],
  [
    "bounced",
    event("bounced", { failure_message: "550 5.1.1 no such user" }),
    expected("bounced", { event: "bounce" }),
  ],
  ["spammed", event("spammed"), expected("spammed", { event: "spam" })],
  [
    "unsubscribed from a message",
    event("unsubscribed"),
    expected("unsubscribed", { event: "unsubscribe" }),
  ],
  [
    "bounced, of a push notification",
    event("bounced", {}, { object_type: "push" }),
    expected("bounced", { event: "bounce", otherChannel: true }),
  ],
  [
    "unsubscribed, of a person",
    event("unsubscribed", {}, {
      object_type: "customer",
      data: { identifiers: { ...identifiers, id: null }, customer_id: "", email_address: "nora@shop.test" },
    }),
    expected("unsubscribed", { event: "unsubscribe", user: "nora@shop.test", messageKey: undefined }),
  ],
  [
    "dropped, for a person who was deleted",
    event("dropped", { identifiers: { id: null, email: null, cio_id: null }, customer_id: "" }),
    expected("dropped", { event: "failed", user: "nora@shop.test" }),
  ],
  [
    "failed",
    event("failed", { failure_message: "Liquid error: undefined variable" }),
    expected("failed", { event: "failed" }),
  ],
  ["undeliverable", event("undeliverable"), expected("undeliverable", { event: "failed" })],
  [
    "sent as a push",
    event("sent", {
      recipient: undefined,
      recipients: [{ device_id: "eKx9", device_platform: "ios" }, { device_id: "f81b", device_platform: "android" }],
    }, { object_type: "push" }),
    expected("sent", {}),
  ],
  [
    "clicked in an in-app message",
    event("clicked", { tracked_response: "claim_coupon", subject: undefined }, { object_type: "in_app" }),
    expected("clicked", { event: "click", link: "claim_coupon" }),
  ],
  [
    "delivered as an SMS, to a person known by number only",
    event("delivered", { identifiers: { cio_id: "a3000001f203" }, customer_id: null, recipient: "+491701234567" }, {
      object_type: "sms",
    }),
    expected("delivered", { event: "delivered", user: "+491701234567" }),
  ],
]

describe("CustomerIo: payloads", () => {
  for (const [name, body, event] of payloads) {
    it(`reads ${name}`, () => assert.deepStrictEqual(one(body), withAddress(event, body)))
  }

  for (const metric of ["drafted", "attempted", "deferred"]) {
    it(`skips ${metric} as expected`, () => {
      const { events, skipped } = read(event(metric, { headers, href }))
      assert.deepStrictEqual([events.length, skipped.map(({ expected }) => expected)], [0, [true]])
    })
  }

  it("skips a change of preferences without an object_type as expected", () => {
    const body = {
      event_id: "01JP0PREF",
      metric: "cio_subscription_preferences_changed",
      delivery_type: "email",
      timestamp: at,
      data: { ...delivery, content: `{"topics":{"topic_1":false}}` },
    }
    assert.deepStrictEqual(read(body).skipped, [
      {
        pointer: "",
        reason: `"cio_subscription_preferences_changed" says nothing about a message's effect`,
        expected: true,
      },
    ])
  })

  it("reports an unknown metric", () => {
    assert.deepStrictEqual(read(event("hologram_viewed")).skipped, [
      { pointer: "", reason: `"hologram_viewed" is no metric known here`, expected: false },
    ])
  })
})

describe("CustomerIo: tracking id", () => {
  const idOf = (data: object) => one(event("sent", data)).trackingId

  it("is read from a header in any case and any form of its value", () => {
    for (const name of ["X-Tracking-Id", "x-tracking-id", "X-TRACKING-ID"]) {
      assert.strictEqual(idOf({ headers: { [name]: ["t1"] } }), "t1")
      assert.strictEqual(idOf({ headers: { [name]: "t1" } }), "t1")
      assert.strictEqual(idOf({ headers: JSON.stringify({ [name]: ["t1"] }) }), "t1")
    }
    assert.strictEqual(idOf({ headers: { "X-Tracking-Id": [" ", null, "t2", "t3"] } }), "t2")
  })

  it("is read from the header before the URL", () => {
    assert.strictEqual(idOf({ headers, href: "https://a.test/?tracking_id=other" }), "trk-310")
    assert.strictEqual(idOf({ headers: { "X-Tracking-Id": [""] }, href }), "trk-310")
  })

  it("is not read from other members", () => {
    const elsewhere = [{ "X-Tracking": ["t"] }, { "X-Tracking-Id": {} }, ["X-Tracking-Id"], "X-Tracking-Id: t", 7, null]
    for (const headers of elsewhere) assert.isUndefined(idOf({ headers }))
    assert.isUndefined(idOf({ message_data: { tracking_id: "t" }, tracking_id: "t" }))
  })
})

describe("CustomerIo: persons, keys and times", () => {
  it("prefers the id over the older field, the address and Customer.io's own id", () => {
    const all = { identifiers, customer_id: "old", email_address: "e@x.test", recipient: "r@x.test" }
    const user = (data: object) => one({ metric: "sent", data: { delivery_id: "d", ...all, ...data } }).user
    assert.strictEqual(user({}), "cust-88")
    assert.strictEqual(user({ identifiers: { ...identifiers, id: " " } }), "old")
    assert.strictEqual(user({ identifiers: { email: "i@x.test" }, customer_id: "" }), "i@x.test")
    assert.strictEqual(user({ identifiers: null, customer_id: null }), "e@x.test")
    assert.strictEqual(user({ identifiers: [], customer_id: null, email_address: "" }), "r@x.test")
    const last = { identifiers: { cio_id: "c" }, customer_id: "", email_address: "", recipient: "" }
    assert.strictEqual(user(last), "c")
    assert.isUndefined(user({ ...last, identifiers: {} }))
  })

  it("identifies an event without an id by a digest that ignores other content", () => {
    const { event_id: _, ...bare } = event("clicked", { href })
    const key = one(bare).key
    assert.match(key, /^digest:[\w-]{43}$/)
    assert.strictEqual(one({ ...bare, event_id: " ", data: { ...bare.data, subject: "another" } }).key, key)
    const others = [
      { ...bare, metric: "opened" },
      { ...bare, timestamp: at + 1 },
      { ...bare, object_type: "sms" },
      { ...bare, data: { ...bare.data, href: "https://shop.test/agb" } },
      { ...bare, data: { ...bare.data, delivery_id: "ZOXKFwAC" } },
      { ...bare, data: { ...bare.data, identifiers: { id: "cust-89" } } },
      { ...bare, timestamp: undefined },
      { ...bare, timestamp: undefined, data: { ...bare.data, subject: "another" } },
    ]
    assert.strictEqual(new Set([key, ...others.map((other) => one(other).key)]).size, others.length + 1)
  })

  it("uses the time of receipt if the time is missing, unreadable or in the future", () => {
    for (const timestamp of [undefined, null, "soon", {}, -5, at + 10 ** 6]) {
      assert.strictEqual(one({ ...event("opened"), timestamp }).occurredAt, receivedAt)
    }
    assert.strictEqual(one({ ...event("opened"), timestamp: String(at) }).occurredAt, at * 1_000)
  })
})

describe("CustomerIo: other bodies", () => {
  it("reads the valid items of a list next to invalid ones", () => {
    const bad = [null, "x", 7, [], {}, { metric: {} }, { metric: "opened" }, { metric: "opened", data: [delivery] }]
    const { events, items, skipped } = read([event("opened"), ...bad, event("clicked")])
    assert.deepStrictEqual([items, events.map(({ event }) => event)], [bad.length + 2, ["open", "click"]])
    assert.deepStrictEqual(skipped.map(({ pointer }) => pointer), bad.map((_, i) => `/${i + 1}`))
    assert.isTrue(skipped.every(({ expected }) => !expected))
  })

  it("returns no items for an empty list", () => {
    assert.deepStrictEqual(read([]), { items: 0, events: [], skipped: [] })
  })

  it("explains why nothing in a body was understood", () => {
    const reasonOf = (body: Uint8Array) => {
      const result = normalize(body, {}, receivedAt)
      return "reason" in result ? result.reason : assert.fail()
    }
    for (const blank of ["", " \r\n"]) assert.match(reasonOf(bytes(blank)), /^The body is empty.*Customer\.io/)
    assert.match(reasonOf(new Uint8Array([0xff, 0xfe, 0x7b])), /UTF-8/)
    for (const text of ["metric=opened&data=1", "{", `{"a":1}x`, "\u0000", `${"🎉".repeat(30)}`]) {
      const reason = reasonOf(bytes(text))
      assert.match(reason, /^The body is not valid JSON/)
      assert.isTrue(reason.isWellFormed() && !reason.includes("\u0000"))
    }
  })

  it("never throws, and reports every item, for any JSON", () => {
    const names = "metric data identifiers id headers href timestamp __proto__ event_id".split(" ")
    const texts = ["opened", "clicked", "X-Tracking-Id", "t", "\ud800", "?tracking_id=%E0", "1e400", "{"]
    assertAccounted(jsonOf(names, texts), read, receivedAt)
  })
})
