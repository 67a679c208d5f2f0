import { assert, describe, it } from "@effect/vitest"
import type { Normalized, NormalizedEvent } from "../../../src/domain/Event.ts"
import { normalize } from "../../../src/intake/platforms/Sfmc.ts"
import { assertAccounted, jsonOf } from "./hostile.ts"
import { withAddress } from "./addresses.ts"

const receivedAt = Date.parse("2026-03-10T12:00:00Z")
const at = 1_773_140_000_417
const bytes = (text: string) => new TextEncoder().encode(text)

const read = (body: unknown): Normalized => {
  const result = normalize(bytes(JSON.stringify(body)), {}, receivedAt)
  if ("reason" in result) assert.fail(result.reason)
  return result
}

const one = (body: unknown): NormalizedEvent => {
  const { events, items, skipped } = read(body)
  assert.deepStrictEqual([items, events.length, skipped], [1, 1, []])
  return events[0]!
}

const composite = { jobId: "90210", batchId: "3", listId: "18", subscriberId: "4471" }
const messageKey = `["510001","90210","3","18","4471"]`
const info = { to: "otto@shop.test", subscriberKey: "sk-otto", messageKey: "trk-77", renderedSubject: "Ihr Code 🎉" }

const event = (type: string, more: object = {}, info: object = {}) => ({
  eventCategoryType: type,
  timestampUTC: at,
  compositeId: "90210.3.18.4471",
  composite,
  definitionKey: "parlance-send",
  definitionId: "b1f7a2d0-0c1e",
  mid: 510001,
  eid: 510000,
  info,
  ...more,
})
const send = (type: string, more: object = {}) => event(`TransactionalSendEvents.${type}`, {}, { ...info, ...more })
const engagement = (type: string, info: object = {}, more: object = {}) =>
  event(`EngagementEvents.${type}`, { definitionKey: "NA", definitionId: "NA", ...more }, info)

type Expected = Omit<NormalizedEvent, "key">
const sent = (event: NormalizedEvent["event"], more: Partial<Expected> = {}): Expected => ({
  event,
  trackingId: "trk-77",
  templateId: undefined,
  user: "sk-otto",
  occurredAt: at,
  automated: false,
  messageKey,
  link: undefined,
  ...more,
})
const engaged = (event: NormalizedEvent["event"], more: Partial<Expected> = {}): Expected =>
  sent(event, { trackingId: undefined, user: "4471", ...more })

const device = {
  ipAddress: "203.0.113.9",
  userAgent: "Mozilla/5.0 (iPhone)",
  location: { city: "Köln", country: "DE" },
}
const contentLink = "https://shop.test/code?tracking_id=trk-77&utm_source=sfmc"

const payloads: ReadonlyArray<readonly [name: string, body: object, event: Expected]> = [
  ["an e-mail sent", send("EmailSent", { status: "Sent" }), sent("sent")],
  ["an SMS sent", send("SmsSent", { to: "+491701234567", subscriberKey: "" }), sent("sent", { user: "+491701234567" })],
  ["an SMS delivered", send("SmsDelivered", { status: "Delivered" }), sent("delivered")],
  ["an open", engagement("EmailOpen", device), engaged("open")],
  [
    "a click",
    engagement("EmailClick", { ...device, contentLink, jobUrlId: "5", impressionRegion: "hero" }),
    engaged("click", { trackingId: "trk-77", link: contentLink }),
  ],
  [
    "a click on a link without our id",
    engagement("EmailClick", { ...device, contentLink: "https://shop.test/impressum", jobUrlId: "6" }),
    engaged("click", { link: "https://shop.test/impressum" }),
  ],
  ["a click whose link was left out", engagement("EmailClick", { jobUrlId: 7 }), engaged("click", { link: "7" })],
  [
    "a hard bounce",
    send("EmailBounced", { bounceCode: "HARD", bounceMessage: "User unknown", smtpReason: "550 5.1.1" }),
    sent("bounce", {}),
  ],
  [
    "a soft bounce",
    send("EmailBounced", { bounceCode: "SOFT", smtpReason: "452 4.2.2" }),
    sent("soft_bounce", {}),
  ],
  ["a bounce of another kind", send("EmailBounced", { bounceCode: "BLOCK" }), sent("soft_bounce", {})],
  ["a bounce that does not say how", send("EmailBounced"), sent("bounce", {})],
  ["an SMS that bounced", send("SmsBounced", { bounceCode: "SOFT" }), sent("bounce", { otherChannel: true })],
  [
    "an e-mail not sent",
    send("EmailNotSent", { reason: "Unsubscribed", statusCode: 1, statusMessage: "unsub" }),
    sent("failed"),
  ],
  ["an SMS not sent", send("SmsNotSent", { reason: "OptedOut", statusCode: 24 }), sent("failed")],
  [
    "an unsubscribe",
    engagement("EmailUnsubscribe", {
      to: "otto@shop.test",
      domain: "shop.test",
      unsubscribeDate: at - 9_000,
      unsubscribeMethod: "OneClick",
    }),
    engaged("unsubscribe", { user: "otto@shop.test" }),
  ],
  [
    "ids that are numbers",
    engagement("EmailOpen", {}, { composite: { jobId: 90210, batchId: 3, listId: 18, subscriberId: 4471 } }),
    engaged("open"),
  ],
  ["the older form of the ids alone", engagement("EmailOpen", {}, { composite: undefined }), engaged("open")],
  [
    "a time in ISO text",
    engagement("EmailOpen", {}, { timestampUTC: new Date(at).toISOString() }),
    engaged("open"),
  ],
  [
    "a recipient known by contact key",
    send("EmailSent", { subscriberKey: undefined, contactKey: "ck-9" }),
    sent("sent", { user: "ck-9" }),
  ],
]

describe("Sfmc: payloads", () => {
  for (const [name, body, expected] of payloads) {
    it(`reads ${name}, alone and in a list`, () => {
      const { key, ...event } = one(body)
      assert.deepStrictEqual(event, withAddress(expected, body))
      assert.match(key, /^digest:[\w-]{43}$/)
      assert.deepStrictEqual(one([body]), one(body))
    })
  }

  it("reads a link whose characters are escaped in the JSON", () => {
    const text = `[{"eventCategoryType":"EngagementEvents.EmailClick","timestampUTC":${at},"mid":1,"info":` +
      `{"contentLink":"https://shop.test/?a\\u003d1\\u0026tracking_id\\u003dtrk%2D77"}}]`
    const result = normalize(bytes(text), {}, receivedAt)
    assert.strictEqual("events" in result ? result.events[0]?.trackingId : undefined, "trk-77")
  })

  it("identifies all events of one message by one key, and of other messages by other keys", () => {
    const { messageKey } = one(send("EmailSent"))
    assert.strictEqual(one(engagement("EmailOpen")).messageKey, messageKey)
    const others = [
      { mid: 510002 },
      { composite: { ...composite, jobId: "90211" } },
      { composite: { ...composite, batchId: "4" } },
      { composite: { ...composite, listId: undefined } },
      { composite: { ...composite, subscriberId: "4472" } },
    ].map((more) => one(engagement("EmailOpen", {}, more)).messageKey)
    assert.strictEqual(new Set([messageKey, ...others]).size, 6)
    for (const none of [{ mid: null }, { composite: {} }, { composite: { ...composite, subscriberId: "" } }]) {
      assert.isUndefined(one({ ...send("EmailSent"), ...none }).messageKey)
    }
  })

  for (
    const type of [
      "TransactionalSendEvents.SmsTransient",
      "TransactionalSendEvents.EmailQueued",
      "SendEvents.AutomationInstanceStarted",
      "EngagementEvents.OttMobileOriginated",
    ]
  ) {
    it(`skips ${type} as expected`, () => {
      const { events, skipped } = read([event(type, {}, info)])
      assert.deepStrictEqual([events.length, skipped.map(({ expected }) => expected)], [0, [true]])
    })
  }

  const byMeaning: { readonly [event in NormalizedEvent["event"]]?: ReadonlyArray<string> } = {
    sent: ["SendEvents.PushSent", "TransactionalSendEvents.PushSent", "EngagementEvents.OttSent"],
    delivered: ["EngagementEvents.PushDeliveryReceipt", "EngagementEvents.OttDelivered"],
    open: [
      "EngagementEvents.PushOpen",
      "EngagementEvents.InAppDisplay",
      "EngagementEvents.InboxOpen",
      "EngagementEvents.OttRead",
    ],
    click: ["EngagementEvents.InAppClick", "EngagementEvents.PushImageClick", "EngagementEvents.PushButtonClick"],
    other: ["EngagementEvents.InAppDismiss"],
    bounce: ["SendEvents.PushBounced", "EngagementEvents.OttFailed"],
    failed: ["SendEvents.PushNotSent", "SendEvents.OttNotSent", "TransactionalSendEvents.OttNotSent"],
  }
  for (const [meaning, types] of Object.entries(byMeaning)) {
    it(`reads push, in-app and chat events that mean ${meaning}`, () => {
      for (const type of types) {
        const { event: found, otherChannel, trackingId } = one(event(type, {}, info))
        assert.deepStrictEqual([found, trackingId], [meaning, "trk-77"], type)
        assert.strictEqual(otherChannel, meaning === "bounce" ? true : undefined, type)
      }
    })
  }

  it("skips events of apps and devices", () => {
    const types = ["PushInstall", "PushInactive"].map((type) => engagement(type, info))
    assert.deepStrictEqual(read(types).skipped.map(({ expected }) => expected), [true, true])
  })

  it("reports an unknown type", () => {
    assert.deepStrictEqual(read([engagement("EmailForwarded")]).skipped, [
      { pointer: "/0", reason: `"EngagementEvents.EmailForwarded" is no type of event known here`, expected: false },
    ])
  })
})

describe("Sfmc: keys and times", () => {
  it("keeps the key of a repeated event with texts for numbers or in another order", () => {
    const again = engagement("EmailClick", { contentLink, jobUrlId: 5 }, { mid: "510001", timestampUTC: String(at) })
    const shuffled = Object.fromEntries(Object.entries(again).reverse())
    assert.strictEqual(one(engagement("EmailClick", { jobUrlId: "5" })).key, one(again).key)
    assert.strictEqual(one(shuffled).key, one(again).key)
  })

  it("changes the key if any of the named fields differs", () => {
    const base = engagement("EmailClick", { jobUrlId: "5" })
    const others = [
      engagement("EmailOpen", { jobUrlId: "5" }),
      engagement("EmailClick", { jobUrlId: "6" }),
      engagement("EmailClick", { jobUrlId: "5", messageKey: "m" }),
      { ...base, timestampUTC: at + 1 },
      { ...base, mid: 510002 },
      { ...base, timestampUTC: undefined },
      ...Object.keys({ ...composite, emailId: "" }).map((name) => ({
        ...base,
        composite: { ...composite, [name]: "0" },
      })),
    ]
    assert.strictEqual(new Set([base, ...others].map((item) => one(item).key)).size, others.length + 1)
  })

  it("uses the time of receipt if the time is missing, unreadable or in the future", () => {
    for (const timestampUTC of [undefined, null, "heute", [], receivedAt + 1]) {
      assert.strictEqual(one(engagement("EmailOpen", {}, { timestampUTC })).occurredAt, receivedAt)
    }
  })
})

describe("Sfmc: other bodies", () => {
  it("reads the valid items of a list next to invalid ones", () => {
    const bad = [null, "x", 7, [], {}, { eventCategoryType: 3 }, { eventCategoryType: "EngagementEvents.EmailOpen" }, {
      eventCategoryType: "EngagementEvents.EmailOpen",
      composite: [composite],
      info: "none",
    }]
    const { events, items, skipped } = read([send("EmailSent"), ...bad, engagement("EmailOpen")])
    assert.deepStrictEqual([items, events.map(({ event }) => event)], [bad.length + 2, ["sent", "open"]])
    assert.deepStrictEqual(skipped.map(({ pointer }) => pointer), bad.map((_, i) => `/${i + 1}`))
    assert.isTrue(skipped.every(({ expected }) => !expected))
  })

  it("returns no items for the handshake of a new callback or an empty list", () => {
    for (const body of [{ callbackId: "8c0e", verificationKey: "vk-1" }, []]) {
      assert.deepStrictEqual(read(body), { items: 0, events: [], skipped: [] })
    }
    assert.strictEqual(read({ ...engagement("EmailOpen"), verificationKey: "vk-1" }).items, 1)
  })

  it("explains why nothing in a body was understood", () => {
    const reasonOf = (body: string) => {
      const result = normalize(bytes(body), {}, receivedAt)
      return "reason" in result ? result.reason : assert.fail()
    }
    assert.match(reasonOf(""), /^The body is empty.*Marketing Cloud/)
    assert.match(reasonOf("<xml/>"), /^The body is not valid JSON/)
  })

  it("never throws, and reports every item, for any JSON", () => {
    const names = "eventCategoryType composite compositeId info jobId subscriberId mid timestampUTC __proto__ to".split(
      " ",
    )
    const texts = ["EngagementEvents.EmailOpen", "TransactionalSendEvents.EmailBounced", "....", "\ud800", "5"]
    assertAccounted(jsonOf(names, texts), read, receivedAt)
  })
})
