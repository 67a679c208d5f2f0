import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Health } from "../../src/delivery/Health.ts"

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const start = Date.UTC(2026, 4, 4)

const failTimes = (health: Health, times: number, now: number) => {
  for (let i = 0; i < times; i++) health.failed(`failure ${i + 1}`, now)
}

type Said =
  | { readonly tag: "accepted" | "refused" | "failed" | "broken" }
  | { readonly tag: "slow"; readonly wait: number | undefined }

const say = (health: Health, said: Said, now: number) => {
  switch (said.tag) {
    case "accepted":
      return health.accepted(now)
    case "refused":
      return health.refused(now)
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

/** What a platform says, with the milliseconds that pass before each. */
const story = fc.array(fc.tuple(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 * minute })), said), {
  maxLength: 80,
})

describe("Health", () => {
  it("is well from the start, and through nine failures in a row", () => {
    const health = new Health()
    assert.deepStrictEqual([health.trouble, health.probing], [null, false])
    failTimes(health, 9, start)
    assert.strictEqual(health.trouble, null)
    assert.isAtMost(health.resumesAt, start)
    health.accepted(start)
    failTimes(health, 9, start)
    assert.strictEqual(health.trouble, null, "what was accepted between counts")
    health.refused(start)
    failTimes(health, 9, start)
    assert.strictEqual(health.trouble, null, "who refuses one message listens")
  })

  it("opens after ten failures in a row, with the last one as its reason", () => {
    const health = new Health()
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

  it("probes with one failure each, pausing twice as long every time, up to a minute", () => {
    const health = new Health()
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

  it("closes when a probe is accepted, and begins anew with ten failures and five seconds", () => {
    const health = new Health()
    failTimes(health, 10, start)
    health.failed("still", start + 5 * second)
    const now = health.resumesAt
    health.accepted(now)
    assert.deepStrictEqual([health.trouble, health.probing], [null, false])
    failTimes(health, 9, now)
    assert.strictEqual(health.trouble, null)
    health.failed("again", now)
    assert.strictEqual(health.resumesAt, now + 5 * second)
  })

  it("learns nothing from what was under way when it opened, neither that it fails nor that it works", () => {
    const health = new Health()
    failTimes(health, 10, start)
    failTimes(health, 50, start + second)
    assert.strictEqual(health.resumesAt, start + 5 * second)
    health.accepted(start + 2 * second)
    assert.strictEqual(health.trouble?.state, "failing")
    assert.strictEqual(health.resumesAt, start + 5 * second)
  })

  it("tries a broken connection again every minute, one message at a time", () => {
    const health = new Health()
    health.broken("401", start)
    assert.deepInclude(health.trouble, { state: "broken", reason: "401" })
    assert.strictEqual(health.resumesAt, start + minute)
    assert.isTrue(health.probing)
    health.broken("401 again", start + minute)
    assert.strictEqual(health.resumesAt, start + 2 * minute)
    assert.deepInclude(health.trouble, { reason: "401 again", since: new Date(start).toISOString() })
    health.accepted(start + 2 * minute)
    assert.strictEqual(health.trouble, null)
  })

  it("waits as long as it is asked to, a second if nothing is said, an hour at most", () => {
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
      const health = new Health()
      health.slowedDown("429", wait, start)
      assert.strictEqual(health.resumesAt - start, waited, String(wait))
      assert.deepInclude(health.trouble, { state: "slow-down", reason: "429" })
      assert.isFalse(health.probing, "it works, only too fast")
      health.accepted(start + waited)
      assert.strictEqual(health.trouble, null)
    }
  })

  it("keeps the longer of two waits", () => {
    const health = new Health()
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

  it("never resumes before a time it has named, whatever is said", () => {
    fc.assert(fc.property(story, (all) => {
      const health = new Health()
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

  it("is open after ten failures in a row, and well after an acceptance when its pause is over", () => {
    fc.assert(fc.property(story, (all) => {
      const health = new Health()
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
