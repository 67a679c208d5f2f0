import { assert, describe, it } from "@effect/vitest"
import { lineOf, validateAddress } from "../../src/text/Email.ts"

describe("validateAddress", () => {
  for (
    const address of [
      "ada@example.com",
      "a.b+c@sub.example.co",
      "o'brien@example.com",
      "jörg@münchen.example",
      "x@y.museum",
    ]
  ) {
    it(`accepts ${address}`, () => assert.isUndefined(validateAddress(address)))
  }

  for (
    const address of [
      "",
      "ada",
      "@example.com",
      "ada@",
      "ada@localhost",
      "ada@example.com,eve@example.com",
      "ada@example.com;eve@example.com",
      "Ada <ada@example.com>",
      "<ada@example.com>",
      "ada@example.com eve@example.com",
      " ada@example.com",
      "ada@example.com\r\nBcc: eve@example.com",
      "ada@example.com\n",
      "ada\0@example.com",
      "ada@exam\u202eple.com",
      "ada\u200b@example.com",
      "ada@@example.com",
      "ada@eve@example.com",
      '"ada eve"@example.com',
      "ada(comment)@example.com",
      "ada@[127.0.0.1]",
      "ada@127.0.0.1",
      ".ada@example.com",
      "ada..b@example.com",
      "ada@-example.com",
      "ada@example..com",
      "ada@exa_mple.com",
      `${"a".repeat(65)}@example.com`,
      `ada@${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(70)}.com`,
      "\ud800@example.com",
      "undisclosed:ada@example.com",
    ]
  ) {
    it(`rejects ${JSON.stringify(address)} with a reason`, () => assert.match(validateAddress(address) ?? "", /^must /))
  }
})

describe("lineOf", () => {
  it("replaces line breaks and control characters by single spaces", () => {
    assert.strictEqual(lineOf("  Hello\r\n  Ada,\u0000\u2028it's\t\ttime \u202e!"), "Hello Ada, it's time !")
  })
})
