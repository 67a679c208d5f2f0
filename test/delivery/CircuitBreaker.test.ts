import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Breaker from "../../src/delivery/CircuitBreaker.ts"
import { troubleOf } from "../../src/delivery/Lane.ts"

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const start = Date.UTC(2026, 4, 4)

/**
 * Holds the circuit breaker of a connection or of a domain. Attempts begin when they end, unless a test says otherwise.
 */
class Held {
  breaker = Breaker.closed
  constructor(readonly policy: Breaker.BreakerPolicy) {}
  succeeded(startedAt: number): void {
    this.breaker = Breaker.succeed(this.breaker, startedAt)
  }
  failed(reason: string, now: number, startedAt = now): void {
    this.breaker = Breaker.fail(this.breaker, this.policy, reason, startedAt, now)
  }
  broken(reason: string, now: number): void {
    this.breaker = Breaker.breakDown(this.breaker, reason, now, now)
  }
  slowedDown(reason: string, wait: number | undefined, now: number, startedAt = now): void {
    this.breaker = Breaker.slowDown(this.breaker, this.policy, reason, wait, startedAt, now)
  }
  isSilent(now: number): boolean {
    return Breaker.isSilent(this.breaker, now)
  }
  get resumesAt(): number {
    return this.breaker.silentUntil
  }
  get probeAt(): number {
    return this.breaker.probeAt
  }
  get probing(): boolean {
    return Breaker.isProbing(this.breaker, this.policy)
  }
  get trouble() {
    return troubleOf(this.breaker, 0)
  }
}

const ofConnection = () => new Held(Breaker.connectionPolicy)
const ofDomain = () => new Held(Breaker.domainPolicy)

const failTimes = (health: Held, times: number, now: number) => {
  for (let i = 0; i < times; i++) health.failed(`failure ${i + 1}`, now)
}

type Said =
  | { readonly tag: "accepted" | "refused" | "failed" | "broken" }
  | { readonly tag: "slow"; readonly wait: number | undefined }

const say = (health: Held, said: Said, now: number) => {
  switch (said.tag) {
    case "accepted":
      return health.succeeded(now)
    case "refused":
      return health.succeeded(now)
    case "failed":
      return health.failed("it failed", now)
    case "broken":
      return health.broken("it is broken", now)
    case "slow":
      return health.slowedDown("too fast", said.wait, now)
  }
}

const said: fc.Arbitrary<Said> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<Said>({ tag: "accepted" }, { tag: "refused" }) },
  { weight: 12, arbitrary: fc.constant<Said>({ tag: "failed" }) },
  { weight: 1, arbitrary: fc.constant<Said>({ tag: "broken" }) },
  {
    weight: 1,
    arbitrary: fc.record({
      tag: fc.constant("slow" as const),
      wait: fc.option(fc.integer({ min: -second, max: 2 * hour }), { nil: undefined }),
    }),
  },
)

/** Answers of a platform, each with the milliseconds before it. */
const story = fc.array(fc.tuple(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 * minute })), said), {
  maxLength: 80,
})

describe("CircuitBreaker of a connection", () => {
  it("stays closed until ten consecutive failures, and restarts the count at an acceptance or refusal", () => {
    const health = ofConnection()
    assert.deepStrictEqual([health.trouble, health.probing], [null, false])
    failTimes(health, 9, start)
    assert.strictEqual(health.trouble, null)
    assert.isAtMost(health.resumesAt, start)
    health.succeeded(start)
    failTimes(health, 9, start)
    assert.strictEqual(health.trouble, null, "what was accepted between counts")
    health.succeeded(start)
    failTimes(health, 9, start)
    assert.strictEqual(health.trouble, null, "who refuses one message listens")
  })

  it("opens after ten consecutive failures for 5 seconds and reports the last failure", () => {
    const health = ofConnection()
    failTimes(health, 10, start)
    assert.deepStrictEqual(health.trouble, {
      state: "failing",
      reason: "failure 10",
      since: new Date(start).toISOString(),
      until: new Date(start + 5 * second).toISOString(),
    })
    assert.strictEqual(health.resumesAt, start + 5 * second)
    assert.isTrue(health.probing)
  })

  it("probes with one message, doubling the pause after each failure up to one minute", () => {
    const health = ofConnection()
    failTimes(health, 10, start)
    const pauses = [health.resumesAt - start]
    for (let i = 0; i < 6; i++) {
      const now = health.resumesAt
      health.failed("still", now)
      pauses.push(health.resumesAt - now)
      assert.isTrue(health.probing)
    }
    assert.deepStrictEqual(pauses.map((pause) => pause / second), [5, 10, 20, 40, 60, 60, 60])
    assert.strictEqual(health.trouble?.since, new Date(start).toISOString(), "it has been failing all the time")
  })

  it("closes when a probe is accepted, and opens again only after ten failures", () => {
    const health = ofConnection()
    failTimes(health, 10, start)
    health.failed("still", start + 5 * second)
    const now = health.resumesAt
    health.succeeded(now)
    assert.deepStrictEqual([health.trouble, health.probing], [null, false])
    failTimes(health, 9, now)
    assert.strictEqual(health.trouble, null)
    health.failed("again", now)
    assert.strictEqual(health.resumesAt, now + 5 * second)
  })

  it("ignores results of attempts that started before it opened", () => {
    const health = ofConnection()
    failTimes(health, 10, start)
    for (let i = 0; i < 50; i++) health.failed("late", start + second, start - 1)
    health.failed("later than the pause", start + 6 * second, start - 1)
    assert.strictEqual(health.resumesAt, start + 5 * second)
    health.succeeded(start - 1)
    assert.strictEqual(health.trouble?.state, "failing")
    assert.strictEqual(health.resumesAt, start + 5 * second)
  })

  it("tries a broken connection again every minute, one message at a time", () => {
    const health = ofConnection()
    health.broken("401", start)
    assert.deepInclude(health.trouble, { state: "broken", reason: "401" })
    assert.strictEqual(health.resumesAt, start + minute)
    assert.isTrue(health.probing)
    health.broken("401 again", start + minute)
    assert.strictEqual(health.resumesAt, start + 2 * minute)
    assert.deepInclude(health.trouble, { reason: "401 again", since: new Date(start).toISOString() })
    health.succeeded(start + 2 * minute)
    assert.strictEqual(health.trouble, null)
  })

  it("waits as long as the platform asks: one second by default, at most one hour", () => {
    const cases: ReadonlyArray<readonly [wait: number | undefined, waited: number]> = [
      [undefined, second],
      [0, 0],
      [-5, 0],
      [1, 1],
      [30 * second, 30 * second],
      [hour, hour],
      [hour + 1, hour],
      [Number.MAX_SAFE_INTEGER, hour],
    ]
    for (const [wait, waited] of cases) {
      const health = ofConnection()
      health.slowedDown("429", wait, start)
      assert.strictEqual(health.resumesAt - start, waited, String(wait))
      assert.deepInclude(health.trouble, { state: "slow-down", reason: "429" })
      assert.isFalse(health.probing, "it works, only too fast")
      health.succeeded(start + waited)
      assert.strictEqual(health.trouble, null)
    }
  })

  it("keeps the longer of two requested waits", () => {
    const health = ofConnection()
    health.slowedDown("long", 30 * second, start)
    health.slowedDown("short", second, start + second)
    assert.strictEqual(health.resumesAt, start + 30 * second)
    health.slowedDown("longer", minute, start + second)
    assert.strictEqual(health.resumesAt, start + second + minute)
    health.broken("401", start + 2 * second)
    assert.strictEqual(health.resumesAt, start + 2 * second + minute)
    health.slowedDown("much longer", hour, start + 3 * second)
    health.broken("401", start + 4 * second)
    assert.strictEqual(health.resumesAt, start + 3 * second + hour, "the platform's word is kept")
  })

  it("never resumes before a time that it has announced", () => {
    fc.assert(fc.property(story, (all) => {
      const health = ofConnection()
      let now = start
      for (const [passed, one] of all) {
        now += passed
        const before = health.resumesAt
        say(health, one, now)
        if (before > now) {
          assert.isAtLeast(health.resumesAt, before)
          assert.isNotNull(health.trouble)
        }
        assert.isAtMost(health.resumesAt, Math.max(before, now + hour))
        if (health.trouble !== null) {
          assert.strictEqual(health.trouble.until, new Date(health.resumesAt).toISOString())
          assert.isAtMost(Date.parse(health.trouble.since), now)
        }
      }
    }))
  })

  it("is open after ten consecutive failures, and closed after an acceptance once its pause is over", () => {
    fc.assert(fc.property(story, (all) => {
      const health = ofConnection()
      let now = start
      let failures = 0
      for (const [passed, one] of all) {
        now += passed
        const open = health.resumesAt > now
        say(health, one, now)
        if (one.tag === "failed") failures++
        else if (one.tag === "accepted" || one.tag === "refused") failures = 0
        if (failures >= 10) assert.isNotNull(health.trouble)
        if ((one.tag === "accepted" || one.tag === "refused") && !open) {
          assert.deepStrictEqual([health.trouble, health.probing], [null, false])
        }
        if (health.probing) assert.notStrictEqual(health.trouble?.state, "slow-down")
      }
    }))
  })
})

describe("CircuitBreaker of a domain", () => {
  it("stays closed through four consecutive failures, and opens at the fifth", () => {
    const breaker = ofDomain()
    failTimes(breaker, 4, 0)
    assert.isFalse(breaker.probing)
    breaker.succeeded(0)
    failTimes(breaker, 4, 0)
    assert.isFalse(breaker.probing, "an answer between them counts")
    failTimes(breaker, 1, 0)
    assert.deepStrictEqual([breaker.probing, breaker.isSilent(0), breaker.probeAt], [true, false, second])
  })

  it("probes after 1, 2, 4, … 60 seconds, and closes with an answer", () => {
    const breaker = ofDomain()
    failTimes(breaker, 5, 0)
    const pauses = [breaker.probeAt]
    for (let i = 0; i < 7; i++) {
      const now = breaker.probeAt
      breaker.failed("451", now)
      pauses.push(breaker.probeAt - now)
    }
    assert.deepStrictEqual(pauses.map((pause) => pause / second), [1, 2, 4, 8, 16, 32, 60, 60])
    breaker.succeeded(breaker.probeAt)
    assert.isFalse(breaker.probing)
    failTimes(breaker, 4, 0)
    assert.isFalse(breaker.probing, "five failures are needed again")
  })

  it("does not double its pause for failures of attempts that started before it opened", () => {
    const breaker = ofDomain()
    failTimes(breaker, 5, 100)
    for (let i = 0; i < 20; i++) breaker.failed("451", 200, 50)
    assert.strictEqual(breaker.probeAt, 100 + second)
  })

  it("pauses for as long as the domain asks, else for 5 seconds that double up to 5 minutes", () => {
    const breaker = ofDomain()
    breaker.slowedDown("450", 30 * second, 0)
    assert.deepStrictEqual([breaker.isSilent(30 * second - 1), breaker.isSilent(30 * second)], [true, false])
    assert.isTrue(breaker.probing, "one message at a time after the pause")
    breaker.succeeded(10)
    assert.isTrue(breaker.probing, "an attempt from before the pause shows nothing")
    let now = 30 * second
    const pauses: Array<number> = []
    for (let i = 0; i < 8; i++) {
      breaker.slowedDown("450", undefined, now)
      breaker.slowedDown("450", undefined, now, now - 1)
      pauses.push(breaker.probeAt - now)
      now = breaker.probeAt
    }
    assert.deepStrictEqual(pauses.map((pause) => pause / second), [5, 10, 20, 40, 80, 160, 300, 300])
    breaker.succeeded(now)
    assert.deepStrictEqual([breaker.probing, breaker.isSilent(now)], [false, false])
  })

  it("never shortens a pause, and always has a time for the next probe while it is open", () => {
    const step = fc.tuple(
      fc.integer({ min: 0, max: 100 * second }),
      fc.integer({ min: 0, max: 10 * second }),
      fc.constantFrom("answered", "failed", "failed", "failed", "slowed", "slowed-long"),
    )
    fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const breaker = ofDomain()
      let now = 0
      for (const [passed, took, what] of steps) {
        now += passed
        const startedAt = now - took
        const paused = [0, 5, 60, 600, 3_600].map((seconds) => now + seconds * second).filter((at) =>
          breaker.isSilent(at)
        )
        if (what === "answered") breaker.succeeded(startedAt)
        else if (what === "failed") breaker.failed("451", now, startedAt)
        else breaker.slowedDown("450", what === "slowed" ? undefined : 3_600 * second, now, startedAt)
        for (const at of paused) assert.isTrue(breaker.isSilent(at))
        if (breaker.isSilent(now)) assert.isTrue(breaker.probing)
        if (breaker.probing) assert.isTrue(Number.isFinite(breaker.probeAt))
      }
    }))
  })
})
