import { assert, describe, it } from "@effect/vitest"
import { normalizeBeside } from "../../src/intake/Sources.ts"
import { compile } from "../../src/intake/mapping/Mapping.ts"
import { normalize as braze } from "../../src/intake/platforms/Braze.ts"
import { normalize as customerIo } from "../../src/intake/platforms/CustomerIo.ts"
import { normalize as iterable } from "../../src/intake/platforms/Iterable.ts"
import { normalize as segment } from "../../src/intake/platforms/Segment.ts"
import { normalize as sfmc } from "../../src/intake/platforms/Sfmc.ts"
import type { Normalize } from "../../src/intake/Normalize.ts"
import { defaultReading } from "../../src/intake/Sources.ts"

const read = (normalize: Normalize, body: unknown) => {
  const result = normalize(new TextEncoder().encode(JSON.stringify(body)), {}, 1_800_000_000_000)
  if ("reason" in result) throw new Error(result.reason)
  return result
}

const events = normalizeBeside(defaultReading)

describe("opt-outs with an unreadable address", () => {
  for (
    const email of [
      "ann at shop.example",
      "ann@shop.example, bob@shop.example",
      "Ann <ann@shop.example",
      "ann@@shop.example",
    ]
  ) {
    it(`are rejected with the member at fault: ${email}`, () => {
      const { events: found, skipped } = read(events, { event: "unsubscribe", email })
      assert.deepStrictEqual([found.length, skipped.length], [0, 1])
      assert.deepInclude(skipped[0]!, { expected: false, member: "/email" })
      assert.include(skipped[0]!.reason, JSON.stringify(email))
    })
  }

  it("are rejected for platforms and mappings too", () => {
    const twice = "ann@shop.example;bob@shop.example"
    const results = [
      read(braze, {
        events: [{ event_type: "users.messages.email.Unsubscribe", user: {}, properties: { email_address: twice } }],
      }),
      read(customerIo, { metric: "unsubscribed", data: { identifiers: { email: twice } } }),
      read(compile({ event: "$.what", user: "$.who" }), { what: "spam", who: twice }),
    ]
    for (const { events: found, skipped } of results) {
      assert.deepStrictEqual([found.length, skipped.map(({ expected }) => expected)], [0, [false]])
    }
  })

  it("are kept if the message or another id names the person, with a report of the address", () => {
    for (const more of [{ tracking_id: "t-1" }, { user_id: "u-1" }]) {
      const { events: found, incomplete } = read(events, { event: "unsubscribe", email: "ann at shop", ...more })
      assert.lengthOf(found, 1)
      assert.deepStrictEqual(incomplete?.map(({ pointer }) => pointer), ["/email"])
      assert.include(incomplete![0]!.reason, '"ann at shop" is not one e-mail address')
    }
  })

  for (
    const address of ["ann%40shop.example", "ann@shop.example, bob@shop.example", "Ann", "\tann@shop.example", 7, ["a"]]
  ) {
    it(`are reported with the address in events of platforms that name their message: ${JSON.stringify(address)}`, () => {
      const results = [
        read(braze, {
          events: [{
            event_type: "users.messages.email.Unsubscribe",
            user: { user_id: "b-1" },
            properties: { email_address: address, dispatch_id: "d-1" },
          }],
        }),
        read(iterable, { email: address, eventName: "emailComplaint", dataFields: { messageId: "m-1" } }),
        read(customerIo, { metric: "bounced", data: { recipient: address, delivery_id: "d-1" } }),
        read(customerIo, {
          meta: {},
          data: [{
            topic: "event:klaviyo.marked_email_as_spam",
            payload: {
              data: { attributes: { event_properties: { tracking_id: "t-1", "Recipient Email Address": address } } },
            },
          }],
        }),
        read(segment, { type: "track", event: "Unsubscribed", userId: "u-1", properties: { email: address } }),
        read(sfmc, {
          eventCategoryType: "EngagementEvents.EmailUnsubscribe",
          info: { to: address, subscriberKey: "s-1", messageKey: "t-1" },
        }),
      ]
      assert.deepStrictEqual(results.map(({ incomplete }) => incomplete?.map(({ pointer }) => pointer)), [
        ["/events/0/properties/email_address"],
        ["/email"],
        ["/data/recipient"],
        ["/data/0/payload/data/attributes/event_properties/Recipient Email Address"],
        ["/properties/email"],
        ["/info/to"],
      ])
    })
  }

  it("are not reported for other channels and events, or for blank addresses", () => {
    const results = [
      read(events, { event: "unsubscribe", user_id: "u-1", email: "+49 170 1", channel: "sms" }),
      read(events, { event: "click", user_id: "u-1", email: "+49 170 1" }),
      read(events, { event: "unsubscribe", user_id: "u-1", email: " " }),
      read(customerIo, { metric: "bounced", object_type: "push", data: { recipient: "device-1", delivery_id: "d-1" } }),
    ]
    for (const { events: found, incomplete } of results) {
      assert.deepStrictEqual([found.length, incomplete], [1, undefined])
    }
  })

  for (
    const channel of ["E-Mail", "e_mail", "mail", "newsletter", "Email Marketing", "all", "email,sms", "null", 5, [
      "sms",
    ]]
  ) {
    it(`count for e-mail if the channel is ${JSON.stringify(channel)}`, () => {
      const { events: found } = read(events, { event: "unsubscribe", email: "ann@shop.example", channel })
      assert.isUndefined(found[0]!.otherChannel)
    })
  }

  for (
    const channel of ["push", "SMS", "WhatsApp", "in-app", "In App Message", "web_push", "Content Card", "direct mail"]
  ) {
    it(`do not count for e-mail if the channel is ${JSON.stringify(channel)}`, () => {
      const { events: found } = read(events, { event: "unsubscribe", email: "ann@shop.example", channel })
      assert.isTrue(found[0]!.otherChannel)
    })
  }

  it("are lifted only by an opt-in to an e-mail channel", () => {
    const optInOf = (channel: string) => read(events, { event: "subscribe", email: "ann@shop.example", channel }).events
    assert.deepStrictEqual(["e-mail", "EMAIL", "Mail"].map((channel) => optInOf(channel).length), [1, 1, 1])
    assert.deepStrictEqual(["loyalty", "sms", "all"].map((channel) => optInOf(channel).length), [0, 0, 0])
  })

  it("do not affect other events, which accept any text as user", () => {
    assert.lengthOf(read(events, { event: "click", user_id: "a@@b" }).events, 1)
  })
})
