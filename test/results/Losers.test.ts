import { assert, describe, it } from "@effect/vitest"
import { losersOf } from "../../src/results/Losers.ts"

const variant = (copy_id: string, p_best: number, expected_loss: number | null, more: object = {}) => ({
  copy_id,
  p_best,
  expected_loss,
  matured_sends: 500,
  status: "active",
  ...more,
})

const all = [variant("lead", 0.97, 0), variant("close", 0.03, 0.02), variant("bad", 0, 0.2), variant("worst", 0, 0.5)]
const evidence = { days: 8, leader: "lead" }

describe("losing variants", () => {
  it("are variants with a low chance to be best and a positive loss, largest loss first", () => {
    assert.deepStrictEqual(losersOf(all, [], evidence), ["worst", "bad"])
  })

  it("include variants with a net loss first, whose loss is not a share of a rate", () => {
    const harmful = [...all, variant("harmful", 0, null), variant("harmful and close", 0.03, null)]
    assert.deepStrictEqual(losersOf(harmful, [], evidence), ["harmful", "worst", "bad"])
  })

  it("exclude variants that win in a segment", () => {
    const segments = [{ variants: [variant("lead", 0.2, 0.1), variant("worst", 0.8, 0), variant("bad", 0.04, 0.2)] }]
    assert.deepStrictEqual(losersOf(all, segments, evidence), ["bad"])
  })

  it("are limited so that the best variant is unlikely to be among them", () => {
    const many = [all[0]!, ...["a", "b", "c", "d"].map((id) => variant(id, 0.004, 0.2))]
    assert.deepStrictEqual(losersOf(many, [], evidence), ["a", "b"])
  })

  it("require days of data, matured sends of the leader and of their own, and active variants", () => {
    assert.deepStrictEqual(losersOf(all, [], { ...evidence, days: 6.9 }), [])
    assert.deepStrictEqual(losersOf([variant("lead", 1, 0, { matured_sends: 99 }), ...all.slice(1)], [], evidence), [])
    assert.deepStrictEqual(losersOf(all, [], { ...evidence, leader: null }), [])
    const few = [all[0]!, variant("few", 0, 0.5, { matured_sends: 99 }), variant("off", 0, 0.5, { status: "stopped" })]
    assert.deepStrictEqual(losersOf(few, [], evidence), [])
  })
})
