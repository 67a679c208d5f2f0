import { assert, describe, it } from "@effect/vitest"
import { form, formNames } from "../../bench/simulation/Forms.ts"
import { uniform } from "../../src/simulation/Learners.ts"
import { run } from "../../src/simulation/Run.ts"
import { type World, worldStart } from "../../src/simulation/World.ts"

const day = 86_400_000

/** Rates of every variant for the first `count` decisions, at the decisions themselves. */
const ratesOf = (world: World, count = 500) => {
  const out = new Float64Array(world.arms.length)
  return Array.from({ length: count }, (_, i) => {
    world.rates(i, out)
    return [...out]
  })
}
const meanOf = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * Observations of a learner that splits evenly: times of sending and of the event, in days since the start of the
 * world.
 */
const observed = (world: World) => {
  const events: Array<{ readonly sent: number; readonly heard: number; readonly value: number }> = []
  run(world, {
    name: "listener",
    make: (setting) => ({
      ...uniform.make(setting),
      observe: (_request, _arm, sentAt, now, value) =>
        void events.push({ sent: (sentAt - worldStart) / day, heard: (now - worldStart) / day, value }),
    }),
  }, 1)
  return events
}

describe("a world of another form", () => {
  it.each(formNames)("%s is the same for the same seed, and has rates below 1", (name) => {
    const [a, b] = [form(name, 4), form(name, 4)]
    assert.deepStrictEqual(ratesOf(a), ratesOf(b))
    for (const rate of ratesOf(a).flat()) assert.isTrue(rate > 0 && rate < 1)
  })

  it("logistic has rates of 5 to 30 %, and the pair of attribute values decides the best variant", () => {
    const rates = [1, 2, 3, 4, 5, 6].flatMap((seed) => ratesOf(form("logistic", seed)).flat())
    assert.isAbove(rates.filter((rate) => rate > 0.05 && rate < 0.3).length / rates.length, 0.9)
    const world = form("logistic", 1)
    const logOdds = new Map<string, number>()
    ratesOf(world, 2000).forEach(([first, second], i) => {
      const { attrs } = world.requests[world.requestOf[i]!]!
      const odds = (rate: number) => Math.log(rate / (1 - rate))
      logOdds.set(`${attrs.get("plan")![0]} ${attrs.get("device")![0]}`, odds(first!) - odds(second!))
    })
    assert.strictEqual(logOdds.size, 9)
    const at = (plan: number, device: number) => logOdds.get(`plan${plan} device${device}`)!
    // Effects of single attributes would cancel out.
    assert.isAbove(Math.abs(at(1, 1) - at(1, 2) - at(2, 1) + at(2, 2)), 0.05)
  })

  it("noise has thirty attributes, and the same rates for everybody", () => {
    const world = form("noise", 1)
    assert.strictEqual(world.requests[0]!.attrs.size, 30)
    const rates = ratesOf(world)
    for (const row of rates) assert.deepStrictEqual(row, rates[0])
    assert.strictEqual(new Set(rates[0]).size, 5)
  })

  it("weekly gets a new variant every week", () => {
    const world = form("weekly", 1)
    const counts = Array.from({ length: 8 }, (_, week) => {
      const i = world.at.findIndex((time) => time >= worldStart + (7 * week + 0.01) * day)
      return world.eligible[world.eligibleOf[i]!]!.arms.length
    })
    assert.deepStrictEqual(counts, [4, 5, 6, 7, 8, 9, 10, 11])
  })

  it("conversions succeed about once in a thousand messages", () => {
    const mean = meanOf([1, 2, 3, 4].flatMap((seed) => ratesOf(form("conversions", seed), 1).flat()))
    assert.isTrue(mean > 0.0007 && mean < 0.0015, String(mean))
  })

  it("lossy loses 30 % of the events, and all of its outage", () => {
    const world = form("lossy", 1)
    const all = observed({ ...world, isLost: undefined })
    const kept = observed(world)
    const isOut = ({ heard }: { readonly heard: number }) => heard >= 20 && heard < 23
    assert.isAbove(all.filter(isOut).length, 20)
    assert.strictEqual(kept.filter(isOut).length, 0)
    assert.closeTo(kept.length / all.filter((event) => !isOut(event)).length, 0.7, 0.04)
  })

  it("machines open 30 % of the messages at once, whatever the variant, and earn no reward", () => {
    const world = form("machines", 1)
    const people = observed({ ...world, isMachine: undefined })
    const all = observed(world)
    const machines = all.filter(({ heard, sent }) => heard === sent)
    assert.closeTo(machines.length / world.decisions, 0.3, 0.01)
    assert.strictEqual(people.filter(({ heard, sent }) => heard === sent).length, 0)
    assert.closeTo((all.length - machines.length) / people.length, 0.7, 0.03)
    assert.strictEqual(run(world, uniform, 1).reward, run({ ...world, isMachine: undefined }, uniform, 1).reward)
  })

  it("costs have opt-outs days after their messages, which reduce the reward", () => {
    const world = form("costs", 1)
    const optOuts = observed(world).filter(({ value }) => value === -8)
    const days = optOuts.map(({ heard, sent }) => heard - sent).sort((a, b) => a - b)
    assert.closeTo(days[Math.floor(days.length / 2)]!, 3, 0.3)
    assert.closeTo(optOuts.length / world.decisions, meanOf(world.costs!.rates), 0.0006)
    const clicks = run({ ...world, costs: undefined }, uniform, 1).reward
    const expected = 8 * meanOf(world.costs!.rates) * world.decisions
    assert.closeTo(clicks - run(world, uniform, 1).reward, expected, 1e-6 * expected)
  })

  it("revenue has orders of different values, and rewards are their means", () => {
    const world = form("revenue", 1)
    const values = observed(world).map(({ value }) => value)
    const { reward } = run(world, uniform, 1)
    assert.isAbove(new Set(values).size, values.length / 2)
    assert.closeTo(values.reduce((sum, value) => sum + value, 0) / reward, 1, 0.1)
    assert.closeTo(meanOf([1, 2, 3, 4, 5, 6].flatMap((seed) => [...form("revenue", seed).means!])), 1, 0.1)
  })

  it("batches leave as eight times 50,000 messages within half an hour", () => {
    const world = form("batches", 1)
    const counts = new Map<number, number>()
    for (const at of world.at) {
      const age = (at - worldStart) / day
      if (age % 3 < 9 / 24 || age % 3 >= 9.5 / 24 + 1e-9) assert.fail(`A message left at day ${age}`)
      counts.set(Math.floor(age / 3), (counts.get(Math.floor(age / 3)) ?? 0) + 1)
    }
    assert.deepStrictEqual([...counts.keys()], [0, 1, 2, 3, 4, 5, 6, 7])
    for (const count of counts.values()) assert.closeTo(count, 50_000, 1000)
  })

  it("trickle has 500 decisions a day, and variants that differ by plan", () => {
    const world = form("trickle", 1)
    assert.strictEqual(world.decisions / world.days, 500)
    assert.strictEqual(new Set(ratesOf(world).map(([rate]) => rate)).size, 3)
  })
})
