import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { changed, fromBytes, toBytes } from "../../src/sendtime/Histories.ts"
import {
  type Coded,
  delayOf,
  encode,
  encodeHourly,
  epochMillis,
  isHourly,
  noEngagement,
  quarterMillis,
  quarterOf,
  sendingOf,
  touchOf,
  variantCode,
  variantOf,
} from "../../src/sendtime/Touch.ts"
import type { AttributedEvent } from "../../src/journal/events/AttributedEvent.ts"

const hour = 3_600_000
const at = Date.parse("2026-06-10T09:30:00Z")
const decision = { templateId: "t", copyId: "a", trackingId: "1", decidedAt: at }
let keys = 0
const event = (
  name: AttributedEvent["event"],
  hours: number,
  more: Partial<AttributedEvent> = {},
): AttributedEvent => ({
  key: String(keys++),
  event: name,
  occurredAt: at + hours * hour,
  automated: false,
  link: undefined,
  ...more,
})
const read = (touch: Coded | undefined) =>
  touch === undefined ? undefined : {
    sent: new Date(epochMillis + quarterOf(touch.code) * quarterMillis).toISOString().slice(0, 16),
    delay: delayOf(touch.code),
  }

/** An earlier release's reading of a code. */
const readHourly = (code: number) => ({
  hour: Math.floor(code / (128 * 4096 * 32768)),
  delay: Math.floor(code / (4096 * 32768)) % 128,
  variant: Math.floor(code / 32768) % 4096,
})

const touches = fc.record({
  quarter: fc.integer({ min: 0, max: 2 ** 20 - 1 }),
  delay: fc.integer({ min: 0, max: noEngagement }),
  variant: fc.integer({ min: 0, max: 4095 }),
})
/** An engagement in the 73rd hour does not count. */
const delayKept = ({ delay, quarter }: { readonly quarter: number; readonly delay: number }) =>
  quarter % 4 + delay >= noEngagement ? noEngagement : delay

describe("touches", () => {
  it("are numbers that contain their fields, and sort by time", () => {
    fc.assert(
      fc.property(touches, fc.string(), (touch, decision) => {
        const code = encode(touch, decision)
        assert.isFalse(isHourly(code))
        assert.isBelow(code, 2 ** 52)
        assert.deepStrictEqual(
          [quarterOf(code), delayOf(code), variantOf(code)],
          [touch.quarter, delayKept(touch), touch.variant],
        )
        if (touch.quarter >= 4) {
          assert.isBelow(encode({ quarter: touch.quarter - 4, delay: noEngagement, variant: 4095 }, "x"), code)
        }
      }),
      { seed: 1 },
    )
  })

  it("are readable by earlier releases, which store whole hours", () => {
    fc.assert(
      fc.property(touches, fc.string(), (touch, decision) => {
        const code = encode(touch, decision)
        assert.deepStrictEqual(readHourly(code), readHourly(encodeHourly(touch, decision)))
        assert.strictEqual(readHourly(code).hour, Math.floor(touch.quarter / 4))
        assert.isAtMost(readHourly(code).delay, 72)
      }),
      { seed: 10 },
    )
  })

  it("of earlier releases are read at the middle of their hour", () => {
    fc.assert(
      fc.property(touches, fc.string(), (touch, decision) => {
        const code = encodeHourly(touch, decision)
        assert.isTrue(isHourly(code))
        assert.strictEqual(quarterOf(code), touch.quarter - touch.quarter % 4 + 2)
        assert.strictEqual(variantOf(code), touch.variant)
        const hours = Math.floor((touch.quarter % 4 + touch.delay) / 4)
        assert.strictEqual(delayOf(code), hours >= 72 ? noEngagement : 4 * hours)
      }),
      { seed: 11 },
    )
  })

  it("round-trip through bytes", () => {
    const codes = Float64Array.of(1, 2 ** 52 + 1, 12345.0)
    const bytes = new Uint8Array([9, ...toBytes(codes)])
    assert.deepStrictEqual(fromBytes(bytes.subarray(1)), codes)
  })

  it("begin with the first sent event, else the first delivery, else the decision", () => {
    assert.deepStrictEqual(read(touchOf(decision, [])), { sent: "2026-06-10T09:30", delay: noEngagement })
    assert.deepStrictEqual(read(touchOf(decision, [event("delivered", 3)]))?.sent, "2026-06-10T12:30")
    assert.deepStrictEqual(
      read(touchOf(decision, [event("delivered", 3), event("sent", 2), event("sent", 5)]))?.sent,
      "2026-06-10T11:30",
    )
  })

  it("end with the first engagement of a person", () => {
    const sent = event("sent", 1)
    assert.deepStrictEqual(
      read(touchOf(decision, [event("click", 9), sent, event("open", 5)])),
      { sent: "2026-06-10T10:30", delay: 4 * 4 },
    )
    assert.deepStrictEqual(
      read(touchOf(decision, [sent, event("open", 2, { automated: true }), event("conversion", 8)]))?.delay,
      4 * 7,
    )
    assert.strictEqual(read(touchOf(decision, [sent, event("open", 80)]))?.delay, noEngagement, "too late to be of use")
    assert.strictEqual(read(touchOf(decision, [sent, event("unsubscribe", 2)]))?.delay, noEngagement)
  })

  it("leave out the clicks of link scanners", () => {
    const delivered = event("delivered", 1)
    const soon = event("click", 1 + 5 / 3600)
    assert.strictEqual(read(touchOf(decision, [delivered, soon]))?.delay, noEngagement)
    const burst = [
      event("click", 2, { link: "https://a.example" }),
      event("click", 2 + 1 / 3600, { link: "https://b.example" }),
    ]
    assert.strictEqual(read(touchOf(decision, [delivered, ...burst]))?.delay, noEngagement)
    assert.strictEqual(read(touchOf(decision, [delivered, soon, ...burst, event("click", 6)]))?.delay, 4 * 5)
  })

  it("are undefined for a message that bounced or is too old", () => {
    assert.isUndefined(touchOf(decision, [event("sent", 0), event("bounce", 1)]))
    assert.isDefined(touchOf(decision, [event("sent", 0), event("soft_bounce", 1), event("open", 2)]))
    assert.isUndefined(touchOf({ ...decision, decidedAt: Date.UTC(2019, 11, 31) }, []))
  })

  it("are independent of the order and repetition of events", () => {
    const events = fc.array(
      fc.record({
        event: fc.constantFrom("sent", "delivered", "open", "click", "bounce", "conversion", "other", "failed"),
        hours: fc.double({ min: -3, max: 90, noNaN: true }),
        automated: fc.boolean(),
        link: fc.constantFrom(undefined, "https://a.example", "https://b.example"),
      }),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(events, fc.array(fc.nat(), { maxLength: 24 }), (list, picks) => {
        const all = list.map(({ automated, event: name, hours, link }) =>
          event(name as AttributedEvent["event"], hours, { automated, link })
        )
        const mixed = [...all, ...picks.flatMap((pick) => all[pick % Math.max(1, all.length)] ?? [])]
          .map((one, i) => [one, (i * 7919) % 31] as const).sort(([, a], [, b]) => a - b).map(([one]) => one)
        assert.deepStrictEqual(sendingOf(at, mixed), sendingOf(at, all))
      }),
      { seed: 2, numRuns: 500 },
    )
  })

  it("distinguish equal variant ids of different templates", () => {
    assert.notStrictEqual(variantCode("t", "a"), variantCode("u", "a"))
    assert.notStrictEqual(variantCode("t", "a"), variantCode("t", "b"))
  })
})

describe("a history", () => {
  const codes = fc.array(fc.integer({ min: 0, max: 2 ** 53 - 1 }), { maxLength: 260 })

  it("is independent of order and repetition of touches", () => {
    fc.assert(
      fc.property(codes, fc.array(fc.nat(), { maxLength: 20 }), (list, again) => {
        const once = changed([], [], list)
        const repeated = list.length === 0 ? [] : again.map((n) => list[n % list.length]!)
        let history = changed([], [], repeated)
        for (const code of [...list].reverse()) history = changed(history, [], [code])
        assert.deepStrictEqual(history, once)
      }),
      { seed: 3, numRuns: 100 },
    )
  })

  it("keeps the latest 200 touches", () => {
    const list = Array.from({ length: 300 }, (_, n) => (n * 7919) % 300)
    assert.deepStrictEqual(changed([], [], list), Float64Array.from({ length: 200 }, (_, n) => n + 100))
  })

  it("removes present touches and ignores absent ones", () => {
    assert.deepStrictEqual(changed([1, 2, 3], [2, 9], [4]), Float64Array.of(1, 3, 4))
  })
})
