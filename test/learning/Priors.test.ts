import { assert, describe, it } from "@effect/vitest"
import { without } from "../../src/learning/Priors.ts"

describe("the counts without one template", () => {
  it("contain what other templates have counted, hour by hour", () => {
    assert.deepStrictEqual(
      without(
        [
          { hour: 1, delays: { "open:2": 5, "click:3": 1 } },
          { hour: 2, delays: { "open:2": 4 } },
          { hour: 3, delays: { "open:1": 2 } },
        ],
        [{ hour: 1, delays: { "open:2": 3, "click:3": 1 } }, { hour: 3, delays: { "open:1": 2 } }],
      ),
      [{ hour: 1, delays: { "open:2": 2 } }, { hour: 2, delays: { "open:2": 4 } }],
    )
  })

  it("never fall below zero if counts changed between two reads", () => {
    assert.deepStrictEqual(
      without([{ hour: 1, delays: { "open:2": 1, "open:3": 2 } }], [{ hour: 1, delays: { "open:2": 4 } }]),
      [{ hour: 1, delays: { "open:3": 2 } }],
    )
  })
})
