import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import * as fc from "fast-check"
import { outcomeOf, retryPause, storable, untried } from "../../src/delivery/AttemptOutcome.ts"
import type { SendResult } from "../../src/delivery/Connection.ts"
import type { Segment } from "../../src/domain/Source.ts"

const policy = { attempts: 3, firstPause: Duration.seconds(5) }
const message = (attempt = 1) => ({ id: "m", templateId: "t", attempt })
const fields = { id: "m", templateId: "t", connection: "main" }
const outcome = (result: SendResult, attempt = 1, jitter = 0.5) =>
  outcomeOf(message(attempt), result, "main", policy, jitter)

describe("AttemptOutcome", () => {
  it("records an acceptance with the platform's names, as the store can keep them", () => {
    assert.deepStrictEqual<unknown>(
      outcome({
        _tag: "accepted",
        messageId: "a\0b",
        links: [{ source: "provider_a" as Segment, messageKey: "k\ud800" }],
      }),
      { ...fields, _tag: "sent", messageId: "a\ufffdb", links: [{ source: "provider_a", messageKey: "k\ufffd" }] },
    )
    assert.deepStrictEqual<unknown>(
      outcome({ _tag: "accepted", messageId: undefined, links: [] }),
      { ...fields, _tag: "sent", messageId: undefined, links: [] },
    )
  })

  it("fails a message that the platform refuses or cannot be given", () => {
    for (const _tag of ["refused", "unfit"] as const) {
      assert.deepStrictEqual<unknown>(outcome({ _tag, reason: "no" }), { ...fields, _tag: "failed", reason: "no" })
    }
  })

  it("does not count an attempt that says nothing about the message", () => {
    const again = { ...fields, _tag: "again", reason: "not now", delayMillis: 0, burned: false }
    for (const attempt of [1, 3, 100]) {
      assert.deepStrictEqual<unknown>(outcome({ _tag: "broken", reason: "not now" }, attempt), again)
      assert.deepStrictEqual<unknown>(
        outcome({ _tag: "slow-down", reason: "not now", wait: Duration.seconds(3) }, attempt),
        again,
      )
    }
    assert.deepStrictEqual<unknown>(untried(message(), "main", "not now"), again)
  })

  it("queues a failed attempt again, until it was the last", () => {
    const failure = { _tag: "retry", reason: "busy", uncertain: false } as const
    assert.deepStrictEqual<unknown>(
      outcome(failure, 2),
      { ...fields, _tag: "again", reason: "busy", delayMillis: 10_000, burned: true },
    )
    for (const attempt of [3, 4]) {
      assert.deepStrictEqual<unknown>(
        outcome(failure, attempt),
        { ...fields, _tag: "failed", reason: `Given up after ${attempt} attempts: busy` },
      )
    }
  })

  it("doubles the pause with each attempt up to an hour, with jitter of half of it either way", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 1, max: 600 }), (attempt, seconds) => {
        const first = Duration.seconds(seconds)
        const middle = retryPause(attempt, first, 0.5)
        assert.strictEqual(middle, Math.min(3_600_000, seconds * 1_000 * 2 ** (attempt - 1)))
        assert.strictEqual(retryPause(attempt, first, 0), middle / 2)
        assert.isBelow(retryPause(attempt, first, 0.999), middle * 1.5)
      }),
    )
  })

  it("keeps a reason short and free of characters that the store refuses", () => {
    const reason = storable(`${"x".repeat(999)}\0\ud800`)
    assert.strictEqual(reason, `${"x".repeat(999)}\ufffd`)
  })
})
