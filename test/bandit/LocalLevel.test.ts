import { assert, describe, it } from "@effect/vitest"
import { certainChange, type DailyOutcomes, levelCases } from "../../src/bandit/LocalLevel.ts"
import { chance } from "../../src/simulation/Chance.ts"
import { dayMillis } from "../../src/bandit/Window.ts"

const days = 42
const reported = 14

/** Outcomes of variants with these log rates by variant and day, relative to `perDay` outcomes. */
const drawn = (
  seed: number,
  perDay: ReadonlyArray<number>,
  logs: ReadonlyArray<ReadonlyArray<number>>,
): DailyOutcomes => {
  const { uniform } = chance(seed)
  const poisson = (mean: number) => {
    let count = 0
    for (let p = Math.exp(-mean), x = uniform(); x > p; count++) x -= p, p *= mean / (count + 1)
    return count
  }
  return {
    days: Array.from({ length: days }, (_, day) => day * dayMillis),
    shares: Float64Array.from({ length: days }, (_, day) => day >= days - reported ? 1 / reported : 0),
    outcomes: logs.map((own, v) => Float64Array.from(own, (log) => poisson(perDay[v]! * Math.exp(log)))),
    expected: logs.map((_, v) => new Float64Array(days).fill(perDay[v]!)),
    centers: logs.map(() => 0),
    tau0: 0.2,
  }
}

const truthOf = (own: ReadonlyArray<number>) =>
  Math.log(own.slice(-reported).reduce((sum, log) => sum + Math.exp(log), 0) / reported)

/** Share of 95 % intervals that contain the mean log rate of the last days, over all variants and worlds. */
const coverageOf = (
  worlds: number,
  perDay: ReadonlyArray<number>,
  logsOf: (normal: () => number) => ReadonlyArray<ReadonlyArray<number>>,
) => {
  let held = 0
  let width = 0
  for (let seed = 1; seed <= worlds; seed++) {
    const { normal } = chance(seed * 7919)
    const logs = logsOf(normal)
    const cases = levelCases(drawn(seed, perDay, logs), 8)
    logs.forEach((own, v) => {
      const draws = cases.flatMap(({ variants }) => {
        const { mean, own: variance, shared } = variants[v]!
        const sd = Math.sqrt(variance + shared ** 2)
        return Array.from({ length: 200 }, () => mean + sd * normal())
      }).sort((a, b) => a - b)
      const [low, high] = [draws[Math.floor(0.025 * draws.length)]!, draws[Math.floor(0.975 * draws.length)]!]
      const truth = truthOf(own)
      if (low <= truth && truth <= high) held++
      width += high - low
    })
  }
  const all = worlds * perDay.length
  return { coverage: held / all, width: width / all }
}

const still = (normal: () => number) =>
  [0, 1, 2].map(() => {
    const level = 0.15 * normal()
    return Array.from({ length: days }, () => level)
  })

const walking = (step: number) => (normal: () => number) =>
  [0, 1, 2].map(() => {
    let level = 0.15 * normal()
    return Array.from({ length: days }, () => level += step * normal())
  })

const traffic = [20, 6, 3]

describe("levels of the last days", () => {
  it("have intervals that contain the rates of variants that walk, fall, or rise together", () => {
    const fall = (normal: () => number) =>
      still(normal).map((own, v) => own.map((log, day) => v === 0 && day >= 28 ? log - 0.43 : log))
    const rise = (normal: () => number) =>
      still(normal).map((own) => own.map((log, day) => day >= 35 ? log + 0.4 : log))
    const worlds = { still, walk: walking(0.04), fast: walking(0.08), rise }
    for (const [name, logsOf] of Object.entries(worlds)) {
      assert.isAtLeast(coverageOf(40, traffic, logsOf).coverage, 0.87, name)
    }
    // Steps of one size do not describe one fall among days without changes.
    assert.isAtLeast(coverageOf(40, traffic, fall).coverage, 0.83)
  })

  it("are as certain as all data allow while nothing moves, and less certain once something has moved", () => {
    const calm = coverageOf(30, traffic, still).width
    const outcomes = traffic.map((perDay) => perDay * days)
    const constant = outcomes.reduce((sum, n) => sum + 2 * 1.96 / Math.sqrt(n + 1 / 0.2 ** 2), 0) / outcomes.length
    assert.isBelow(calm, 1.35 * constant)
    assert.isAbove(coverageOf(30, traffic, walking(0.08)).width, 1.3 * calm)
  })

  it("remain open to movement, however many outcomes suggest that nothing moves", () => {
    const perDay = 10_000
    const data = drawn(1, [1], still(() => 0).slice(0, 1))
    const steady = { outcomes: [new Float64Array(days).fill(perDay)], expected: [new Float64Array(days).fill(perDay)] }
    for (const { variants: [only] } of levelCases({ ...data, ...steady }, 12)) {
      // The last 14 days alone have a third of the outcomes.
      assert.isAbove(only!.own + only!.shared ** 2, 2 / (perDay * days))
    }
  })

  it("attribute the fall of the variant with most traffic to this variant", () => {
    const logs = [20, 6, 3].map((_, v) => Array.from({ length: days }, (_, day) => v === 0 && day >= 28 ? -0.5 : 0))
    const cases = levelCases(drawn(5, [200, 60, 30], logs), 8)
    for (const { variants: [first, second] } of cases) {
      assert.closeTo(first!.mean, -0.5, 0.08)
      assert.closeTo(second!.mean, 0, 0.12)
    }
  })

  it("rarely change certainly while nothing moves, and do after a fall", () => {
    const changesOf = (perDay: ReadonlyArray<number>, fall: number) =>
      Array.from({ length: 40 }, (_, seed) => {
        const logs = perDay.map((_, v) => Array.from({ length: days }, (_, day) => v === 0 && day >= 28 ? fall : 0))
        const cases = levelCases(drawn(seed + 1, perDay, logs), 8)
        return perDay.map((_, v) => certainChange(cases.map(({ changes }) => changes![v]!)))
      })
    assert.isAtMost(changesOf(traffic, 0).flat().filter((change) => change !== undefined).length, 6)
    const fell = changesOf([60, 20, 10], -0.5).flatMap(([first]) => first ?? [])
    assert.isAtLeast(fell.length, 30)
    // A fall of 39 %.
    assert.isTrue(fell.every((change) => change < -0.15))
    assert.closeTo(fell.reduce((sum, change) => sum + change, 0) / fell.length, Math.expm1(-0.5), 0.08)
  })

  it("have no change without a week before the reported days", () => {
    const data = drawn(1, traffic, still(() => 0))
    const from = days - reported - 6
    const short = (list: Float64Array) => list.slice(from)
    const { changes } = levelCases({
      ...data,
      days: data.days.slice(from),
      shares: short(data.shares),
      outcomes: data.outcomes.map(short),
      expected: data.expected.map(short),
    }, 1)[0]!
    assert.isUndefined(changes)
  })

  it("are the prior of a variant without outcomes and expected outcomes", () => {
    const none = { outcomes: new Float64Array(days), expected: new Float64Array(days) }
    const data = drawn(1, [20], still(() => 0).slice(0, 1))
    const cases = levelCases({
      ...data,
      outcomes: [...data.outcomes, none.outcomes],
      expected: [...data.expected, none.expected],
      centers: [0, 0.3],
    }, 8)
    for (const { common, variants: [, without] } of cases) {
      assert.closeTo(without!.mean, 0.3 + common.mean, 0.05)
      assert.isAtLeast(Math.sqrt(without!.own), 0.19)
    }
  })
})
