import { assert, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import { check } from "../../../src/intake/signatures/MailgunSignature.ts"

const key = "key-for-vectors-0123456789"
const now = 1_770_116_400_000
const token = "0123456789".repeat(5)
const settings = { secrets: [key] }

const hmac = (timestamp: string, secret = key) => createHmac("sha256", secret).update(timestamp + token).digest("hex")

const body = (signature: unknown, more: object = { "event-data": { id: "e-1" } }) =>
  new TextEncoder().encode(JSON.stringify({ signature, ...more }))

const verdict = (signature: unknown, at = now, more?: object) => check(settings, {}, body(signature, more), at)

describe("MailgunSignature", () => {
  it("accepts the published form of timestamp, token and signature", () => {
    const signature = "053d589d2f17e9a07be8d87f08dcc6be5f66db4495ff0a48742827c5bfb46c61"
    for (const timestamp of ["1770116400", 1770116400]) {
      assert.deepStrictEqual(verdict({ timestamp, token, signature }), { ok: true })
      assert.deepStrictEqual(verdict({ timestamp, token, signature: signature.toUpperCase() }), { ok: true })
    }
  })

  it("accepts the signature of the account above, and either key during a rotation", () => {
    const timestamp = "1770116400"
    const parent = { timestamp, token, signature: "0".repeat(64), "parent-signature": hmac(timestamp) }
    assert.isTrue(verdict(parent).ok)
    const both = { secrets: ["other", key] }
    assert.isTrue(check(both, {}, body({ timestamp, token, signature: hmac(timestamp) }), now).ok)
  })

  it("accepts signatures up to a day old, or as old as the settings allow", () => {
    const signature = { timestamp: "1770116400", token, signature: hmac("1770116400") }
    assert.isTrue(verdict(signature, now + 86_400_000).ok)
    assert.deepInclude(verdict(signature, now + 86_401_000), { ok: false })
    const short = { ...settings, tolerance_seconds: 300 }
    assert.isFalse(check(short, {}, body(signature), now + 301_000).ok)
    assert.isTrue(check({ ...settings, tolerance_seconds: null }, {}, body(signature), now * 2).ok)
  })

  it("accepts the older form, whose events are not read", () => {
    const form = new URLSearchParams({ timestamp: "1770116400", token, signature: hmac("1770116400"), event: "opened" })
    assert.isTrue(check(settings, {}, new TextEncoder().encode(form.toString()), now).ok)
  })

  it("refuses changed, foreign and missing signatures, with the reason", () => {
    const timestamp = "1770116400"
    const right = { timestamp, token, signature: hmac(timestamp) }
    const wrong: ReadonlyArray<unknown> = [
      { ...right, token: `${token}0` },
      { ...right, timestamp: "1770116401" },
      { ...right, signature: hmac(timestamp, "other") },
      { ...right, signature: right.signature.slice(1) },
      { ...right, signature: 5 },
      { ...right, timestamp: "soon" },
      { ...right, timestamp: "1e9" },
      { token, signature: right.signature },
      { timestamp, signature: right.signature },
      { timestamp, token },
      "x",
      null,
      [],
    ]
    for (const signature of wrong) {
      const found = verdict(signature)
      assert.isFalse(found.ok, JSON.stringify(signature))
      if (!found.ok) assert.isAbove(found.reason.length, 20)
    }
    for (const text of ["", "{", "5", "null", "[]", "timestamp=1&token=2", "\u0000"]) {
      assert.isFalse(check(settings, {}, new TextEncoder().encode(text), now).ok, text)
    }
    assert.isFalse(check({ secrets: [""] }, {}, body({ ...right, signature: hmac(timestamp, "") }), now).ok)
  })
})
