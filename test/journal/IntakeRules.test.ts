import { assert, describe, it } from "@effect/vitest"
import { Cause } from "effect"
import { ConnectionError, SqlError, UnknownError } from "effect/sql/SqlError"
import { type Taking, verdictOf } from "../../src/journal/inbox/IntakeRules.ts"
import { WorkFailed } from "../../src/store/WorkerProcess.ts"

const sqlError = (code: string) => {
  const props = { cause: Object.assign(new Error("no"), { code }), message: "failed", operation: "query" }
  return new SqlError({ reason: code === "08006" ? new ConnectionError(props) : new UnknownError(props) })
}
const workFailed = (reason: WorkFailed["reason"], note?: number) =>
  Cause.fail(new WorkFailed({ reason, detail: "takes longer than 5s", note }))

const batch: Taking = { bodies: [1, 2, 3].map((id) => ({ id, attempts: 0 })), isSingle: false }
const alone: Taking = { bodies: [{ id: 1, attempts: 0 }], isSingle: false }
const single = (attempts: number): Taking => ({ bodies: [{ id: 1, attempts }], isSingle: true })

const brief = (taking: Taking, cause: Cause.Cause<unknown>) => {
  const verdict = verdictOf(taking, cause)
  return "id" in verdict ? `${verdict.type} ${verdict.id} after ${verdict.attempts}` : verdict.type
}

describe("bodies whose intake failed", () => {
  it("are released if the database is unavailable, the service stops, or no process starts", () => {
    for (const cause of [Cause.fail(sqlError("08006")), Cause.interrupt(1), workFailed("start", 1)]) {
      for (const taking of [batch, alone, single(3)]) assert.strictEqual(brief(taking, cause), "release")
    }
  })

  it("are read one at a time if the failure does not identify the faulty body", () => {
    for (const cause of [Cause.fail(sqlError("22P02")), Cause.die(new Error("bug")), workFailed("ended")]) {
      assert.strictEqual(brief(batch, cause), "singly")
    }
  })

  it("are retried without the body that was being read, which loses one attempt", () => {
    for (const reason of ["deadline", "ended", "threw"] as const) {
      assert.strictEqual(brief(batch, workFailed(reason, 2)), "retry 2 after 1")
    }
  })

  it("have three attempts each, with a longer pause after the second", () => {
    for (const cause of [workFailed("deadline", 1), Cause.die(new Error("bug")), Cause.fail(sqlError("25P03"))]) {
      assert.strictEqual(brief(alone, cause), "retry 1 after 1")
      assert.strictEqual(brief(single(1), cause), "retry 1 after 1")
      assert.strictEqual(brief(single(2), cause), "retry 1 after 2")
      assert.strictEqual(brief(single(3), cause), "reject 1 after 3")
    }
    const pauses = [1, 2].map((attempts) => verdictOf(single(attempts), workFailed("deadline", 1)))
    assert.deepStrictEqual(pauses.map((verdict) => "pauseSeconds" in verdict && verdict.pauseSeconds), [2, 8])
  })

  it("are rejected at once when the store refuses the data of one of them", () => {
    assert.strictEqual(brief(alone, Cause.fail(sqlError("22P02"))), "reject 1 after 1")
    assert.strictEqual(brief(single(1), Cause.fail(sqlError("23514"))), "reject 1 after 1")
  })

  it("have a reason that is readable in the inbox", () => {
    const reasonOf = (cause: Cause.Cause<unknown>) => {
      const verdict = verdictOf(single(3), cause)
      return "reason" in verdict && verdict.reason
    }
    assert.strictEqual(reasonOf(workFailed("deadline", 1)), "Reading it takes longer than 5s")
    assert.strictEqual(reasonOf(Cause.fail(sqlError("22P02"))), "It could not be stored: no")
  })
})
