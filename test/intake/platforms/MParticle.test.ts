import { assert, describe, it } from "@effect/vitest"
import { at, expected, linkUrl, one, read } from "./segmentBodies.ts"

describe("mParticle", () => {
  const data = {
    event_name: "Email Link Clicked",
    custom_event_type: "other",
    source_message_id: "mp-1",
    timestamp_unixtime_ms: at,
    custom_attributes: { dispatch_id: "d-9", link_url: linkUrl },
  }
  const body = (events: ReadonlyArray<unknown>, more: object = {}) => ({
    events,
    user_identities: { customerid: "u-2001", email: "mia@shop.test" },
    user_attributes: { tier: "gold" },
    environment: "production",
    schema_version: 2,
    source_request_id: "req-1",
    mpid: 8712345678901234567,
    ...more,
  })

  it("reads a custom event", () => {
    assert.deepStrictEqual(
      one(body([{ event_type: "custom_event", data }])),
      expected("click", {
        key: "id:mp-1",
        trackingId: "trk-9",
        link: linkUrl,
        messageKey: `["dispatch_id","d-9","u-2001"]`,
      }),
    )
  })

  it("reads a purchase as an order", () => {
    const purchase = { ...data, event_name: undefined, custom_attributes: {}, product_action: { action: "purchase" } }
    assert.strictEqual(one(body([{ event_type: "commerce_event", data: purchase }])).event, "conversion")
    const cart = { ...purchase, product_action: { action: "add_to_cart" } }
    assert.deepStrictEqual(
      read(body([{ event_type: "commerce_event", data: cart }])).skipped.map((one) => one.expected),
      [true],
    )
  })

  it("reads the person from either form of the identities, then from the address", () => {
    const listed = [
      { identity_type: "CustomerId", identity: "u-7" },
      { identity_type: "email", identity: "m@x.test" },
      null,
    ]
    const user = (user_identities: unknown) =>
      one(body([{ event_type: "custom_event", data }], { user_identities })).user
    assert.strictEqual(user(listed), "u-7")
    assert.strictEqual(user({ customer_id: 7 }), "7")
    assert.strictEqual(user({ customerid: "", email: "m@x.test" }), "m@x.test")
    assert.isUndefined(user("u-7"))
  })

  it("skips session events as expected, and reports events without a name", () => {
    const session = { event_type: "session_start", data: { ...data, event_name: undefined } }
    const nameless = { event_type: "custom_event", data: { ...data, event_name: " " } }
    const { skipped } = read(body([session, nameless, { data: {} }]))
    assert.deepStrictEqual(skipped.map(({ expected, pointer }) => [pointer, expected]), [
      ["/events/0", true],
      ["/events/1", false],
      ["/events/2", false],
    ])
  })

  it("distinguishes the events of two persons without id and time", () => {
    const bare = { event_type: "custom_event", data: { event_name: "Email Opened" } }
    const keys = ["a", "b"].map((customerid) => one(body([bare], { user_identities: { customerid } })).key)
    assert.notStrictEqual(keys[0], keys[1])
  })
})
