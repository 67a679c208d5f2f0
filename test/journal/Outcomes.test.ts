import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { delayClass } from "../../src/bandit/Maturity.ts"
import { measures, type TallyCounts } from "../../src/bandit/Tally.ts"
import { countedEvents, EventName } from "../../src/domain/EventKinds.ts"
import { inOrder, type StoredEvent } from "../../src/journal/events/DecisionEvents.ts"
import type { AttributedEvent } from "../../src/journal/events/AttributedEvent.ts"
import {
  type Contribution,
  difference,
  ignoredReason,
  outcomesOf,
  untimelyReason,
} from "../../src/journal/events/Outcomes.ts"

const decidedAt = Date.parse("2026-02-03T12:00:00Z")
const second = 1_000
const hour = 3_600_000

let made = 0

/** An event so many milliseconds after the decision. */
const at = (event: EventName, after: number, more: Partial<AttributedEvent> = {}): AttributedEvent => ({
  key: `id:${made++}`,
  event,
  occurredAt: decidedAt + after,
  automated: false,
  link: undefined,
  ...more,
})

const click = (after: number, link?: string, more: Partial<AttributedEvent> = {}) =>
  at("click", after, { link, ...more })
const outcomes = (...events: ReadonlyArray<AttributedEvent>) => outcomesOf(decidedAt, events)
const none: Contribution = { learned: {}, automated: {}, delays: {} }

describe("outcomesOf", () => {
  it("adds nothing for a decision without events", () => {
    assert.deepStrictEqual(outcomes(), none)
  })

  it("counts each kind of event once, and the delay of its first", () => {
    assert.deepStrictEqual(
      outcomes(
        at("sent", 0),
        at("open", 5 * hour),
        at("open", hour),
        click(7 * hour),
        click(5 * hour),
        at("open", 2 * hour),
      ),
      {
        learned: { sent: 1, open: 1, click: 1 },
        automated: {},
        delays: { open: delayClass(1), click: delayClass(5) },
      },
    )
  })

  for (const event of countedEvents) {
    it(`counts ${event} separately for people and machines`, () => {
      assert.strictEqual(outcomes(at(event, hour)).learned[event], 1)
      const machine = outcomes(at(event, hour, { automated: true }), at(event, 2 * hour, { automated: true }))
      assert.strictEqual(machine.automated[event], 1)
      assert.strictEqual(machine.learned[event], undefined)
      assert.deepStrictEqual(machine.delays, {})
    })
  }

  it("counts equal events of a person and a machine separately", () => {
    assert.deepStrictEqual(outcomes(at("open", 0, { automated: true }), at("open", 3 * hour)), {
      learned: { open: 1 },
      automated: { open: 1 },
      delays: { open: delayClass(3) },
    })
  })

  it("counts up to 336 hours after the decision and from 2 hours before it", () => {
    assert.deepStrictEqual(outcomes(at("conversion", 336 * hour)).delays, { conversion: delayClass(336) })
    assert.deepStrictEqual(outcomes(at("conversion", 336 * hour + 1)), none)
    assert.deepStrictEqual(outcomes(at("conversion", -2 * hour)), {
      learned: { conversion: 1 },
      automated: {},
      delays: { conversion: delayClass(0) },
    })
    assert.deepStrictEqual(outcomes(at("conversion", -2 * hour - 1)), none)
    assert.deepStrictEqual(outcomes(at("bounce", 400 * hour), at("spam", -3 * hour)), none)
    assert.deepStrictEqual(outcomes(at("click", NaN)), none)
  })

  it("counts one negative for any refusal by a person, and none for a machine", () => {
    assert.deepStrictEqual(outcomes(at("unsubscribe", hour)).learned, { unsubscribe: 1, negative: 1 })
    assert.deepStrictEqual(outcomes(at("spam", hour)).learned, { spam: 1, negative: 1 })
    assert.deepStrictEqual(outcomes(at("spam", hour), at("unsubscribe", hour)).learned, {
      spam: 1,
      unsubscribe: 1,
      negative: 1,
    })
    assert.deepStrictEqual(outcomes(at("unsubscribe", hour, { automated: true })).learned, {})
  })

  for (const event of ["bounce", "soft_bounce", "failed"] as const) {
    it(`voids the trial for ${event} until a person engages`, () => {
      assert.strictEqual(outcomes(at("sent", 0), at("delivered", 1), at(event, hour)).learned.voided, 1)
      for (const engaged of ["open", "click", "other", "conversion"] as const) {
        assert.strictEqual(outcomes(at(event, hour), at(engaged, 2 * hour)).learned.voided, undefined)
        assert.strictEqual(outcomes(at(event, hour), at(engaged, 2 * hour, { automated: true })).learned.voided, 1)
        assert.strictEqual(outcomes(at(event, hour), at(engaged, 400 * hour)).learned.voided, 1)
      }
      for (const refused of ["unsubscribe", "spam"] as const) {
        assert.strictEqual(outcomes(at(event, hour), at(refused, 2 * hour)).learned.voided, 1)
      }
    })
  }

  it("voids the trial for a bounce even if its source marks it as a machine's", () => {
    assert.deepStrictEqual(outcomes(at("bounce", hour, { automated: true })), {
      learned: { voided: 1 },
      automated: { bounce: 1 },
      delays: {},
    })
  })

  it("explains with both times why an event does not count", () => {
    assert.isUndefined(untimelyReason(decidedAt, decidedAt - 2 * hour))
    assert.isUndefined(untimelyReason(decidedAt, decidedAt + 336 * hour))
    const early = untimelyReason(decidedAt, decidedAt - 2 * hour - 1)!
    assert.include(early, "more than 2 hours before its decision at")
    assert.include(early, new Date(decidedAt).toISOString())
    assert.include(early, new Date(decidedAt - 2 * hour - 1).toISOString())
    assert.include(untimelyReason(decidedAt, decidedAt + 336 * hour + 1), "more than 14 days after its decision")
    const late = at("click", 337 * hour)
    assert.isDefined(ignoredReason(late, [decidedAt]))
    assert.isUndefined(ignoredReason(late, [decidedAt, decidedAt + 2 * hour]), "it counts for one of them")
    assert.isUndefined(ignoredReason(late, []))
    for (const event of ["unsubscribe", "spam", "bounce"] as const) {
      assert.isUndefined(ignoredReason(at(event, 400 * hour), [decidedAt]), event)
    }
  })

  it("subtracts a refund from the revenue of conversions, and from nothing else", () => {
    const rule = { cap: 200, currency: null }
    const refund = (value: number) => at("refund", 3 * hour, { key: `r${value}`, value, automated: true })
    const of = (...events: ReadonlyArray<AttributedEvent>) => outcomesOf(decidedAt, events, rule)
    assert.deepStrictEqual(of(refund(-5)), { learned: {}, automated: {}, delays: {} })
    const sale = at("conversion", 4 * hour, { value: 20 })
    assert.strictEqual(of(sale, refund(-5)).learned.revenue, 15_000)
    assert.strictEqual(of(refund(-5), sale, refund(-5)).learned.revenue, 15_000)
    assert.deepStrictEqual(of(refund(-30), sale).learned, { conversion: 1 })
    assert.strictEqual(of(sale, at("refund", 337 * hour, { value: -5 })).learned.revenue, 20_000)
  })

  it("records the delay of the first click in seconds", () => {
    const seconds = hour / 3600
    assert.deepStrictEqual(outcomes(click(5 * hour), click(40 * seconds), click(400 * seconds)).delays, {
      click: delayClass(40 / 3600),
    })
    assert.deepStrictEqual(outcomes(click(hour), click(5 * seconds)).delays, { click: delayClass(5 / 3600) })
  })

  it("counts a person's click in addition to the clicks of a scanner", () => {
    assert.deepStrictEqual(outcomes(click(hour, "a"), click(hour, "b"), click(5 * hour, "a")), {
      learned: { click: 1 },
      automated: { click: 1, set_aside_burst: 2 },
      delays: { click: delayClass(5) },
    })
  })

  it("withdraws a click if a late delivery shows that it came from a scanner", () => {
    const scan = click(hour + 1)
    const before = outcomes(scan)
    const after = outcomes(scan, at("delivered", hour))
    assert.deepStrictEqual(difference(before.learned, after.learned), { delivered: 1, click: -1 })
    assert.deepStrictEqual(difference(before.automated, after.automated), {
      click: 1,
      set_aside_early: 1,
      only_set_aside: 1,
    })
  })

  it("counts each click that is set aside once by its reason, and the messages that only machines clicked", () => {
    const scans = [click(0, "a"), click(100, "b"), click(hour, "a", { automated: true })]
    assert.deepStrictEqual(outcomes(at("sent", 0), ...scans, ...scans).automated, {
      click: 1,
      set_aside_early: 2,
      set_aside_reported: 1,
      only_set_aside: 1,
    })
    assert.isUndefined(outcomes(at("sent", 0), ...scans, click(2 * hour, "a")).automated.only_set_aside)
  })

  it("counts 100,000 clicks of one decision in linear time", () => {
    const clicks = Array.from({ length: 100_000 }, (_, i) => click(i % 1_000, `l${i % 7}`))
    const started = performance.now()
    assert.deepStrictEqual(outcomesOf(decidedAt, clicks), {
      learned: {},
      automated: { click: 1, set_aside_burst: 100_000, only_set_aside: 1 },
      delays: {},
    })
    assert.isBelow(performance.now() - started, 5_000)
  })
})

describe("outcomes of any events", () => {
  // Close together, so that the rules about seconds apply; some at the limits of the counted time.
  const after = fc.oneof(
    fc.integer({ min: -2, max: 15 }).map((n) => n * second),
    fc.integer({ min: -1, max: 4 }).map((n) => hour + n * 999),
    fc.constantFrom(-2 * hour - 1, -2 * hour, 336 * hour, 336 * hour + 1, 50 * hour),
  )
  const event: fc.Arbitrary<AttributedEvent> = fc.record({
    key: fc.integer({ min: 0, max: 1_000_000 }).map((n) => `id:${n}`),
    event: fc.oneof(fc.constantFrom("click" as const, "delivered" as const), fc.constantFrom(...EventName.literals)),
    occurredAt: after.map((millis) => decidedAt + millis),
    automated: fc.boolean(),
    link: fc.constantFrom("a", "b", "c", undefined),
  })
  const events = fc.array(event, { maxLength: 8 })

  const plus = (a: TallyCounts, b: TallyCounts | undefined): TallyCounts =>
    Object.fromEntries(
      measures.map((measure) => [measure, (a[measure] ?? 0) + (b?.[measure] ?? 0)] as const).filter(([, n]) => n !== 0),
    )

  it("are independent of the order of the events", () => {
    fc.assert(
      fc.property(
        events.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
        ([all, permuted]) => assert.deepStrictEqual(outcomesOf(decidedAt, permuted), outcomesOf(decidedAt, all)),
      ),
      { numRuns: 2_000 },
    )
  })

  it("are unchanged by repeated events", () => {
    fc.assert(
      fc.property(
        events.chain((all) => fc.tuple(fc.constant(all), fc.subarray(all))),
        ([all, again]) =>
          assert.deepStrictEqual(
            outcomesOf(decidedAt, [...all, ...again.map((event) => ({ ...event }))]),
            outcomesOf(decidedAt, all),
          ),
      ),
      { numRuns: 2_000 },
    )
  })

  it("have an exact difference, which is undefined without a change", () => {
    fc.assert(
      fc.property(events, events, (some, more) => {
        const before = outcomesOf(decidedAt, some)
        const after = outcomesOf(decidedAt, [...some, ...more])
        for (const track of ["learned", "automated"] as const) {
          assert.deepStrictEqual(plus(before[track], difference(before[track], after[track])), after[track])
          assert.deepStrictEqual(plus(after[track], difference(after[track], before[track])), before[track])
          assert.strictEqual(difference(after[track], { ...after[track] }), undefined)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it("have differences without zeros, and treat zero as absent", () => {
    assert.deepStrictEqual(difference({ open: 1, click: 1 }, { open: 1, sent: 2 }), { click: -1, sent: 2 })
    assert.strictEqual(difference({ open: 0 }, { click: 0 }), undefined)
    assert.strictEqual(difference({}, {}), undefined)
  })
})

describe("inOrder", () => {
  const stored = (source: string, key: string, after: number): StoredEvent => ({ ...at("open", after), source, key })

  it("sorts events by time, then source and key", () => {
    const expected = [
      stored("b", "id:9", 0),
      stored("a", "id:1", second),
      stored("a", "id:2", second),
      stored("b", "id:1", second),
    ]
    fc.assert(fc.property(
      fc.shuffledSubarray(expected, { minLength: expected.length }),
      (events) => assert.deepStrictEqual(inOrder([...events]), expected),
    ))
  })
})
