import { assert, describe, it } from "@effect/vitest"
import type { CopyId } from "../../src/domain/Ids.ts"
import type { FailedRendering } from "../../src/journal/decisions/Decision.ts"
import { failedDraws, failedText, failureOf, type StoredFailure } from "../../src/journal/decisions/FailedRenderings.ts"
import { isForced, trackOf } from "../../src/journal/decisions/Track.ts"

const failed: ReadonlyArray<FailedRendering> = [
  { copyId: 'quo"ted' as CopyId, mode: "bandit", propensity: 0.25, weights: '{"a":0.75,"quo\\"ted":0.25}' },
  { copyId: "c" as CopyId, mode: "fallback", propensity: null, weights: null },
]

const stored: ReadonlyArray<StoredFailure> = [
  { copy_id: 'quo"ted', mode: "bandit", propensity: 0.25, weights: { a: 0.75, 'quo"ted': 0.25 } },
  { copy_id: "c", mode: "fallback", propensity: null, weights: null },
]

describe("failed renderings of a decision", () => {
  it("are stored as JSON, or as null without a failure", () => {
    assert.isNull(failedText(undefined))
    assert.deepStrictEqual(JSON.parse(failedText(failed)!), stored)
  })

  it("count as decisions of the learned track only if they were drawn", () => {
    assert.deepStrictEqual(stored.map(failureOf), [
      { track: "learned", counts: { decisions: 1, unrendered: 1 } },
      { track: "forced", counts: { unrendered: 1 } },
    ])
  })

  it("are returned as draws of their own variants with the other fields of the decision", () => {
    type Sent = Parameters<typeof failedDraws>[0][number] & { readonly trackingId: string }
    const sent: Sent = {
      trackingId: "1",
      copyId: "a",
      mode: "fallback",
      propensity: null,
      weights: null,
      failed: stored,
    }
    const plain: Sent = { ...sent, trackingId: "2", mode: "bandit", propensity: 0.75, failed: null }
    assert.deepStrictEqual(failedDraws([sent, plain]), [
      { ...sent, copyId: 'quo"ted', mode: "bandit", propensity: 0.25, weights: stored[0]!.weights, failed: null },
    ])
  })
})

describe("a decision", () => {
  it("is learned from only if its variant was drawn and sent", () => {
    const drawn = (mode: string) => isForced({ mode, propensity: 0.5 })
    assert.deepStrictEqual(["bandit", "epsilon", "single", "control"].map(drawn), [false, false, false, false])
    assert.deepStrictEqual(["forced", "fallback"].map((mode) => trackOf({ mode, propensity: null })), [
      "forced",
      "forced",
    ])
    assert.strictEqual(trackOf({ mode: "control", propensity: null }), "forced")
  })
})
