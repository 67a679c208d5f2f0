import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Normalized, NormalizedEvent } from "../../../src/domain/Event.ts"
import { normalize } from "../../../src/intake/platforms/Iterable.ts"
import { assertAccounted } from "./hostile.ts"
import { withAddress } from "./addresses.ts"

const receivedAt = Date.parse("2026-05-11T09:00:00Z")
const bytes = (text: string) => new TextEncoder().encode(text)

const understood = (body: unknown): Normalized => {
  const result = normalize(bytes(JSON.stringify(body)), {}, receivedAt)
  if ("reason" in result) return assert.fail(result.reason)
  return result
}

/** The only event of a body with one item. */
const one = (body: unknown): NormalizedEvent => {
  const { events, items, skipped } = understood(body)
  assert.deepStrictEqual([items, events.length, skipped], [1, 1, []])
  return events[0]!
}

const system = (eventName: string, dataFields: object = {}, more: object = {}) => ({
  email: "noor@mail.example",
  userId: "shopper-12",
  eventName,
  dataFields: {
    email: "noor@mail.example",
    createdAt: "2026-05-10 17:20:05 +00:00",
    campaignId: 3_301,
    campaignName: "Restock",
    templateId: 88,
    messageId: "5f1e0a",
    channelId: 4,
    workflowId: null,
    ...dataFields,
  },
  ...more,
})

const expected = {
  trackingId: undefined,
  templateId: undefined,
  user: "shopper-12",
  messageKey: "5f1e0a",
  occurredAt: Date.parse("2026-05-10T17:20:05Z"),
  automated: false,
  link: undefined,
}

describe("Iterable", () => {
  const fixtures: ReadonlyArray<readonly [what: string, body: unknown, event: Partial<NormalizedEvent>]> = [
    [
      "a triggered send with our id",
      system("emailSend", {
        transactionalData: { tracking_id: "trk-501", template_id: "restock", sku: "A-7" },
        emailSubject: "{{title}}",
      }),
      { event: "sent", trackingId: "trk-501", templateId: "restock" },
    ],
    [
      "a triggered send whose data is text",
      system("emailSend", { transactionalData: '{"tracking_id":"trk-502","__comment":"x"}' }),
      { event: "sent", trackingId: "trk-502" },
    ],
    ["a blast send", system("emailSend", { contentId: 331, transactionalData: null }), { event: "sent" }],
    [
      "metadata given to the send",
      system("emailSend", { metadata: { tracking_id: "trk-503" } }),
      { event: "sent", trackingId: "trk-503" },
    ],
    [
      "an open",
      system("emailOpen", { ip: "203.0.113.9", userAgent: "Mozilla/5.0", userAgentDevice: "Other" }),
      { event: "open" },
    ],
    ["an open through Gmail's proxy, by a person", system("emailOpen", { proxySource: "Gmail" }), { event: "open" }],
    [
      "an open by Apple's proxy, by a machine",
      system("emailOpen", { proxySource: "Apple" }),
      { event: "open", automated: true },
    ],
    [
      "a click with our parameter, not with the link's own tracking id",
      system("emailClick", {
        url: "https://store.example/p/9?a=1&tracking_id=trk-504",
        linkId: "77",
        linkUrl: "https://store.example/other",
        trackedLink: { trackingId: "not-ours" },
        isBot: false,
      }),
      { event: "click", trackingId: "trk-504", link: "https://store.example/p/9?a=1&tracking_id=trk-504" },
    ],
    [
      "a click by a bot",
      system("emailClick", { url: "https://store.example/", isBot: true }),
      { event: "click", automated: true, link: "https://store.example/" },
    ],
    [
      "a click in an SMS",
      system("smsClick", { linkUrl: "https://s.example/?tracking_id=trk-505", toPhoneNumber: "+1555" }),
      { event: "click", trackingId: "trk-505", link: "https://s.example/?tracking_id=trk-505" },
    ],
    [
      "a click in an app, with a path of the app for its URL",
      system("inAppClick", { clickedUrl: "app://cart?tracking_id=trk-506" }),
      { event: "click", trackingId: "trk-506", link: "app://cart?tracking_id=trk-506" },
    ],
    [
      "an open in an app, which names no message",
      system("inAppOpen", { messageId: undefined }),
      { event: "open", messageKey: undefined },
    ],
    ["a hard bounce", system("emailBounce", { recipientState: "HardBounce" }), { event: "bounce" }],
    ["a soft bounce", system("emailBounce", { recipientState: "SoftBounce" }), { event: "soft_bounce" }],
    ["a bounce that says no more", system("emailBounce"), { event: "bounce" }],
    ["a push bounce", system("pushBounce", { platformEndpoint: "arn:x" }), { event: "bounce", otherChannel: true }],
    ["a complaint", system("emailComplaint", { recipientState: "Complaint" }), { event: "spam" }],
    ["an opt-out", system("emailUnSubscribe", { unsubSource: "EmailLink" }), { event: "unsubscribe" }],
    ["an opt-out of a list", system("emailUnSubscribe", { unsubSource: "EmailLink", emailListIds: [1] }), {
      event: "unsubscribe",
      group: "1",
    }],
    ["a visit of the preference page", system("hostedUnsubscribeClick"), { event: "other" }],
    ["a skipped send", system("emailSendSkip", { reason: "DuplicateMarketingMessage" }), { event: "failed" }],
    ["an answer by SMS", system("smsReceived", { smsMessage: "YES" }), { event: "other" }],
    ["an embedded message on a device", system("embeddedReceived"), { event: "sent" }],
    ["a WhatsApp message that was seen", system("whatsAppSeen"), { event: "open" }],
  ]

  for (const [what, body, event] of fixtures) {
    it(`reads ${what}`, () => {
      const { key, ...rest } = one(body)
      assert.match(key, /^digest:[\w-]{43}$/)
      assert.deepStrictEqual(rest, withAddress({ ...expected, ...event } as Omit<NormalizedEvent, "key">, body))
    })
  }

  it("recognizes every documented name in any case", () => {
    const names = {
      sent: "emailSend pushSend smsSend inAppSend webPushSend",
      open: "emailOpen pushOpen inAppOpen",
      click: "emailClick smsClick inAppClick webPushClick",
      other: "hostedUnsubscribeClick smsReceived inAppDelete",
      bounce: "emailBounce pushBounce smsBounce",
      spam: "emailComplaint",
      unsubscribe: "emailUnSubscribe",
      failed: "emailSendSkip pushSendSkip smsSendSkip inAppSendSkip webPushSendSkip",
    }
    for (const [event, all] of Object.entries(names)) {
      for (const name of all.split(" ")) {
        for (const written of [name, name.toLowerCase()]) assert.strictEqual(one(system(written)).event, event, written)
      }
    }
  })

  it("skips lifecycle events as expected", () => {
    for (const name of ["inAppRecall", "pushUninstall", "journeyExit", "embeddedSession"]) {
      assert.deepStrictEqual(understood(system(name)).skipped.map(({ expected }) => expected), [true])
    }
  })

  it("reports an unknown name", () => {
    assert.deepStrictEqual(understood(system("carrierPigeonSend")), {
      items: 1,
      events: [],
      skipped: [{ pointer: "", reason: 'eventName "carrierPigeonSend" is not known', expected: false }],
    })
  })

  it("names the user by the outer user id, the outer address, then the user id and address of the data", () => {
    const of = (outer: object, inner: object) =>
      one({ ...system("emailOpen", { email: undefined, ...inner }), email: null, userId: null, ...outer }).user
    assert.strictEqual(of({ userId: 7, email: "a" }, { userId: "b", email: "c" }), "7")
    assert.strictEqual(of({ userId: " ", email: "a" }, { userId: "b", email: "c" }), "a")
    assert.strictEqual(of({}, { userId: "b", email: "c" }), "b")
    assert.strictEqual(of({}, { email: "c" }), "c")
    assert.strictEqual(of({}, {}), undefined)
  })

  it("prefers data of the send over metadata over URLs, and ignores broken text", () => {
    const fields = {
      transactionalData: { tracking_id: "a" },
      metadata: '{"tracking_id":"b"}',
      url: "https://s.example/?tracking_id=c",
      linkUrl: "https://s.example/?tracking_id=d",
    }
    assert.strictEqual(one(system("emailClick", fields)).trackingId, "a")
    const broken = { ...fields, transactionalData: '{"tracking_id":"a","long":"aaaa' }
    assert.strictEqual(one(system("emailClick", broken)).trackingId, "b")
    assert.strictEqual(one(system("emailClick", { ...broken, metadata: [] })).trackingId, "c")
    assert.strictEqual(one(system("emailClick", { ...broken, metadata: {}, url: "x" })).trackingId, "d")
  })

  it("identifies an event by name, message, time, URL and user only", () => {
    const keyOf = (body: unknown) => one(body).key
    const click = system("emailClick", { url: "https://s.example/" })
    assert.strictEqual(keyOf(click), keyOf(system("emailClick", { url: "https://s.example/", labels: ["x"] })))
    const others = [
      system("emailOpen", { url: "https://s.example/" }),
      system("emailClick", { url: "https://s.example/2" }),
      system("emailClick", { url: "https://s.example/", messageId: "other" }),
      system("emailClick", { url: "https://s.example/", createdAt: "2026-05-10 17:20:06 +00:00" }),
      system("emailClick", { url: "https://s.example/" }, { userId: "someone" }),
    ]
    assert.strictEqual(new Set([click, ...others].map(keyOf)).size, 6)
  })

  it("identifies an event without message and time by its whole content", () => {
    const of = (count: number) => one({ eventName: "pushOpen", userId: "u", dataFields: { count } }).key
    assert.notStrictEqual(of(1), of(2))
    assert.strictEqual(of(1), of(1))
  })

  it("uses the time of receipt if the time is missing, unreadable, or in the future", () => {
    for (const createdAt of [undefined, null, "yesterday", [], "2027-01-01 00:00:00 +00:00"]) {
      assert.strictEqual(one(system("emailOpen", { createdAt })).occurredAt, receivedAt)
    }
    assert.strictEqual(
      one(system("emailOpen", { createdAt: "2026-05-10 19:20:05 +02:00" })).occurredAt,
      Date.parse("2026-05-10T17:20:05Z"),
    )
  })

  it("reads the item if its data is an array, a text, or absent", () => {
    for (const dataFields of [[], [{ messageId: "m" }], "x", 5, null, undefined]) {
      const event = one({ ...system("emailOpen"), dataFields })
      assert.deepStrictEqual([event.user, event.messageKey, event.occurredAt], ["shopper-12", undefined, receivedAt])
    }
  })

  it("skips an item that names neither message nor user", () => {
    const { skipped } = understood({ eventName: "emailOpen", email: null, dataFields: { campaignId: 1 } })
    assert.deepStrictEqual(skipped.map(({ expected }) => expected), [false])
  })

  it("reads the valid items of a list next to invalid ones", () => {
    const good = system("emailOpen")
    const bad = [null, "emailOpen", 3, [good], {}, { eventName: null }, { ...good, eventName: " " }]
    const { events, items, skipped } = understood([good, ...bad, good])
    assert.strictEqual(items, bad.length + 2)
    assert.strictEqual(events.length, 2)
    assert.deepStrictEqual(skipped.map(({ pointer }) => pointer), bad.map((_, i) => `/${i + 1}`))
    assert.deepStrictEqual(understood([]), { items: 0, events: [], skipped: [] })
  })

  it("returns no items for an empty body, and explains why others are not understood", () => {
    for (const body of ["", "  \n"]) {
      assert.deepStrictEqual(normalize(bytes(body), {}, receivedAt), { items: 0, events: [], skipped: [] })
    }
    for (const body of ["{", "eventName=emailOpen", "\u00ff{}"]) {
      const result = normalize(bytes(body), {}, receivedAt)
      assert.include("reason" in result ? result.reason : "", "not valid JSON")
    }
    assert.deepStrictEqual(normalize(new Uint8Array([0xff]), {}, receivedAt), {
      reason: "The body is not valid UTF-8 at line 1, column 1. Send it as UTF-8",
    })
  })

  it("never throws, and reports every item", () => {
    const odd = fc.oneof(fc.jsonValue(), fc.constantFrom("emailClick", "emailBounce", "emailSubscribe"))
    const item = fc.record({
      eventName: odd,
      email: odd,
      userId: odd,
      dataFields: fc.oneof(
        odd,
        fc.record({ messageId: odd, createdAt: odd, url: odd, transactionalData: odd, recipientState: odd }),
      ),
    }, { requiredKeys: [] })
    assertAccounted(fc.oneof(fc.jsonValue(), item, fc.array(item)), understood, receivedAt)
  })
})
