import { assert, describe, it } from "@effect/vitest"
import * as KeyText from "../../src/auth/KeyText.ts"

describe("the text of an API key", () => {
  it("contains its id and a valid checksum", () => {
    const { id, key } = KeyText.make()
    assert.match(key, /^plk_[a-z0-9]{16}_[0-9A-Za-z]{46}$/)
    assert.strictEqual(KeyText.idOf(key), id)
    assert.isTrue(KeyText.isGenuine(key))
  })

  it("is invalid with one character changed", () => {
    const { key } = KeyText.make()
    const at = key.length - 10
    assert.isFalse(KeyText.isGenuine(key.slice(0, at) + (key[at] === "a" ? "b" : "a") + key.slice(at + 1)))
  })

  it("is unique in 2,000 keys", () => {
    assert.strictEqual(new Set(Array.from({ length: 2000 }, () => KeyText.make().key)).size, 2000)
  })

  it("is rejected in any other form and length", () => {
    const { key } = KeyText.make()
    for (
      const other of ["", "plk_", key.slice(1), `${key}x`, key.toUpperCase(), "x".repeat(10_000), key.replace("_", "-")]
    ) {
      assert.isUndefined(KeyText.idOf(other))
    }
  })

  it("has the SHA-256 of the whole key as its digest", () => {
    assert.strictEqual(KeyText.digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  })
})
