import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Buffer } from "node:buffer"
import type { Normalized, NormalizedEvent } from "../../src/domain/Event.ts"
import { isCloudEvents, make, normalize } from "../../src/intake/CloudEvents.ts"

const receivedAt = Date.parse("2026-05-11T09:00:00Z")
const bytes = (text: string) => new TextEncoder().encode(text)

type Headers = Record<string, string>

const structured: Headers = { "content-type": "application/cloudevents+json; charset=utf-8" }
const batch: Headers = { "content-type": "application/cloudevents-batch+json" }

const understood = (body: unknown, headers: Headers = structured, read = normalize): Normalized => {
  const result = read(bytes(typeof body === "string" ? body : JSON.stringify(body)), headers, receivedAt)
  return "reason" in result ? assert.fail(result.reason) : result
}

const one = (body: unknown, headers: Headers = structured, read = normalize): NormalizedEvent => {
  const { events, items, skipped } = understood(body, headers, read)
  assert.deepStrictEqual([items, events.length, skipped], [1, 1, []])
  return events[0]!
}

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64")

const attributes = {
  specversion: "1.0",
  id: "A-17",
  source: "/mailer/eu-1",
  type: "com.acme.mail.clicked.v2",
  time: "2026-05-11T10:15:00.25+02:00",
}
const data = { tracking_id: "trk-1", user_id: "u-9", url: "https://store.example/", id: "inner", is_bot: true }

const expected: NormalizedEvent = {
  event: "click",
  trackingId: "trk-1",
  templateId: undefined,
  user: "u-9",
  key: "id:/mailer/eu-1 A-17",
  occurredAt: Date.parse("2026-05-11T08:15:00.250Z"),
  automated: true,
  link: "https://store.example/",
}

const binary = (more: Headers = {}): Headers => ({
  "content-type": "application/json",
  ...Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value])),
  ...more,
})

describe("CloudEvents", () => {
  it("reads structured events", () => {
    assert.deepStrictEqual(one({ ...attributes, data }), expected)
  })

  it("reads data in Base64 and data that is a JSON text", () => {
    assert.deepStrictEqual(one({ ...attributes, data_base64: base64(data) }), expected)
    assert.deepStrictEqual(
      one({ ...attributes, datacontenttype: "application/vnd.acme+json", data_base64: base64(data) }),
      expected,
    )
    assert.deepStrictEqual(one({ ...attributes, data: JSON.stringify(data) }), expected)
  })

  it("reads binary events from headers and body", () => {
    assert.deepStrictEqual(one(data, binary()), expected)
    assert.deepStrictEqual(one(data, binary({ "content-type": "application/vnd.acme+json;v=1" })), expected)
  })

  it("decodes attributes in headers once", () => {
    const headers = binary({ "ce-id": "A%2017%2525", "ce-source": "100%" })
    assert.strictEqual(one(data, headers).key, "id:100% A 17%25")
  })

  it("reads the valid events of a batch next to invalid ones", () => {
    const good = { ...attributes, data }
    const bad = [null, "x", [good], {}, { ...good, id: "" }, { ...good, specversion: "0.3" }, {
      ...attributes,
      data: [],
    }]
    const { events, items, skipped } = understood([good, ...bad, { ...good, id: "A-18" }], batch)
    assert.strictEqual(items, bad.length + 2)
    assert.deepStrictEqual(events.map(({ key }) => key), ["id:/mailer/eu-1 A-17", "id:/mailer/eu-1 A-18"])
    assert.deepStrictEqual(skipped.map(({ pointer }) => pointer), bad.map((_, i) => `/${i + 1}`))
    assert.isTrue(skipped.every(({ expected }) => !expected))
    assert.deepStrictEqual(understood([], batch), { items: 0, events: [], skipped: [] })
  })

  it("identifies an event by source and id in every mode", () => {
    const keys = [
      one({ ...attributes, data }).key,
      one([{ ...attributes, data }], batch).key,
      one(data, binary()).key,
      one({ ...attributes, type: "open", data: { user_id: "u" } }).key,
    ]
    assert.strictEqual(new Set(keys).size, 1)
    const others = [{ id: "A-18" }, { source: "/mailer/eu-2" }, { source: "/mailer/eu-1 A", id: "17" }]
    const all = others.map((other) => one({ ...attributes, ...other, data }).key)
    assert.strictEqual(new Set([keys[0], ...all]).size, 4)
    const long = { ...attributes, source: `/${"s".repeat(300)}`, data }
    assert.match(one(long).key, /^digest:/)
    assert.strictEqual(one(long).key, one({ ...long, time: undefined }).key)
  })

  it("names the missing attributes", () => {
    const { skipped } = understood({ type: "open", data })
    assert.deepStrictEqual(skipped, [{
      pointer: "",
      reason: "is no CloudEvent: it has no id, no source, no specversion",
      expected: false,
    }])
    assert.include(understood({ ...attributes, specversion: "2.0", data }).skipped[0]!.reason, "specversion")
  })

  it("treats an unknown type with a tracking id as a conversion", () => {
    const of = (type: string, data: object) => understood({ ...attributes, type, data })
    assert.strictEqual(of("com.acme.order.paid", { tracking_id: "t" }).events[0]!.event, "conversion")
    assert.deepStrictEqual(of("com.acme.order.paid", { user_id: "u" }).skipped.map(({ expected }) => expected), [true])
    assert.deepStrictEqual(of("mail.deferred", { tracking_id: "t" }).skipped.map(({ expected }) => expected), [true])
    const conversions = make({ conversions: new Set(["paid"]) })
    const body = { ...attributes, type: "com.acme.order.paid", data: { user_id: "u" } }
    assert.strictEqual(one(body, structured, conversions).event, "conversion")
  })

  it("ignores the subject unless the settings say what it contains", () => {
    const body = { ...attributes, subject: "s-1", data: { tracking_id: "t", user_id: "u", template_id: "p" } }
    assert.deepInclude(one(body), { trackingId: "t", user: "u", templateId: "p" })
    assert.strictEqual(one(body, structured, make({ subject: "user" })).user, "s-1")
    assert.strictEqual(one(body, structured, make({ subject: "tracking_id" })).trackingId, "s-1")
    assert.strictEqual(one(body, structured, make({ subject: "template_id" })).templateId, "s-1")
    assert.strictEqual(one({ ...body, subject: " " }, structured, make({ subject: "user" })).user, "u")
    assert.strictEqual(one("", binary({ "ce-subject": "s-1" }), make({ subject: "user" })).user, "s-1")
  })

  it("uses the time of the data, then the time of receipt, if the event has no time", () => {
    const untimed = { ...attributes, time: undefined }
    assert.strictEqual(one({ ...untimed, data: { ...data, timestamp: 1_778_486_400 } }).occurredAt, 1_778_486_400_000)
    assert.strictEqual(one({ ...untimed, data }).occurredAt, receivedAt)
    assert.strictEqual(one({ ...attributes, time: "2031-01-01T00:00:00Z", data }).occurredAt, receivedAt)
  })

  it("reports data that is no JSON object if the message has no other name", () => {
    for (const more of [{}, { data: 7 }, { data: [data] }, { data_base64: "%%%" }, { data_base64: "AAAA" }]) {
      const { skipped } = understood({ ...attributes, ...more })
      assert.include(skipped[0]!.reason, "its data is no JSON object")
    }
    assert.include(
      understood("<a/>", binary({ "content-type": "application/xml" })).skipped[0]!.reason,
      "its data is no JSON object",
    )
  })

  it("rejects other formats and invalid JSON", () => {
    const reasonOf = (body: string, headers: Headers) => {
      const result = normalize(bytes(body), headers, receivedAt)
      return "reason" in result ? result.reason : ""
    }
    assert.include(reasonOf("x", { "content-type": "application/cloudevents+avro" }), "cloudevents+avro")
    assert.include(reasonOf("{", structured), "not valid JSON")
    assert.include(reasonOf("", structured), "not valid JSON")
    assert.include(reasonOf("{", binary()), "not valid JSON")
  })

  it("distinguishes CloudEvents from other requests by their headers", () => {
    assert.isTrue(isCloudEvents(structured))
    assert.isTrue(isCloudEvents(batch))
    assert.isTrue(isCloudEvents({ "content-type": "Application/CloudEvents+JSON" }))
    assert.isTrue(isCloudEvents(binary()))
    assert.isFalse(isCloudEvents({}))
    assert.isFalse(isCloudEvents({ "content-type": "application/json", "ce-id": "1" }))
  })

  it("reads events sent as plain JSON like structured events", () => {
    assert.deepStrictEqual(one({ ...attributes, data }, { "content-type": "application/json" }), expected)
    assert.strictEqual(understood([{ ...attributes, data }, 1], {}).items, 2)
  })

  it("never throws, and reports every item", () => {
    const odd = fc.oneof(fc.jsonValue(), fc.constantFrom("1.0", "click", "t"))
    const event = fc.record({
      specversion: fc.oneof(odd, fc.constant("1.0")),
      id: odd,
      source: odd,
      type: odd,
      time: odd,
      data: fc.oneof(odd, fc.record({ tracking_id: odd })),
      data_base64: odd,
    }, { requiredKeys: [] })
    const modes = fc.constantFrom<Headers>(structured, batch, {}, binary(), binary({ "content-type": "text/plain" }))
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), event, fc.array(event)), modes, (json, headers) => {
        const { events, items, skipped } = understood(JSON.stringify(json), headers)
        assert.strictEqual(items, events.length + skipped.length)
        for (const { key } of events) assert.isAtMost(key.length, 210)
      }),
      { numRuns: 500 },
    )
  })
})
