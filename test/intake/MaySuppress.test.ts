import { assert, describe, it } from "@effect/vitest"
import { maySuppress } from "../../src/intake/MaySuppress.ts"

const of = (text: string) => maySuppress(new TextEncoder().encode(text))

describe("maySuppress", () => {
  for (
    const text of [
      '{"event_type":"users.messages.email.Bounce"}',
      '{"event_type":"users.messages.email.MarkAsSpam"}',
      '{"eventName":"emailUnSubscribe"}',
      '{"eventName":"emailComplaint"}',
      '{"metric":"spammed"}',
      '{"subscription_status":"Unsubscribed"}',
      '{"eventCategoryType":"EngagementEvents.EmailUnsubscribe"}',
      '{"eventCategoryType":"TransactionalSendEvents.EmailBounced"}',
      '{"event":"Email Marked as Spam"}',
      '{"event":"opted out"}',
      '{"event":"failed","severity":"permanent"}',
      '{"event":"unsub\\u0073cribe"}',
      '{"metric":"\\u0073pammed"}',
    ]
  ) {
    it(`returns true for ${text}`, () => assert.isTrue(of(text)))
  }

  for (
    const text of [
      "",
      '{"event":"click","link":"https://shop.example/a?b=c"}',
      '{"event_type":"users.messages.email.Open","user":{"name":"Zo\\u00eb"}}',
    ]
  ) {
    it(`returns false for ${text || "an empty body"}`, () => assert.isFalse(of(text)))
  }
})
