import { assert, describe, it } from "@effect/vitest"
import type { Normalized, NormalizedEvent } from "../../../src/domain/Event.ts"
import { make, normalize } from "../../../src/intake/platforms/Braze.ts"

// Braze's webhooks except Currents, which Braze.test.ts covers.

const receivedAt = Date.parse("2026-05-11T09:00:00Z")

const understood = (body: unknown, read = normalize, headers = {}): Normalized => {
  const result = read(new TextEncoder().encode(JSON.stringify(body)), headers, receivedAt)
  if ("reason" in result) return assert.fail(result.reason)
  return result
}

/** The only event of a body with one item. */
const one = (body: unknown, read = normalize): NormalizedEvent => {
  const { events, items, skipped } = understood(body, read)
  assert.deepStrictEqual([items, events.length, skipped], [1, 1, []])
  return events[0]!
}

const skippedOf = (body: unknown) => understood(body).skipped

describe("Braze: webhook steps", () => {
  it("reads the default shape with the empty texts that Liquid leaves", () => {
    const { key, ...event } = one({
      event: "purchase",
      event_id: "entry-55-1",
      tracking_id: "trk-820",
      external_user_id: "",
      email: "omar@mail.example",
      time: "1778486400",
      value: "18.90",
    })
    assert.strictEqual(key, "id:entry-55-1")
    assert.deepStrictEqual(event, {
      event: "conversion",
      trackingId: "trk-820",
      templateId: undefined,
      user: "omar@mail.example",
      occurredAt: 1_778_486_400_000,
      automated: false,
      link: undefined,
      value: 18.9,
    })
  })

  it("reads lists and wrappers, and uses webhook-id as the id of a single event", () => {
    const click = { event: "click", tracking_id: "t" }
    assert.strictEqual(understood([click, { ...click, event: "open" }]).events.length, 2)
    assert.strictEqual(understood({ batch: [click, null] }).events.length, 1)
    for (const body of [click, [click]]) {
      assert.strictEqual(understood(body, normalize, { "webhook-id": "m-1" }).events[0]!.key, "id:m-1")
    }
    assert.isTrue(
      understood([click, click], normalize, { "webhook-id": "m-1" }).events.every(({ key }) =>
        key.startsWith("digest:")
      ),
    )
  })

  it("reads an event with a dispatch id but no status", () => {
    assert.strictEqual(one({ event: "open", tracking_id: "t", dispatch_id: "d", status: "" }).event, "open")
  })

  it("treats configured names as conversions", () => {
    const body = { event: "trial_started", user_id: "u" }
    assert.strictEqual(one(body, make({ conversions: new Set(["trial_started"]) })).event, "conversion")
    assert.strictEqual(understood(body).events.length, 0)
  })

  it("skips a body that is neither an event nor a list", () => {
    for (const body of [null, "click", 5, {}, { hello: "world" }]) {
      assert.deepStrictEqual(understood(body).skipped.map(({ expected }) => expected), [false])
    }
  })
})

describe("Braze: postbacks of transactional e-mail", () => {
  const postback = (status: string, metadata: unknown) => ({ dispatch_id: "tx-31", status, metadata })

  const fixtures: ReadonlyArray<readonly [what: string, body: unknown, event: Partial<NormalizedEvent>]> = [
    [
      "a send, with the last of its times",
      postback("sent", {
        received_at: "2026-05-11T08:00:00.000+00:00",
        enqueued_at: "2026-05-11T08:00:01.000+00:00",
        executed_at: "2026-05-11T08:00:02.000+00:00",
        sent_at: "2026-05-11T08:00:03.500+00:00",
        external_send_id: "trk-830",
      }),
      { event: "sent", trackingId: "trk-830", occurredAt: Date.parse("2026-05-11T08:00:03.500Z") },
    ],
    [
      "a delivery",
      postback("delivered", { delivered_at: "2026-05-11T10:00:09.000+02:00", external_send_id: "trk-830" }),
      { event: "delivered", trackingId: "trk-830", occurredAt: Date.parse("2026-05-11T08:00:09Z") },
    ],
    [
      "a bounce",
      postback("bounced", { bounced_at: "2026-05-11T08:01:00Z", reason: "550 gone", external_send_id: "trk-831" }),
      { event: "bounce", trackingId: "trk-831", occurredAt: Date.parse("2026-05-11T08:01:00Z") },
    ],
    [
      "an abort without our id",
      postback("aborted", { aborted_at: "2026-05-11T08:02:00Z", reason: "Invalid user" }),
      { event: "failed", occurredAt: Date.parse("2026-05-11T08:02:00Z") },
    ],
    ["one without metadata", postback("Delivered", undefined), { event: "delivered" }],
    ["one with a list for metadata", postback("delivered", ["x"]), { event: "delivered" }],
  ]

  for (const [what, body, event] of fixtures) {
    it(`reads ${what}`, () => {
      const { key, ...rest } = one(body)
      assert.match(key, /^digest:[\w-]{43}$/)
      assert.deepStrictEqual(rest, {
        trackingId: undefined,
        templateId: undefined,
        user: undefined,
        messageKey: "tx-31",
        occurredAt: receivedAt,
        automated: false,
        link: undefined,
        ...event,
      } as Omit<NormalizedEvent, "key">)
    })
  }

  it("identifies a postback by its dispatch id and status only", () => {
    const key = (status: string, metadata: unknown) => one(postback(status, metadata)).key
    assert.strictEqual(key("sent", { sent_at: "2026-05-11T08:00:00Z" }), key("sent", {}))
    assert.notStrictEqual(key("sent", {}), key("delivered", {}))
    assert.notStrictEqual(key("sent", {}), one({ dispatch_id: "tx-32", status: "sent" }).key)
  })

  it("skips processed as expected, and reports an unknown status", () => {
    assert.deepStrictEqual(skippedOf(postback("processed", {})).map(({ expected }) => expected), [true])
    assert.deepStrictEqual(skippedOf(postback("teleported", {})), [{
      pointer: "",
      reason: 'status "teleported" is not known',
      expected: false,
    }])
  })
})
