import { assert, describe, it } from "@effect/vitest"
import { capacities, defaults, growth } from "../../bench/simulation/Servers.ts"
import { seeded } from "../support/load.ts"

const at = (servers: number, change: Partial<typeof defaults> = {}) =>
  capacities({ ...defaults, ...change }, servers, seeded(1))

describe("the simulation of database servers", () => {
  it("places all traffic on a single server", () => {
    const { disk, "limit of the key": key, "processors of the database": processors } = at(1)
    assert.strictEqual(key, 10_000)
    assert.closeTo(processors, 0.7 * 8e6 / (40 + 1.35 * 200), 1e-6)
    assert.closeTo(disk, 0.7 * 4e12 / (1320 * 400 + 296 * 30) / 86_400 * 10, 1e-6)
  })

  it("stores a share of the bytes on a file system that compresses", () => {
    assert.closeTo(
      at(1, { storedShare: 0.36 }).disk / at(1).disk,
      (1320 * 400 + 296 * 30) / (0.36 * 1320 * 400 + 296 * 30),
      1e-9,
    )
  })

  it("gains at most a factor of two by more servers while one organization has half of the traffic", () => {
    for (const servers of [10, 100, 1_000]) {
      const gain = at(servers).disk / at(1).disk
      assert.isTrue(gain > 1 && gain <= 2, `${servers}: ${gain}`)
    }
    assert.isAbove(at(100, { parts: 10 }).disk / at(1).disk, 4)
  })

  it("counts connections of whole nodes", () => {
    assert.closeTo(at(1, { pool: 4 }).connections / at(1).connections, 16 / 8, 1e-9)
  })

  it("ends with a limit that no setting moves, and each setting raises the rate", () => {
    for (const servers of [1, 10, 100]) {
      const steps = growth(servers, 20)
      assert.isUndefined(steps.at(-1)!.remedy)
      assert.isTrue(steps.slice(0, -1).every(({ remedy }) => remedy !== undefined))
      for (const [i, step] of steps.slice(1).entries()) assert.isAtLeast(step.rate, steps[i]!.rate)
    }
  })
})
