import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as fc from "fast-check"
import { createHmac } from "node:crypto"
import { check, firstElement, SegmentSignatureSettings } from "../../../src/intake/signatures/SegmentSignature.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const secret = "key-for-vectors-0123456789"
const settings = { secrets: [secret] }
const sign = (text: string) => ({ "x-signature": createHmac("sha1", secret).update(text).digest("hex") })
const verdict = (text: string, signed: string, options: Partial<SegmentSignatureSettings> = {}) =>
  check({ ...settings, ...options }, sign(signed), bytes(text), 0)

const first = `{"type":"track","event":"Email \\"Opened\\" ]}","properties":{"list":[1,{"a":"\\\\"}],"name":"Zoë"}}`
const other = `{"type":"track","event":"Order Completed"}`

describe("SegmentSignature", () => {
  it("accepts the test vector", () => {
    const headers = { "x-signature": "104150fc25c8a6c26415f62120244a06db12b6a8" }
    assert.deepStrictEqual(check(settings, headers, bytes(`{"id":"x1","n":1}`), 0), { ok: true })
  })

  it("accepts a batch of one by the signature of its item, with any surrounding space", () => {
    for (const body of [`[${first}]`, ` [\n${first} ]\r\n`]) assert.isTrue(verdict(body, first).ok, body)
  })

  it("accepts any body that is signed as a whole", () => {
    for (const body of [`[${first},${other}]`, `{"batch":[${first}]}`, "", "nothing"]) {
      assert.isTrue(verdict(body, body).ok, body)
    }
  })

  it("rejects content after the signed item, and explains the remedies", () => {
    const result = verdict(`[${first},${other}]`, first)
    assert.isFalse(result.ok)
    assert.match(result.ok ? "" : result.reason, /Only the first item.*batch size.*token.*unsigned_items/)
    for (const body of [`[${first}]x`, `[${first}][${other}]`, `[${first}`, `[${first},`, `[${first}}`]) {
      assert.isFalse(verdict(body, first).ok, body)
    }
  })

  it("accepts unsigned items only if configured, and only after the signed one", () => {
    const options = { unsigned_items: true }
    assert.isTrue(verdict(`[${first},${other}]`, first, options).ok)
    for (const body of [`[${other},${first}]`, `{"batch":[${first}]}`, `[[${first}]]`, `x${first}`, `[0,${first}]`]) {
      assert.isFalse(verdict(body, first, options).ok, body)
    }
  })

  it("rejects a reformatted item", () => {
    const spaced = JSON.stringify(JSON.parse(first), undefined, 1)
    assert.isFalse(verdict(`[${spaced}]`, first).ok)
  })

  it("finds no first item in an unclosed list or a list without objects", () => {
    for (
      const text of ["", "[", "[]", "{}", "[1]", "null", `["{}"]`, "[{", `[{"a":"}`, `[{"a":"\\`, "[{]", "\ufeff[{}]"]
    ) {
      const found = firstElement(bytes(text))
      assert.isTrue(found === undefined || !found.alone, text)
    }
  })

  it("returns the exact bytes of the first item of any list", () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue())
    fc.assert(
      fc.property(fc.array(object, { minLength: 1, maxLength: 3 }), fc.constantFrom(0, 1, "\t"), (items, space) => {
        const found = firstElement(bytes(JSON.stringify(items, undefined, space)))!
        assert.deepStrictEqual(JSON.parse(new TextDecoder().decode(found.bytes)), JSON.parse(JSON.stringify(items[0])))
        assert.strictEqual(found.alone, items.length === 1)
      }),
    )
  })

  it("takes linear time for deep and for unclosed lists", () => {
    const started = performance.now()
    const size = 2_000_000
    for (
      const text of ["[".repeat(size), `[${`{"a":`.repeat(size / 5)}`, `[{"${"\\".repeat(size)}`, " ".repeat(size)]
    ) {
      firstElement(bytes(text))
    }
    assert.isBelow(performance.now() - started, 10_000)
  })

  it("accepts a token instead if configured, alone or after Bearer", () => {
    const token = { secrets: [secret], scheme: "token" } as const
    assert.isTrue(check(token, { authorization: `Bearer ${secret}` }, bytes(other), 0).ok)
    assert.isTrue(check(token, { authorization: secret }, bytes(other), 0).ok)
    assert.isTrue(check({ ...token, header: "x-hook" }, { "x-hook": secret }, bytes(other), 0).ok)
    assert.isFalse(check(token, sign(other), bytes(other), 0).ok)
    assert.isFalse(check(token, { authorization: `Basic ${secret}` }, bytes(other), 0).ok)
    assert.isFalse(check(token, { authorization: `Bearer ${btoa(secret)}` }, bytes(other), 0).ok)
    assert.isFalse(check(settings, { authorization: `Bearer ${secret}` }, bytes(other), 0).ok)
  })

  it("accepts credentials after Basic, configured as user and password or as sent", () => {
    const sent = btoa("parlance:s3cret-0123456789")
    for (const one of ["parlance:s3cret-0123456789", sent]) {
      const token = { secrets: ["old-0123456789", one], scheme: "token" } as const
      assert.isTrue(check(token, { authorization: `Basic ${sent}` }, bytes(other), 0).ok, one)
      assert.isTrue(check(token, { authorization: `basic  ${sent}` }, bytes(other), 0).ok, one)
      for (const wrong of ["Basic", "Basic ", `Basic ${sent}x`, `Basic ${btoa("parlance:")}`, `Basic ${btoa(sent)}`]) {
        assert.isFalse(check(token, { authorization: wrong }, bytes(other), 0).ok, wrong)
      }
    }
    assert.isFalse(check({ secrets: [], scheme: "token" }, { authorization: `Basic ${sent}` }, bytes(other), 0).ok)
  })

  it("rejects settings with a token that no header can contain", () => {
    const decode = Schema.decodeUnknownSync(SegmentSignatureSettings)
    assert.deepStrictEqual(decode({ secrets: ["Schlüssel 1"] }), { secrets: ["Schlüssel 1"] })
    assert.throws(() => decode({ secrets: ["Schlüssel 1"], scheme: "token" }), /ASCII/)
    assert.throws(() => decode({ secrets: [secret], header: "X-Hook" }), /lower case/)
    assert.throws(() => decode({ secrets: [secret], scheme: "none" }))
  })
})
