import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { generateKeyPairSync } from "node:crypto"
import { keyRecordOf, makeKey, readKey, zoneLineOf } from "../../../src/delivery/dkim/DkimKey.ts"

const rsa = (modulusLength: number, type: "pkcs1" | "pkcs8" = "pkcs8"): string =>
  String(generateKeyPairSync("rsa", { modulusLength }).privateKey.export({ type, format: "pem" }))

const faultOf = (text: string): string => {
  const read = readKey(text)
  return Result.isFailure(read) ? read.failure : "none"
}

describe("makeKey", () => {
  it.effect("makes an RSA key of 2,048 bits that can be read again", () =>
    Effect.gen(function* () {
      const key = yield* makeKey()
      assert.strictEqual(key.bits, 2048)
      assert.deepStrictEqual(Result.getOrThrow(readKey(key.privateKey)), key)
    }))
})

describe("readKey", () => {
  it("accepts PKCS#1 and PKCS#8 RSA keys, also without line breaks", () => {
    for (const type of ["pkcs1", "pkcs8"] as const) {
      const pem = rsa(1024, type)
      const key = Result.getOrThrow(readKey(pem))
      assert.strictEqual(key.bits, 1024)
      for (const pasted of [pem.replaceAll("\n", ""), pem.replaceAll("\n", " "), pem.replaceAll("\n", "\r\n")]) {
        assert.deepStrictEqual(Result.getOrThrow(readKey(`  ${pasted}\n`)), key)
      }
    }
  })

  it("rejects other keys with the reason", () => {
    const ed25519 = generateKeyPairSync("ed25519")
    const pem = { type: "pkcs8", format: "pem" } as const
    assert.include(faultOf(String(ed25519.privateKey.export(pem))), "must be an RSA key, not ed25519")
    assert.include(faultOf(rsa(768)), "has 768 bits")
    assert.include(
      faultOf(String(ed25519.publicKey.export({ type: "spki", format: "pem" }))),
      "not an encrypted key, a public key",
    )
    const encrypted = { ...pem, cipher: "aes-256-cbc", passphrase: "x" }
    assert.include(faultOf(String(ed25519.privateKey.export(encrypted))), "without a passphrase")
    assert.include(faultOf(rsa(1024).replace(/\n.{64}\n/, "\n")), "cut off or damaged")
    for (const text of ["", "secret", "-----BEGIN PRIVATE KEY-----"]) assert.include(faultOf(text), "in PEM form")
    // No fault contains a part of the key.
    const secret = rsa(768)
    assert.notInclude(faultOf(secret), secret.slice(100, 110))
  })
})

describe("zoneLineOf", () => {
  it("splits a long value into strings of at most 255 characters", () => {
    const record = keyRecordOf({ domain: "shop.example", selector: "s1", publicKey: "A".repeat(392) })
    assert.strictEqual(record.name, "s1._domainkey.shop.example")
    const line = zoneLineOf(record)
    assert.match(line, /^s1\._domainkey\.shop\.example\. TXT "v=DKIM1; k=rsa; p=A{237}" "A{155}"$/)
  })
})
