import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { logNormal, pick, poisson, seeded, shuffled } from "../../src/demo/Chance.ts"
import { normal } from "../../src/simulation/Chance.ts"
import { cells, clicksAt, draw, drawCell, messagesAt } from "../../src/demo/Rates.ts"
import { react } from "../../src/demo/Reactions.ts"

const seeds = fc.integer({ min: -1_000_000, max: 1_000_000 })
const hours = Array.from({ length: 24 }, (_, hour) => hour * 3_600_000)
const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length
const draws = (seed: number, count: number, one: (chance: () => number) => number) => {
  const chance = seeded(seed)
  return Array.from({ length: count }, () => one(chance))
}

describe("the random numbers of the demo", () => {
  it("are identical for the same seed and different for the next", () => {
    fc.assert(fc.property(seeds, (seed) => {
      const one = draws(seed, 5, (chance) => chance())
      assert.deepStrictEqual(one, draws(seed, 5, (chance) => chance()))
      assert.notDeepEqual(one, draws(seed + 1, 5, (chance) => chance()))
      assert.isTrue(one.every((value) => value >= 0 && value < 1))
    }))
  })

  it("draws the distributions it names", () => {
    const normals = draws(1, 20_000, normal)
    assert.closeTo(mean(normals), 0, 0.03)
    assert.closeTo(mean(normals.map((value) => value ** 2)), 1, 0.05)
    const delays = draws(2, 20_000, (chance) => logNormal(chance, 5, 1.3)).sort((a, b) => a - b)
    assert.closeTo(delays[10_000]!, 5, 0.3)
    for (const lambda of [0, 0.3, 40]) {
      const counts = draws(3, 10_000, (chance) => poisson(chance, lambda))
      assert.closeTo(mean(counts), lambda, 0.05 * lambda)
      assert.closeTo(mean(counts.map((count) => (count - lambda) ** 2)), lambda, 0.08 * lambda)
    }
    const picks = draws(4, 20_000, (chance) => pick(chance, [0.5, 0, 0.3, 0.2]))
    for (const [i, share] of [0.5, 0, 0.3, 0.2].entries()) {
      assert.closeTo(picks.filter((place) => place === i).length / 20_000, share, 0.02)
    }
  })

  it("shuffles without losing anything", () => {
    fc.assert(fc.property(seeds, fc.array(fc.integer()), (seed, items) => {
      assert.deepStrictEqual([...shuffled(seeded(seed), items)].sort(), [...items].sort())
    }))
  })
})

describe("the true rates of the demo", () => {
  it("are probabilities determined by the seed", () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 8 }), (seed, variants) => {
        const rates = draw(seed, variants)
        const again = draw(seed, variants)
        for (const { cell } of cells) {
          for (const hour of hours) {
            const one = rates.at(cell, hour)
            assert.strictEqual(one.length, variants)
            assert.isTrue(one.every((rate) => rate > 0 && rate <= 0.9))
            assert.deepStrictEqual(one, again.at(cell, hour))
          }
        }
      }),
      { numRuns: 20 },
    )
  })

  it("equal the rate of the average message of the audience on average", () => {
    const rates = draw(24, 5)
    const averages = rates.average.map((_, variant) =>
      mean(
        hours.map((hour) =>
          messagesAt(hour) * cells.reduce((sum, { cell, share }) => sum + share * rates.at(cell, hour)[variant]!, 0)
        ),
      )
    )
    averages.forEach((average, variant) => assert.closeTo(average, rates.average[variant]!, 1e-9))
  })

  it("allow a gain over the best single variant by default", () => {
    const rates = draw(24, 5)
    const best = cells.reduce((sum, { cell, share }) => sum + share * Math.max(...rates.at(cell, 0)), 0)
    const one = Math.max(
      ...rates.average.map((_, variant) =>
        cells.reduce((sum, { cell, share }) => sum + share * rates.at(cell, 0)[variant]!, 0)
      ),
    )
    assert.isAbove(best / one, 1.1)
  })

  it("belong to an audience whose shares sum to 1", () => {
    assert.closeTo(cells.reduce((sum, { share }) => sum + share, 0), 1, 1e-9)
    assert.closeTo(mean(hours.map(messagesAt)), 1, 1e-9)
    assert.closeTo(mean(hours.map((hour) => messagesAt(hour) * clicksAt(hour))), 1, 1e-9)
    const chance = seeded(5)
    const users = Array.from({ length: 20_000 }, () => JSON.stringify(drawCell(chance)))
    for (const { cell, share } of cells) {
      assert.closeTo(users.filter((user) => user === JSON.stringify(cell)).length / 20_000, share, 0.01)
    }
  })
})

describe("the reactions of the audience", () => {
  const decidedAt = Date.UTC(2026, 0, 5)
  const reactions = (count: number, clickRate: number) => {
    const chance = seeded(6)
    return Array.from(
      { length: count },
      (_, i) => react(chance, { trackingId: `t${i}`, decidedAt, clickRate, link: "https://shop.example/" }),
    )
  }

  it("click at the given rate of delivered messages", () => {
    const all = reactions(20_000, 0.2)
    const firsts = all.map((some) => some.filter(({ again }) => !again).map(({ event }) => event))
    const delivered = firsts.filter((events) => events.some(({ event }) => event === "delivered"))
    const clicked = firsts.filter((events) => events.some(({ event }) => event === "click"))
    assert.closeTo(clicked.length / delivered.length, 0.2, 0.01)
    for (const events of clicked) assert.isTrue(events.some(({ automated, event }) => event === "open" && !automated))
    const repeated = all.flat().filter(({ again }) => again).length
    assert.closeTo(repeated / firsts.flat().length, 0.05, 0.005)
  })

  it("are reported after they have happened, each under its own id, and in time to be counted", () => {
    for (const some of reactions(5000, 0.5)) {
      const firsts = some.filter(({ again }) => !again)
      assert.strictEqual(new Set(firsts.map(({ event }) => event.event_id)).size, firsts.length)
      const deliveredAt = some.find(({ event }) => event.event === "delivered")?.reportAt ?? Infinity
      for (const { event, reportAt } of some) {
        const occurredAt = Date.parse(event.occurred_at)
        assert.isAtMost(occurredAt, reportAt)
        assert.isAbove(occurredAt, decidedAt)
        assert.isBelow(occurredAt, decidedAt + 336 * 3_600_000)
        // A click within ten seconds of delivery would be a machine's.
        if (event.event === "click") assert.isAbove(occurredAt, deliveredAt + 10_000)
      }
    }
  })
})
