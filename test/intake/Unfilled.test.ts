import { assert, describe, it } from "@effect/vitest"
import { normalizer } from "../../src/intake/Sources.ts"
import { SeededMap, SeededSet } from "../../src/json/SeededMap.ts"
import { judge, verdictsOf } from "../../src/intake/Verdicts.ts"
import type { SourceId } from "../../src/domain/Source.ts"
import type { Mapping } from "../../src/intake/mapping/Mapping.ts"

const bytes = (json: unknown) => new TextEncoder().encode(JSON.stringify(json))

const read = (source: SourceId, json: unknown, mapping?: Mapping) => {
  const normalized = normalizer(source, { conversions: new Set(), mapping })(bytes(json), {}, 1_800_000_000_000)
  if ("reason" in normalized) throw new Error(normalized.reason)
  return normalized
}

describe("an event with unfilled placeholders as ids", () => {
  it("is rejected with the name, text and position of the id", () => {
    const items = [
      { event: "click", tracking_id: "{{tracking_id}}" },
      { event: "click", properties: { trackingId: "null", user_id: "ann" } },
      { event: "conversion", user_id: "undefined" },
      { event: "open", data: { email: "%%emailaddr%%" } },
      { event: "open", tracking_id: "t-1", user_id: "ann" },
    ]
    const judged = judge(normalizer("events"), bytes(items), {}, 1_800_000_000_000)
    if ("reason" in judged) throw new Error(judged.reason)
    assert.deepStrictEqual(
      judged.items.map((item) => "status" in item ? [item.status, item.pointer, item.reason] : []),
      [
        [
          "rejected",
          "/0/tracking_id",
          'tracking_id has the placeholder "{{tracking_id}}", which nobody filled in. Send the id itself',
        ],
        [
          "rejected",
          "/1/properties/trackingId",
          'tracking_id has the placeholder "null", which nobody filled in. Send the id itself',
        ],
        [
          "rejected",
          "/2/user_id",
          'user_id has the placeholder "undefined", which nobody filled in. Send the id itself',
        ],
        [
          "rejected",
          "/3/data/email",
          'user_id has the placeholder "%%emailaddr%%", which nobody filled in. Send the id itself',
        ],
        [],
      ],
    )
  })

  it("is identified by its content if its own id is a placeholder", () => {
    const sent = (event_id: string, tracking_id: string) => ({ event: "click", tracking_id, event_id })
    for (const id of ["null", "{{event.id}}", "undefined", "*|UNIQID|*", "[object Object]"]) {
      const { events, incomplete } = read("events", [sent(id, "t-1"), sent(id, "t-2"), sent(id, "t-1")])
      const keys = events.map(({ key }) => key)
      assert.match(keys[0]!, /^digest:/, id)
      assert.deepStrictEqual([keys[1] === keys[0], keys[2] === keys[0]], [false, true], id)
      assert.deepStrictEqual(incomplete?.map(({ pointer }) => pointer), ["/0/event_id", "/1/event_id", "/2/event_id"])
    }
    const { events, incomplete } = read("events", { event: "open", tracking_id: "t-1", message_id: "null" })
    assert.match(events[0]!.key, /^digest:/)
    assert.strictEqual(
      incomplete?.[0]?.reason,
      'event_id has the placeholder "null", which nobody filled in. Send the id itself. The content identifies the event',
    )
    const segment = { type: "track", event: "Email Opened", messageId: "${id}", properties: { tracking_id: "t-1" } }
    assert.match(read("provider_d", segment).events[0]!.key, /^digest:/)
    assert.deepStrictEqual(read("events", sent("none-1", "t-1")).events[0]!.key, "id:none-1")
    const cloudEvent = {
      specversion: "1.0",
      type: "click",
      id: "{{id}}",
      source: "/shop",
      data: { tracking_id: "t-1" },
    }
    const headers = { "content-type": "application/cloudevents+json" }
    const normalized = normalizer("events")(bytes(cloudEvent), headers, 1_800_000_000_000)
    if ("reason" in normalized) throw new Error(normalized.reason)
    assert.match(normalized.events[0]!.key, /^digest:/)
    assert.strictEqual(normalized.incomplete?.[0]?.pointer, "/id")
  })

  it("counts for its message if only the person is a placeholder", () => {
    const { events } = read("events", {
      event: "click",
      tracking_id: "t-1",
      user_id: "*|UNIQID|*",
      template_id: "None",
    })
    assert.deepInclude(events[0], { trackingId: "t-1", user: undefined, templateId: undefined })
    const judged = judge(
      normalizer("events"),
      bytes({ event: "click", tracking_id: "t-1", user_id: "*|UNIQID|*" }),
      {},
      1_800_000_000_000,
    )
    if ("reason" in judged) throw new Error(judged.reason)
    const [verdict] = verdictsOf(judged.items, new SeededSet(), new SeededMap(), null)
    assert.deepInclude(verdict, { status: "incomplete", pointer: "/user_id" })
    assert.include(verdict!.reason, 'user_id has the placeholder "*|UNIQID|*"')
  })

  it("is accepted if it is an opt-out, complaint or bounce and names a message or person", () => {
    for (const event of ["unsubscribe", "spam", "bounce"]) {
      const { events } = read("events", { event, tracking_id: "{{id}}", email: "ann@example.com" })
      assert.deepInclude(events[0], { trackingId: undefined, email: "ann@example.com" }, event)
      assert.deepInclude(read("events", { event, tracking_id: "t-1", email: "null" }).events[0], { trackingId: "t-1" })
      assert.lengthOf(read("events", { event, tracking_id: "{{id}}", email: "${email}" }).events, 0)
    }
  })

  it("is skipped also in the bodies of platforms and mappings, profiles and erasures", () => {
    const segment = (more: object) => ({ type: "track", event: "Email Opened", messageId: "m", ...more })
    assert.lengthOf(read("provider_d", segment({ userId: "null", properties: {} })).events, 0)
    const identified = read("provider_d", {
      type: "identify",
      userId: "{{user_id}}",
      traits: { tier: "gold" },
      messageId: "m",
    })
    assert.deepStrictEqual([identified.profiles, identified.skipped.length], [undefined, 1])
    const mapping = { event: "$.kind", tracking_id: "$.id" } as unknown as Mapping
    const mapped = read("events", { kind: "click", id: "%%tracking_id%%" }, mapping)
    assert.deepStrictEqual([mapped.events.length, mapped.skipped.length], [0, 1])
    assert.lengthOf(read("events", { kind: "click", id: "t-1" }, mapping).events, 1)
  })
})
