import { assert, describe, it } from "@effect/vitest"
import { delayCurve, delayEdges, type MaturityCounts } from "../../src/bandit/Maturity.ts"
import { variantCurves } from "../../src/bandit/VariantDelays.ts"
import { delayCounts } from "./delayCounts.ts"
import { adaptive, day, fitRows, hour, normal, now, type Row } from "./Samples.ts"

/** The counts of clicks with log-normal delays, all of them of sends of 20 days ago. */
const counted = (medianHours: number, clicks: number, seed: number): MaturityCounts => {
  const z = normal(seed)
  const delays = Array.from({ length: clicks }, () => ({
    sentAt: now - 20 * day,
    delayHours: Math.min(335, medianHours * Math.exp(1.2 * z())),
  }))
  return delayCounts(delays, now)
}

/** Variants with these medians, and the curve of all their clicks. */
const variants = (medians: ReadonlyArray<number>, clicks: number) => {
  const counts = medians.map((median, v) => [`v${v}`, counted(median, clicks, 7 + v)] as const)
  const sumOf = (key: "within" | "upTo") =>
    delayEdges.slice(1).map((_, j) => counts.reduce((sum, [, one]) => sum + one[key][j]!, 0))
  const curve = delayCurve({ within: sumOf("within"), upTo: sumOf("upTo") })
  return { curve, curves: variantCurves(new Map(counts), curve) }
}

const at6Hours = delayEdges.indexOf(6)

describe("the delay curves of variants", () => {
  it("equal the template's curve unless the data show a difference", () => {
    assert.strictEqual(variants([5, 5, 5], 300).curves.size, 0)
    assert.strictEqual(variants([1, 25], 4).curves.size, 0)
    assert.strictEqual(variants([5], 300).curves.size, 0)
    assert.strictEqual(variants([], 0).curves.size, 0)
  })

  it("separate fast from slow variants by their clicks", () => {
    const { curve, curves } = variants([1, 5, 25], 300)
    const shares = ["v0", "v1", "v2"].map((id) => curves.get(id)![at6Hours]!)
    // The log-normal shares at 6 hours.
    for (const [v, share] of [[0, 0.93], [1, 0.56], [2, 0.12]] as const) assert.closeTo(shares[v]!, share, 0.08)
    assert.isBelow(curve[at6Hours]!, shares[0]!)
    assert.isAbove(curve[at6Hours]!, shares[2]!)
    for (const own of curves.values()) {
      assert.strictEqual(own.at(-1), 1)
      own.forEach((share, j) => assert.isTrue(share >= (own[j - 1] ?? 0) && share <= 1))
    }
  })

  it("are closer to the template's curve with fewer clicks", () => {
    const few = variants([1, 25], 40)
    const many = variants([1, 25], 400)
    const distance = ({ curve, curves }: typeof few) => curves.get("v0")![at6Hours]! - curve[at6Hours]!
    assert.isAbove(distance(few), 0)
    assert.isBelow(distance(few), distance(many))
  })

  it("prevent a slow variant from looking worse while its clicks are due", () => {
    const { curve, curves } = variants([1, 25], 300)
    const rows = (["v0", "v1"] as const).map((variant): Row => {
      const sends = 4000
      const arrived = curves.get(variant)![delayEdges.indexOf(8)]!
      return { variant, context: "", start: now - 8.5 * hour, sends, clicks: Math.round(sends * 0.04 * arrived) }
    })
    const options = { curve, window: adaptive, rounds: 20 }
    const lead = (model: ReturnType<typeof fitRows>) => model.variants[0]!.beta[0]! - model.variants[1]!.beta[0]!
    assert.isAbove(lead(fitRows(rows, options)), 0.2)
    assert.closeTo(lead(fitRows(rows, { ...options, curves })), 0, 0.1)
  })
})
