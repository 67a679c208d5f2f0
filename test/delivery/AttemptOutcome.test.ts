import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import * as fc from "fast-check"
import {
  expired,
  expiredText,
  lengthText,
  outcomeOf,
  retryPause,
  type RetryPolicy,
  storable,
  untried,
} from "../../src/delivery/AttemptOutcome.ts"
import { deferred, retry } from "../../src/delivery/connections/Answers.ts"
import type { SendResult } from "../../src/delivery/Connection.ts"
import type { SourceId } from "../../src/domain/Source.ts"

const hour = 3_600_000
const policy: RetryPolicy = {
  attempts: Infinity,
  firstPause: Duration.seconds(5),
  horizon: Duration.hours(24),
  recipientHorizon: Duration.hours(72),
}
const message = (attempt = 1, retryingMillis = 0) => ({ id: "m", templateId: "t", attempt, retryingMillis })
const fields = { id: "m", templateId: "t", connection: "main" }
const outcome = (result: SendResult, attempt = 1, retryingMillis = 0, more: Partial<RetryPolicy> = {}) =>
  outcomeOf(message(attempt, retryingMillis), result, "main", { ...policy, ...more }, 0.5)
const failure: SendResult = retry("busy")

describe("AttemptOutcome", () => {
  it("records an acceptance with the platform's message names, shortened to what the database stores", () => {
    assert.deepStrictEqual<unknown>(
      outcome({
        _tag: "accepted",
        messageId: "a\0b",
        links: [{ source: "provider_a" as SourceId, messageKey: "k\ud800" }],
      }),
      { ...fields, _tag: "sent", messageId: "a\ufffdb", links: [{ source: "provider_a", messageKey: "k\ufffd" }] },
    )
    assert.deepStrictEqual<unknown>(
      outcome({ _tag: "accepted", messageId: undefined, links: [] }),
      { ...fields, _tag: "sent", messageId: undefined, links: [] },
    )
  })

  it("fails a message that the platform refuses or that the connection cannot send", () => {
    for (const _tag of ["refused", "unfit"] as const) {
      assert.deepStrictEqual<unknown>(outcome({ _tag, reason: "no" }), {
        ...fields,
        _tag: "failed",
        reason: "no",
        burned: true,
      })
    }
  })

  it("does not count an attempt that ended because of the connection, a rate limit or a cancellation", () => {
    const again = { ...fields, _tag: "again", reason: "not now", delayMillis: 0, burned: false }
    for (const attempt of [1, 3, 100]) {
      assert.deepStrictEqual<unknown>(outcome({ _tag: "broken", reason: "not now" }, attempt), again)
      assert.deepStrictEqual<unknown>(
        outcome({ _tag: "slow-down", scope: "connection", reason: "not now", wait: Duration.seconds(3) }, attempt),
        again,
      )
      assert.deepStrictEqual<unknown>(outcome({ _tag: "yielded", reason: "not now" }, attempt), again)
      assert.deepStrictEqual<unknown>(
        outcome({ _tag: "yielded", reason: "not now", keepsPlace: true }, attempt),
        { ...again, delayMillis: undefined },
      )
    }
    assert.deepStrictEqual<unknown>(untried(message(), "main", "not now"), again)
  })

  it("retries a failed attempt until the retry horizon ends, then fails with the hours and attempts spent", () => {
    assert.deepStrictEqual<unknown>(
      outcome(failure, 2, 5_000),
      { ...fields, _tag: "again", reason: "busy", delayMillis: 10_000, burned: true },
    )
    assert.strictEqual(outcome(failure, 500, 24 * hour - 1)._tag, "again")
    for (
      const [attempt, millis, text] of [
        [17, 24 * hour, "24 hours and 17 attempts"],
        [2, 71.9 * hour, "71 hours and 2 attempts"],
      ] as const
    ) {
      assert.deepStrictEqual<unknown>(
        outcome(failure, attempt, millis),
        { ...fields, _tag: "failed", reason: `Given up after ${text}: busy`, burned: true },
      )
    }
  })

  it("retries for 72 hours if the recipient's server defers the message", () => {
    const greylisted = deferred("451 4.7.1 Greylisted")
    assert.strictEqual(outcome(greylisted, 40, 72 * hour - 1)._tag, "again")
    assert.deepStrictEqual<unknown>(
      outcome(greylisted, 80, 72 * hour),
      {
        ...fields,
        _tag: "failed",
        reason: "Given up after 72 hours and 80 attempts: 451 4.7.1 Greylisted",
        burned: true,
        event: "failed",
      },
    )
  })

  it("ends a refused message with the event of what the recipient's server means", () => {
    const eventOf = (result: SendResult, attempts = 1, waited = 0) => {
      const settled = outcome(result, attempts, waited)
      return settled._tag === "failed" ? settled.event : settled._tag
    }
    assert.strictEqual(eventOf({ _tag: "refused", reason: "550", refusal: "no-such-mailbox" }), "bounce")
    assert.strictEqual(eventOf({ _tag: "refused", reason: "552", refusal: "mailbox-full" }), "soft_bounce")
    assert.strictEqual(eventOf({ _tag: "refused", reason: "550", refusal: "disabled" }), "soft_bounce")
    assert.strictEqual(eventOf({ _tag: "refused", reason: "554", refusal: "sender-policy" }), "failed")
    assert.strictEqual(eventOf({ _tag: "refused", reason: "554", refusal: "content-policy" }), "failed")
    assert.isUndefined(eventOf({ _tag: "refused", reason: "A platform answered 400" }))
    assert.isUndefined(eventOf({ _tag: "unfit", reason: "no subject" }))
  })

  it("ends a deferred message with the event of the last reply, however hard its words", () => {
    const eventOf = (reply: string) => {
      const settled = outcome(deferred(`The SMTP server answered ${reply}`), 80, 72 * hour)
      return settled._tag === "failed" ? settled.event : settled._tag
    }
    assert.strictEqual(eventOf("452 4.2.2 Mailbox full"), "soft_bounce")
    assert.strictEqual(eventOf("450 4.1.1 User unknown"), "soft_bounce")
    assert.strictEqual(eventOf("450 4.7.1 Client host blocked using a block list"), "failed")
  })

  it("makes the last attempt when the horizon ends", () => {
    const last = outcome(failure, 100, 23.75 * hour)
    assert.deepInclude(last, { _tag: "again", delayMillis: hour / 4 })
  })

  it("waits as long as the platform asks, even beyond the usual pause and the horizon", () => {
    const after = (wait: Duration.Duration, attempt = 1, retryingMillis = 0) =>
      outcome(retry("busy", false, wait), attempt, retryingMillis)
    assert.deepInclude(after(Duration.minutes(2)), { _tag: "again", delayMillis: 120_000, burned: true })
    assert.deepInclude(after(Duration.seconds(1)), { _tag: "again", delayMillis: 5_000 })
    assert.deepInclude(after(Duration.hours(3), 30, 23 * hour), { _tag: "again", delayMillis: 3 * hour })
    assert.strictEqual(after(Duration.hours(3), 30, 24 * hour)._tag, "failed")
  })

  it("fails after the maximum number of attempts if one is configured", () => {
    assert.strictEqual(outcome(failure, 2, 0, { attempts: 3 })._tag, "again")
    for (const [attempt, text] of [[3, "3 attempts"], [4, "4 attempts"]] as const) {
      assert.deepStrictEqual<unknown>(
        outcome(failure, attempt, 24 * hour, { attempts: 3 }),
        { ...fields, _tag: "failed", reason: `Given up after ${text}: busy`, burned: true },
      )
    }
    assert.deepInclude(outcome(failure, 1, 0, { attempts: 1 }), { reason: "Given up after 1 attempt: busy" })
  })

  it("makes the last attempt exactly at the horizon, for any first pause and jitter", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 600_000 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (first, jitter) => {
          const limits = { ...policy, firstPause: Duration.millis(first) }
          let retrying = 0
          for (let attempt = 1; attempt < 1_000; attempt++) {
            const settled = outcomeOf(message(attempt, retrying), failure, "main", limits, jitter)
            if (settled._tag !== "again") return assert.approximately(retrying, 24 * hour, 1)
            retrying += settled.delayMillis!
          }
          assert.fail("it is never given up")
        },
      ),
    )
  })

  it("names lengths of time in whole hours, minutes or seconds", () => {
    assert.deepStrictEqual(
      [0, 400, 1_000, 59_000, 60_000, 119_000, 2 * hour - 1, 2 * hour, 96 * hour].map(lengthText),
      ["1 second", "1 second", "1 second", "59 seconds", "1 minute", "1 minute", "1 hour", "2 hours", "96 hours"],
    )
  })

  it("fails an expired message without counting an attempt", () => {
    const expiry = {
      expiresAt: new Date("2026-05-04T09:30:00Z"),
      monotonicMillis: 1_000,
      attempts: 0,
      reason: null,
    }
    assert.isUndefined(expired(message(), "main", 5_000))
    assert.isUndefined(expired({ ...message(), expiry }, "main", 999.9))
    for (const now of [1_000, 1e9]) {
      assert.deepStrictEqual<unknown>(expired({ ...message(), expiry }, "main", now), {
        ...fields,
        _tag: "failed",
        reason: "Expired at 2026-05-04T09:30:00.000Z before it was sent",
        burned: false,
      })
    }
    const texts = [{ attempts: 1 }, { attempts: 3 }, { attempts: 0 }].map((tried) =>
      expiredText({ ...expiry, ...tried, reason: "451 Greylisted" })
    )
    assert.deepStrictEqual(texts, [
      "Expired at 2026-05-04T09:30:00.000Z after 1 attempt: 451 Greylisted",
      "Expired at 2026-05-04T09:30:00.000Z after 3 attempts: 451 Greylisted",
      "Expired at 2026-05-04T09:30:00.000Z before it was sent: 451 Greylisted",
    ])
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
