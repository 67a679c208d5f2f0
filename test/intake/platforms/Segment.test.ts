import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { NormalizedEvent } from "../../../src/domain/Event.ts"
import { make, normalize } from "../../../src/intake/platforms/Segment.ts"
import { assertAccounted, jsonOf } from "./hostile.ts"
import { withAddress } from "./addresses.ts"
import { at, bytes, expected, iso, linkUrl, one, profileOf, read, receivedAt, track } from "./segmentBodies.ts"

const mail = { email_id: "em-55", email_subject: "Dein Rabatt 🎉", campaign_id: "c-8", campaign_name: "March" }
const mailKey = `["email_id","em-55","u-2001"]`

const payloads: ReadonlyArray<readonly [name: string, body: object, event: NormalizedEvent]> = [
  ["an e-mail sent", track("Email Sent", mail), expected("sent", { messageKey: mailKey })],
  [
    "an e-mail delivered, with our id",
    track("Email Delivered", { ...mail, tracking_id: "trk-9" }),
    expected("delivered", { trackingId: "trk-9", messageKey: mailKey }),
  ],
  ["an open", track("Email Opened", mail), expected("open", { messageKey: mailKey })],
  [
    "an open by a machine, from Braze",
    track("Email Opened", { dispatch_id: "d-4", send_id: "s-1", canvas_id: "cv", machine_open: "true" }),
    expected("open", { messageKey: `["dispatch_id","d-4","u-2001"]`, automated: true }),
  ],
  [
    "a click on a link with our id",
    track("Email Link Clicked", { ...mail, link_id: "l-3", link_url: linkUrl }),
    expected("click", { trackingId: "trk-9", messageKey: mailKey, link: linkUrl }),
  ],
  [
    "a click on a link without our id",
    track("Email Link Clicked", { ...mail, link_id: "l-4" }),
    expected("click", { messageKey: mailKey, link: "l-4" }),
  ],
  [
    "an order",
    track("Order Completed", { order_id: "o-77", revenue: 59.9, currency: "EUR", products: [{ sku: "a" }] }),
    expected("conversion", { value: 59.9, currency: "EUR" }),
  ],
  [
    "an order with our id among the campaign's values",
    track("Order Completed", { order_id: "o-78" }, {
      context: { campaign: { source: "mail", tracking_id: "trk-9" }, timezone: "Asia/Seoul" },
    }),
    expected("conversion", { trackingId: "trk-9", timeZone: "Asia/Seoul" }),
  ],
  [
    "a business event with our id",
    track("Trial Started", { plan: "pro", tracking_id: "trk-9" }),
    expected("conversion", { trackingId: "trk-9" }),
  ],
  ["a bounce", track("Email Bounced", mail), expected("bounce", { messageKey: mailKey })],
  [
    "a soft bounce",
    track("Email Soft Bounced", mail),
    expected("soft_bounce", { messageKey: mailKey }),
  ],
  ["a bounce of a text message", track("SMS Bounced"), expected("bounce", { otherChannel: true })],
  ["a mail that was dropped", track("Email Dropped", mail), expected("failed", { messageKey: mailKey })],
  ["a tap on a push", track("Push Notification Tapped", { campaign_name: "x" }), expected("open")],
  [
    "a call of Iterable's, whose address stands for the anonymous id",
    track("Email Opened", { templateId: 71, template_id: 71 }, {
      userId: null,
      anonymousId: "mia@shop.test",
      context: { integration: { name: "Iterable" } },
    }),
    expected("open", { user: "mia@shop.test" }),
  ],
  [
    "a call of RudderStack's, with microseconds and an empty user",
    {
      type: "track",
      event: "email opened",
      userId: "",
      message_id: "rs-1",
      originalTimestamp: "2026-03-10T15:50:30.417999+05:30",
      request_ip: "203.0.113.5",
      context: { traits: { email: "mia@shop.test" } },
    },
    expected("open", { key: "id:rs-1", user: "mia@shop.test" }),
  ],
  [
    "what a customer mapped, without a type",
    { event: "SMS Clicked", user_id: 2001, messageId: "m-2", timestamp: at, properties: { url: linkUrl } },
    expected("click", { key: "id:m-2", user: "2001", trackingId: "trk-9", link: linkUrl }),
  ],
]

const names: { readonly [event in NormalizedEvent["event"]]?: ReadonlyArray<string> } = {
  sent: ["Email Sent", "Push Notification Sent", "SMS Sent"],
  delivered: ["Email Delivered", "SMS Delivered", "Push Delivered"],
  open: ["Email Opened", "Push Opened", "Push Notification Tapped", "In-App Message Viewed"],
  click: ["Email Link Clicked", "Email Clicked", "SMS Clicked", "In-App Message Clicked"],
  conversion: ["Order Completed", "Campaign Converted", "Canvas Converted", "Email Converted"],
  bounce: ["Email Bounced", "Push Bounced", "SMS Bounced", "SMS Delivery Failed"],
  soft_bounce: ["Email Soft Bounced"],
  spam: ["Email Marked as Spam"],
  unsubscribe: ["Unsubscribed", "Email Unsubscribed"],
  failed: ["Email Dropped", "Email Failed"],
}

describe("Segment: payloads", () => {
  for (const [name, body, event] of payloads) {
    it(`reads ${name}, alone, in a list and in a batch`, () => {
      const expected = withAddress(event, body)
      assert.deepStrictEqual(one(body), expected)
      assert.deepStrictEqual(one([body]), expected)
      assert.deepStrictEqual(one({ batch: [body], sentAt: iso }), expected)
    })
  }

  it("recognizes every listed name in any case", () => {
    for (const [event, written] of Object.entries(names)) {
      for (const name of written.flatMap((name) => [name, name.toLowerCase(), ` ${name.toUpperCase()} `])) {
        assert.strictEqual(one(track(name)).event, event, name)
      }
    }
  })

  it("skips calls unrelated to messages as expected, even with a tracking id", () => {
    const noise = ["Email Drafted", "Email Attempted", "Email Deferred"].map((name) =>
      track(name, { tracking_id: "t" })
    )
    const calls = ["page", "screen", "group", "alias"].map((type) => track("x", { tracking_id: "t" }, { type }))
    const { events, skipped } = read([...noise, ...calls, track("Product Viewed", { url: "https://shop.test" })])
    assert.deepStrictEqual([events.length, skipped.map(({ expected }) => expected)], [0, new Array(8).fill(true)])
  })

  it("reads message events of messaging platforms, with or without a tracking id", () => {
    const meanings: ReadonlyArray<readonly [name: string, event: NormalizedEvent["event"] | undefined]> = [
      ["Content Card Clicked", "click"],
      ["SMS Rejected", "bounce"],
      ["Email Suppressed", "failed"],
      ["Spam Report", "spam"],
      ["Unsubscribe", "unsubscribe"],
      ["Webhook Sent", "sent"],
      ["Campaign Control Group Entered", undefined],
      ["Canvas Entered", undefined],
      ["Application Uninstalled", undefined],
    ]
    for (const [name, event] of meanings) {
      for (const properties of [{ tracking_id: "t" }, {}]) {
        const { events, skipped } = read(track(name, properties))
        assert.deepStrictEqual(events.map((one) => one.event), event === undefined ? [] : [event], name)
        assert.deepStrictEqual(skipped.map(({ expected }) => expected), event === undefined ? [true] : [], name)
      }
    }
    assert.isTrue(one(track("SMS Rejected")).otherChannel)
    assert.isUndefined(one(track("Spam Report")).otherChannel)
    assert.isTrue(one(track("Email Machine Opened")).automated)
  })

  it("treats other names with a tracking id as conversions", () => {
    for (const name of ["Trial Started", "Subscription Changed", "Email Verified", "Referral Email Sent"]) {
      assert.strictEqual(one(track(name, { tracking_id: "t" })).event, "conversion", name)
    }
  })

  it("reads the group of an opt-out", () => {
    const changed = (status: string) =>
      track("Subscription Group State Changed", { subscription_group_id: "g-1", subscription_status: status })
    assert.deepInclude(one(changed("Unsubscribed")), { event: "unsubscribe", group: "g-1" })
    assert.deepInclude(one(changed("Subscribed")), { event: "other", group: "g-1", optIn: true })
    assert.deepInclude(one(track("Unsubscribed From Group", { unsubscribe_group_id: 12 })), {
      event: "unsubscribe",
      group: "12",
    })
    assert.deepInclude(one(track("Group Unsubscribe")), { event: "unsubscribe", group: "unnamed" })
    assert.deepInclude(one(track("Email Unsubscribed", { list_id: "l-9" })), { group: "l-9" })
    assert.isUndefined(one(track("Unsubscribed", { unsubscribe_group_id: 12 })).group)
    assert.isUndefined(one(track("Email Marked as Spam", { list_id: "l-9" })).group)
  })

  it("keeps opt-outs and complaints that are configured as conversions", () => {
    const configured = make({ conversions: new Set(["unsubscribed", "spam report"]) })
    assert.strictEqual(one(track("Unsubscribed"), configured).event, "unsubscribe")
    assert.strictEqual(one(track("Spam Report"), configured).event, "spam")
  })

  it("treats configured names as conversions", () => {
    const configured = make({ conversions: new Set(["trial started", "email opened"]) })
    assert.strictEqual(one(track("Trial Started"), configured).event, "conversion")
    assert.strictEqual(one(track("Email Opened"), configured).event, "conversion")
    assert.strictEqual(read(track("Trial Started")).events.length, 0)
  })
})

describe("Segment: tracking id, person and key", () => {
  it("reads the tracking id from the first place that has one", () => {
    const places: ReadonlyArray<(id: string) => { readonly properties?: object; readonly context?: object }> = [
      (id) => ({ properties: { tracking_id: id } }),
      (id) => ({ context: { tracking_id: id } }),
      (id) => ({ context: { traits: { tracking_id: id } } }),
      (id) => ({ context: { campaign: { tracking_id: id } } }),
      (id) => ({ properties: { link_url: `https://a.test/?tracking_id=${id}` } }),
      (id) => ({ properties: { url: `https://a.test/?tracking_id=${id}` } }),
    ]
    places.forEach((place, i) => {
      assert.strictEqual(one({ ...track("Email Opened"), ...place("b") }).trackingId, "b")
      if (i === 0) return
      const [first, second] = [places[i - 1]!("a"), place("b")]
      const both = {
        properties: { ...second.properties, ...first.properties },
        context: { ...second.context, ...first.context },
      }
      assert.strictEqual(one({ ...track("Email Opened"), ...both }).trackingId, "a")
    })
  })

  it("reads the person from the first place that has one", () => {
    const all = { userId: "1", context: { traits: { email: "2" } }, traits: { email: "4" }, anonymousId: "5" }
    const user = (more: object) => one({ ...track("Email Opened", { email: "3" }), ...all, ...more }).user
    assert.strictEqual(user({}), "1")
    assert.strictEqual(user({ userId: " ", user_id: "1b" }), "1b")
    assert.strictEqual(user({ userId: null }), "2")
    assert.strictEqual(user({ userId: null, context: {} }), "3")
    assert.strictEqual(user({ userId: null, context: {}, properties: {} }), "4")
    assert.strictEqual(user({ userId: null, context: [], properties: null, traits: "x" }), "5")
  })

  it("uses a digest of the named fields as the key if there is no message id", () => {
    const { messageId: _, ...bare } = track("Email Link Clicked", { ...mail, link_url: linkUrl })
    const { key } = one(bare)
    assert.match(key, /^digest:[\w-]{43}$/)
    assert.strictEqual(one({ ...bare, event: "EMAIL LINK CLICKED", sentAt: "2026-03-10T11:00:00Z" }).key, key)
    assert.strictEqual(one({ ...bare, messageId: "x".repeat(201) }).key, key)
    const others = [
      { ...bare, event: "Email Clicked" },
      { ...bare, userId: "u-2002" },
      { ...bare, timestamp: "2026-03-10T10:20:30.418Z" },
      { ...bare, properties: { ...mail, link_url: "https://shop.test" } },
      { ...bare, properties: { ...bare.properties, email_id: "em-56" } },
    ]
    assert.strictEqual(new Set([key, ...others.map((item) => one(item).key)]).size, others.length + 1)
  })

  it("uses the first readable time, and the time of receipt instead of a future one", () => {
    const time = (more: object) => one({ ...track("Email Opened"), ...more }).occurredAt
    assert.strictEqual(time({ timestamp: "yesterday" }), Date.parse("2026-03-10T10:20:29Z"))
    assert.strictEqual(time({ timestamp: null, originalTimestamp: 7e20 }), Date.parse("2026-03-10T10:20:31Z"))
    assert.strictEqual(time({ timestamp: "2026-03-11T00:00:00Z" }), receivedAt)
    const none = { timestamp: "", originalTimestamp: "", sentAt: "", receivedAt: "" }
    assert.strictEqual(time(none), receivedAt)
    assert.strictEqual(one({ batch: [track("Email Opened", {}, none)], sentAt: iso }).occurredAt, at)
  })

  it("attributes no event by a message id that many people share", () => {
    const { anonymousId: _, ...nobody } = track("Email Opened", { ...mail, tracking_id: "t" }, {
      userId: null,
      context: {},
    })
    assert.isUndefined(one(nobody).messageKey)
    const other = one(track("Email Opened", mail, { userId: "u-2002" })).messageKey
    assert.notStrictEqual(other, mailKey)
    const skipped = read({ ...nobody, properties: mail }).skipped
    assert.deepStrictEqual(skipped.map(({ expected }) => expected), [false])
  })

  it("applies the context of a batch to its calls after their own context", () => {
    const context = { tracking_id: "batch", traits: { email: "batch@shop.test" } }
    const bare = { type: "track", event: "Email Opened", messageId: "m" }
    const own = { ...bare, context: { tracking_id: "own" } }
    const { events } = read({ batch: [bare, own], context })
    assert.deepStrictEqual(events.map(({ trackingId, user }) => [trackingId, user]), [
      ["batch", "batch@shop.test"],
      ["own", "batch@shop.test"],
    ])
  })
})

describe("Segment: persons", () => {
  const traits = { email: "mia@shop.test", plan: "Pro", visits: 12, vip: true, tags: ["a", 2, null, {}], left: null }
  const identify = (more: object = {}) => ({ ...track("x"), event: undefined, type: "identify", traits, ...more })

  it("are described by identify calls, limited to the traits that a request may have", () => {
    const address = { street: "Weg 1" }
    assert.deepStrictEqual(
      profileOf(identify({ traits: { ...traits, address, lists: [[1]], text: "x".repeat(1_001) } })),
      {
        user: "u-2001",
        email: "mia@shop.test",
        traits: { email: "mia@shop.test", plan: "Pro", visits: 12, vip: true, tags: ["a", 2], left: null },
        occurredAt: at,
        key: "id:seg-9a71",
      },
    )
  })

  it("are described in the context if a call has no traits of its own", () => {
    const context = { traits: { email: "c@shop.test", tier: "gold" } }
    const found = profileOf(identify({ traits: undefined, context, userId: undefined }))
    assert.deepStrictEqual([found.user, found.email, found.traits], ["c@shop.test", "c@shop.test", context.traits])
  })

  it("keep traits with unusual names, and lose traits that cannot be stored", () => {
    const odd = JSON.parse(`{"__proto__":"a","constructor":"b","a\\u0000":1,"\\ud800":1," ":1,"ok":"\\ud800"}`)
    const found = profileOf(identify({ traits: odd })).traits
    assert.deepStrictEqual(Object.entries(found), [["__proto__", "a"], ["constructor", "b"]])
    const many = Object.fromEntries(Array.from({ length: 1_500 }, (_, i) => [`t${i}`, i]))
    assert.strictEqual(Object.keys(profileOf(identify({ traits: many })).traits).length, 1_000)
  })

  it("are unchanged by a call without traits or without a user", () => {
    const empty = [{}, null, "x", { address: {} }].map((traits) => identify({ traits, context: {} }))
    const nobody = { type: "identify", traits: { plan: "x" } }
    const { profiles, skipped } = read([...empty, nobody])
    assert.isUndefined(profiles)
    assert.deepStrictEqual(skipped.map(({ expected }) => expected), [true, true, true, true, false])
  })

  it("are identified by a digest if there is no message id", () => {
    const { messageId: _, ...bare } = identify()
    const { key } = profileOf(bare)
    assert.strictEqual(profileOf({ ...bare, sentAt: "later" }).key, key)
    assert.notStrictEqual(profileOf({ ...bare, traits: { ...traits, visits: 13 } }).key, key)
  })

  it("are erased by a delete notice", () => {
    const notice = { type: "delete", channel: "server", messageId: "delete-0e1", userId: "u-2001", timestamp: iso }
    assert.deepStrictEqual(read(notice), {
      items: 1,
      events: [],
      skipped: [],
      erasures: [{ user: "u-2001", email: undefined, key: "id:delete-0e1" }],
    })
    const erasures = (more: object) => read({ ...notice, ...more }).erasures?.map(({ email, user }) => [user, email])
    assert.deepStrictEqual(erasures({ traits: { email: "a@b.test" } }), [["u-2001", "a@b.test"]])
    assert.deepStrictEqual(erasures({ userId: "", context: { traits: { email: "a@b.test" } } }), [[
      undefined,
      "a@b.test",
    ]])
    assert.deepStrictEqual(erasures({ userId: null, anonymousId: "an-1" }), [["an-1", undefined]])
    assert.isUndefined(erasures({ userId: null }))
    assert.deepStrictEqual(read({ type: "delete" }).skipped.map(({ expected }) => expected), [false])
  })
})

describe("Segment: other bodies", () => {
  it("reads the valid items of a list next to invalid ones", () => {
    const bad = [null, "x", 7, [], {}, { type: "track" }, { type: "track", event: {} }, { type: "telepathy" }, {
      type: "track",
      event: "Email Opened",
    }, [track("Email Opened")]]
    const items = [track("Email Opened"), ...bad, track("Unsubscribed")]
    for (const [body, list] of [[items, ""], [{ batch: items }, "/batch"]] as const) {
      const { events, items: count, skipped } = read(body)
      assert.deepStrictEqual([count, events.map(({ event }) => event)], [items.length, ["open", "unsubscribe"]])
      assert.deepStrictEqual(skipped.map(({ pointer }) => pointer), bad.map((_, i) => `${list}/${i + 1}`))
      assert.isTrue(skipped.every(({ expected }) => !expected))
    }
  })

  it("returns no items for empty lists", () => {
    for (const body of [[], { batch: [] }, { events: [], user_identities: [] }]) {
      assert.deepStrictEqual(read(body), { items: 0, events: [], skipped: [] })
    }
  })

  it("explains why nothing in a body was understood", () => {
    const reasonOf = (body: string) => {
      const result = normalize(bytes(body), {}, receivedAt)
      return "reason" in result ? result.reason : assert.fail()
    }
    assert.match(reasonOf(""), /^The body is empty.*Segment/)
    assert.match(reasonOf("type=track"), /^The body is not valid JSON/)
  })

  it("takes linear time for a batch with large shared parts", () => {
    const large = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`t${i}`, i]))
    const identities = Array.from({ length: 20_000 }, (_, i) => ({ identity_type: `t${i}`, identity: "x" }))
    const items = Array.from({ length: 20_000 }, (_, i) => ({ type: "identify", userId: `u${i}` }))
    const events = Array.from(
      { length: 20_000 },
      () => ({ event_type: "custom_event", data: { event_name: "Email Sent" } }),
    )
    const started = performance.now()
    read({ batch: items, context: { traits: large } })
    read({ events, user_identities: identities })
    assert.isBelow(performance.now() - started, 10_000)
  })

  it("never throws, and reports every item, for any JSON", () => {
    const keys =
      "type event event_type data properties context traits campaign batch events userId email tracking_id url"
    const names = [...keys.split(" "), "user_identities", "messageId", "timestamp", "__proto__", "product_action"]
    const texts = "track identify delete custom_event a@b.test \ud800 ?tracking_id=% 2026-03-10T00:00:00Z".split(" ")
    const named = ["Email Opened", "Order Completed", ...texts]
    const json = jsonOf(names, named)
    const call = fc.record({
      type: fc.constantFrom("track", "identify", "delete"),
      event: fc.constantFrom(...named),
      userId: json,
      context: json,
      properties: json,
      traits: json,
    })
    assertAccounted(fc.oneof(json, fc.array(call, { maxLength: 4 })), read, receivedAt)
  })
})
