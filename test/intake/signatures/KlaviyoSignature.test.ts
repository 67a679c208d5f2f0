import { assert, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import { verify } from "../../../src/intake/signatures/Verify.ts"

const secret = "key-for-vectors-0123456789"
const body = new TextEncoder().encode('{"id":"x1","n":1}')
const now = 1_770_116_400_000

const signed = (timestamp: string) => ({
  "klaviyo-signature": createHmac("sha256", secret).update(body).update(timestamp).digest("hex"),
  "klaviyo-timestamp": timestamp,
})

const verdict = (
  headers: Readonly<Record<string, string>>,
  settings: { readonly tolerance_seconds?: number | null } = {},
) => verify("customerio", { secrets: ["old-secret-0123456789", secret], ...settings }, headers, body, now)

describe("the signature of Klaviyo", () => {
  it("matches the documented vector", () => {
    const headers = {
      "klaviyo-signature": "fdb8c856424c32b592a90168f6ef974daf6ccb31319d13caf8b3b10407b50280",
      "klaviyo-timestamp": "1770116400",
    }
    assert.isTrue(verdict(headers).ok)
    assert.isFalse(verify("customerio", { secrets: ["another-secret-0123456789"] }, headers, body, now).ok)
    assert.isFalse(verify("customerio", { secrets: [secret] }, headers, new Uint8Array([...body, 0x20]), now).ok)
  })

  it("covers a timestamp of any form exactly as sent", () => {
    for (
      const text of ["2026-02-03T11:00:00+00:00", "2026-02-03T11:00:00Z", "Tue, 03 Feb 2026 11:00:00 GMT", "1770116400"]
    ) {
      assert.isTrue(verdict(signed(text)).ok, text)
      assert.isFalse(verdict({ ...signed(text), "klaviyo-timestamp": `${text} ` + "x" }).ok, text)
    }
    const other = { ...signed("1770116400"), "klaviyo-timestamp": "1770116401" }
    assert.isFalse(verdict(other).ok)
  })

  it("is rejected if it is too old, too early, incomplete or malformed", () => {
    const old = signed(String(now / 1_000 - 301))
    assert.isFalse(verdict(old).ok)
    assert.isFalse(verdict(signed(String(now / 1_000 + 301))).ok)
    assert.isTrue(verdict(old, { tolerance_seconds: null }).ok)
    assert.isTrue(verdict(old, { tolerance_seconds: 600 }).ok)
    const { "klaviyo-timestamp": _, ...withoutTime } = signed("1770116400")
    assert.isFalse(verdict(withoutTime).ok)
    assert.isFalse(verdict({ ...signed("1770116400"), "klaviyo-signature": "zz" }).ok)
    assert.isFalse(verdict(signed("yesterday")).ok)
    assert.isFalse(verify("customerio", { secrets: [] }, signed("1770116400"), body, now).ok)
  })

  it("is rejected if header and body name different webhooks", () => {
    const named = new TextEncoder().encode('{"meta":{"klaviyo_webhook_id":"w-1"},"data":[]}')
    const check = (id: string | undefined, sent = named) => {
      const signature = createHmac("sha256", secret).update(sent).update("1770116400").digest("hex")
      const headers = { "klaviyo-signature": signature, "klaviyo-timestamp": "1770116400" }
      const withId = id === undefined ? headers : { ...headers, "klaviyo-webhook-id": id }
      return verify("klaviyo", { secrets: [secret] }, withId, sent, now)
    }
    assert.isTrue(check("w-1").ok)
    assert.isTrue(check(undefined).ok)
    assert.isTrue(check("w-1", body).ok)
    assert.isTrue(check("w-1", new TextEncoder().encode("not JSON")).ok)
    const verdict = check("w-2")
    assert.isTrue(!verdict.ok && verdict.reason.includes("another webhook"))
  })
})
