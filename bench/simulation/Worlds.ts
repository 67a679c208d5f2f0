import type { Chance } from "../../src/simulation/Chance.ts"
import { obdLog } from "./ObdLog.ts"
import { armIds, type AttributePlan, makeWorld, type World, type WorldPlan } from "../../src/simulation/World.ts"

/** Delay of clicks on e-mail. */
const emailDelay = { medianHours: 5, sigma: 1.6 }

const dayCount = 60
const sendCount = 60_000

/** Log of a base rate between 1.5 and 5 %. */
const baseRate = ({ uniform }: Chance): number => Math.log(0.015) + uniform() * Math.log(0.05 / 0.015)

const normals = ({ normal }: Chance, count: number, sd: number): Float64Array =>
  Float64Array.from({ length: count }, () => sd * normal())

const nothing = () => 0

type Shape = Omit<WorldPlan, "name" | "seed">

/** Variants with different rates, without any other effect. */
const plain = (arms: number, days: number, sends: number): Shape => ({
  days,
  sends,
  arms: armIds(arms),
  attributes: [],
  logRates: (chance) => {
    const base = baseRate(chance)
    const effects = normals(chance, arms, 0.25)
    return { byValues: (_, arm) => base + effects[arm]!, byDay: nothing }
  },
})

const evenly = (name: string, values: ReadonlyArray<string>): AttributePlan => ({
  name,
  values: values.map((value) => [value, 1]),
})

/** Plan, country and device have effects. Gender and cohort have no effect. */
const segments: ReadonlyArray<AttributePlan> = [
  { name: "plan", values: [["free", 0.6], ["pro", 0.3], ["team", 0.1]] },
  { name: "country", values: [["de", 0.35], ["at", 0.2], ["ch", 0.15], ["fr", 0.12], ["it", 0.1], ["gb", 0.08]] },
  { name: "device", values: [["mobile", 0.65], ["desktop", 0.35]] },
  evenly("gender", ["f", "m"]),
  evenly("cohort", ["a", "b", "c", "d"]),
]

const segmentRates = (chance: Chance, arms: number) => {
  const base = baseRate(chance)
  const plan = normals(chance, 3, 0.3)
  const country = normals(chance, 6, 0.3)
  const device = normals(chance, 2, 0.15)
  const effects = normals(chance, arms, 0.15)
  const byPlan = normals(chance, arms * 3, 0.3)
  const byDevice = normals(chance, arms * 2, 0.2)
  const residue = normals(chance, arms * 36, 0.1)
  return ([p = 0, c = 0, d = 0]: ReadonlyArray<number>, arm: number) =>
    base + plan[p]! + country[c]! + device[d]! + effects[arm]! + byPlan[arm * 3 + p]! + byDevice[arm * 2 + d]! +
    residue[((arm * 3 + p) * 6 + c) * 2 + d]!
}

/** Returns a random walk from 0 for each arm. The value of a day and an arm is at `day * arms + arm`. */
const walks = ({ normal }: Chance, arms: number, days: number, sd: number): Float64Array => {
  const walk = new Float64Array(days * arms)
  for (let i = arms; i < walk.length; i++) walk[i] = walk[i - arms]! + sd * normal()
  return walk
}

/** Rates change over time, the best variant wears out on one day, and seasons begin. */
const drift: Shape = {
  days: dayCount,
  sends: sendCount,
  arms: armIds(6),
  attributes: [],
  logRates: (chance) => {
    const base = baseRate(chance)
    const effects = normals(chance, 6, 0.2)
    const walk = walks(chance, 6, dayCount, 0.035)
    const byWeekend = normals(chance, 12, 0.2)
    const breakDay = Math.floor(dayCount * (0.35 + 0.3 * chance.uniform()))
    const levels = Array.from(effects, (effect, arm) => effect + walk[breakDay * 6 + arm]!)
    const broken = levels.indexOf(Math.max(...levels))
    return {
      byValues: (_, arm) => base + effects[arm]!,
      byDay: (day, arm) =>
        walk[day * 6 + arm]! + byWeekend[arm * 2 + (day % 7 >= 5 ? 1 : 0)]! +
        0.15 * Math.sin(2 * Math.PI * day / 7) + 0.1 * Math.sin(2 * Math.PI * day / 30) -
        (arm === broken && day >= breakDay ? 0.45 : 0),
    }
  },
}

/**
 * Returns the lifetimes of the arms: four arms from the beginning, and two more at each of `starts`. The second arm
 * ends at `leaves`.
 */
const launches = (starts: readonly [number, number], leaves: number) => (arm: number): readonly [number, number] => [
  arm < 4 ? 0 : arm < 6 ? starts[0] : starts[1],
  arm === 1 ? leaves : Infinity,
]

/** All effects together. */
const full: Shape = {
  days: dayCount,
  sends: sendCount,
  arms: armIds(8),
  attributes: segments,
  delay: emailDelay,
  lifetimes: launches([0.25 * dayCount, 0.5 * dayCount], 0.6 * dayCount),
  logRates: (chance) => {
    const byValues = segmentRates(chance, 8)
    const walk = walks(chance, 8, dayCount, 0.02)
    const weekday = normals(chance, 7, 0.15)
    return { byValues, byDay: (day, arm) => walk[day * 8 + arm]! + weekday[day % 7]! }
  },
}

/** Many variants, rare clicks, and user features with small effects. */
const obd: Shape = {
  days: dayCount,
  sends: 120_000,
  arms: armIds(obdLog.items.length),
  attributes: obdLog.features.map(({ name, values }) => ({
    name,
    values: values.map(([value, share]) => [value, share]),
  })),
  logRates: ({ normal }) => {
    // The effects that the log does not determine differ from seed to seed.
    const effects = obdLog.items.map(([mean, sd]) => mean + sd * normal())
    const byFeature = obdLog.features.map(({ values }) => values.map(([, , effect]): number => effect))
    return {
      byValues: (values, arm) =>
        values.reduce((sum, value, j) => sum + byFeature[j]![value]!, obdLog.base + effects[arm]!),
      byDay: nothing,
    }
  },
}

/** Forty templates of one organization with little traffic, one after another. */
const small: Shape = {
  days: 40 * 14,
  sends: 40 * 1_500,
  templates: 40,
  arms: armIds(5),
  attributes: [],
  delay: emailDelay,
  logRates: (chance) => {
    const base = baseRate(chance)
    const levels = normals(chance, 40, 0.2)
    const effects = normals(chance, 40 * 5, 0.25)
    return {
      byValues: () => base,
      byDay: (day, arm) => {
        const template = Math.floor(day / 14)
        return levels[template]! + effects[template * 5 + arm]!
      },
    }
  },
}

const shapes = {
  stat5: plain(5, dayCount, sendCount),
  stat20: plain(20, dayCount, sendCount),
  segment: {
    days: dayCount,
    sends: sendCount,
    arms: armIds(6),
    attributes: segments,
    logRates: (chance) => ({ byValues: segmentRates(chance, 6), byDay: nothing }),
  },
  drift,
  delay: { ...plain(5, 30, 30_000), delay: emailDelay },
  launch: { ...plain(8, dayCount, sendCount), delay: emailDelay, lifetimes: launches([15, 30], 30) },
  obd,
  full,
  small,
} satisfies Record<string, Shape>

/** Names of the benchmark's worlds. */
export type WorldName = keyof typeof shapes
export const worldNames = Object.keys(shapes) as ReadonlyArray<WorldName>

/**
 * The worlds of docs/model.md, "Simulated worlds": simulated e-mail traffic with click rates of 1 to 6 % (`obd`: 0.5 %)
 * over 30 or 60 days. `stat5` and `stat20`: variants with different rates. `segment`: the best variant differs by
 * attributes. `drift`: rates change and seasons begin. `delay`: slow clicks. `launch`: variants begin and end. `obd`:
 * 34 variants of a public log. `full`: all effects. `small`: 40 templates with little traffic. `worth` is the value of
 * a click to the learners.
 */
export const world = (name: WorldName, seed: number, worth = 1): World =>
  makeWorld({ ...shapes[name], name, seed, worth })

/** Returns a shorter version of the world `name`: `sends` decisions in the first `days` days with equal rates. */
export const shortWorld = (name: WorldName, seed: number, days: number, sends: number, worth = 1): World =>
  makeWorld({ ...shapes[name], name, seed, days, sends, worth })
