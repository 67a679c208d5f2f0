import { assert, describe, it } from "@effect/vitest"
import { read, receivedAt, testCases } from "./reading.ts"

const noon = receivedAt - 3_600_000

const item = (type: string, more: object = {}, kind = "message_event") => ({
  msys: {
    [kind]: {
      type,
      event_id: "92356927693813856",
      timestamp: String(noon / 1_000),
      transmission_id: "65832150921904138",
      message_id: "000443ee14578172be22",
      rcpt_to: "ann@example.com",
      rcpt_meta: { tracking_id: "trk_1", user_id: "u-1" },
      template_id: "templ-1234",
      ...more,
    },
  },
})

const bounce = (bounce_class: string | number, raw_reason = "") => [item("bounce", { bounce_class, raw_reason })]

describe("SparkPost", () => {
  testCases("sparkpost", [
    ["an injection as sent", [item("injection")], {
      event: "sent",
      trackingId: "trk_1",
      user: "u-1",
      templateId: undefined,
      key: "id:92356927693813856",
      messageKey: JSON.stringify(["65832150921904138", "ann@example.com"]),
      occurredAt: noon,
    }],
    ["a delivery", [item("delivery")], { event: "delivered" }],
    ["an open", [item("open", {}, "track_event")], { event: "open" }],
    [
      "an open by a program that fetches images beforehand",
      [item("initial_open", { user_agent_parsed: { is_proxy: true, is_prefetched: true } }, "track_event")],
      { event: "open", automated: true },
    ],
    [
      "an open through an image proxy as one by a person",
      [item("open", { user_agent_parsed: { is_proxy: true, is_prefetched: false } }, "track_event")],
      { event: "open", automated: false },
    ],
    ["a first open", [item("initial_open", {}, "track_event")], { event: "open" }],
    ["a click", [item("click", { target_link_url: "https://shop.example/?tracking_id=x" }, "track_event")], {
      event: "click",
      trackingId: "trk_1",
      link: "https://shop.example/?tracking_id=x",
    }],
    ["an invalid recipient as a bounce", bounce("10", "550 5.1.1 unknown user"), { event: "bounce" }],
    ["a class as a number", bounce(30), { event: "bounce" }],
    ["a full mailbox as soft", bounce("22", "552 5.2.2 mailbox full"), { event: "soft_bounce" }],
    ["a full mailbox in a hard class as soft", bounce("10", "552 5.2.2 mailbox full"), { event: "soft_bounce" }],
    ["a spam block as a failure", bounce("51"), { event: "failed" }],
    ["an automatic reply", bounce("60"), "ignored"],
    ["a bounce by mail", [item("out_of_band", { bounce_class: "10" })], { event: "bounce" }],
    ["a refusal by policy as a failure", [item("policy_rejection")], { event: "failed" }],
    ["a failed generation", [item("generation_failure", {}, "gen_event")], { event: "failed" }],
    ["a complaint", [item("spam_complaint")], { event: "spam", email: "ann@example.com" }],
    ["an opt-out by header", [item("list_unsubscribe", {}, "unsubscribe_event")], { event: "unsubscribe" }],
    ["an opt-out by link", [item("link_unsubscribe", {}, "unsubscribe_event")], { event: "unsubscribe" }],
    ["a delay", [item("delay")], "ignored"],
    ["a test of the address", [{ msys: {} }], "ignored"],
    ["an unknown event", [item("teleported")], "ignored"],
  ])

  it("reads every event of a list, and reports what it cannot read", () => {
    const { events, items, skipped } = read("sparkpost", [item("open"), null, { msys: 5 }, { msys: { a: { b: 1 } } }])
    assert.deepStrictEqual([items, events.length, skipped.map(({ pointer }) => pointer)], [4, 1, ["/1", "/2", "/3"]])
  })
})
