import { Buffer } from "node:buffer"
import { assert, describe, it } from "@effect/vitest"
import { type BearerTokenSettings, check } from "../../../src/intake/signatures/BearerToken.ts"
import * as SenderToken from "../../../src/intake/signatures/SenderToken.ts"
import * as Iterable from "../../../src/intake/signatures/IterableSignature.ts"

const body = new TextEncoder().encode(`{"events":[]}`)
const secrets = ["kJ8s-2Lq_0aZ.44x"]
const encoded = btoa(secrets[0]!)

const braze = (authorization: string, settings: BearerTokenSettings = { secrets }) =>
  check(settings, { authorization }, body, 0)
const iterable = (authorization: string, settings: BearerTokenSettings = { secrets }) =>
  Iterable.check(settings, { authorization }, body, 0)

describe("BearerToken", () => {
  it("accepts the token or its Base64 after Bearer in any case", () => {
    for (
      const value of [`Bearer ${secrets[0]}`, `bearer ${secrets[0]}`, `BEARER   ${secrets[0]}`, `Bearer ${encoded}`]
    ) {
      assert.deepStrictEqual(braze(value), { ok: true }, value)
    }
  })

  it("accepts a token that was entered as Base64 only in this form", () => {
    assert.isTrue(braze(`Bearer ${encoded}`, { secrets: [encoded] }).ok)
    assert.isFalse(braze(`Bearer ${secrets[0]}`, { secrets: [encoded] }).ok)
  })

  it("rejects the token without Bearer, or after another word", () => {
    for (const value of [secrets[0]!, `Basic ${secrets[0]}`, `Token ${secrets[0]}`, `Bearer${secrets[0]}`]) {
      assert.deepStrictEqual(braze(value), {
        ok: false,
        reason: "The header authorization must be bearer, a space, and the token",
      })
    }
  })

  it("rejects similar tokens", () => {
    const token = secrets[0]!
    const wrong = [
      token.toUpperCase(),
      token.slice(1),
      `${token}x`,
      btoa(encoded),
      encoded.replace(/=+$/, ""),
      "%6bJ8s",
      "*",
      "",
    ]
    for (const value of wrong) assert.isFalse(braze(`Bearer ${value}`).ok, value)
  })

  it("reports a header that was sent twice", () => {
    const verdict = braze(`Bearer ${secrets[0]}, Bearer ${secrets[0]}`)
    assert.deepStrictEqual(verdict, { ok: false, reason: "The header authorization was sent more than once" })
  })

  it("reads the configured header, where the token may be alone", () => {
    const settings = { secrets, header: "x-parlance-token" }
    const at = (headers: Readonly<Record<string, string>>) => check(settings, headers, body, 0).ok
    assert.isTrue(at({ "x-parlance-token": secrets[0]! }))
    assert.isTrue(at({ "x-parlance-token": `Bearer ${secrets[0]}` }))
    assert.isFalse(at({ authorization: `Bearer ${secrets[0]}` }))
    assert.isFalse(check({ secrets, header: "constructor" }, {}, body, 0).ok)
  })
})

describe("IterableSignature", () => {
  it("accepts the token alone, and after Basic, OAuth2 or Bearer", () => {
    for (const value of ["", "Basic ", "OAuth2 ", "Bearer ", "oauth2 "]) {
      assert.deepStrictEqual(iterable(value + secrets[0]), { ok: true }, value)
    }
    assert.isFalse(iterable(`Token ${secrets[0]}`).ok)
  })

  it("accepts user and password in Base64 after Basic only", () => {
    const settings = { secrets: ["hooks:pa55word"] }
    assert.isTrue(iterable(`Basic ${btoa("hooks:pa55word")}`, settings).ok)
    assert.isFalse(iterable(`OAuth2 ${btoa("hooks:pa55word")}`, settings).ok)
    assert.isFalse(iterable(btoa("hooks:pa55word"), settings).ok)
  })

  it("ignores signature headers", () => {
    assert.isFalse(Iterable.check({ secrets }, { "x-iterable-signature": secrets[0]! }, body, 0).ok)
  })
})

describe("SenderToken", () => {
  const isAccepted = (headers: Readonly<Record<string, string>>, settings: BearerTokenSettings = { secrets }) =>
    SenderToken.check(settings, headers, body, 0).ok

  it("accepts the secret as the password of any user, after Bearer, and alone in x-webhook-secret", () => {
    for (const user of ["", "postmark", "a b", "Zoë"]) {
      const credentials = Buffer.from(`${user}:${secrets[0]}`).toString("base64")
      assert.isTrue(isAccepted({ authorization: `Basic ${credentials}` }), user)
    }
    assert.isTrue(isAccepted({ authorization: `Bearer ${secrets[0]}` }))
    assert.isTrue(isAccepted({ "x-webhook-secret": secrets[0]! }))
    assert.isTrue(isAccepted({ "x-own": secrets[0]! }, { secrets, header: "x-own" }))
  })

  it("checks the user name if the secret contains it", () => {
    const settings = { secrets: ["hooks:pa55word"] }
    assert.isTrue(isAccepted({ authorization: `Basic ${btoa("hooks:pa55word")}` }, settings))
    for (const credentials of ["other:pa55word", "pa55word", ":pa55word"]) {
      assert.isFalse(isAccepted({ authorization: `Basic ${btoa(credentials)}` }, settings), credentials)
    }
  })

  it("rejects other forms, and x-webhook-secret next to other credentials or a header of the source", () => {
    for (const value of [secrets[0]!, `Basic ${secrets[0]}`, `Token ${secrets[0]}`, `Basic ${btoa("a:b")}`, "Basic "]) {
      assert.isFalse(isAccepted({ authorization: value }), value)
    }
    assert.isFalse(isAccepted({ authorization: "Bearer wrong", "x-webhook-secret": secrets[0]! }))
    assert.isFalse(isAccepted({ "x-webhook-secret": secrets[0]! }, { secrets, header: "x-own" }))
  })
})
