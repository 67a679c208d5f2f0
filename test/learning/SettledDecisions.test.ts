import { assert, describe, it } from "@effect/vitest"
import { dayOf, outcomesIn, settledCounts } from "../../src/learning/SettledDecisions.ts"
import type { StoredEvent } from "../../src/journal/events/DecisionEvents.ts"
import { day, hour } from "./support.ts"

describe("settled decisions", () => {
  it("count outcomes up to and including four days after the decision", () => {
    const decidedAt = new Date(20_000 * day + 5 * hour)
    const event = (event: StoredEvent["event"], after: number): StoredEvent => ({
      event,
      key: event,
      source: "api",
      occurredAt: decidedAt.getTime() + after,
      automated: false,
      link: undefined,
    })
    const found = (...events: ReadonlyArray<StoredEvent>) => outcomesIn(settledCounts(decidedAt, events))
    assert.deepStrictEqual(found(event("open", hour), event("click", 4 * day)), ["click", "open"])
    assert.deepStrictEqual(found(event("open", hour), event("click", 4 * day + 1)), ["open"])
    assert.deepStrictEqual(found(), [])
  })

  it("belong to the day of the decision in UTC", () => {
    assert.strictEqual(dayOf(new Date(20_000 * day)), 20_000 * day)
    assert.strictEqual(dayOf(new Date(20_001 * day - 1)), 20_000 * day)
  })
})
