import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import * as Breaker from "../../src/delivery/CircuitBreaker.ts"
import type { SendResult } from "../../src/delivery/Connection.ts"
import {
  accepted,
  broken,
  deferred,
  ofRecipient,
  refused,
  retry,
  slowDown,
  unfit,
} from "../../src/delivery/connections/Answers.ts"
import { afterAttempt, type FailureOwner, judge, noBlames, ownerOf } from "../../src/delivery/FailureOwner.ts"

const ok = accepted()

/** Each result with its owner, and whether it closes an open breaker of the connection and of the domain. */
const table: ReadonlyArray<readonly [string, SendResult, FailureOwner | undefined, boolean, boolean]> = [
  ["an acceptance", ok, undefined, true, true],
  ["a refusal", refused("550"), "message", true, true],
  ["a message that cannot be written", unfit("no subject"), "message", false, false],
  ["an attempt that was given up", { _tag: "yielded", reason: "slow" }, undefined, false, false],
  ["refused credentials", broken("401"), "connection", false, false],
  ["a failure of the platform", retry("500"), "connection", false, false],
  ["a request for less", slowDown("429"), "connection", false, false],
  ["a temporary reply about the recipient", deferred("451"), "recipient", true, false],
  ["a cut after the message", ofRecipient(retry("cut", true)), "recipient", false, false],
  ["a request for less from the domain", ofRecipient(slowDown("450")), "recipient", true, false],
]

/** A breaker that is open for probes at time 100. */
const failing = { ...Breaker.closed, trouble: { state: "failing", reason: "r", since: 0 }, failures: 9 } as const

describe("FailureOwner", () => {
  for (const [title, result, owner, closesConnection, closesDomain] of table) {
    it(`${title} belongs to: ${owner ?? "nobody"}`, () => {
      assert.strictEqual(ownerOf(result), owner)
      for (const [scope, closes] of [["connection", closesConnection], ["recipient", closesDomain]] as const) {
        const after = afterAttempt(failing, scope, result, 100, 110)
        if (closes) assert.isUndefined(after.trouble, scope)
        else if (owner === scope) assert.notStrictEqual(after, failing, `it feeds the breaker of the ${scope}`)
        else assert.strictEqual(after, failing, `it leaves the breaker of the ${scope}`)
      }
    })
  }

  it("attributes a second connection failure to the message if another message was accepted in between", () => {
    const gone = broken("404")
    const [first, answer] = judge(noBlames, "a", gone, 0, 10)
    assert.strictEqual(answer, gone)
    assert.strictEqual(judge(first, "a", gone, 20, 30)[1], gone, "nothing was accepted")
    const [late] = judge(first, "b", ok, 5, 30)
    assert.strictEqual(judge(late, "a", gone, 40, 50)[1], gone, "the accepted one left before")
    const [accepting] = judge(first, "b", ok, 20, 30)
    assert.deepStrictEqual(judge(accepting, "a", gone, 40, 50)[1], ofRecipient(retry("404")))
    assert.strictEqual(judge(accepting, "c", gone, 40, 50)[1], gone, "the first one of another message")
  })

  it("attributes the fifth rate-limit answer to the message, with the requested wait", () => {
    const less = slowDown("429", Duration.seconds(7))
    let blames = noBlames
    const results: Array<SendResult> = []
    for (let now = 0; now < 500; now += 100) {
      const [next, result] = judge(blames, "a", less, now, now + 10)
      blames = judge(next, "b", ok, now + 20, now + 30)[0]
      results.push(result)
    }
    assert.deepStrictEqual(results, [less, less, less, less, ofRecipient(retry("429", false, Duration.seconds(7)))])
  })

  it("forgets accepted messages, and remembers at most 1,000 messages", () => {
    const gone = broken("404")
    let blames = judge(noBlames, "a", gone, 0, 10)[0]
    blames = judge(judge(blames, "a", ok, 20, 30)[0], "b", ok, 20, 30)[0]
    assert.strictEqual(judge(blames, "a", gone, 40, 50)[1], gone)
    for (let n = 0; n < 1_100; n++) blames = judge(blames, `m${n}`, gone, 60, 70)[0]
    assert.strictEqual(blames.messages.size, 1_000)
  })
})
