import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Parameters from "../../src/api/http/Parameters.ts"
import * as Warnings from "../../src/api/http/Warnings.ts"

const isRefused = (read: Parameters.ReadParameter<unknown>, text: string) => Result.isFailure(read(text))

describe("query parameters", () => {
  it("have defaults, and reject values out of range", () => {
    const limit = Parameters.limit(100, 20).read
    assert.deepStrictEqual([limit(undefined), limit("1"), limit("100")], [20, 1, 100].map(Result.succeed))
    for (const text of ["0", "101", "1.5", "", " ", "x", "-1"]) assert.isTrue(isRefused(limit, text), text)
    assert.deepStrictEqual(Parameters.archived(undefined), Result.succeed("in-use"))
    assert.isTrue(isRefused(Parameters.archived, "yes"))
    assert.isTrue(isRefused(Parameters.flag, "1"))
    assert.isTrue(isRefused(Parameters.oneOf(["a", "b"]), "c"))
    assert.isTrue(isRefused(Parameters.numericPosition(), "-1"))
    assert.isTrue(isRefused(Parameters.position(), "\0"))
  })

  it("reject a space in an address, which is an unescaped +", () => {
    const address = Parameters.ofAddress(Parameters.text("must be an address"))
    assert.deepStrictEqual(address("ann+x@example.com"), Result.succeed("ann+x@example.com"))
    assert.deepStrictEqual(address(undefined), Result.succeed(undefined))
    for (const text of ["ann x@example.com", " ann@example.com", "ann@example.com\n", "\0"]) {
      assert.isTrue(isRefused(address, text), text)
    }
  })

  it("are reported in warnings if they have no effect, in characters allowed in a header", () => {
    const asked = new URLSearchParams([["limit", "1"], ["limit", "2"], ['colour\n;"', "red"], ["ä", "1"]])
    assert.deepStrictEqual(Warnings.ofParameters(asked, (name) => name === "limit"), [
      'the parameter "limit" is given more than once, only the first counts',
      'the parameter "colour\\u000a??" is unknown and has no effect',
      'the parameter "\\u00e4" is unknown and has no effect',
    ])
    const many = new URLSearchParams(Array.from({ length: 50 }, (_, n) => [`${n}`.repeat(100), ""]))
    assert.lengthOf(Warnings.ofParameters(many, () => false), 10)
    assert.isBelow(Warnings.ofParameters(many, () => false).join("; ").length, 1_000)
  })
})
