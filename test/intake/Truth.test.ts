import { assert, describe, it } from "@effect/vitest"
import { flagIn, readTruth } from "../../src/intake/Truth.ts"

describe("readTruth", () => {
  it("reads the truth values of JSON, Python, SQL exports and forms", () => {
    for (const value of [true, "true", "True", "TRUE", " true ", 1, "1", "yes", "Y", "on", "t", "1.0"]) {
      assert.deepStrictEqual(readTruth(value), { value: true }, String(value))
    }
    for (const value of [false, "false", "False", "FALSE", 0, "0", "no", "N", "off", "f", "0.0"]) {
      assert.deepStrictEqual(readTruth(value), { value: false }, String(value))
    }
  })

  it("rejects everything else", () => {
    for (const value of ["maybe", "", " ", 2, -1, NaN, "truee", "Googlebot", null, [], {}, [true], "y".repeat(99)]) {
      assert.isTrue("wrong" in readTruth(value), String(value))
    }
  })
})

describe("flagIn", () => {
  const of = (item: object, at = "") => flagIn([{ item: item as Record<string, unknown>, at }])

  it("is true if any member is true, even after an unreadable one", () => {
    assert.deepStrictEqual(of({ automated: false, is_bot: "yes" }), { automated: true })
    assert.deepStrictEqual(of({ automated: "maybe", is_bot: 1 }), { automated: true })
    assert.deepStrictEqual(of({ automated: "no", bot: null }), { automated: false })
  })

  it("reports the first member that is neither true nor false", () => {
    const { automated, fault } = of({ automated: false, is_bot: "maybe" })
    assert.isFalse(automated)
    assert.strictEqual(fault?.member, "/is_bot")
    assert.include(fault!.reason, 'is_bot "maybe" is neither true nor false')
  })

  it("takes the name of a machine for true in machine_open", () => {
    assert.deepStrictEqual(of({ machine_open: "Apple" }), { automated: true })
    assert.deepStrictEqual(of({ machine_open: "false" }), { automated: false })
    assert.deepStrictEqual(of({ machine_open: "" }).automated, false)
  })

  it("ignores bot and machine in business data", () => {
    assert.deepStrictEqual(of({ machine: "Espresso 3000" }, "/properties"), { automated: false })
    assert.isDefined(of({ machine: "Espresso 3000" }).fault)
  })
})
