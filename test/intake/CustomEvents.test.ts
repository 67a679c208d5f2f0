import { assert, describe, it } from "@effect/vitest"
import { type EventName, EventName as EventNames } from "../../src/domain/EventKinds.ts"
import { assertOrder, click, one, read, receivedAt } from "./customEventsSupport.ts"

describe("custom events: bodies", () => {
  it("reads every field of a flat item", () => {
    assert.deepStrictEqual(
      one({
        event: "click",
        tracking_id: "trk_1",
        user_id: "c-501",
        event_id: "evt-77",
        template_id: "welcome",
        occurred_at: "2026-02-03T12:10:05.000Z",
        automated: false,
        url: "https://shop.example/p/1",
      }),
      {
        event: "click",
        trackingId: "trk_1",
        templateId: "welcome",
        user: "c-501",
        key: "id:evt-77",
        occurredAt: Date.parse("2026-02-03T12:10:05Z"),
        automated: false,
        link: "https://shop.example/p/1",
      },
    )
  })

  it("returns undefined for absent members", () => {
    const { key: _, ...event } = one({ event: "conversion", email: "a@example.com" })
    assert.deepStrictEqual(event, {
      event: "conversion",
      trackingId: undefined,
      templateId: undefined,
      user: "a@example.com",
      occurredAt: receivedAt,
      automated: false,
      link: undefined,
    })
  })

  for (const wrapper of ["events", "batch", "data"]) {
    it(`reads an array under ${wrapper} as the items`, () => {
      const body = { [wrapper]: [click, null, { ...click, event: "open" }], sent_at: "2026-02-03" }
      const { events, items, skipped } = read(body)
      assert.strictEqual(items, 3)
      assert.deepStrictEqual(events.map(({ event }) => event), ["click", "open"])
      assert.deepStrictEqual(skipped.map(({ pointer }) => pointer), [`/${wrapper}/1`])
    })
  }

  it("reads an array as the items", () => {
    const { events, skipped } = read([click, 7, { ...click, event: "open" }])
    assert.deepStrictEqual(events.map(({ event }) => event), ["click", "open"])
    assert.deepStrictEqual(skipped, [{ pointer: "/1", reason: "must be an object", expected: false }])
  })

  it("prefers events over batch over data, and ignores members that are no arrays", () => {
    assert.strictEqual(one({ data: [], batch: [], events: [click] }).event, "click")
    assert.strictEqual(one({ events: 3, batch: { a: 1 }, data: [click] }).event, "click")
  })

  it("returns no items for an empty list", () => {
    for (const body of [[], { events: [] }, { batch: [] }, { data: [] }]) {
      assert.deepStrictEqual(read(body), { items: 0, events: [], skipped: [] })
    }
  })

  it("skips a body that is no object as its only item", () => {
    for (const body of [null, "click", 7, true]) {
      assert.deepStrictEqual(read(body), {
        items: 1,
        events: [],
        skipped: [{ pointer: "", reason: "must be an object", expected: false }],
      })
    }
  })

  it("reads the valid items next to invalid ones", () => {
    const bad = [null, "x", 0, [], [click], {}, { event: {} }, { event: "click" }, { tracking_id: "t" }]
    const { events, items, skipped } = read([...bad, click])
    assert.strictEqual(items, bad.length + 1)
    assert.strictEqual(events.length, 1)
    assert.deepStrictEqual(skipped.map(({ pointer }) => pointer), bad.map((_, i) => `/${i}`))
    assert.isTrue(skipped.every(({ expected }) => !expected))
  })
})

describe("custom events: names of events", () => {
  const synonyms: { readonly [event in EventName]: ReadonlyArray<string> } = {
    sent: ["sent", "send"],
    delivered: ["delivered", "delivery"],
    open: ["open", "opened"],
    click: ["click", "clicked"],
    other: ["other"],
    conversion: ["conversion", "converted", "purchase", "purchased", "order_completed"],
    unsubscribe_view: ["unsubscribe_view"],
    refund: ["refund", "refunded", "order_refunded", "purchase_refund", "refund_completed"],
    bounce: ["bounce", "bounced"],
    soft_bounce: ["soft_bounce", "soft_bounced"],
    failed: ["failed", "dropped", "rejected"],
    unsubscribe: ["unsubscribe", "unsubscribed"],
    spam: ["spam", "complaint", "complained", "spam_report"],
  }

  for (const event of EventNames.literals) {
    it(`recognizes ${event} as ${synonyms[event].join(", ")} in any spelling`, () => {
      for (const name of synonyms[event]) {
        for (const written of [name, name.toUpperCase(), ` ${name} `, `com.acme.mail.${name}`, `acme.${name}.v12`]) {
          // Attributed by user, because an unknown name with a tracking id would count as a conversion.
          const item = event === "refund" ? { tracking_id: "t", value: 5 } : { user_id: "u" }
          assert.strictEqual(one({ event: written, ...item }).event, event, written)
        }
      }
    })
  }

  it("reads the name from the first of its keys", () => {
    assertOrder(
      "event event_name event_type type name",
      (name) => one({ ...name, tracking_id: "t" }).event,
      "click",
      "open",
    )
  })

  it("ignores a name that is blank or no text", () => {
    assert.strictEqual(
      one({ event: "  ", event_name: null, event_type: {}, type: "open", tracking_id: "t" }).event,
      "open",
    )
  })

  it("ignores a version only after the last dot", () => {
    for (const name of ["click.v", "click.v2x", "click.2", "v2", "."]) {
      assert.strictEqual(read({ event: name, user_id: "u" }).events.length, 0, name)
    }
    assert.strictEqual(one({ event: "click.v2", user_id: "u" }).event, "click")
  })

  it("reads the value of a conversion from the first key with a number", () => {
    const order = (members: object) => one({ event: "order_completed", tracking_id: "t", ...members })
    assertOrder("value revenue amount total", (members) => order(members).value, 1, 2.5)
    assert.deepInclude(order({ value: " 49.90 ", currency: "eur" }), { value: 49.9, currency: "EUR" })
    assert.strictEqual(order({ value: "n/a", properties: { revenue: 7 } }).value, 7)
    assert.strictEqual(order({ value: 0 }).value, 0)
    for (const value of [1e10, "1,234", "", null, true, [5], "9".repeat(41)]) {
      assert.isUndefined(order({ value, currency: "EUR" }).value, String(value))
      assert.isUndefined(order({ value, currency: "EUR" }).currency)
    }
    assert.strictEqual(order({ value: 5, currency: "euros" }).currency, "EUR")
    assert.isUndefined(one({ event: "click", tracking_id: "t", value: 5 }).value, "other events have no value")
  })

  it("treats an unknown name with a tracking id as a conversion", () => {
    assert.strictEqual(one({ event: "trial_started", tracking_id: "t" }).event, "conversion")
    assert.strictEqual(one({ event: "trial_started", properties: { trackingId: "t" } }).event, "conversion")
    assert.strictEqual(one({ event: "Viewed", url: "https://a.example/?tracking_id=t" }).event, "conversion")
  })

  it("skips an unknown name without a tracking id as expected", () => {
    const { skipped } = read([{ event: "trial_started", user_id: "u" }])
    assert.deepStrictEqual(skipped.map(({ expected, pointer }) => [pointer, expected]), [["/0", true]])
    assert.include(skipped[0]!.reason, "trial_started")
  })

  it("treats configured names as conversions, in full or by the last segment", () => {
    const conversions = new Set(["trial_started", "shop.parcel.delivered"])
    assert.strictEqual(one({ event: "trial_started", user_id: "u" }, { conversions }).event, "conversion")
    assert.strictEqual(one({ event: "App.Trial_Started.v1", user_id: "u" }, { conversions }).event, "conversion")
    assert.strictEqual(one({ event: "shop.parcel.delivered", user_id: "u" }, { conversions }).event, "conversion")
    assert.strictEqual(one({ event: "mail.delivered", user_id: "u" }, { conversions }).event, "delivered")
    assert.strictEqual(read({ event: "trial_ended", user_id: "u" }, { conversions }).skipped[0]!.expected, true)
  })

  it("does not turn clicks into conversions by configuration", () => {
    assert.strictEqual(one(click, { conversions: new Set(["click"]) }).event, "click")
  })

  it("skips lifecycle events as expected, even with a tracking id, unless configured", () => {
    for (const event of ["drafted", "attempted", "deferred", "retry", "processed", "transient", "mail.Deferred.v2"]) {
      assert.deepStrictEqual(read({ event, tracking_id: "t" }).skipped.map(({ expected }) => expected), [true])
    }
    const conversions = new Set(["payment.processed"])
    assert.strictEqual(one({ event: "payment.processed", user_id: "u" }, { conversions }).event, "conversion")
  })
})

describe("custom events: user and message of an event", () => {
  it("reads the user from the first of its keys", () => {
    const keys = "user_id userId external_user_id external_id email"
    assertOrder(keys, (user) => one({ ...user, event: "open" }).user, "a", "b")
  })

  it("reads tracking id and template under both spellings", () => {
    assertOrder("tracking_id trackingId", (id) => one({ ...id, event: "open" }).trackingId, "a", "b")
    assertOrder("template_id templateId", (id) => one({ ...click, ...id }).templateId, "a", "b")
  })

  it("reads data, then properties, after the keys of the item itself", () => {
    const both = { data: { tracking_id: "d" }, properties: { tracking_id: "p", email: "e" } }
    assert.deepInclude(one({ type: "com.acme.open", ...both }), { event: "open", trackingId: "d", user: "e" })
    assert.strictEqual(one({ event: "open", email: "item", data: { user_id: "data" } }).user, "item")
    assert.strictEqual(
      one({ event: "open", user_id: " ", data: { email: "data" }, properties: { user_id: "p" } }).user,
      "data",
    )
    assert.strictEqual(one({ data: { event: "open", id: 5, tracking_id: 7 } }).key, "id:5")
  })

  it("reports time zones, templates and users that cannot be read", () => {
    const unread: ReadonlyArray<readonly [Record<string, unknown>, string]> = [
      [{ time_zone: "Mars/Base" }, "/time_zone"],
      [{ data: { timezone: "GMT+2:30" } }, "/data/timezone"],
      [{ timeZone: 2 }, "/timeZone"],
      [{ template_id: { id: "welcome" } }, "/template_id"],
      [{ user_id: ["u-1"] }, "/user_id"],
    ]
    for (const [more, member] of unread) {
      const { faults } = one({ ...click, user_id: undefined, ...more })
      assert.deepStrictEqual(faults?.map((fault) => fault.member), [member], JSON.stringify(more))
    }
    assert.isUndefined(one({ ...click, time_zone: "europe/berlin", template_id: null, user_id: " " }).faults)
    const windows = one({ ...click, time_zone: "W. Europe Standard Time" })
    assert.deepStrictEqual([windows.timeZone, windows.faults], ["Europe/Berlin", undefined])
  })

  it("converts numbers to texts, and ignores values of other types", () => {
    assert.deepInclude(one({ event: "open", tracking_id: 42, user_id: 0 }), { trackingId: "42", user: "0" })
    const { trackingId, user } = one({ event: "open", tracking_id: true, trackingId: ["a"], user_id: {}, userId: "u" })
    assert.deepStrictEqual([trackingId, user], [undefined, "u"])
    assert.strictEqual(one({ event: "open", user_id: JSON.parse("1e999"), email: "e" }).user, "e")
  })

  it("keeps ids unchanged, including spaces at their ends", () => {
    assert.strictEqual(one({ event: "open", tracking_id: " Ünï 🎉 " }).trackingId, " Ünï 🎉 ")
  })

  it("ignores texts that cannot be a name", () => {
    const long = ["x".repeat(201), "x".repeat(1e6)]
    for (const bad of ["", " \t ", "a\u0000b", "a\nb", "a\u007f", "\ud800", "a\udc00b", ...long]) {
      const { trackingId, user } = one({ event: "open", tracking_id: bad, trackingId: "t", user_id: bad, email: "e" })
      assert.deepStrictEqual([trackingId, user], ["t", "e"])
      assert.strictEqual(one({ ...click, template_id: bad }).templateId, undefined)
      const { skipped } = read([{ event: "open", tracking_id: bad, user_id: bad }])
      assert.deepStrictEqual(skipped.map(({ expected, pointer }) => [pointer, expected]), [["/0", false]])
      assert.include(skipped[0]!.reason, "tracking_id")
    }
    assert.strictEqual(one({ event: "open", tracking_id: "x".repeat(200) }).trackingId, "x".repeat(200))
  })

  it("reads the tracking id from the query of the clicked URL, decoded once", () => {
    const of = (url: unknown) => read({ event: "click", user_id: "u", url }).events[0]!.trackingId
    assert.strictEqual(of("https://a.example/p?x=1&tracking_id=trk_1&y=2"), "trk_1")
    assert.strictEqual(of("https://a.example/?tracking_id=trk%2F1%20%2541#top"), "trk/1 %41")
    assert.strictEqual(of("/p?tracking_id=a+b"), "a+b")
    assert.strictEqual(of("?tracking_id=100%"), "100%")
    assert.strictEqual(of("?tracking_id=&tracking_id=%20&tracking_id=c"), "c")
    assert.strictEqual(of("?tracking_id=%F0%9F%8E%89"), "🎉")
    const elsewhere = ["https://a.example/tracking_id=t", "?my_tracking_id=t"]
    const unusable = ["?tracking_id", "?tracking_id=%00", `?tracking_id=${"x".repeat(201)}`, 7, null, {
      tracking_id: "t",
    }]
    for (const none of [...elsewhere, ...unusable]) assert.strictEqual(of(none), undefined, String(none))
  })

  it("prefers an explicit tracking id over one in a URL", () => {
    const url = "https://a.example/?tracking_id=url"
    assert.strictEqual(one({ event: "click", url, tracking_id: "own" }).trackingId, "own")
    assert.strictEqual(one({ event: "click", url, properties: { tracking_id: "own" } }).trackingId, "own")
    assert.strictEqual(one({ event: "click", data: { url } }).trackingId, "url")
  })

  it("reads the link, and its tracking id, from the first of its keys", () => {
    for (const key of ["link", "url", "href", "link_url", "clicked_url"]) {
      const link = "https://a.example/?tracking_id=t"
      assert.deepInclude(one({ event: "click", [key]: link }), { link, trackingId: "t" })
      assert.deepInclude(one({ event: "click", properties: { [key]: link } }), { link, trackingId: "t" })
    }
    assert.strictEqual(one({ ...click, link: "a", url: "b" }).link, "a")
  })

  it("truncates a link to 2,000 characters without splitting a pair, and ignores one that cannot be stored", () => {
    assert.strictEqual(one({ ...click, url: "x".repeat(3_000) }).link, "x".repeat(2_000))
    assert.strictEqual(one({ ...click, url: `${"x".repeat(1_999)}🎉y` }).link, "x".repeat(1_999))
    assert.strictEqual(one({ ...click, url: `${"x".repeat(1_998)}🎉y` }).link, `${"x".repeat(1_998)}🎉`)
    assert.strictEqual(one({ ...click, link: "a\u0000", url: "b" }).link, "b")
    assert.strictEqual(one({ ...click, link: "\ud800", url: " " }).link, undefined)
  })

  it("recognizes a machine from any of its flags", () => {
    const keys = "automated is_bot isBot bot machine_open is_suspected_bot_click prefetched machine"
    for (const key of keys.split(" ")) {
      for (const flag of [true, "true"]) {
        assert.isTrue(one({ ...click, [key]: flag }).automated)
        assert.isTrue(one({ ...click, data: { [key]: flag } }).automated)
        assert.isTrue(one({ ...click, automated: false, properties: { [key]: flag } }).automated)
      }
      for (const flag of [false, "false", null, 0, "no", "maybe", {}, [true], ""]) {
        assert.isFalse(one({ ...click, [key]: flag }).automated)
      }
    }
  })
})
