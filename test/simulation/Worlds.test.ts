import { assert, describe, it } from "@effect/vitest"
import { chance, seedOf } from "../../src/simulation/Chance.ts"
import { absent, makeWorld, worldStart } from "../../src/simulation/World.ts"
import { shortWorld, worldNames } from "../../bench/simulation/Worlds.ts"

const day = 86_400_000

describe("a world", () => {
  it.each(worldNames)("%s is the same for the same seed, and another for another", (name) => {
    const days = name === "small" ? 28 : 4
    const [a, b, c] = [1, 1, 2].map((seed) => shortWorld(name, seed, days, 400)) as [
      ReturnType<typeof shortWorld>,
      ReturnType<typeof shortWorld>,
      ReturnType<typeof shortWorld>,
    ]
    const rates = (world: typeof a) => {
      const out = new Float64Array(world.arms.length)
      return Array.from({ length: world.decisions }, (_, i) => {
        world.rates(i, out)
        return [...out]
      })
    }
    assert.deepStrictEqual([a.at, a.requestOf, a.clickChance, a.delayHours], [
      b.at,
      b.requestOf,
      b.clickChance,
      b.delayHours,
    ])
    assert.deepStrictEqual(rates(a), rates(b))
    assert.notDeepEqual(rates(a), rates(c))
  })

  it.each(worldNames)("%s has rates as e-mail has them, and decisions in the order of time", (name) => {
    const world = shortWorld(name, 3, name === "small" ? 28 : 60, 2_000)
    const out = new Float64Array(world.arms.length)
    let sum = 0
    for (let i = 0; i < world.decisions; i++) {
      world.rates(i, out)
      for (const rate of out) assert.isTrue(rate > 0 && rate < 1)
      sum += out.reduce((a, b) => a + b) / out.length
      assert.isAtLeast(world.at[i]!, i === 0 ? worldStart : world.at[i - 1]!)
      assert.isBelow(world.at[i]!, worldStart + world.days * day)
      assert.isAtLeast(world.eligible[world.eligibleOf[i]!]!.arms.length, 2)
    }
    const mean = sum / world.decisions
    assert.isTrue(name === "obd" ? mean > 0.004 && mean < 0.008 : mean > 0.008 && mean < 0.12, String(mean))
  })

  it("has the planned people, who lack attributes without a value", () => {
    const world = makeWorld({
      name: "people",
      seed: 5,
      days: 10,
      sends: 1000,
      people: 50,
      arms: ["a", "b"],
      attributes: Array.from({ length: 20 }, (_, i) => ({ name: `a${i}`, values: [[absent, 1], ["x", 1]] as const })),
      logRates: () => ({ byValues: (values) => -3 - values[0]!, byDay: () => 0 }),
    })
    assert.strictEqual(world.requests.length, 50)
    assert.isAbove(new Set(world.requestOf).size, 40)
    const out = new Float64Array(2)
    for (let i = 0; i < 100; i++) {
      const { attrs } = world.requests[world.requestOf[i]!]!
      world.rates(i, out)
      assert.closeTo(Math.log(out[0]!), attrs.has("a0") ? -4 : -3, 1e-12)
      for (const [value] of attrs.values()) assert.strictEqual(value, "x")
    }
  })

  it("adds and removes variants on their days", () => {
    const world = shortWorld("launch", 1, 60, 3_000)
    const there = (at: number) => {
      const i = world.at.findIndex((time) => time >= worldStart + at * day)
      return world.eligible[world.eligibleOf[i]!]!.set.ids
    }
    assert.deepStrictEqual(there(1), ["v1", "v2", "v3", "v4"])
    assert.deepStrictEqual(there(16), ["v1", "v2", "v3", "v4", "v5", "v6"])
    assert.deepStrictEqual(there(31), ["v1", "v3", "v4", "v5", "v6", "v7", "v8"])
  })

  it("draws users by the shares of their values, and delays around their median", () => {
    const world = makeWorld({
      name: "shares",
      seed: 5,
      days: 10,
      sends: 20_000,
      arms: ["a", "b"],
      attributes: [{ name: "plan", values: [["free", 3], ["pro", 1]] }],
      delay: { medianHours: 5, sigma: 1.6 },
      logRates: () => ({ byValues: () => -3, byDay: () => 0 }),
    })
    let pro = 0
    for (const request of world.requestOf) if (world.requests[request]!.attrs.get("plan")![0] === "pro") pro++
    assert.closeTo(pro / world.decisions, 0.25, 0.015)
    assert.closeTo([...world.delayHours].sort((a, b) => a - b)[10_000]!, 5, 0.25)
    assert.isAtMost(Math.max(...world.delayHours), 336)
  })
})

describe("chance", () => {
  const moments = (draw: () => number, count = 20_000) => {
    const values = Array.from({ length: count }, draw)
    const mean = values.reduce((a, b) => a + b) / count
    return { mean, variance: values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count }
  }

  it("matches the moments of its distributions", () => {
    const { gamma, normal, uniform } = chance(7)
    for (
      const [draw, mean, variance] of [
        [uniform, 1 / 2, 1 / 12],
        [normal, 0, 1],
        [() => gamma(0.4), 0.4, 0.4],
        [() => gamma(9), 9, 9],
      ] as const
    ) {
      const found = moments(draw)
      assert.closeTo(found.mean, mean, 5 * Math.sqrt(variance / 20_000))
      assert.closeTo(found.variance / variance, 1, 0.1)
    }
  })

  it("derives different seeds for streams of different names", () => {
    const seeds = new Set([1, 2, 3].flatMap((seed) => ["a", "b", "c"].map((name) => seedOf(seed, name))))
    assert.strictEqual(seeds.size, 9)
  })
})
