import { assert, describe, it } from "@effect/vitest"
import * as KeyText from "../../src/auth/KeyText.ts"

describe("the text of an API key", () => {
  it("holds its id and is genuine by its checksum", () => {
    const { id, key } = KeyText.make()
    assert.match(key, /^plk_[a-z0-9]{16}_[0-9A-Za-z]{46}$/)
    assert.strictEqual(KeyText.idOf(key), id)
    assert.isTrue(KeyText.isGenuine(key))
  })

  it("is not genuine with one character changed", () => {
    const { key } = KeyText.make()
    const at = key.length - 10
    assert.isFalse(KeyText.isGenuine(key.slice(0, at) + (key[at] === "a" ? "b" : "a") + key.slice(at + 1)))
  })

  it("never comes twice", () => {
    assert.strictEqual(new Set(Array.from({ length: 2000 }, () => KeyText.make().key)).size, 2000)
  })

  it("is refused in any other form, however long", () => {
    const { key } = KeyText.make()
    for (
      const other of ["", "plk_", key.slice(1), `${key}x`, key.toUpperCase(), "x".repeat(10_000), key.replace("_", "-")]
    ) {
      assert.isUndefined(KeyText.idOf(other))
    }
  })

  it("has the SHA-256 of all of it as its digest", () => {
    assert.strictEqual(KeyText.digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  })
})
