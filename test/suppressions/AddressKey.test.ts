import { assert, describe, it } from "@effect/vitest"
import { addressKey } from "../../src/suppressions/AddressKey.ts"

describe("addressKey", () => {
  const same = (...spellings: ReadonlyArray<string>) =>
    assert.deepStrictEqual([...new Set(spellings.map(addressKey))], [addressKey(spellings[0]!)], spellings.join(" "))

  it("is identical for spellings that differ in case, surrounding white space and Unicode form", () => {
    assert.strictEqual(addressKey(" Ada.Lovelace@Example.COM\n"), "ada.lovelace@example.com")
    same("ada@bücher.example", "ADA@BÜCHER.example", "ada@xn--bcher-kva.example", "ada@bu\u0308cher.example")
    same("jürgen@example.com", "JÜRGEN@example.com", "ju\u0308rgen@example.com")
    same("λόγος@example.com", "ΛΌΓΟΣ@example.com", "λόγοσ@example.com")
  })

  it("uses the address inside a name, a comment or a prefix", () => {
    same(
      "ada@example.com",
      "Ada <ADA@example.com>",
      '"L., Ada" <ada@example.com>',
      "mailto:ada@example.com",
      "ada@example.com (Ada)",
    )
  })

  it("distinguishes addresses that may belong to different people", () => {
    const addresses = [
      "ada@example.com",
      "ada+news@example.com",
      "a.da@example.com",
      "ada@mail.example.com",
      "straße@example.com",
      "strasse@example.com",
      "ada@straße.example",
      "ada@strasse.example",
    ]
    assert.strictEqual(new Set(addresses.map(addressKey)).size, addresses.length)
  })

  it("is undefined for texts that are no addresses", () => {
    for (
      const text of ["", "ada", "@example.com", "ada@", "a b@example.com", `${"a".repeat(250)}@example.com`, "a\0@b.c"]
    ) {
      assert.isUndefined(addressKey(text), text)
    }
    assert.isUndefined(addressKey("\ud800@example.com"), "half of a surrogate pair")
  })

  it("is idempotent: the key of a key is the key", () => {
    for (const text of ["Ada@BÜCHER.example", "ΛΌΓΟΣ@example.com", "İpek@example.com", "ada@☃.example"]) {
      const key = addressKey(text)!
      assert.strictEqual(addressKey(key), key, text)
    }
  })
})
