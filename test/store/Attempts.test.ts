import { assert, describe, it } from "@effect/vitest"
import { Cause } from "effect"
import { ConnectionError, DeadlockError, SqlError, UniqueViolation, UnknownError } from "effect/sql/SqlError"
import { isByCircumstance, isSpent, reasonOf } from "../../src/store/Attempts.ts"

const error = (code: string) => {
  const props = { cause: Object.assign(new Error(code), { code }), message: `SQLSTATE ${code}`, operation: "query" }
  if (code === "08006") return new SqlError({ reason: new ConnectionError(props) })
  if (code === "40P01") return new SqlError({ reason: new DeadlockError(props) })
  if (code === "23505") return new SqlError({ reason: new UniqueViolation({ ...props, constraint: "c" }) })
  return new SqlError({ reason: new UnknownError(props) })
}

describe("Attempts", () => {
  it("sets work aside after three failed attempts", () => {
    assert.deepStrictEqual([0, 1, 2, 3, 4].map(isSpent), [false, false, false, true, true])
  })

  it("does not count failures unrelated to the work", () => {
    for (const code of ["08006", "57P01", "57P03", "53300", "25006", "40P01"]) {
      assert.isTrue(isByCircumstance(Cause.fail(error(code))), code)
      assert.isTrue(isByCircumstance(Cause.die(error(code))), code)
    }
    assert.isTrue(isByCircumstance(Cause.interrupt(1)))
    assert.isTrue(isByCircumstance(Cause.combine(Cause.interrupt(1), Cause.fail(error("57P01")))))
  })

  it("counts faults of the data, exceptions, and a transaction that the server ended for being idle", () => {
    for (const code of ["22P02", "23505", "54000", "25P03", "42601"]) {
      assert.isFalse(isByCircumstance(Cause.fail(error(code))), code)
    }
    assert.isFalse(isByCircumstance(Cause.die(new TypeError("x is undefined"))))
    assert.isFalse(isByCircumstance(Cause.fail("any other failure")))
    assert.isFalse(isByCircumstance(Cause.combine(Cause.interrupt(1), Cause.die("a defect"))))
  })

  it("returns a reason of limited length that can be stored", () => {
    assert.strictEqual(reasonOf(Cause.die(new Error("no\0 \ud800"))), "no \ufffd")
    assert.strictEqual(reasonOf(Cause.fail(`${"x".repeat(999)}😀`)).length, 1_000)
    assert.isTrue(reasonOf(Cause.fail(`${"x".repeat(999)}😀`)).isWellFormed())
  })
})
