import { assert, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import { check } from "../../../src/intake/signatures/CustomerIoSignature.ts"

const body = new TextEncoder().encode(`{"id":"x1","n":1}`)
const settings = { secrets: ["key-for-vectors-0123456789"] }
const now = 1_770_116_400_000
const headers = {
  "x-cio-signature": "4f19489e166e4dc7015f0b3d637cb88ebb4368c15c7207e9fff0b0491fee07ae",
  "x-cio-timestamp": "1770116400",
}

describe("CustomerIoSignature", () => {
  it("accepts the test vector", () => {
    assert.deepStrictEqual(check(settings, headers, body, now), { ok: true })
  })

  it("accepts digits in upper case", () => {
    assert.isTrue(
      check(settings, { ...headers, "x-cio-signature": headers["x-cio-signature"].toUpperCase() }, body, now).ok,
    )
  })

  it("verifies the timestamp exactly as sent", () => {
    assert.isFalse(check(settings, { ...headers, "x-cio-timestamp": "01770116400" }, body, now).ok)
  })

  it("rejects a signature over the body alone, or with another version", () => {
    for (const head of ["", "v1:1770116400:", "v0:1770116400", "1770116400."]) {
      const forged = createHmac("sha256", settings.secrets[0]!).update(head).update(body).digest("hex")
      assert.isFalse(check(settings, { ...headers, "x-cio-signature": forged }, body, now).ok, head)
    }
  })

  it("rejects a prefix, and explains the expected header", () => {
    const verdict = check(settings, { ...headers, "x-cio-signature": `v0=${headers["x-cio-signature"]}` }, body, now)
    assert.deepStrictEqual(verdict, {
      ok: false,
      reason: "The header x-cio-signature must be one text of 64 hexadecimal digits",
    })
  })

  it("rejects bytes moved from the timestamp to the body", () => {
    const moved = new TextEncoder().encode(`0:{"id":"x1","n":1}`)
    assert.isFalse(check(settings, { ...headers, "x-cio-timestamp": "177011640" }, moved, 177_011_640_000).ok)
  })
})
