import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Normalized, NormalizedEvent } from "../../../src/domain/Event.ts"
import { make, normalize } from "../../../src/intake/platforms/Braze.ts"
import { assertAccounted } from "./hostile.ts"
import { withAddress } from "./addresses.ts"

const receivedAt = Date.parse("2026-05-11T09:00:00Z")
const bytes = (text: string) => new TextEncoder().encode(text)

const understood = (body: unknown, read = normalize): Normalized => {
  const result = read(bytes(JSON.stringify(body)), {}, receivedAt)
  if ("reason" in result) return assert.fail(result.reason)
  return result
}

/** The only event of a body with one item. */
const one = (body: unknown, read = normalize): NormalizedEvent => {
  const { events, items, skipped } = understood(body, read)
  assert.deepStrictEqual([items, events.length, skipped], [1, 1, []])
  return events[0]!
}

const skippedOf = (body: unknown) =>
  understood(body).skipped.map(({ expected, pointer, reason }) => ({ expected, pointer, reason }))

const user = { user_id: "64f0b2", external_user_id: "cust-9001", timezone: "America/Lima", device_id: "dev-3" }

const currents = (type: string, properties: object = {}, more: object = {}) => ({
  event_type: type,
  id: "b7c1-44",
  time: 1_778_486_400,
  user,
  properties: {
    campaign_id: "cmp-8",
    campaign_name: "Spring",
    message_variation_id: "mv-2",
    dispatch_id: "disp-77",
    email_address: "lena@mail.example",
    ...properties,
  },
  ...more,
})

const only = (type: string, properties?: object, more?: object) => ({ events: [currents(type, properties, more)] })

const expected = {
  trackingId: undefined,
  templateId: undefined,
  user: "cust-9001",
  key: "id:b7c1-44",
  messageKey: '["disp-77","64f0b2"]',
  occurredAt: 1_778_486_400_000,
  automated: false,
  link: undefined,
  timeZone: "America/Lima",
}

describe("Braze: Currents", () => {
  const fixtures: ReadonlyArray<readonly [what: string, body: unknown, event: Partial<NormalizedEvent>]> = [
    [
      "an e-mail send with message extras",
      only("users.messages.email.Send", { message_extras: '{"tracking_id":"trk-811","template_id":"spring-hero"}' }),
      { event: "sent", trackingId: "trk-811", templateId: "spring-hero" },
    ],
    [
      "a push send with extras that are an object already",
      only("users.messages.pushnotification.Send", { message_extras: { tracking_id: 812 }, platform: "ios" }),
      { event: "sent", trackingId: "812" },
    ],
    ["a canvas step's send", only("users.canvas.costep.Send", { canvas_id: "cv-1" }), { event: "sent" }],
    ["a delivery", only("users.messages.sms.Delivery", { to_phone_number: "+1555" }), { event: "delivered" }],
    ["an open by a person", only("users.messages.email.Open", { user_agent: "Mail/16" }), { event: "open" }],
    [
      "an open by a machine, flagged in text",
      only("users.messages.email.Open", { machine_open: "true" }),
      { event: "open", automated: true },
    ],
    [
      "a click with our parameter in its URL",
      only("users.messages.email.Click", {
        url: "https://store.example/sale?utm=x&tracking_id=trk%2D813#top",
        link_id: "l-4",
        is_suspected_bot_click: false,
      }),
      {
        event: "click",
        trackingId: "trk-813",
        link: "https://store.example/sale?utm=x&tracking_id=trk%2D813#top",
      },
    ],
    [
      "a click by a link scanner",
      only("users.messages.email.Click", {
        url: "https://store.example/",
        is_suspected_bot_click: true,
        suspected_bot_click_reason: ["user_agent", "timing"],
      }),
      { event: "click", automated: true, link: "https://store.example/" },
    ],
    [
      "a button of an in-app message",
      only("users.messages.inappmessage.Click", { button_id: "0" }),
      { event: "click", link: "0" },
    ],
    [
      "an in-app impression with extras",
      only("users.messages.inappmessage.Impression", { message_extras: '{"tracking_id":"trk-814"}' }),
      { event: "open", trackingId: "trk-814" },
    ],
    ["a read in WhatsApp", only("users.messages.whatsapp.Read"), { event: "open" }],
    ["a dismissed card", only("users.messages.contentcard.Dismiss", { card_id: "k" }), { event: "other" }],
    ["an answer over SMS", only("users.messages.sms.InboundReceive", { action: "none" }), { event: "other" }],
    ["a campaign's conversion", only("users.campaigns.Conversion", { conversion_behavior_index: 0 }), {
      event: "conversion",
    }],
    [
      "a canvas conversion, which has no dispatch id",
      only("users.canvas.Conversion", { dispatch_id: undefined, canvas_id: "cv-1" }),
      { event: "conversion", messageKey: undefined },
    ],
    [
      "a purchase with our id among its properties",
      only("users.behaviors.Purchase", {
        dispatch_id: undefined,
        product_id: "sku-7",
        price: 29.5,
        purchase_properties: { tracking_id: "trk-815" },
      }),
      { event: "conversion", trackingId: "trk-815", messageKey: undefined },
    ],
    [
      "a custom event with our id in properties that are text",
      only("users.behaviors.CustomEvent", {
        dispatch_id: undefined,
        name: "trial_started",
        custom_properties: '{"tracking_id":"trk-816","plan":"pro"}',
      }),
      { event: "conversion", trackingId: "trk-816", messageKey: undefined },
    ],
    [
      "a bounce that is a drop",
      only("users.messages.email.Bounce", { is_drop: true, bounce_reason: "550 unknown" }),
      { event: "bounce" },
    ],
    ["a soft bounce", only("users.messages.email.SoftBounce", { bounce_reason: "452 full" }), {
      event: "soft_bounce",
    }],
    ["a failed WhatsApp message", only("users.messages.whatsapp.Failure"), { event: "bounce", otherChannel: true }],
    ["a report as spam", only("users.messages.email.MarkAsSpam"), { event: "spam" }],
    ["an opt-out by link", only("users.messages.email.Unsubscribe"), { event: "unsubscribe" }],
    [
      "a global opt-out",
      only("users.behaviors.subscription.GlobalStateChange", {
        dispatch_id: undefined,
        channel: "email",
        subscription_status: "Unsubscribed",
      }),
      { event: "unsubscribe", messageKey: undefined },
    ],
    [
      "an opt-out of a group",
      only("users.behaviors.subscriptiongroup.StateChange", {
        subscription_group_id: "grp-1",
        subscription_status: "Unsubscribed",
      }),
      { event: "unsubscribe", group: "grp-1" },
    ],
    [
      "an opt-out of a group of text messages",
      only("users.behaviors.subscriptiongroup.StateChange", { channel: "sms", subscription_status: "Unsubscribed" }),
      { event: "unsubscribe", group: "unnamed", otherChannel: true },
    ],
    [
      "an aborted send of any channel",
      only("users.messages.rcs.Abort", { abort_type: "liquid_abort_message", abort_log: "no stock" }),
      { event: "failed" },
    ],
  ]

  for (const [what, body, event] of fixtures) {
    it(`reads ${what}`, () => {
      assert.deepStrictEqual(one(body), withAddress({ ...expected, ...event } as NormalizedEvent, body))
    })
  }

  it("recognizes every documented type", () => {
    const types = {
      sent: "email.Send pushnotification.Send sms.Send whatsapp.Send rcs.Send line.Send webhook.Send contentcard.Send",
      delivered: "email.Delivery sms.Delivery whatsapp.Delivery rcs.Delivery",
      open: "email.Open pushnotification.Open inappmessage.Impression contentcard.Impression banner.Impression " +
        "whatsapp.Read rcs.Read",
      click: "email.Click inappmessage.Click contentcard.Click banner.Click sms.ShortLinkClick whatsapp.Click " +
        "rcs.Click line.Click",
      other: "contentcard.Dismiss banner.Dismiss pushnotification.IosForeground sms.InboundReceive " +
        "whatsapp.InboundReceive line.InboundReceive",
      bounce: "email.Bounce pushnotification.Bounce sms.Rejection sms.DeliveryFailure rcs.Rejection whatsapp.Failure",
      failed: "email.Abort pushnotification.Abort sms.Abort contentcard.Abort inappmessage.Abort webhook.Abort",
    }
    for (const [event, names] of Object.entries(types)) {
      for (const name of names.split(" ")) {
        assert.strictEqual(one(only(`users.messages.${name}`)).event, event, name)
      }
    }
    assert.strictEqual(one(only("users.canvas.experimentstep.Conversion")).event, "conversion")
  })

  it("skips lifecycle events and other behavior as expected", () => {
    const types = [
      "users.messages.email.Retry",
      "users.messages.pushnotification.Retry",
      "users.messages.email.Deferral",
      "users.messages.sms.CarrierSend",
      "users.campaigns.EnrollInControl",
      "users.canvas.Entry",
      "users.canvas.exit.MatchedAudience",
      "users.behaviors.app.SessionStart",
      "users.behaviors.Location",
    ]
    const events = types.map((type) => currents(type))
    const states = ["Paused", ""].map((subscription_status) =>
      currents("users.behaviors.subscription.GlobalStateChange", { subscription_status })
    )
    const result = understood({ events: [...events, ...states] })
    assert.deepStrictEqual(result.events, [])
    assert.deepStrictEqual(result.skipped.map(({ expected }) => expected), [...events, ...states].map(() => true))
  })

  it("reports an unknown type", () => {
    assert.deepStrictEqual(skippedOf(only("users.messages.hologram.Send")), [{
      pointer: "/events/0",
      reason: 'event_type "users.messages.hologram.Send" is not known',
      expected: false,
    }])
  })

  it("treats a custom event without a tracking id as a conversion only if its name is configured", () => {
    const body = only("users.behaviors.CustomEvent", { name: "Shop.Order.Paid", custom_properties: {} })
    assert.deepStrictEqual(skippedOf(body).map(({ expected }) => expected), [true])
    for (const name of ["shop.order.paid", "paid"]) {
      assert.strictEqual(one(body, make({ conversions: new Set([name]) })).event, "conversion")
    }
    assert.strictEqual(understood(body, make({ conversions: new Set(["order"]) })).events.length, 0)
  })

  it("ignores truncated extras, and reads the next carrier", () => {
    const message_extras = '{"tracking_id":"trk-9","note":"aaaaaaa'
    assert.strictEqual(one(only("users.messages.email.Send", { message_extras })).trackingId, undefined)
    const url = "https://store.example/?tracking_id=trk-10"
    assert.strictEqual(one(only("users.messages.email.Click", { message_extras, url })).trackingId, "trk-10")
  })

  it("prefers extras over custom properties over purchase properties over the URL, and ignores blank ones", () => {
    const carriers = {
      message_extras: '{"tracking_id":"a"}',
      custom_properties: { tracking_id: "b" },
      purchase_properties: { tracking_id: "c" },
      url: "https://store.example/?tracking_id=d",
    }
    const found = ["a", "b", "c", "d"]
    const left: Record<string, unknown> = { ...carriers }
    for (const [i, name] of Object.keys(carriers).entries()) {
      assert.strictEqual(one(only("users.messages.email.Click", left)).trackingId, found[i])
      left[name] = name === "url" ? " " : { tracking_id: "  " }
    }
    assert.strictEqual(one(only("users.messages.email.Click", left)).trackingId, undefined)
  })

  it("reads the template id only from the carrier of the tracking id", () => {
    const custom_properties = { template_id: "theirs" }
    const url = "https://store.example/?tracking_id=d"
    const event = one(only("users.messages.email.Click", { custom_properties, url }))
    assert.deepStrictEqual([event.trackingId, event.templateId], ["d", undefined])
  })

  it("names the user by the external id, the address, or Braze's own id, in this order", () => {
    const of = (person: object, email_address?: string) =>
      one(only("users.messages.email.Open", { email_address }, { user: person })).user
    assert.strictEqual(of(user, "a@mail.example"), "cust-9001")
    assert.strictEqual(of({ user_id: "64", external_user_id: "" }, "a@mail.example"), "a@mail.example")
    assert.strictEqual(of({ user_id: "64" }), "64")
  })

  it("separates the users of one dispatch, and keeps the key of a user who receives an external id", () => {
    const keyOf = (person: object) => one(only("users.messages.email.Open", {}, { user: person })).messageKey
    assert.notStrictEqual(keyOf({ user_id: "u1" }), keyOf({ user_id: "u2" }))
    assert.strictEqual(keyOf({ user_id: "u1" }), keyOf({ user_id: "u1", external_user_id: "x" }))
    assert.notStrictEqual(keyOf({ external_user_id: "x" }), keyOf({ external_user_id: "y" }))
  })

  it("skips an item that names neither tracking id nor user", () => {
    const body = only("users.messages.email.Open", { email_address: undefined }, { user: undefined })
    assert.deepStrictEqual(skippedOf(body).map(({ expected }) => expected), [false])
  })

  it("identifies an event without an id by its content", () => {
    const at = (time: number) => one(only("users.messages.email.Open", {}, { id: undefined, time })).key
    assert.match(at(1), /^digest:[\w-]{43}$/)
    assert.strictEqual(at(1), at(1))
    assert.notStrictEqual(at(1), at(2))
  })

  it("uses the time of receipt if the time is missing, unreadable, or in the future", () => {
    for (const time of [undefined, null, "soon", {}, 1_900_000_000]) {
      assert.strictEqual(one(only("users.messages.email.Open", {}, { time })).occurredAt, receivedAt)
    }
    assert.strictEqual(one(only("users.messages.email.Open", {}, { time: "1778486400" })).occurredAt, 1_778_486_400_000)
  })

  it("reads the valid items next to invalid ones", () => {
    const good = currents("users.messages.email.Open")
    const bad = [
      null,
      "x",
      7,
      [],
      [good],
      {},
      { event_type: 5 },
      { event_type: "users.messages.email.Open" },
      { ...good, event_type: " " },
    ]
    const { events, items, skipped } = understood({ events: [good, ...bad, good] })
    assert.strictEqual(items, bad.length + 2)
    assert.deepStrictEqual(events.map(({ event }) => event), ["open", "open"])
    assert.deepStrictEqual(skipped.map(({ pointer }) => pointer), bad.map((_, i) => `/events/${i + 1}`))
  })

  it("ignores arrays and texts in place of objects", () => {
    const base = currents("users.messages.email.Open")
    for (const odd of [[], [1], "x", 5, null, true]) {
      assert.strictEqual(one({ events: [{ ...base, properties: odd }] }).user, "cust-9001")
      assert.strictEqual(one({ events: [{ ...base, user: odd }] }).user, "lena@mail.example")
      assert.strictEqual(one(only("users.messages.email.Send", { message_extras: odd })).trackingId, undefined)
    }
  })

  it("returns no items for a probe of the credentials", () => {
    for (const body of ["", " \r\n\t", '{"events":[]}']) {
      assert.deepStrictEqual(normalize(bytes(body), {}, receivedAt), { items: 0, events: [], skipped: [] })
    }
  })

  it("reads events that are no list as a single item", () => {
    assert.strictEqual(one({ events: currents("users.messages.email.Open") }).event, "open")
    for (const events of [null, "x", 3]) {
      assert.deepStrictEqual(skippedOf({ events }), [{
        pointer: "/events",
        reason: "must be an object",
        expected: false,
      }])
    }
  })

  it("reads events without their envelope", () => {
    const open = currents("users.messages.email.Open")
    assert.strictEqual(one(open).messageKey, '["disp-77","64f0b2"]')
    assert.strictEqual(one([open]).messageKey, '["disp-77","64f0b2"]')
  })

  it("explains why a body was not understood", () => {
    assert.deepInclude(normalize(new Uint8Array([0xff, 0x7b]), {}, receivedAt), {
      reason: "The body is not valid UTF-8 at line 1, column 1. Send it as UTF-8",
    })
    const result = normalize(bytes("{"), {}, receivedAt)
    assert.include("reason" in result ? result.reason : "", "not valid JSON")
  })
})

describe("Braze: hostile input", () => {
  const type = fc.constantFrom(
    "users.messages.email.Click",
    "users.messages.email.Abort",
    "users.behaviors.CustomEvent",
    "users.behaviors.subscription.GlobalStateChange",
  )
  const odd = fc.oneof(fc.jsonValue(), type)
  const item = fc.record({
    event_type: odd,
    id: odd,
    time: odd,
    user: fc.oneof(odd, fc.record({ user_id: odd, external_user_id: odd })),
    properties: fc.oneof(odd, fc.record({ message_extras: odd, url: odd, dispatch_id: odd, name: odd })),
    dispatch_id: odd,
    status: fc.oneof(odd, fc.constant("sent")),
    metadata: odd,
  }, { requiredKeys: [] })

  it("never throws, and reports every item", () => {
    const body = fc.oneof(fc.jsonValue(), item, fc.array(item), fc.record({ events: fc.oneof(odd, fc.array(item)) }))
    assertAccounted(body, understood, receivedAt)
  })

  it("never throws on invalid JSON", () => {
    fc.assert(fc.property(fc.uint8Array(), (body) => {
      normalize(body, {}, receivedAt)
    }))
  })
})
