import { assert, describe, it } from "@effect/vitest"
import { normalizeBeside } from "../../src/intake/Sources.ts"
import { compile } from "../../src/intake/mapping/Mapping.ts"
import { normalize as braze } from "../../src/intake/platforms/Braze.ts"
import { normalize as customerIo } from "../../src/intake/platforms/CustomerIo.ts"
import { defaultReading, type Normalize } from "../../src/intake/Sources.ts"

const read = (normalize: Normalize, body: unknown) => {
  const result = normalize(new TextEncoder().encode(JSON.stringify(body)), {}, 1_800_000_000_000)
  if ("reason" in result) throw new Error(result.reason)
  return result
}

const events = normalizeBeside(defaultReading)

describe("Opt-outs whose address cannot be read", () => {
  for (
    const email of [
      "ann at shop.example",
      "ann@shop.example, bob@shop.example",
      "Ann <ann@shop.example",
      "ann@@shop.example",
    ]
  ) {
    it(`rejects a custom event for ${email} with the member at fault`, () => {
      const { events: found, skipped } = read(events, { event: "unsubscribe", email })
      assert.deepStrictEqual([found.length, skipped.length], [0, 1])
      assert.deepInclude(skipped[0]!, { expected: false, member: "/email" })
      assert.include(skipped[0]!.reason, JSON.stringify(email))
    })
  }

  it("rejects them by platforms and mappings", () => {
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

  it("accepts them where the message or another id names the person", () => {
    for (const more of [{ tracking_id: "t-1" }, { user_id: "u-1" }]) {
      const { events: found } = read(events, { event: "unsubscribe", email: "ann at shop", ...more })
      assert.lengthOf(found, 1)
    }
  })

  it("accepts other events with any text for a user", () => {
    assert.lengthOf(read(events, { event: "click", user_id: "a@@b" }).events, 1)
  })
})
