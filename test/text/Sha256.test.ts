import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { createHash } from "node:crypto"
import { sha256 } from "../../src/text/Sha256.ts"

describe("sha256", () => {
  it("equals the digest of Node's hash for any text, one after another", () => {
    assert.strictEqual(sha256(""), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU")
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        const wellFormed = text.toWellFormed()
        assert.strictEqual(sha256(wellFormed), createHash("sha256").update(wellFormed).digest("base64url"))
      }),
    )
  })
})
