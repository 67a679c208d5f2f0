import { assert, describe, it } from "@effect/vitest"
import { normalize } from "../../../src/intake/platforms/CustomerIo.ts"

const receivedAt = Date.parse("2026-02-03T13:00:00Z")

const item = (topic: string, properties: object, id = topic) => ({
  topic,
  external_id: id,
  payload: {
    data: {
      type: "event",
      attributes: { datetime: "2026-02-03T12:00:00+00:00", event_properties: properties },
      relationships: { profile: { data: { type: "profile", id: "01PROFILE" } } },
    },
  },
})

const read = (...data: ReadonlyArray<unknown>) => {
  const body = new TextEncoder().encode(JSON.stringify({ meta: { version: "1" }, data }))
  const found = normalize(body, {}, receivedAt)
  if ("reason" in found) throw new Error(found.reason)
  return found
}

describe("Klaviyo", () => {
  it("reads a click with the tracking id from the property and from the link", () => {
    const url = "https://shop.example/?tracking_id=trk_2"
    const { events } = read(
      item("event:klaviyo.clicked_email", { tracking_id: "trk_1", email_address: "a@example.com", URL: url }, "1"),
      item("event:klaviyo.clicked_email", { URL: url }, "2"),
    )
    assert.deepStrictEqual(events, [
      {
        event: "click",
        trackingId: "trk_1",
        templateId: undefined,
        user: "a@example.com",
        key: "id:1",
        occurredAt: receivedAt - 3_600_000,
        automated: false,
        link: url,
      },
      {
        event: "click",
        trackingId: "trk_2",
        templateId: undefined,
        user: "01PROFILE",
        key: "id:2",
        occurredAt: receivedAt - 3_600_000,
        automated: false,
        link: url,
      },
    ])
  })

  it("recognizes the topics of messages, and ignores other metrics of the account", () => {
    const topics = {
      received_email: "delivered",
      opened_email: "open",
      bounced_email: "bounce",
      marked_email_as_spam: "spam",
      unsubscribed_from_email_marketing: "unsubscribe",
    }
    for (const [topic, event] of Object.entries(topics)) {
      const { events } = read(item(`event:klaviyo.${topic}`, { email_address: "a@example.com" }))
      assert.deepStrictEqual(events.map((one) => one.event as string), [event], topic)
    }
    const { events, items, skipped } = read(
      item("event:shopify.placed_order", {}),
      item("event:klaviyo.active_on_site", {}),
      5,
      {},
    )
    assert.deepStrictEqual([items, events.length], [4, 0])
    assert.deepStrictEqual(skipped.map(({ expected, pointer }) => [pointer, expected]), [
      ["/data/0", true],
      ["/data/1", true],
      ["/data/2", false],
      ["/data/3", false],
    ])
    assert.strictEqual(read().items, 0)
  })

  it("leaves bodies of Customer.io to its own reader", () => {
    const body = { event_id: "e", metric: "opened", timestamp: 1770116400, data: { delivery_id: "d" } }
    const found = normalize(new TextEncoder().encode(JSON.stringify(body)), {}, receivedAt)
    assert.isTrue("events" in found && found.events.length === 1)
  })
})
