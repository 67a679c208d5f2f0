import { assert, describe, it } from "@effect/vitest"
import { learnDelays, type ObservedOutcomes, organizationDelays } from "../../src/bandit/DelayPrior.ts"
import { delayEdges, Delays, maturity } from "../../src/bandit/Maturity.ts"
import { bucketAt } from "../../src/bandit/Window.ts"
import { hour, normal, now, uniform } from "./Samples.ts"

const second = 1 / 3600
const minute = 1 / 60

const unknown = organizationDelays(new Delays(), now)

interface World {
  readonly sends: number
  /** Sends are spread evenly over the hours before now. */
  readonly hours: number
  readonly rate: number
  readonly medianHours: number
  readonly sigma: number
}

/** The data of a simulated template so far. */
const seen = ({ hours, medianHours, rate, sends, sigma }: World, seed: number) => {
  const u = uniform(seed)
  const z = normal(seed + 1000)
  const delays = new Delays()
  const totals = new Map<number, { start: number; sends: number; value: number }>()
  for (let i = 0; i < sends; i++) {
    const sentAt = now - hours * u() * hour
    const { start } = bucketAt(sentAt, now)
    let total = totals.get(start)
    if (total === undefined) totals.set(start, total = { start, sends: 0, value: 0 })
    total.sends++
    const delayHours = medianHours * Math.exp(sigma * z())
    if (u() >= rate || sentAt + delayHours * hour > now) continue
    total.value++
    delays.add(sentAt, delayHours)
  }
  const reactions: ObservedOutcomes = {
    totals: [...totals.values()],
    worth: 1,
    mostPerSend: 1,
    organizationLogRate: Math.log(0.03),
  }
  return { delays, reactions }
}

const learn = (world: World, seed = 1, organization = unknown) => {
  const { delays, reactions } = seen(world, seed)
  return learnDelays(delays, organization, reactions, now)
}

const seeds = [1, 2, 3, 4, 5, 6, 7, 8]

describe("the delay curve of a template without history", () => {
  it("assumes slow reactions with a wide spread before any click", () => {
    const { curve, spread } = learn({ sends: 1, hours: 0.1, rate: 0, medianHours: 1, sigma: 1 })
    assert.isBelow(maturity(curve, 1), 0.4)
    assert.isAbove(maturity(curve, 24), 0.7)
    assert.isAbove(spread[delayEdges.indexOf(1)]!, 0.2)
    curve.forEach((share, j) => assert.isTrue(share <= (curve[j + 1] ?? 1) + 1e-12))
  })

  it("follows clicks within seconds after a dozen of them", () => {
    for (const seed of seeds) {
      for (const rate of [0.03, 0.1, 0.4]) {
        const { curve, spread } = learn(
          { sends: 12 / rate, hours: 0.2, rate, medianHours: 5 * second, sigma: 0.7 },
          seed,
        )
        assert.isAbove(maturity(curve, 5 * minute), 0.85)
        assert.isAbove(maturity(curve, 1), 0.9)
        assert.isBelow(spread[delayEdges.indexOf(1)]!, 0.15)
      }
    }
  })

  it("does not count recent sends as failures if reactions take hours", () => {
    for (const seed of seeds) {
      for (const [sends, hours] of [[100, 1], [300, 3], [1000, 3], [5000, 2], [500, 12]] as const) {
        const { curve } = learn({ sends, hours, rate: 0.03, medianHours: 5, sigma: 1.6 }, seed)
        // The true shares are 0.16 and 0.37.
        assert.isBelow(maturity(curve, 1), 0.4)
        assert.isBelow(maturity(curve, 3), 0.62)
      }
    }
  })

  it("distinguishes reactions of minutes from reactions of hours", () => {
    for (const seed of seeds) {
      const { curve } = learn({ sends: 1500, hours: 1.5, rate: 0.1, medianHours: 10 * minute, sigma: 1 }, seed)
      // The true shares are 0.5 and 0.96: between the curves that are compared.
      assert.isTrue(maturity(curve, 10 * minute) > 0.15 && maturity(curve, 10 * minute) < 0.7)
      assert.isAbove(maturity(curve, 1), 0.45)
    }
  })

  it("excludes curves that imply more clicks than sends", () => {
    // Delays of earlier releases are only known to be below a quarter of an hour.
    const start = bucketAt(now, now).start
    const delays = new Delays()
    delays.merge([[start, [120]]])
    const reactions: ObservedOutcomes = {
      totals: [{ start, sends: 300, value: 120 }],
      worth: 1,
      mostPerSend: 1,
      organizationLogRate: Math.log(0.03),
    }
    assert.isAbove(maturity(learnDelays(delays, unknown, reactions, now).curve, 0.25), 0.5)
    const worth = { ...reactions, worth: 20, mostPerSend: 20, totals: [{ start, sends: 300, value: 2400 }] }
    assert.deepStrictEqual(learnDelays(delays, unknown, worth, now), learnDelays(delays, unknown, reactions, now))
  })
})

describe("the delay curve of an organization", () => {
  const slow = organizationDelays(
    seen({ sends: 20_000, hours: 300, rate: 0.03, medianHours: 5, sigma: 1.6 }, 3).delays,
    now,
  )

  it("is the starting curve of a new template", () => {
    const { curve } = learn({ sends: 1, hours: 0.1, rate: 0, medianHours: 5, sigma: 1 }, 1, slow)
    assert.isAbove(slow.clicks, 400)
    for (const [hours, share] of [[1, 0.158], [6, 0.548], [24, 0.84]] as const) {
      assert.closeTo(maturity(curve, hours), share, 0.08)
    }
  })

  it("is overridden by clicks within seconds", () => {
    const { curve } = learn({ sends: 300, hours: 0.2, rate: 0.2, medianHours: 5 * second, sigma: 0.7 }, 1, slow)
    assert.isAbove(maturity(curve, 1), 0.9)
  })
})
