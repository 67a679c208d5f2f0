import { assert, describe, it } from "@effect/vitest"
import { weightedGainSentence } from "../../src/console/pages/results/Pictures.tsx"

describe("the gain by propensities in the console", () => {
  it("is a sentence with its interval, its days and the model's gain", () => {
    const weighted_gain = {
      from: "2026-10-01T00:00:00.000Z",
      to: "2026-10-29T00:00:00.000Z",
      decisions: 56_000,
      left_out: 0,
      gained: 812.4,
      interval: [301, 1290] as const,
      even: 2000,
      model: 760,
    }
    assert.strictEqual(
      weightedGainSentence({ weighted_gain })!.replace(/\s/g, " "),
      "Measured from the recorded probabilities of the choices, without the model: +812 (95 % interval +301 to +1,290) for the 56,000 " +
        "decisions of 1 Oct 2026 to 28 Oct 2026, counting outcomes within four days. The model estimates +760 for these days.",
    )
  })

  it("is omitted while it is uncertain", () => {
    assert.isUndefined(weightedGainSentence({ weighted_gain: null }))
  })
})
