import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { compile, decode, dryRun } from "../../../src/intake/mapping/Mapping.ts"
import { bytes, faultsOf, json, least, mapping, one, receivedAt, rich, understood } from "./mappingSupport.ts"

describe("mapping: reading", () => {
  it("reads every field of an event", () => {
    const item = {
      channel: "email",
      kind: "mailread",
      meta: { tid: "t-1" },
      person: { email: "z@mail.example", zone: "Asia/Seoul" },
      uid: 991,
      mid: "m-5",
      at: 1_778_486_400,
      agent: "PROXY",
      target: "https://store.example/a",
    }
    assert.deepStrictEqual(one(rich, { data: { items: [item] } }), {
      event: "open",
      trackingId: "t-1",
      templateId: "welcome",
      user: "z@mail.example",
      key: "id:991",
      messageKey: "m-5",
      occurredAt: 1_778_486_400_000,
      automated: true,
      link: "https://store.example/a",
      timeZone: "Asia/Seoul",
    })
  })

  it("reads value and currency of conversions", () => {
    const input = { ...least, value: "$.order.total", currency: { from: ["$.order.unit", { literal: "USD" }] } }
    const of = (kind: string, order: object) => one(input, { kind, tid: "t", order })
    assert.deepInclude(of("conversion", { total: "12.50", unit: "eur" }), { value: 12.5, currency: "EUR" })
    assert.deepInclude(of("conversion", { total: 3 }), { value: 3, currency: "USD" })
    assert.notProperty(of("conversion", { total: "much" }), "currency")
    assert.notProperty(of("click", { total: 3 }), "value")
  })

  it("reads the first alternate that has a value: a path, JSON in a text, a parameter of a URL", () => {
    const of = (more: object) =>
      one(rich, { account: "acc", data: { items: [{ channel: "push", kind: "open", ...more }] } })
    const payload = '{"ids":["from-text","x"]}'
    const target = "https://store.example/?a=1&tid=from%2Durl"
    assert.strictEqual(of({ meta: { tid: " " }, payload, target }).trackingId, "from-text")
    assert.strictEqual(of({ payload: { ids: ["parsed already"] }, target }).trackingId, "parsed already")
    assert.strictEqual(of({ payload: "{broken", target }).trackingId, "from-url")
    assert.strictEqual(of({ target }).user, "acc")
  })

  it("reads headers in any case, and a URL inside JSON inside a header", () => {
    const input = {
      event: { from: [{ literal: "click" }] },
      tracking_id: { from: [{ header: "X-Context", json: "$.url", query: "t" }, { header: "X-Tracking" }] },
    }
    assert.strictEqual(one(input, {}, { "x-tracking": "h-1" }).trackingId, "h-1")
    const context = { "x-context": '{"url":"https://a.example/?t=h-2"}', "x-tracking": "h-1" }
    assert.strictEqual(one(input, {}, context).trackingId, "h-2")
    assert.strictEqual(understood(input, {}, {}).skipped.length, 1)
  })

  it("recognizes the event names of the default shape unless configured otherwise", () => {
    const body = (kind: unknown) => ({ kind, tid: "t" })
    assert.strictEqual(one(least, body("com.acme.mail.Clicked.v2")).event, "click")
    const skipped = understood(least, [body("teleport"), body(null)]).skipped
    assert.deepStrictEqual(skipped.map(({ expected, pointer }) => [pointer, expected]), [["/0", true], ["/1", false]])
    const all = (other: string) => ({ ...least, event: { from: ["$.kind"], default: other } })
    assert.strictEqual(one(all("conversion"), body("teleport")).event, "conversion")
    assert.strictEqual(one(all("conversion"), body("click")).event, "conversion")
    assert.deepStrictEqual(understood(all("ignore"), body("click")).skipped.map(({ expected }) => expected), [true])
  })

  it("lets the table override the default names", () => {
    const input = { ...least, event: { from: ["$.kind"], table: { " Open ": "ignore", tapped: "click" } } }
    assert.strictEqual(understood(input, { kind: "OPEN", tid: "t" }).skipped[0]!.expected, true)
    assert.strictEqual(one(input, { kind: " Tapped", tid: "t" }).event, "click")
  })

  it("ignores inherited properties", () => {
    const table = { event: { from: ["$.kind"], table: { a: "open" } }, user: "$.constructor.name" }
    for (const kind of ["constructor", "__proto__", "toString"]) {
      assert.deepStrictEqual(understood(table, { kind, tid: "t" }).events, [])
    }
    assert.strictEqual(understood(table, { kind: "a" }).events.length, 0)
    assert.strictEqual(
      one({ ...least, user: "$.__proto__.id" }, JSON.parse('{"kind":"open","__proto__":{"id":"u"}}')).user,
      "u",
    )
  })

  it("reads times in the configured unit", () => {
    const at = (unit: string, value: unknown) =>
      one({ ...least, occurred_at: { from: ["$.at"], unit } }, { kind: "open", tid: "t", at: value }).occurredAt
    const instant = 1_778_486_400_123
    assert.strictEqual(at("seconds", 1_778_486_400.123), instant)
    assert.strictEqual(at("milliseconds", `${instant}`), instant)
    assert.strictEqual(at("microseconds", instant * 1_000 + 999), instant)
    assert.strictEqual(at("iso", "2026-05-11T10:00:00.123+02:00"), Date.parse("2026-05-11T08:00:00.123Z"))
    assert.strictEqual(at("auto", instant), instant)
    // Milliseconds that a guess by size would take for seconds.
    assert.strictEqual(at("milliseconds", 86_400_000_000), 86_400_000_000)
    for (const nonsense of [null, 5_000, "soon", -5, {}, "9".repeat(20), instant * 10]) {
      assert.strictEqual(at("milliseconds", nonsense), receivedAt)
    }
    assert.strictEqual(at("iso", instant), receivedAt)
    assert.strictEqual(at("seconds", "2026-05-11T08:00:00Z"), receivedAt)
  })

  it("recognizes a machine by true or by the configured texts", () => {
    const of = (automated: unknown, bot: unknown) =>
      one({ ...least, automated }, { kind: "open", tid: "t", bot }).automated
    assert.isTrue(of("$.bot", true))
    assert.isTrue(of("$.bot", "True"))
    assert.isTrue(of("$.bot", 1))
    assert.isTrue(of("$.bot", "yes"))
    assert.isFalse(of("$.bot", "no"))
    assert.isFalse(of("$.bot", "maybe"))
    assert.isTrue(of({ from: ["$.bot"], equals: ["1", "yes"] }, 1))
    assert.isFalse(of({ from: ["$.bot"], equals: ["1"] }, true))
  })

  it("keeps items that meet the conditions, and skips the others as expected", () => {
    const kept = (op: string, values: ReadonlyArray<string> | undefined, value: unknown) => {
      const where = [{ from: ["$.v"], op, ...(values === undefined ? {} : { values }) }]
      const { events, skipped } = understood({ ...least, where }, { kind: "open", tid: "t", v: value })
      assert.isTrue(skipped.every(({ expected }) => expected))
      return events.length === 1
    }
    assert.deepStrictEqual(["a", "b", undefined].map((v) => kept("is", ["a"], v)), [true, false, false])
    assert.deepStrictEqual(["a", "b", undefined].map((v) => kept("is_not", ["a"], v)), [false, true, true])
    assert.deepStrictEqual(["a", 7, true].map((v) => kept("in", ["a", "7"], v)), [true, true, false])
    assert.deepStrictEqual(["a", 7, null].map((v) => kept("not_in", ["a", "7"], v)), [false, false, true])
    assert.deepStrictEqual([false, "", []].map((v) => kept("exists", undefined, v)), [true, false, false])
    assert.deepStrictEqual(["x", undefined].map((v) => kept("not_exists", undefined, v)), [false, true])
    assert.deepStrictEqual(["abc", "cab", null].map((v) => kept("starts_with", ["ab"], v)), [true, false, false])
    assert.deepStrictEqual(["cab", "xyz", null].map((v) => kept("contains", ["ab"], v)), [true, false, false])
  })

  it("skips an item without a required member or without a message", () => {
    const required = { event: "$.kind", tracking_id: { from: ["$.tid"], required: true }, user: "$.user" }
    const optional = { ...required, tracking_id: "$.tid" }
    const body = { kind: "open", user: "u" }
    const { skipped } = understood(required, body)
    assert.deepStrictEqual(skipped, [{
      pointer: "",
      reason: "has no tracking_id, which the mapping requires",
      expected: false,
    }])
    assert.strictEqual(one(optional, body).user, "u")
    assert.deepStrictEqual(understood(optional, { kind: "open" }).skipped.map(({ expected }) => expected), [false])
  })

  it("identifies an event without an id by its content, in any order of its members", () => {
    const first = one(least, { kind: "open", tid: "t", n: 1 }).key
    assert.match(first, /^digest:[\w-]{43}$/)
    assert.strictEqual(one(least, { n: 1, tid: "t", kind: "open" }).key, first)
    assert.notStrictEqual(one(least, { kind: "open", tid: "t", n: 2 }).key, first)
    const scalars = { items: "$[*]", event: { from: [{ literal: "click" }] }, tracking_id: "$" }
    const { events } = understood(scalars, ["t-1", "t-2", null])
    assert.deepStrictEqual(events.map(({ trackingId }) => trackingId), ["t-1", "t-2"])
    assert.notStrictEqual(events[0]!.key, events[1]!.key)
  })
})

describe("mapping: positions of items", () => {
  const open = { kind: "open", tid: "t" }

  it("reads the body or its elements as items without a path", () => {
    assert.strictEqual(one(least, open).event, "open")
    assert.deepStrictEqual(understood(least, [open, 5, open]).skipped.map(({ pointer }) => pointer), ["/1"])
  })

  it("finds items in nested lists, and reports the position of skipped ones", () => {
    const input = { ...least, items: '$.days[*]["all hits"][*].hit' }
    const body = { days: [{ "all hits": [{ hit: open }, {}, { hit: 1 }] }, {}, 7, { "all hits": [{ hit: open }] }] }
    const { events, items, skipped } = understood(input, body)
    assert.deepStrictEqual([items, events.length], [3, 2])
    assert.deepStrictEqual(skipped.map(({ pointer }) => pointer), ["/days/0/all hits/2/hit"])
  })

  it("reads the elements of a list at the path as items, and an object as one item", () => {
    const input = { ...least, items: "$.a.b" }
    assert.strictEqual(understood(input, { a: { b: [open, open] } }).events.length, 2)
    assert.strictEqual(understood(input, { a: { b: open } }).events.length, 1)
  })

  it("finds items in a JSON text", () => {
    const input = { ...least, items: { path: "$.messages[*].data", json: "$.hits[*]" } }
    const body = {
      messages: [{ data: JSON.stringify({ hits: [open, null] }) }, { data: "no JSON" }, { data: '{"hits":[]}' }],
    }
    const { events, items, skipped } = understood(input, body)
    assert.deepStrictEqual([items, events.length], [2, 1])
    assert.deepStrictEqual(skipped.map(({ pointer }) => pointer), ["/messages/0/data/hits/1"])
  })

  it("returns no items for an empty list, and rejects a body without the list", () => {
    const input = { ...least, items: "$.a[*]" }
    assert.deepStrictEqual(understood(input, { a: [] }), { items: 0, events: [], skipped: [] })
    for (const body of [{}, { a: {} }, { a: null }, { b: [] }, [], 7]) {
      assert.deepStrictEqual(compile(mapping(input))(json(body), {}, receivedAt), {
        reason: "The mapping looks for items at $.a[*], and nothing is there",
      })
    }
  })

  it("rejects bodies that are not JSON", () => {
    const result = compile(mapping(least))(bytes(""), {}, receivedAt)
    assert.include("reason" in result ? result.reason : "", "not valid JSON")
  })

  it("reads at most 1,000 entries of a list of values", () => {
    const input = { event: "$.kind", user: "$.people[*].id" }
    const people = (blanks: number) => [...Array.from({ length: blanks }, () => ({ id: " " })), { id: "u" }]
    assert.strictEqual(one(input, { kind: "open", people: people(999) }).user, "u")
    assert.strictEqual(understood(input, { kind: "open", people: people(1_000) }).events.length, 0)
  })

  it("takes linear time if every item refers to a large part of the body", () => {
    const input = {
      ...least,
      items: "$.items[*]",
      user: { from: [{ path: "$body.big", json: "$.none[*].x" }, { path: "$body.big", query: "u" }] },
    }
    const body = json({ big: `{"a":"${"x".repeat(90_000)}"}`, items: Array.from({ length: 20_000 }, () => open) })
    const start = performance.now()
    compile(mapping(input))(body, {}, receivedAt)
    assert.isBelow(performance.now() - start, 5_000)
  })
})

describe("mapping: faults", () => {
  it("reports all faults with their position", () => {
    const faults = faultsOf({
      version: 2,
      items: "data.items",
      where: [{ from: "$.a", op: "is", values: [] }, { from: "$.a", op: "resembles" }],
      event: { from: [], table: { a: "opened", B: "open", b: "open" }, default: "known" },
      tracking_id: { from: ["$.a", "$.b..c", { path: "$.u", header: "x" }], required: "yes" },
      user: { from: [{ header: "Authorization" }, { literal: "x", query: "y" }] },
      trackingId: "$.a",
      link: { from: [{ pth: "$.a" }], requird: true },
    })
    const pointers = faults.map(({ pointer }) => pointer)
    for (
      const pointer of [
        "/version",
        "/items",
        "/where/0/values",
        "/where/1/op",
        "/event/from",
        "/event/table/a",
        "/tracking_id/from/1",
        "/tracking_id/from/2",
        "/tracking_id/required",
        "/user/from/0/header",
        "/user/from/1",
        "/trackingId",
        "/link/from/0/pth",
        "/link/requird",
      ]
    ) {
      assert.include(pointers, pointer)
    }
    assert.isTrue(faults.every(({ detail }) => detail.length > 0))
  })

  it("requires an event name and the member that names the person or message", () => {
    assert.deepStrictEqual(faultsOf({ tracking_id: "$.a" }).map(({ pointer }) => pointer), ["/event"])
    assert.deepStrictEqual(faultsOf({ event: "$.a" }).map(({ pointer }) => pointer), [""])
    for (const input of [null, [], "x", 7]) assert.isNotEmpty(faultsOf(input))
  })

  it("rejects two names of a table that differ only in case", () => {
    const faults = faultsOf({ ...least, event: { from: ["$.a"], table: { Read: "open", "read ": "click" } } })
    assert.deepStrictEqual(faults.map(({ pointer }) => pointer), ["/event/table/read "])
  })

  it("reports the position of a fault in a path", () => {
    const wrong = [
      "",
      "a",
      "$a",
      "$.",
      "$..a",
      "$.a[",
      "$.a[x]",
      "$.a[-1]",
      '$["a',
      "$.a b",
      "$bodyx",
      `$${".a".repeat(33)}`,
    ]
    for (const path of wrong) {
      assert.deepStrictEqual(faultsOf({ ...least, user: path }).map(({ pointer }) => pointer), ["/user"], path)
    }
    assert.include(faultsOf({ ...least, user: "$.a[x]" })[0]!.detail, "character 4")
    assert.strictEqual(faultsOf({ ...least, items: "$body.a" })[0]!.pointer, "/items")
  })

  it("accepts paths of every form", () => {
    const body = { kind: "open", "a.b": [{ 'q"': { "$body": { "é~/": "u" } } }] }
    assert.strictEqual(one({ event: "$.kind", user: `$["a.b"][0]["q\\""].$body['é~/']` }, body).user, "u")
    assert.strictEqual(one({ event: "$body.kind", user: `$body["a.b"][*]['q"'].$body.é~/` }, body).user, "u")
  })
})

describe("mapping: unreadable values", () => {
  const read = { ...least, occurred_at: "$.at", automated: "$.robot", value: "$.price", currency: "$.cur" }
  const item = { kind: "conversion", tid: "t-1" }

  it("are reported for any type, except null", () => {
    const unread: ReadonlyArray<readonly [Record<string, unknown>, string]> = [
      [{ price: [5] }, 'value "a list" is no amount'],
      [{ price: { amount: 5 } }, 'value "an object" is no amount'],
      [{ price: "" }, 'value "" is empty'],
      [{ price: 5, cur: ["EUR"] }, 'currency "a list" is no currency'],
      [{ at: [1] }, 'occurred_at "a list" is no time'],
      [{ at: " " }, 'occurred_at " " is no time'],
      [{ robot: {} }, 'automated "an object" is neither true nor false'],
      [{ robot: "x".repeat(20_000) }, "is neither true nor false"],
    ]
    for (const [more, reason] of unread) {
      const { incomplete = [] } = understood(read, { ...item, ...more })
      assert.lengthOf(incomplete, 1, reason)
      assert.include(incomplete[0]!.reason, reason)
    }
    const nothing = { price: null, cur: null, at: null, robot: null }
    assert.isUndefined(understood(read, { ...item, ...nothing }).incomplete)
  })

  it("are not reported if another alternate has a value", () => {
    const either = { ...least, value: { from: ["$.price", "$.total"] } }
    const { events, incomplete } = understood(either, { ...item, price: {}, total: 7 })
    assert.deepStrictEqual([events[0]!.value, incomplete], [7, undefined])
  })
})

describe("mapping: dry run", () => {
  const item = { channel: "email", kind: "MailRead", meta: { tid: "t-1" }, uid: "e-1" }

  it("explains the result of each item with its sources or its reason", () => {
    const body = { account: "acc", data: { items: [item, { ...item, channel: "fax" }, { ...item, meta: {} }, 7] } }
    const run = dryRun(mapping(rich), json(body), {}, receivedAt)
    if ("reason" in run) return assert.fail(run.reason)
    assert.strictEqual(run.items, 4)
    const [good, fax, bare, scalar] = run.explained
    assert.strictEqual(good!.event?.trackingId, "t-1")
    assert.deepInclude(good!.found, {
      event: { from: "$.kind", value: "MailRead" },
      tracking_id: { from: "$.meta.tid", value: "t-1" },
      template_id: { from: '"welcome"', value: "welcome" },
      user: { from: "$body.account", value: "acc" },
      link: null,
    })
    assert.deepStrictEqual(fax, {
      pointer: "/data/items/1",
      skipped: { reason: "is left out by where/0", expected: true },
      found: { "where/0": { from: "$.channel", value: "fax" } },
    })
    assert.deepStrictEqual(bare!.skipped, { reason: "has no tracking_id, which the mapping requires", expected: false })
    assert.deepStrictEqual([bare!.found["tracking_id"], bare!.event], [null, undefined])
    assert.strictEqual(scalar!.pointer, "/data/items/3")
  })

  it("returns the same events as reading, and explains the first hundred items", () => {
    const body = { data: { items: Array.from({ length: 150 }, (_, i) => ({ ...item, uid: i })) } }
    const run = dryRun(mapping(rich), json(body), {}, receivedAt)
    if ("reason" in run) return assert.fail(run.reason)
    assert.deepStrictEqual([run.items, run.explained.length], [150, 100])
    assert.deepStrictEqual(run.explained.map(({ event }) => event), understood(rich, body).events.slice(0, 100))
  })

  it("explains why a body was not understood", () => {
    assert.deepStrictEqual(dryRun(mapping(rich), json({ data: {} }), {}, receivedAt), {
      reason: "The mapping looks for items at $.data.items[*], and nothing is there",
    })
  })
})

describe("mapping: hostile input", () => {
  it("never throws, and reports every item", () => {
    const odd = fc.oneof(fc.jsonValue(), fc.constantFrom("email", "open", '{"ids":[1]}'))
    const item = fc.record({ channel: odd, kind: odd, meta: odd, payload: odd, person: odd, at: odd, target: odd })
    const body = fc.oneof(fc.jsonValue(), fc.record({ data: fc.record({ items: fc.oneof(odd, fc.array(item)) }) }))
    const read = compile(mapping(rich))
    fc.assert(
      fc.property(body, (value) => {
        const result = read(json(value), {}, receivedAt)
        if ("reason" in result) return
        assert.strictEqual(result.items, result.events.length + result.skipped.length)
      }),
      { numRuns: 500 },
    )
  })

  it("decodes any JSON to a valid mapping or to faults", () => {
    const parts = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom("$", "$.a", "$body", { from: ["$.a"] }, { from: [{ literal: "x" }] }),
    )
    const input = fc.record({ event: parts, tracking_id: parts, items: parts, where: parts, link: parts }, {
      requiredKeys: [],
    })
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), input), (value) => {
        const result = decode(value)
        if (Result.isSuccess(result)) compile(result.success)(json(value), {}, receivedAt)
        else assert.isNotEmpty(result.failure)
      }),
      { numRuns: 500 },
    )
  })
})
