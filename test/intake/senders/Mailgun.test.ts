import { assert, describe, it } from "@effect/vitest"
import { normalize } from "../../../src/intake/senders/Mailgun.ts"
import { bytesOf, read, receivedAt, testCases } from "./reading.ts"

const noon = receivedAt - 3_600_000
const id = "20180812211713.1.DF5966851B4BAA99@example.org"

/** A webhook as Mailgun sends it, with our variables. */
const item = (event: string, more: object = {}) => ({
  signature: { timestamp: "1770120000", token: "0".repeat(50), signature: "0".repeat(64) },
  "event-data": {
    event,
    id: "hTWCTD81RtiDN",
    timestamp: noon / 1_000 + 0.153125,
    recipient: "ann@example.com",
    "recipient-domain": "example.com",
    tags: [],
    message: { headers: { to: "ann@example.com", "message-id": id, from: "test@example.org" }, size: 809 },
    "user-variables": { tracking_id: "trk_1", user_id: "u-1" },
    ...more,
  },
})

const failed = (status: object, more: object = {}) =>
  item("failed", { severity: "permanent", reason: "bounce", "delivery-status": status, ...more })

describe("Mailgun", () => {
  testCases("mailgun", [
    ["an accepted message as sent", item("accepted"), {
      event: "sent",
      trackingId: "trk_1",
      user: "u-1",
      key: `id:hTWCTD81RtiDN ${Math.floor(noon / 86_400_000)}`,
      messageKey: JSON.stringify([id, "ann@example.com"]),
      occurredAt: noon + 153,
    }],
    ["a delivery", item("delivered", { "delivery-status": { code: 250, message: "OK" } }), { event: "delivered" }],
    ["an open by a person", item("opened", { "client-info": { "client-type": "browser" } }), {
      event: "open",
      automated: false,
    }],
    ["an open with an empty bot", item("opened", { "client-info": { bot: "" } }), { automated: false }],
    ["an open by a machine", item("opened", { "client-info": { bot: "apple" } }), { event: "open", automated: true }],
    ["a click by a machine", item("clicked", { url: "https://shop.example/", "client-info": { bot: "generic" } }), {
      event: "click",
      automated: true,
      link: "https://shop.example/",
    }],
    [
      "a click with the tracking id of its link",
      item("clicked", { "user-variables": {}, url: "https://shop.example/?tracking_id=trk_2" }),
      { trackingId: "trk_2", user: "ann@example.com" },
    ],
    [
      "a message of this service by its Message-ID",
      item("delivered", {
        "user-variables": {},
        message: { headers: { "message-id": "5f0c1d5e-0000-4000-8000-000000000001@shop.example" } },
      }),
      { trackingId: "5f0c1d5e-0000-4000-8000-000000000001" },
    ],
    ["variables as JSON text", item("opened", { "user-variables": '{"Tracking-ID":"trk_3"}' }), {
      trackingId: "trk_3",
    }],
    [
      "an unknown mailbox as a bounce",
      failed({ code: 550, "enhanced-code": "5.1.1", message: "5.1.1 The email account does not exist" }),
      { event: "bounce", email: "ann@example.com" },
    ],
    ["an unknown reason with code 550 as a bounce", failed({ code: 550, message: "x" }), { event: "bounce" }],
    ["a full mailbox as soft", failed({ code: 552, "enhanced-code": "5.2.2", message: "5.2.2 mailbox full" }), {
      event: "soft_bounce",
    }],
    ["a block list as a failure", failed({ code: 554, "enhanced-code": "5.7.1", message: "blocked using Spamhaus" }), {
      event: "failed",
    }],
    ["an unknown code as soft", failed({ code: 500, message: "" }, { reason: "generic" }), { event: "soft_bounce" }],
    ["a message that was too old as soft", failed({ code: 602, message: "Too old" }, { reason: "old" }), {
      event: "soft_bounce",
    }],
    [
      "an address on Mailgun's own list as a failure",
      failed({ code: 605, message: "Not delivering to previously bounced address" }, { reason: "suppress-bounce" }),
      { event: "failed" },
    ],
    ["code 607 of Mailgun's own list as a failure", failed({ code: 607, message: "" }), { event: "failed" }],
    ["a temporary failure", failed({ code: 450, message: "greylisted" }, { severity: "temporary" }), "ignored"],
    ["a rejected message", item("rejected", { recipient: undefined, reject: { reason: "content" } }), {
      event: "failed",
      user: "u-1",
    }],
    ["an opt-out", item("unsubscribed"), { event: "unsubscribe", email: "ann@example.com" }],
    ["a complaint", item("complained"), { event: "spam", email: "ann@example.com" }],
    ["a stored message", item("stored"), "ignored"],
    ["an unknown event", item("teleported"), "ignored"],
  ])

  it("distinguishes an id that returns on another day", () => {
    const later = item("opened", { timestamp: noon / 1_000 - 86_400 })
    assert.notStrictEqual(read("mailgun", later).events[0]!.key, read("mailgun", item("opened")).events[0]!.key)
    const keys = [{}, { url: "a" }, { recipient: "b@example.com" }].map((more) =>
      read("mailgun", item("clicked", { id: undefined, ...more })).events[0]!.key
    )
    assert.strictEqual(new Set(keys).size, 3)
  })

  it("keeps bodies that it does not read, with the reason", () => {
    for (const body of ["event=opened&recipient=a%40example.com", "{"]) {
      assert.property(normalize(bytesOf(body), {}, receivedAt), "reason")
    }
    const { skipped } = read("mailgun", { signature: {}, event: "opened" })
    assert.deepStrictEqual(skipped.map(({ expected }) => expected), [false])
  })
})
