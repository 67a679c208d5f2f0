import { assert, describe, it } from "vitest"
import {
  type AlertFacts,
  areFailing,
  conditionsOf,
  isFailing,
  isSenderRefused,
  isSilent,
  keyOf,
  subjectOf,
} from "../../src/alerts/Conditions.ts"

const hour = 3_600_000
const now = Date.parse("2026-05-20T12:00:00Z")
const ago = (hours: number) => new Date(now - hours * hour)

describe("a variant", () => {
  it("fails from 10 failures and 10 % of its requests, until less than 5 % fail", () => {
    assert.isFalse(isFailing({ failed: 9, requests: 9 }, false))
    assert.isTrue(isFailing({ failed: 10, requests: 100 }, false))
    assert.isFalse(isFailing({ failed: 10, requests: 101 }, false))
    assert.isTrue(isFailing({ failed: 10, requests: 101 }, true))
    assert.isTrue(isFailing({ failed: 10, requests: 200 }, true))
    assert.isFalse(isFailing({ failed: 10, requests: 201 }, true))
    assert.isFalse(isFailing({ failed: 9, requests: 9 }, true))
  })
})

describe("deliveries", () => {
  it("fail from 10 failures and the threshold, until less than half of the threshold fails", () => {
    const threshold = 0.1
    assert.isTrue(areFailing({ failed: 47, ended: 142, threshold }, false))
    assert.isFalse(areFailing({ failed: 9, ended: 9, threshold }, false))
    assert.isFalse(areFailing({ failed: 10, ended: 101, threshold }, false))
    assert.isTrue(areFailing({ failed: 10, ended: 200, threshold }, true))
    assert.isFalse(areFailing({ failed: 10, ended: 201, threshold }, true))
    assert.isTrue(areFailing({ failed: 10, ended: 1000, threshold: 0.01 }, false))
    assert.isFalse(areFailing({ failed: 47, ended: 142, threshold: 0.5 }, false))
    assert.isTrue(areFailing({ failed: 47, ended: 142, threshold: 0.5 }, true))
    assert.isTrue(areFailing({ failed: 142, ended: 142, threshold: 1 }, false))
  })

  it("refuse the sender from 50 refused deliveries and half of the ended deliveries on", () => {
    assert.isTrue(isSenderRefused({ refused: 50, ended: 100 }))
    assert.isFalse(isSenderRefused({ refused: 49, ended: 49 }))
    assert.isFalse(isSenderRefused({ refused: 50, ended: 101 }))
  })
})

describe("a source", () => {
  const busy = { firstHour: ago(14 * 24), lastHour: ago(4), hours: 330, days: 14, longestPauseHours: 1 }

  it("is silent once it pauses for longer than usual", () => {
    assert.isTrue(isSilent(busy, now))
    assert.isFalse(isSilent({ ...busy, lastHour: ago(3) }, now))
    assert.isFalse(isSilent({ ...busy, longestPauseHours: 12 }, now))
    assert.isFalse(isSilent({ ...busy, longestPauseHours: 12, lastHour: ago(18) }, now))
    assert.isTrue(isSilent({ ...busy, longestPauseHours: 12, lastHour: ago(19) }, now))
  })

  it("is never silent before it has a regular pattern", () => {
    assert.isFalse(isSilent({ ...busy, firstHour: ago(7 * 24) }, now))
    assert.isFalse(isSilent({ ...busy, days: 3 }, now))
    assert.isFalse(isSilent({ ...busy, hours: 23 }, now))
  })
})

describe("conditions", () => {
  it("name their subject, and take the previous conditions into account", () => {
    const rendering = { templateId: "welcome", copyId: "a", requests: 150, failed: 10, variable: "subject" }
    const facts: AlertFacts = {
      deliveries: { failed: 0, ended: 0, refused: 0, threshold: 0.1 },
      renderings: [rendering],
      rhythms: [{
        source: "provider_a",
        firstHour: ago(300),
        lastHour: ago(5),
        hours: 200,
        days: 12,
        longestPauseHours: 2,
      }],
      open: new Set(),
      now,
    }
    const [silent, ...none] = conditionsOf(facts)
    assert.deepStrictEqual(none, [])
    assert.deepStrictEqual(silent, {
      type: "source.silent",
      source: "provider_a",
      platform: "braze",
      lastHour: ago(5),
      longestPauseHours: 2,
    })
    assert.strictEqual(subjectOf(silent!), "provider_a")
    const open = new Set([keyOf("variant.failing", '["welcome","a"]')])
    const [failing] = conditionsOf({ ...facts, rhythms: [], open })
    assert.deepStrictEqual(failing, { type: "variant.failing", ...rendering })
  })
})
