import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Buffer } from "node:buffer"
import { createHmac } from "node:crypto"
import { check, handshakeOf, SfmcSettings } from "../../../src/intake/signatures/SfmcSignature.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const body = bytes(`{"id":"x1","n":1}`)
const settings = { secrets: ["key-for-vectors-0123456789"] }
const headers = { "x-sfmc-ens-signature": "nfG8J5q16EAuRv6EvRpf//UoxZZ2Zf1DqCaBxbOFAJ0=" }

describe("SfmcSignature", () => {
  it("accepts the test vector", () => {
    assert.deepStrictEqual(check(settings, headers, body, 0), { ok: true })
  })

  it("rejects other spellings of the same bytes", () => {
    const url = headers["x-sfmc-ens-signature"].replaceAll("/", "_").replaceAll("+", "-")
    const bits = headers["x-sfmc-ens-signature"].replace("0=", "1=")
    const unpadded = headers["x-sfmc-ens-signature"].slice(0, -1)
    const hex = Buffer.from(headers["x-sfmc-ens-signature"], "base64").toString("hex")
    for (const value of [url, bits, unpadded, hex]) {
      assert.isFalse(check(settings, { "x-sfmc-ens-signature": value }, body, 0).ok, value)
    }
  })

  it("decodes the key from Base64 only if configured", () => {
    const key = Buffer.alloc(32, 7)
    const secrets = [key.toString("base64")]
    const signed = { "x-sfmc-ens-signature": createHmac("sha256", key).update(body).digest("base64") }
    assert.isTrue(check({ secrets, key_encoding: "base64" }, signed, body, 0).ok)
    assert.isFalse(check({ secrets, key_encoding: "text" }, signed, body, 0).ok)
    assert.isFalse(check({ secrets }, signed, body, 0).ok)
    const ofText = { "x-sfmc-ens-signature": createHmac("sha256", secrets[0]!).update(body).digest("base64") }
    assert.isTrue(check({ secrets }, ofText, body, 0).ok)
    assert.isFalse(check({ secrets, key_encoding: "base64" }, ofText, body, 0).ok)
  })

  it("can be configured before the key is known, and accepts nothing until then", () => {
    const decode = Schema.decodeUnknownSync(SfmcSettings)
    assert.deepStrictEqual(decode({ secrets: [] }), { secrets: [] })
    assert.isFalse(check({ secrets: [] }, headers, body, 0).ok)
    assert.throws(() => decode({ secrets: ["not base64!"], key_encoding: "base64" }), /Base64/)
  })
})

describe("SfmcSignature: the handshake of a new callback", () => {
  const sent = { callbackId: "8c0e35a1-77f2", verificationKey: "vk-54-ABC+/=" }

  it("is answered by a call with its two members", () => {
    assert.deepStrictEqual(handshakeOf({}, bytes(JSON.stringify(sent))), {
      ...sent,
      call: { method: "POST", path: "/platform/v1/ens-verify", json: sent },
    })
  })

  it("passes on no other members of the request", () => {
    const found = handshakeOf({}, bytes(JSON.stringify({ ...sent, url: "https://evil.example", path: "/x" })))
    assert.deepStrictEqual(found?.call, { method: "POST", path: "/platform/v1/ens-verify", json: sent })
  })

  it("does not match requests that must be signed", () => {
    const event = { ...sent, eventCategoryType: "EngagementEvents.EmailOpen" }
    for (const other of [[], [sent], {}, event, null, "x", { callbackId: "a" }, { verificationKey: "b" }]) {
      assert.isUndefined(handshakeOf({}, bytes(JSON.stringify(other))), JSON.stringify(other))
    }
    assert.isUndefined(handshakeOf(headers, bytes(JSON.stringify(sent))))
    for (const text of ["", "{", "\ud800"]) assert.isUndefined(handshakeOf({}, bytes(text)))
  })

  it("requires two short printable texts", () => {
    for (const bad of ["", " ", "a b", "a\r\nb", "é", "x".repeat(201), 7, null, {}, ["a"]]) {
      assert.isUndefined(handshakeOf({}, bytes(JSON.stringify({ ...sent, callbackId: bad }))))
      assert.isUndefined(handshakeOf({}, bytes(JSON.stringify({ ...sent, verificationKey: bad }))))
    }
    assert.isUndefined(handshakeOf({}, bytes(JSON.stringify({ ...sent, more: "x".repeat(5_000) }))))
  })

  it("does not pass the signature check", () => {
    assert.isFalse(check(settings, {}, bytes(JSON.stringify(sent)), 0).ok)
  })
})
