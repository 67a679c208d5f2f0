import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { createHash } from "node:crypto"
import { countItems, normalize } from "../../src/intake/CustomEvents.ts"
import { assertOrder, click, occurredAt, one, read, receivedAt } from "./customEventsSupport.ts"

const iso = (time: unknown) => new Date(occurredAt(time)).toISOString()

const keyOf = (item: object) => one(item).key

const shuffled = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(shuffled)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).reverse().map(([name, member]) => [name, shuffled(member)]))
    : value

describe("custom events: times", () => {
  it("reads the time from the first of its keys", () => {
    assertOrder(
      "occurred_at timestamp time created_at ts",
      (t) => one({ ...click, ...t }).occurredAt / 1_000,
      1e9,
      1e9 + 1,
    )
  })

  it("distinguishes seconds, milliseconds and microseconds by their size", () => {
    for (const time of [1_770_116_400, "1770116400", 1_770_116_400_000, "1770116400000 ", 1_770_116_400_000_999]) {
      assert.strictEqual(iso(time), "2026-02-03T11:00:00.000Z", String(time))
    }
    for (const time of [1_770_116_400.25, "1770116400.25", "1770116400250", "1770116400250999"]) {
      assert.strictEqual(iso(time), "2026-02-03T11:00:00.250Z", String(time))
    }
    assert.strictEqual(iso("1770116400250999888"), "2026-02-03T11:00:00.250Z")
  })

  it("reads ISO texts with any offset, and as UTC without one", () => {
    const same = "2026-02-03T12:10:05Z|2026-02-03t12:10:05.000z|2026-02-03T14:40:05+02:30|2026-02-03T07:10:05-0500|" +
      "2026-02-03T13:10:05+01|2026-02-03 12:10:05 +00:00|2026-02-03 12:10:05 UTC|2026-02-03T12:10:05"
    for (const text of same.split("|")) assert.strictEqual(iso(text), "2026-02-03T12:10:05.000Z", text)
    assert.strictEqual(iso("2026-02-03T12:10:05.123999Z"), "2026-02-03T12:10:05.123Z")
    assert.strictEqual(iso("2026-02-03 12:10"), "2026-02-03T12:10:00.000Z")
    assert.strictEqual(iso("2024-02-29T00:00:00Z"), "2024-02-29T00:00:00.000Z")
    assert.strictEqual(iso("2016-12-31T23:59:60Z"), "2017-01-01T00:00:00.000Z")
  })

  it("uses the time of receipt if the time is missing, unreadable, before 1971, or in the future", () => {
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
    const before1971 =
      "0001-01-01T00:00:00Z 0070-02-03T00:00Z 1970-01-01T00:00:00Z 1969-12-31T23:59:59Z 1970-01-01T00:00:00+02:00"
    const future = "2026-02-03T13:00:00.001Z 9999-12-31T23:59:59Z"
    const numbers = [-1, 0, 1e20, 1e300, 1e-9, JSON.parse("1e999"), "9".repeat(400), "9".repeat(1e6)]
    const all = [texts, numbers, undefined, null, {}, true, ...[noTimes, before1971, future].map((t) => t.split(" "))]
    for (const value of all.flat()) assert.strictEqual(occurredAt(value), receivedAt, String(value).slice(0, 50))
  })

  it("accepts a time equal to the time of receipt", () => {
    assert.strictEqual(occurredAt("2026-02-03T13:00:00Z"), receivedAt)
  })
})

describe("custom events: identity of an event", () => {
  it("reads the event id from the first of its keys", () => {
    assertOrder("event_id eventId id", (id) => keyOf({ ...click, ...id }).slice(3), "a", "b")
    // The id of a message is the same for its open and its click.
    assertOrder("message_id messageId", (id) => keyOf({ ...click, ...id }).slice("id:click:".length), "a", "b")
    assert.strictEqual(keyOf({ ...click, id: "a", message_id: "b" }), "id:a")
    assert.strictEqual(keyOf({ ...click, event: "open", message_id: "b" }), "id:open:b")
    assert.strictEqual(keyOf({ ...click, id: 12 }), "id:12")
    assert.strictEqual(keyOf({ ...click, id: "x".repeat(200) }), `id:${"x".repeat(200)}`)
  })

  it("uses the header webhook-id as the event id of a single item without one", () => {
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

  it("distinguishes items that differ in any member, including __proto__", () => {
    const members = [`"x":null`, `"x":[]`, `"x":{}`, `"x":[[1],2]`, `"x":[[1,2]]`, `"x":"1"`, `"x":1`, `"y":1`]
    const names = [`"__proto__":1`, `"__proto__":{"id":"a"}`, `"__proto__":{"id":"b"}`, `"\\ud800":1`, `"\\ud801":1`]
    const keys = [...members, ...names].map((member) => keyOf(JSON.parse(`{"event":"click","user_id":"u",${member}}`)))
    assert.strictEqual(new Set([...keys, keyOf({ event: "click", user_id: "u" })]).size, keys.length + 1)
  })

  it("ignores members of __proto__", () => {
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

describe("custom events: hostile input", () => {
  it("takes linear time for texts that provoke backtracking", () => {
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

  it("never throws, and reports every item", () => {
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

  it("reads an item identically in any order of its members", () => {
    fc.assert(
      fc.property(item, (item) => {
        const [first, again, other] = read([item, structuredClone(item), shuffled(item)]).events
        assert.deepStrictEqual(again, first!)
        assert.deepStrictEqual(other, first!)
      }),
      { numRuns: 500 },
    )
  })

  it("reads the same events alone, in a list, and in a wrapper", () => {
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
