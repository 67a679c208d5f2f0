import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { RateLimiter } from "../../src/delivery/RateLimiter.ts"
import { seeded } from "../../src/demo/Chance.ts"

/** The delays of a message in milliseconds. Each part takes its minimum plus up to its jitter. */
interface Network {
  readonly forward: number
  readonly forwardJitter: number
  readonly processing: number
  readonly processingJitter: number
  readonly back: number
  readonly backJitter: number
  /** Share of messages that stall for up to `stallMillis`, and on which part of their way. */
  readonly stalls: number
  readonly stallMillis: number
  /** Share of messages that never arrive and are given up after `timeoutMillis`. */
  readonly losses: number
  readonly timeoutMillis: number
  /** Timers fire up to this late. */
  readonly lateTimers: number
  /** Maximum number of messages in flight. */
  readonly concurrency: number
  readonly seed: number
}

const still: Network = {
  forward: 0,
  forwardJitter: 0,
  processing: 0,
  processingJitter: 0,
  back: 0,
  backJitter: 0,
  stalls: 0,
  stallMillis: 0,
  losses: 0,
  timeoutMillis: 0,
  lateTimers: 0,
  concurrency: Infinity,
  seed: 1,
}

/**
 * Sends `messages` as fast as the rate limiter permits, on a clock that moves only at events. Returns arrivals and
 * departures.
 */
const simulate = (ceiling: number, network: Network, messages: number) => {
  const random = seeded(network.seed)
  const limiter = new RateLimiter(ceiling)
  const answers: Array<{ readonly at: number; readonly end: () => void }> = []
  const arrivals: Array<number> = []
  const departures: Array<number> = []
  let now = 0
  let inFlight = 0
  let most = 0
  const settle = () => {
    while (answers.length > 0 && answers[0]!.at <= now) answers.shift()!.end()
  }
  const answerAt = (at: number, end: () => void) => {
    let place = answers.length
    while (place > 0 && answers[place - 1]!.at > at) place--
    answers.splice(place, 0, { at, end })
  }
  while (departures.length < messages) {
    settle()
    const at = inFlight >= network.concurrency ? Infinity : limiter.next(now)
    if (at > now) {
      const answer = answers[0]?.at ?? Infinity
      assert.isTrue(at < Infinity || answer < Infinity, "nothing would ever leave again")
      now = answer <= at ? answer : at + network.lateTimers * random()
      continue
    }
    const part = (least: number, jitter: number, share: number) =>
      least + jitter * random() + (random() < network.stalls * share ? network.stallMillis * random() : 0)
    const started = limiter.start(now)
    departures.push(now)
    inFlight++
    most = Math.max(most, inFlight)
    const end = () => {
      inFlight--
      limiter.end(started, now)
    }
    const arrival = now + part(network.forward, network.forwardJitter, 0.5)
    const answered = arrival + part(network.processing, network.processingJitter, 0.3) +
      part(network.back, network.backJitter, 0.2)
    if (random() < network.losses) answerAt(now + network.timeoutMillis, end)
    else {
      arrivals.push(arrival)
      answerAt(answered, end)
    }
  }
  return { arrivals: arrivals.sort((a, b) => a - b), departures, most }
}

/** The highest count in any half-open second, apart from rounding errors at its ends. */
const densest = (ascending: ReadonlyArray<number>): number => {
  let most = 0
  for (let last = 0, first = 0; last < ascending.length; last++) {
    while (ascending[last]! - ascending[first]! >= 1000 - 1e-6) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}

const network = (ceiling: number): fc.Arbitrary<Network> => {
  const millis = (max: number) => fc.double({ min: 0, max, noNaN: true })
  return fc.record({
    forward: millis(300),
    forwardJitter: fc.oneof(fc.constant(0), millis(200)),
    processing: millis(200),
    processingJitter: fc.oneof(fc.constant(0), millis(200)),
    back: millis(300),
    backJitter: fc.oneof(fc.constant(0), millis(200)),
    stalls: fc.oneof(fc.constant(0), millis(0.2)),
    stallMillis: millis(5_000),
    losses: fc.oneof(fc.constant(0), millis(0.2)),
    timeoutMillis: millis(5_000),
    lateTimers: fc.oneof(fc.constant(0), millis(20)),
    concurrency: fc.oneof(fc.constant(Infinity), fc.integer({ min: 1, max: 2 * ceiling })),
    seed: fc.integer(),
  })
}

describe("RateLimiter", () => {
  for (
    const [ceiling, messages, runs] of [[1, 200, 200], [5, 400, 100], [100, 1_500, 25], [1_000, 6_000, 5]] as const
  ) {
    it(`lets at most ${ceiling} messages arrive in any second, for any network delays`, () => {
      fc.assert(
        fc.property(network(ceiling), (one) => {
          const { arrivals } = simulate(ceiling, one, messages)
          assert.isAtMost(densest(arrivals), ceiling)
        }),
        { numRuns: runs },
      )
    })

    it(`keeps 99 % of ${ceiling} per second if answers take a constant time, and at most ${ceiling} in flight`, () => {
      fc.assert(
        fc.property(fc.double({ min: 0, max: 950, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), (
          latency,
          way,
        ) => {
          const one = { ...still, forward: latency * way, back: latency * (1 - way) }
          const first = Math.max(60, 3 * ceiling)
          const { departures, most } = simulate(ceiling, one, first + Math.max(100, 5 * ceiling))
          assert.isAtMost(most, ceiling)
          const rate = (sent: ReadonlyArray<number>) => (sent.length - 1) / ((sent.at(-1)! - sent[0]!) / 1000)
          assert.isAtLeast(rate(departures.slice(first)), 0.99 * ceiling)
          // The first of them find out how long a message takes.
          assert.isAtLeast(rate(departures), 0.99 * ceiling / (1 + latency / 1000))
        }),
        { numRuns: Math.max(3, runs / 10) },
      )
    })
  }
  it("spaces messages evenly, and sends at most two at once after an idle period", () => {
    fc.assert(
      fc.property(fc.constantFrom(5, 10, 100), fc.integer({ min: 0, max: 100_000 }), (ceiling, idle) => {
        const spacing = 1000 / ceiling
        const limiter = new RateLimiter(ceiling)
        limiter.end(limiter.start(0), 0)
        const begin = spacing + idle
        const departures: Array<number> = []
        for (let now = begin; departures.length < ceiling; now = limiter.next(now)) {
          if (limiter.next(now) > now) continue
          departures.push(now)
          limiter.end(limiter.start(now), now)
        }
        const atOnce = departures.filter((at) => at === begin).length
        assert.isAtMost(atOnce, 3)
        const gaps = departures.slice(atOnce + 1).map((at, i) => at - departures[atOnce + i]!)
        for (const gap of gaps) assert.isAtLeast(gap, spacing - 1e-6)
      }),
    )
  })

  it("halves its rate once per slow-down of the messages in flight, and keeps at least one per second", () => {
    const limiter = new RateLimiter(100)
    const flight = Array.from({ length: 20 }, (_, i) => limiter.start(10 * i))
    for (const departure of flight) {
      limiter.end(departure, 300)
      limiter.slowDown(departure, 300)
    }
    assert.strictEqual(limiter.perSecond, 50)
    let now = 300
    for (let i = 0; i < 20; i++) {
      now = limiter.next(now)
      const departure = limiter.start(now)
      limiter.end(departure, now)
      limiter.slowDown(departure, now)
    }
    assert.strictEqual(limiter.perSecond, 1)
    assert.strictEqual(Math.round(limiter.next(now) - now), 1_000)
  })

  it("returns to its limit, and no higher, within twenty seconds of acceptances", () => {
    const limiter = new RateLimiter(100)
    let now = 0
    while (limiter.perSecond > 1) {
      now = limiter.next(now)
      const departure = limiter.start(now)
      limiter.end(departure, now)
      limiter.slowDown(departure, now)
    }
    const rates: Array<number> = []
    const end = now + 20_000
    while (now <= end) {
      now = Math.max(now + 1, limiter.next(now))
      limiter.end(limiter.start(now), now)
      limiter.speedUp(now)
      rates.push(limiter.perSecond)
    }
    assert.strictEqual(limiter.perSecond, 100)
    assert.isTrue(rates.every((rate, i) => rate >= (rates[i - 1] ?? 0) && rate <= (rates[i - 1] ?? 1) + 5))
  })

  it("waits for an answer while the maximum number of messages is in flight", () => {
    const limiter = new RateLimiter(2)
    const first = limiter.start(0)
    limiter.start(500)
    assert.strictEqual(limiter.next(5_000), Infinity)
    limiter.end(first, 5_000)
    assert.isAtMost(limiter.next(5_000), 6_000)
  })
})
