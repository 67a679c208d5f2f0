import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { createHash } from "node:crypto"
import { type EventName, EventName as EventNames, type Normalized } from "../../src/domain/Event.ts"
import { countItems, normalize, type Options } from "../../src/events/CustomEvents.ts"

const receivedAt = Date.parse("2026-02-03T13:00:00Z")

const read = (body: unknown, options: Partial<Options> = {}): Normalized =>
  normalize(body, { receivedAt, webhookId: undefined, ...options })

/** The only event of a body with one item. */
const one = (body: unknown, options: Partial<Options> = {}) => {
  const { events, items, skipped } = read(body, options)
  assert.deepStrictEqual([items, events.length, skipped], [1, 1, []])
  return events[0]!
}

const click = { event: "click", tracking_id: "trk_1" }

const occurredAt = (time: unknown) => one({ ...click, timestamp: time }).occurredAt
const iso = (time: unknown) => new Date(occurredAt(time)).toISOString()
const keyOf = (item: object) => one(item).key

/** Checks that `read` finds a value under each of the keys, and under the earlier of any two neighbours. */
const assertOrder = (keys: string, read: (members: object) => unknown, first: unknown, second: unknown) =>
  keys.split(" ").forEach((key, i, all) => {
    assert.strictEqual(read({ [key]: second }), second, key)
    if (i > 0) assert.strictEqual(read({ [key]: second, [all[i - 1]!]: first }), first, key)
  })

const shuffled = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(shuffled)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).reverse().map(([name, member]) => [name, shuffled(member)]))
    : value

describe("CustomEvents: bodies", () => {
  it("reads everything of a flat item", () => {
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

  it("leaves undefined what an item does not say", () => {
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
    it(`takes an array under ${wrapper} as the items`, () => {
      const body = { [wrapper]: [click, null, { ...click, event: "open" }], sent_at: "2026-02-03" }
      const { events, items, skipped } = read(body)
      assert.strictEqual(items, 3)
      assert.deepStrictEqual(events.map(({ event }) => event), ["click", "open"])
      assert.deepStrictEqual(skipped.map(({ pointer }) => pointer), [`/${wrapper}/1`])
    })
  }

  it("takes an array as the items", () => {
    const { events, skipped } = read([click, 7, { ...click, event: "open" }])
    assert.deepStrictEqual(events.map(({ event }) => event), ["click", "open"])
    assert.deepStrictEqual(skipped, [{ pointer: "/1", reason: "must be an object", expected: false }])
  })

  it("prefers events to batch to data where several are arrays, and passes over those that are none", () => {
    assert.strictEqual(one({ data: [], batch: [], events: [click] }).event, "click")
    assert.strictEqual(one({ events: 3, batch: { a: 1 }, data: [click] }).event, "click")
  })

  it("finds nothing in an empty list", () => {
    for (const body of [[], { events: [] }, { batch: [] }, { data: [] }]) {
      assert.deepStrictEqual(read(body), { items: 0, events: [], skipped: [] })
    }
  })

  it("skips a body of another type as its only item", () => {
    for (const body of [null, "click", 7, true]) {
      assert.deepStrictEqual(read(body), {
        items: 1,
        events: [],
        skipped: [{ pointer: "", reason: "must be an object", expected: false }],
      })
    }
  })

  it("never loses the others to a bad item", () => {
    const bad = [null, "x", 0, [], [click], {}, { event: {} }, { event: "click" }, { tracking_id: "t" }]
    const { events, items, skipped } = read([...bad, click])
    assert.strictEqual(items, bad.length + 1)
    assert.strictEqual(events.length, 1)
    assert.deepStrictEqual(skipped.map(({ pointer }) => pointer), bad.map((_, i) => `/${i}`))
    assert.isTrue(skipped.every(({ expected }) => !expected))
  })
})

describe("CustomEvents: names of events", () => {
  const synonyms: { readonly [event in EventName]: ReadonlyArray<string> } = {
    sent: ["sent", "send"],
    delivered: ["delivered", "delivery"],
    open: ["open", "opened"],
    click: ["click", "clicked"],
    other: ["other"],
    conversion: ["conversion", "converted", "purchase", "purchased", "order_completed"],
    bounce: ["bounce", "bounced"],
    soft_bounce: ["soft_bounce", "soft_bounced"],
    failed: ["failed", "dropped", "rejected"],
    unsubscribe: ["unsubscribe", "unsubscribed"],
    spam: ["spam", "complaint", "complained", "spam_report"],
  }

  for (const event of EventNames.literals) {
    it(`knows ${event} as ${synonyms[event].join(", ")}, however written`, () => {
      for (const name of synonyms[event]) {
        for (const written of [name, name.toUpperCase(), ` ${name} `, `com.acme.mail.${name}`, `acme.${name}.v12`]) {
          // By user: with a tracking id, what is not known would pass for a conversion.
          assert.strictEqual(one({ event: written, user_id: "u" }).event, event, written)
        }
      }
    })
  }

  it("finds the name under each of its keys, in their order", () => {
    assertOrder(
      "event event_name event_type type name",
      (name) => one({ ...name, tracking_id: "t" }).event,
      "click",
      "open",
    )
  })

  it("passes over a name that is blank or no text", () => {
    assert.strictEqual(
      one({ event: "  ", event_name: null, event_type: {}, type: "open", tracking_id: "t" }).event,
      "open",
    )
  })

  it("takes only a version behind the last dot for one", () => {
    for (const name of ["click.v", "click.v2x", "click.2", "v2", "click.", "."]) {
      assert.strictEqual(read({ event: name, user_id: "u" }).events.length, 0, name)
    }
    assert.strictEqual(one({ event: "click.v2", user_id: "u" }).event, "click")
  })

  it("takes another name with a tracking id for a conversion", () => {
    assert.strictEqual(one({ event: "trial_started", tracking_id: "t" }).event, "conversion")
    assert.strictEqual(one({ event: "trial_started", properties: { trackingId: "t" } }).event, "conversion")
    assert.strictEqual(one({ event: "Viewed", url: "https://a.example/?tracking_id=t" }).event, "conversion")
  })

  it("expects to skip another name without a tracking id", () => {
    const { skipped } = read([{ event: "trial_started", user_id: "u" }])
    assert.deepStrictEqual(skipped.map(({ expected, pointer }) => [pointer, expected]), [["/0", true]])
    assert.include(skipped[0]!.reason, "trial_started")
  })

  it("takes configured names for conversions, in full or by the last segment", () => {
    const conversions = new Set(["trial_started", "shop.parcel.delivered"])
    assert.strictEqual(one({ event: "trial_started", user_id: "u" }, { conversions }).event, "conversion")
    assert.strictEqual(one({ event: "App.Trial_Started.v1", user_id: "u" }, { conversions }).event, "conversion")
    assert.strictEqual(one({ event: "shop.parcel.delivered", user_id: "u" }, { conversions }).event, "conversion")
    assert.strictEqual(one({ event: "mail.delivered", user_id: "u" }, { conversions }).event, "delivered")
    assert.strictEqual(read({ event: "trial_ended", user_id: "u" }, { conversions }).skipped[0]!.expected, true)
  })

  it("does not let a configuration make clicks conversions", () => {
    assert.strictEqual(one(click, { conversions: new Set(["click"]) }).event, "click")
  })

  it("expects to skip lifecycle noise, with a tracking id too, unless it is configured", () => {
    for (const event of ["drafted", "attempted", "deferred", "retry", "processed", "transient", "mail.Deferred.v2"]) {
      assert.deepStrictEqual(read({ event, tracking_id: "t" }).skipped.map(({ expected }) => expected), [true])
    }
    const conversions = new Set(["payment.processed"])
    assert.strictEqual(one({ event: "payment.processed", user_id: "u" }, { conversions }).event, "conversion")
  })
})

describe("CustomEvents: whom and what it concerns", () => {
  it("finds the user under each of its keys, in their order", () => {
    const keys = "user_id userId external_user_id external_id email"
    assertOrder(keys, (user) => one({ ...user, event: "open" }).user, "a", "b")
  })

  it("finds tracking id and template under both spellings", () => {
    assertOrder("tracking_id trackingId", (id) => one({ ...id, event: "open" }).trackingId, "a", "b")
    assertOrder("template_id templateId", (id) => one({ ...click, ...id }).templateId, "a", "b")
  })

  it("looks into data, then properties, after all keys of the item itself", () => {
    const both = { data: { tracking_id: "d" }, properties: { tracking_id: "p", email: "e" } }
    assert.deepInclude(one({ type: "com.acme.open", ...both }), { event: "open", trackingId: "d", user: "e" })
    assert.strictEqual(one({ event: "open", email: "item", data: { user_id: "data" } }).user, "item")
    assert.strictEqual(
      one({ event: "open", user_id: " ", data: { email: "data" }, properties: { user_id: "p" } }).user,
      "data",
    )
    assert.strictEqual(one({ data: { event: "open", id: 5, tracking_id: 7 } }).key, "id:5")
  })

  it("makes texts of numbers, and takes other types as absent", () => {
    assert.deepInclude(one({ event: "open", tracking_id: 42, user_id: 0 }), { trackingId: "42", user: "0" })
    const { trackingId, user } = one({ event: "open", tracking_id: true, trackingId: ["a"], user_id: {}, userId: "u" })
    assert.deepStrictEqual([trackingId, user], [undefined, "u"])
    assert.strictEqual(one({ event: "open", user_id: JSON.parse("1e999"), email: "e" }).user, "e")
  })

  it("keeps ids as they are, spaces at their ends included", () => {
    assert.strictEqual(one({ event: "open", tracking_id: " Ünï 🎉 " }).trackingId, " Ünï 🎉 ")
  })

  it("takes texts that cannot name anything here as absent", () => {
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

  it("takes the tracking id from the query of the clicked URL, decoded once", () => {
    const of = (url: unknown) => read({ event: "click", user_id: "u", url }).events[0]!.trackingId
    assert.strictEqual(of("https://a.example/p?x=1&tracking_id=trk_1&y=2"), "trk_1")
    assert.strictEqual(of("https://a.example/?tracking_id=trk%2F1%20%2541#top"), "trk/1 %41")
    assert.strictEqual(of("/p?tracking_id=a+b"), "a+b")
    assert.strictEqual(of("?tracking_id=100%"), "100%")
    assert.strictEqual(of("?tracking_id=&tracking_id=%20&tracking_id=c"), "c")
    assert.strictEqual(of("?tracking_id=%F0%9F%8E%89"), "🎉")
    const elsewhere = ["https://a.example/tracking_id=t", "https://a.example/#?tracking_id=t", "?my_tracking_id=t"]
    const unusable = ["?tracking_id", "?tracking_id=%00", `?tracking_id=${"x".repeat(201)}`, 7, null, {
      tracking_id: "t",
    }]
    for (const none of [...elsewhere, ...unusable]) assert.strictEqual(of(none), undefined, String(none))
  })

  it("prefers a stated tracking id, wherever it stands, to that of a URL", () => {
    const url = "https://a.example/?tracking_id=url"
    assert.strictEqual(one({ event: "click", url, tracking_id: "own" }).trackingId, "own")
    assert.strictEqual(one({ event: "click", url, properties: { tracking_id: "own" } }).trackingId, "own")
    assert.strictEqual(one({ event: "click", data: { url } }).trackingId, "url")
  })

  it("finds the link under each of its keys, and its tracking id", () => {
    for (const key of ["link", "url", "href", "link_url", "clicked_url"]) {
      const link = "https://a.example/?tracking_id=t"
      assert.deepInclude(one({ event: "click", [key]: link }), { link, trackingId: "t" })
      assert.deepInclude(one({ event: "click", properties: { [key]: link } }), { link, trackingId: "t" })
    }
    assert.strictEqual(one({ ...click, link: "a", url: "b" }).link, "a")
  })

  it("keeps the first 2,000 characters of a link, never half a pair, and none that cannot be stored", () => {
    assert.strictEqual(one({ ...click, url: "x".repeat(3_000) }).link, "x".repeat(2_000))
    assert.strictEqual(one({ ...click, url: `${"x".repeat(1_999)}🎉y` }).link, "x".repeat(1_999))
    assert.strictEqual(one({ ...click, url: `${"x".repeat(1_998)}🎉y` }).link, `${"x".repeat(1_998)}🎉`)
    assert.strictEqual(one({ ...click, link: "a\u0000", url: "b" }).link, "b")
    assert.strictEqual(one({ ...click, link: "\ud800", url: " " }).link, undefined)
  })

  it("sees a machine wherever one is flagged", () => {
    const keys = "automated is_bot isBot bot machine_open is_suspected_bot_click prefetched machine"
    for (const key of keys.split(" ")) {
      for (const flag of [true, "true"]) {
        assert.isTrue(one({ ...click, [key]: flag }).automated)
        assert.isTrue(one({ ...click, data: { [key]: flag } }).automated)
        assert.isTrue(one({ ...click, automated: false, properties: { [key]: flag } }).automated)
      }
      for (const flag of [false, "false", null, 0, 1, {}, [true], ""]) {
        assert.isFalse(one({ ...click, [key]: flag }).automated)
      }
    }
  })
})

describe("CustomEvents: times", () => {
  it("finds the time under each of its keys, in their order", () => {
    assertOrder("occurred_at timestamp time created_at ts", (t) => one({ ...click, ...t }).occurredAt / 1_000, 1, 2)
  })

  it("tells seconds, milliseconds and microseconds apart by their size", () => {
    for (const time of [1_770_116_400, "1770116400", 1_770_116_400_000, "1770116400000 ", 1_770_116_400_000_999]) {
      assert.strictEqual(iso(time), "2026-02-03T11:00:00.000Z", String(time))
    }
    for (const time of [1_770_116_400.25, "1770116400.25", "1770116400250", "1770116400250999"]) {
      assert.strictEqual(iso(time), "2026-02-03T11:00:00.250Z", String(time))
    }
    assert.strictEqual(occurredAt(0), 0)
  })

  it("reads ISO texts with any offset, and UTC without one", () => {
    const same = "2026-02-03T12:10:05Z|2026-02-03t12:10:05.000z|2026-02-03T14:40:05+02:30|2026-02-03T07:10:05-0500|" +
      "2026-02-03T13:10:05+01|2026-02-03 12:10:05 +00:00|2026-02-03 12:10:05 UTC|2026-02-03T12:10:05"
    for (const text of same.split("|")) assert.strictEqual(iso(text), "2026-02-03T12:10:05.000Z", text)
    assert.strictEqual(iso("2026-02-03T12:10:05.123999Z"), "2026-02-03T12:10:05.123Z")
    assert.strictEqual(iso("2026-02-03 12:10"), "2026-02-03T12:10:00.000Z")
    assert.strictEqual(iso("2024-02-29T00:00:00Z"), "2024-02-29T00:00:00.000Z")
    assert.strictEqual(iso("2016-12-31T23:59:60Z"), "2017-01-01T00:00:00.000Z")
    assert.strictEqual(iso("1970-01-01T00:00:00Z"), "1970-01-01T00:00:00.000Z")
  })

  it("takes the time of receipt for what is missing, unreadable, before 1970, or in the future", () => {
    const texts = [
      "",
      "yesterday",
      "click 5",
      "2026-02-03",
      "2026-02-03T12:00:00 Z extra",
      "+12026-02-03T12:00:00Z",
      "-5",
    ]
    const noTimes = "2026-02-30T00:00Z 2026-13-01T00:00Z 2026-00-10T00:00Z 2026-02-03T24:00:00Z 2026-02-03T12:60:00Z " +
      "2026-02-03T12:00:61Z 2026-02-03T12:00:00+24:00"
    const before1970 = "0001-01-01T00:00:00Z 0070-02-03T00:00Z 1969-12-31T23:59:59Z 1970-01-01T00:00:00+02:00"
    const future = "2026-02-03T13:00:00.001Z 9999-12-31T23:59:59Z"
    const numbers = [-1, 1e17, 1e300, 1e-9, JSON.parse("1e999"), "9".repeat(400), "9".repeat(1e6)]
    const all = [texts, numbers, undefined, null, {}, true, ...[noTimes, before1970, future].map((t) => t.split(" "))]
    for (const value of all.flat()) assert.strictEqual(occurredAt(value), receivedAt, String(value).slice(0, 50))
  })

  it("takes the time of receipt itself as it is", () => {
    assert.strictEqual(occurredAt("2026-02-03T13:00:00Z"), receivedAt)
  })
})

describe("CustomEvents: what makes two arrivals the same event", () => {
  it("finds the event id under each of its keys, in their order", () => {
    assertOrder("event_id eventId id", (id) => keyOf({ ...click, ...id }).slice(3), "a", "b")
    // The id of a message is the same for its open and its click.
    assertOrder("message_id messageId", (id) => keyOf({ ...click, ...id }).slice("id:click:".length), "a", "b")
    assert.strictEqual(keyOf({ ...click, id: "a", message_id: "b" }), "id:a")
    assert.strictEqual(keyOf({ ...click, event: "open", message_id: "b" }), "id:open:b")
    assert.strictEqual(keyOf({ ...click, id: 12 }), "id:12")
    assert.strictEqual(keyOf({ ...click, id: "x".repeat(200) }), `id:${"x".repeat(200)}`)
  })

  it("takes the header webhook-id for the event id of the only item that has none", () => {
    const webhookId = "msg_1"
    assert.strictEqual(one(click, { webhookId }).key, "id:msg_1")
    assert.strictEqual(one([click], { webhookId }).key, "id:msg_1")
    assert.strictEqual(one({ events: [click] }, { webhookId }).key, "id:msg_1")
    assert.strictEqual(one({ ...click, id: "own" }, { webhookId }).key, "id:own")
    assert.strictEqual(one(click, { webhookId: " " }).key, keyOf(click))
    for (const { key } of read([click, click], { webhookId }).events) assert.strictEqual(key, keyOf(click))
    for (const { key } of read([click, null], { webhookId }).events) assert.strictEqual(key, keyOf(click))
  })

  it("digests the canonical JSON of an item without a usable id", () => {
    const item = { tracking_id: "t", event: "click", data: { b: [1, { d: "é\n", c: null }], a: 1.5, Z: true } }
    const json = `{"data":{"Z":true,"a":1.5,"b":[1,{"c":null,"d":"é\\n"}]},"event":"click","tracking_id":"t"}`
    assert.strictEqual(keyOf(item), `digest:${createHash("sha256").update(json).digest("base64url")}`)
    for (const id of ["x".repeat(201), "a\u0000b", "\ud800"]) {
      assert.match(keyOf({ ...click, id }), /^digest:[A-Za-z0-9_-]{43}$/)
      assert.match(one(click, { webhookId: id }).key, /^digest:/)
    }
  })

  it("tells items apart that differ anywhere, in names such as __proto__ too", () => {
    const members = [`"x":null`, `"x":[]`, `"x":{}`, `"x":[[1],2]`, `"x":[[1,2]]`, `"x":"1"`, `"x":1`, `"y":1`]
    const names = [`"__proto__":1`, `"__proto__":{"id":"a"}`, `"__proto__":{"id":"b"}`, `"\\ud800":1`, `"\\ud801":1`]
    const keys = [...members, ...names].map((member) => keyOf(JSON.parse(`{"event":"click","user_id":"u",${member}}`)))
    assert.strictEqual(new Set([...keys, keyOf({ event: "click", user_id: "u" })]).size, keys.length + 1)
  })

  it("reads nothing out of __proto__", () => {
    const body = JSON.parse(`{"__proto__":{"event":"click","tracking_id":"t","events":[{}]}}`)
    assert.deepStrictEqual(read(body).skipped.map(({ pointer }) => pointer), [""])
    assert.strictEqual(read(JSON.parse(`{"event":"toString","__proto__":{"tracking_id":"t"}}`)).events.length, 0)
  })

  it("digests items of any depth and width", () => {
    const deep = (levels: number, last: string) =>
      JSON.parse(
        `{"event":"click","tracking_id":"t","x":${`{"b":1,"a":[`.repeat(levels)}${last}${"]}".repeat(levels)}}`,
      )
    const flipped = JSON.parse(
      `{"x":${`{"a":[`.repeat(10_000)}1${`],"b":1}`.repeat(10_000)},"tracking_id":"t","event":"click"}`,
    )
    assert.notStrictEqual(keyOf(deep(10_000, "1")), keyOf(deep(10_000, "2")))
    assert.strictEqual(keyOf(deep(10_000, "1")), keyOf(flipped))
    assert.match(keyOf({ ...click, x: JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`) }), /^digest:/)
    assert.match(keyOf({ ...click, x: new Array(200_000).fill({ a: 1 }) }), /^digest:/)
  })
})

describe("CustomEvents: hostile input", () => {
  it("stays linear in texts made to backtrack", () => {
    const size = 1_000_000
    const texts = "&|?|?tracking_id=&|%|?tracking_id=%|.|.v|v1.| |1|\ud800|#|2026-".split("|")
      .map((text) => text.repeat(Math.floor(size / text.length)))
    const started = performance.now()
    for (const text of texts) {
      for (const key of ["event", "tracking_id", "url", "id", "timestamp", "user_id", "link"]) {
        read([{ ...click, user_id: "u", [key]: text }])
      }
    }
    // 91 texts of a megabyte; a quadratic reading of a single one would take minutes.
    assert.isBelow(performance.now() - started, 20_000)
  })

  // Names that mean something here come up often, so that the properties reach past the first check.
  const name = fc.oneof(
    fc.constantFrom(..."event type tracking_id user_id id timestamp url data properties events".split(" ")),
    fc.constantFrom(..."__proto__ constructor toString automated link batch template_id".split(" ")),
    fc.string({ unit: "binary" }),
  )
  const text = fc.oneof(
    fc.constantFrom(..."click|open|order.paid|retry|t| |\ud800|?tracking_id=%E0%A4%A|2026-02-03 00:00".split("|")),
    fc.string({ unit: "binary" }),
  )
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { depthSize: "medium" },
      text,
      fc.oneof(fc.double(), fc.integer(), fc.boolean(), fc.constant(null)),
      fc.array(tie("json"), { maxLength: 6 }),
      // As JSON.parse does it: `__proto__` is a member like any other.
      fc.array(fc.tuple(name, tie("json")), { maxLength: 8 }).map((entries) => Object.fromEntries(entries)),
    ),
  }))
  const options = fc.record({ receivedAt: fc.constant(receivedAt), webhookId: fc.option(text, { nil: undefined }) })

  it("never fails, and accounts for every item", () => {
    fc.assert(
      fc.property(fc.oneof(json, fc.jsonValue()), options, (body, options) => {
        const { events, items, skipped } = normalize(body, options)
        assert.strictEqual(items, events.length + skipped.length)
        assert.strictEqual(items, countItems(body))
        for (const event of events) {
          assert.isTrue(event.trackingId !== undefined || event.user !== undefined)
          assert.isTrue(Number.isInteger(event.occurredAt) && event.occurredAt >= 0 && event.occurredAt <= receivedAt)
          assert.isAtMost(event.key.length, 210)
          for (const text of [event.key, event.trackingId, event.user, event.templateId, event.link]) {
            assert.isTrue(text === undefined || (text.isWellFormed() && !text.includes("\u0000") && text.trim() !== ""))
          }
        }
        assert.isTrue(skipped.every(({ reason }) => reason.isWellFormed() && reason.length < 400))
      }),
      { numRuns: 3_000 },
    )
  })

  const item = fc.dictionary(name, json, { maxKeys: 8 }).map((members) => ({ ...members, ...click }))

  it("reads the same from one item twice, whatever the order of its members", () => {
    fc.assert(
      fc.property(item, (item) => {
        const [first, again, other] = read([item, structuredClone(item), shuffled(item)]).events
        assert.deepStrictEqual(again, first!)
        assert.deepStrictEqual(other, first!)
      }),
      { numRuns: 500 },
    )
  })

  it("finds the same events alone, in a list, and in a wrapper", () => {
    fc.assert(
      fc.property(fc.array(item, { minLength: 2, maxLength: 4 }), (items) => {
        // A list of an item's own would make it a wrapper.
        const flat = items.map(({ events: _, batch: _b, data: _d, ...rest }: { readonly [name: string]: unknown }) =>
          rest
        )
        const alone = flat.flatMap((item) => read(item).events)
        assert.deepStrictEqual(read(flat).events, alone)
        assert.deepStrictEqual(read({ batch: flat }).events, alone)
      }),
      { numRuns: 300 },
    )
  })
})
