import { withValues } from "./ConversionValues.ts"
import type { Chance } from "../../src/simulation/Chance.ts"
import {
  absent,
  armIds,
  type AttributePlan,
  makeWorld,
  type World,
  type WorldPlan,
} from "../../src/simulation/World.ts"

type Shape = Omit<WorldPlan, "name" | "seed">

/** Log of a base rate between 1.5 and 5 %. */
const baseRate = ({ uniform }: Chance): number => Math.log(0.015) + uniform() * Math.log(0.05 / 0.015)

const normals = ({ normal }: Chance, count: number, sd: number): Float64Array =>
  Float64Array.from({ length: count }, () => sd * normal())

const nothing = () => 0

const evenly = (name: string, count: number): AttributePlan => ({
  name,
  values: Array.from({ length: count }, (_, i) => [`${name}${i + 1}`, 1] as const),
})

/** Number of values of each kind of component. */
const parts = [6, 5, 4]
const kinds = ["subject", "image", "cta"]
const partOf = (arm: number, kind: number): number => {
  const below = parts.slice(0, kind).reduce((product, count) => product * count, 1)
  return Math.floor(arm / below) % parts[kind]!
}
const combinations = parts.reduce((product, count) => product * count, 1)
const compositionOf = (ids: ReadonlyArray<string>) =>
  ids.map((id, arm) => [id, kinds.map((kind, k) => [kind, `${kind}${partOf(arm, k)}`] as const)] as const)

/** 120 variants of 6 x 5 x 4 parts. The effect of a variant beyond its parts has the standard deviation `residue`. */
const assembled = (sd: number, residue: number): Shape => ({
  days: 30,
  sends: 60_000,
  arms: armIds(combinations),
  attributes: [],
  composition: compositionOf(armIds(combinations)),
  logRates: (chance) => {
    const base = baseRate(chance)
    const effects = parts.map((count) => normals(chance, count, sd))
    const rest = normals(chance, combinations, residue)
    return {
      byValues: (_, arm) => effects.reduce((sum, own, k) => sum + own[partOf(arm, k)]!, base + rest[arm]!),
      byDay: nothing,
    }
  },
})

/**
 * The best variant depends on two attributes together. Each of the two alone has no effect, and a third attribute has
 * no effect.
 */
const pairs: Shape = {
  days: 30,
  sends: 60_000,
  arms: armIds(5),
  attributes: [evenly("plan", 3), evenly("device", 3), evenly("cohort", 3)],
  delay: { medianHours: 5, sigma: 1.6 },
  logRates: (chance) => {
    const base = baseRate(chance)
    const drawn = normals(chance, 5 * 9, 0.6)
    const mean = (arm: number, those: (a: number, b: number) => boolean) => {
      const some = Array.from({ length: 9 }, (_, i) => i).filter((i) => those(Math.floor(i / 3), i % 3))
      return some.reduce((sum, i) => sum + drawn[arm * 9 + i]!, 0) / some.length
    }
    return {
      byValues: ([a = 0, b = 0], arm) =>
        base + drawn[arm * 9 + a * 3 + b]! - mean(arm, (x) => x === a) - mean(arm, (_, y) => y === b) +
        mean(arm, () => true),
      byDay: nothing,
    }
  },
}

/** Variants with higher rates get their clicks later, with medians from 20 minutes to 2 days. */
const slow: Shape = {
  days: 30,
  sends: 60_000,
  arms: armIds(5),
  attributes: [],
  delay: { medianHours: 1 / 3, sigma: 1.2 },
  slower: (chance) => {
    baseRate(chance)
    const effects = normals(chance, 5, 0.25)
    const ranks = Array.from(effects, (effect) => effects.filter((other) => other < effect).length)
    return ranks.map((rank) => 144 ** (rank / 4))
  },
  logRates: (chance) => {
    const base = baseRate(chance)
    const effects = normals(chance, 5, 0.25)
    return { byValues: (_, arm) => base + effects[arm]!, byDay: nothing }
  },
}

/** After half of the time, the order of the variants is reversed. */
const reversal: Shape = {
  days: 60,
  sends: 60_000,
  arms: armIds(5),
  attributes: [],
  delay: { medianHours: 5, sigma: 1.6 },
  logRates: (chance) => {
    const base = baseRate(chance)
    const effects = normals(chance, 5, 0.25)
    return { byValues: () => base, byDay: (day, arm) => (day < 30 ? 1 : -1) * effects[arm]! }
  },
}

/**
 * Returns rates of five variants. Each attribute value has its own effects, with the standard deviation `sd(attribute,
 * value)`.
 */
const byAttributes = (
  attributes: ReadonlyArray<AttributePlan>,
  sd: (attribute: string, value: number) => number,
): Pick<Shape, "arms" | "attributes" | "logRates"> => ({
  arms: armIds(5),
  attributes,
  logRates: (chance) => {
    const base = baseRate(chance)
    const arms = normals(chance, 5, 0.1)
    const effects = attributes.map(({ name, values }) => values.map((_, value) => normals(chance, 5, sd(name, value))))
    return {
      byValues: (values, arm) => values.reduce((sum, value, j) => sum + effects[j]![value]![arm]!, base + arms[arm]!),
      byDay: nothing,
    }
  },
})
const mail = { days: 60, sends: 60_000, delay: { medianHours: 5, sigma: 1.6 } }

/**
 * 120 countries of very different sizes. Eight of the thirty largest countries have another ranking of the variants.
 */
const countries: Shape = {
  ...mail,
  ...byAttributes(
    [
      { name: "country", values: Array.from({ length: 120 }, (_, i) => [`c${i + 1}`, 1 / (i + 3)] as const) },
      evenly("plan", 3),
    ],
    (name, value) => name === "plan" ? 0.15 : value < 30 && value % 4 === 1 ? 0.8 : 0.05,
  ),
}

/** Nine attributes with 2 to 6 values and without effect, and three attributes with effects. */
const idle: Shape = {
  ...mail,
  people: 4000,
  ...byAttributes(
    [
      ...Array.from({ length: 9 }, (_, i) => evenly(`idle${i + 1}`, 2 + i % 5)),
      evenly("plan", 3),
      evenly("region", 5),
      evenly("tier", 4),
    ],
    (name) => name.startsWith("idle") ? 0 : 0.3,
  ),
}

/** Two attributes with effects occur in only 30 % and 15 % of the requests. */
const rare: Shape = {
  ...mail,
  people: 4000,
  ...byAttributes(
    [
      evenly("device", 2),
      { name: "interest", values: [[absent, 0.7], ["sport", 0.1], ["music", 0.1], ["travel", 0.1]] },
      { name: "loyalty", values: [[absent, 0.85], ["silver", 0.1], ["gold", 0.05]] },
    ],
    (name, value) => name === "device" ? 0.15 : value === 0 ? 0.1 : 0.7,
  ),
}

/** The rates of variants depend on two numeric attributes: the age, and the amount of the last purchase. */
const numbers: Shape = {
  ...mail,
  people: 4000,
  arms: armIds(5),
  attributes: [
    { name: "age", values: Array.from({ length: 63 }, (_, i) => [`${i + 18}`, 1] as const) },
    {
      name: "amount",
      values: Array.from({ length: 400 }, (_, i) => [(5 * Math.exp(i / 80)).toFixed(2), 1] as const),
    },
    evenly("plan", 3),
  ],
  logRates: (chance) => {
    const base = baseRate(chance)
    const arms = normals(chance, 5, 0.1)
    const age = normals(chance, 5, 0.8)
    const amount = normals(chance, 5, 0.8)
    return {
      byValues: ([a = 0, b = 0], arm) =>
        base + arms[arm]! + age[arm]! * (a / 62 - 0.5) + amount[arm]! * (b / 399 - 0.5),
      byDay: nothing,
    }
  },
}

/**
 * 2,000 people, some of whom get ten times as many messages. `eager` is the effect on the log rates of these people.
 * `tire` returns the effect of earlier messages on the log rate.
 */
const people = (eager: number, tire: (seen: number, total: number) => number): Shape => ({
  days: 40,
  sends: 40_000,
  arms: armIds(5),
  attributes: [],
  people: 2000,
  person: ({ uniform }) => {
    const isBusy = uniform() < 0.2
    return { share: isBusy ? 10 : 1, log: isBusy ? eager : 0 }
  },
  tire,
  delay: { medianHours: 5, sigma: 1.6 },
  logRates: (chance) => {
    const base = baseRate(chance)
    const effects = normals(chance, 5, 0.25)
    return { byValues: (_, arm) => base + effects[arm]!, byDay: nothing }
  },
})

/** From the first day on, the best variant depends only on the time of day. */
const hours: Shape = {
  days: 30,
  sends: 30_000,
  arms: armIds(5),
  attributes: [],
  delay: { medianHours: 5, sigma: 1.6 },
  logRates: (chance) => {
    const base = baseRate(chance)
    const arms = normals(chance, 5, 0.1)
    const byDaypart = normals(chance, 5 * 4, 0.3)
    return {
      byValues: (_, arm) => base + arms[arm]!,
      byDay: nothing,
      byHour: (hour, arm) => byDaypart[arm * 4 + Math.floor(hour / 6)]!,
    }
  },
}

/** Variants that differ with the standard deviation `sd` around a base rate between `from` and `to`. */
const plain = (
  count: number,
  sd: number,
  from = 0.015,
  to = 0.05,
): Pick<Shape, "arms" | "attributes" | "logRates"> => ({
  arms: armIds(count),
  attributes: [],
  logRates: (chance) => {
    const base = Math.log(from) + chance.uniform() * Math.log(to / from)
    const effects = normals(chance, count, sd)
    return { byValues: (_, arm) => base + effects[arm]!, byDay: nothing }
  },
})

/**
 * Rates mostly between 5 and 30 %, whose effects add up in log odds, with effects of two attributes alone and together.
 */
const logistic: Shape = {
  days: 30,
  sends: 30_000,
  arms: armIds(5),
  attributes: [evenly("plan", 3), evenly("device", 3), evenly("cohort", 3)],
  delay: { medianHours: 5, sigma: 1.6 },
  logRates: (chance) => {
    const base = Math.log(0.1 / 0.9) + chance.uniform() * Math.log(0.2 / 0.8 / (0.1 / 0.9))
    const arms = normals(chance, 5, 0.15)
    const plans = normals(chance, 5 * 3, 0.25)
    const devices = normals(chance, 5 * 3, 0.2)
    const both = normals(chance, 5 * 9, 0.3)
    return {
      byValues: ([a = 0, b = 0], arm) =>
        -Math.log1p(Math.exp(
          -(base + arms[arm]! + plans[arm * 3 + a]! + devices[arm * 3 + b]! + both[arm * 9 + a * 3 + b]!),
        )),
      byDay: nothing,
    }
  },
}

/** Thirty attributes with 2 to 6 values and without effect. */
const noise: Shape = {
  ...mail,
  ...plain(5, 0.25),
  people: 4000,
  attributes: Array.from({ length: 30 }, (_, i) => evenly(`idle${i + 1}`, 2 + i % 5)),
}

/** Four variants from the first day on, and another variant at the beginning of each of the following seven weeks. */
const weekly: Shape = {
  ...plain(11, 0.25),
  days: 56,
  sends: 56_000,
  delay: mail.delay,
  lifetimes: (arm) => [arm < 4 ? 0 : 7 * (arm - 3), Infinity],
}

const shapes = {
  logistic,
  noise,
  weekly,
  // Purchases: rare and slow.
  conversions: { ...plain(5, 0.3, 0.0007, 0.0014), days: 60, sends: 400_000, delay: { medianHours: 20, sigma: 1.6 } },
  lossy: { ...mail, ...plain(5, 0.25), losses: { share: 0.3, outage: [20, 23] } },
  machines: { ...mail, ...plain(5, 0.15, 0.1, 0.25), machines: 0.3 },
  batches: { ...plain(5, 0.25), days: 24, sends: 400_000, delay: mail.delay, batches: { count: 8, minutes: 30 } },
  // An opt-out costs eight clicks and happens days later.
  costs: {
    ...plain(5, 0.25),
    days: 40,
    sends: 40_000,
    delay: mail.delay,
    costs: { cost: 8, rate: 0.002, sd: 0.5, delay: { medianHours: 72, sigma: 0.3 } },
  },
  trickle: { ...byAttributes([evenly("plan", 3)], () => 0.25), days: 60, sends: 30_000, delay: mail.delay },
  parts: assembled(0.15, 0.05),
  // The declared parts do not affect the rates.
  idleparts: assembled(0, 0.25),
  pairs,
  slow,
  reversal,
  hours,
  countries,
  idle,
  rare,
  numbers,
  fatigue: people(0, (seen) => seen === 0 ? 0 : seen === 1 ? -0.15 : seen < 4 ? -0.4 : -0.8),
  tireless: people(0, nothing),
  eager: people(0.7, nothing),
  weary: people(0, (_, total) => -0.8 * Math.min(1, total / 12)),
  revenue: { ...mail, ...plain(5, 0.2, 0.01, 0.03) },
} satisfies Record<string, Shape>

/** Values of orders in units of the value of an average order, so that peers that count clicks count orders. */
const orders = { median: 0.64, sigma: 1, cap: 5, sd: 0.2 }

/** Names of the worlds in this file. */
export type FormName = keyof typeof shapes
export const formNames = Object.keys(shapes) as ReadonlyArray<FormName>

/**
 * Worlds of forms that the model was not designed on. `logistic`: high rates whose effects add up in log odds. `noise`:
 * thirty attributes without effect. `weekly`: a new variant every week. `conversions`: 0.1 % of messages succeed.
 * `lossy`: 30 % of events are lost, and all events of three days. `machines`: machines open 30 % of messages, and their
 * opens look like the opens of people. `batches`: all messages leave in eight batches of 50,000. `costs`: opt-outs that cost eight clicks. `trickle`: 500
 * decisions a day. `parts`: 120 variants made of 15 parts. `idleparts`: parts without effect. `pairs`: two attributes
 * have an effect only together. `slow`: the better a variant, the later its clicks. `reversal`: the order of the
 * variants reverses. `hours`: the best variant depends on the time of day. `countries`: an attribute with 120 values.
 * `idle`: more attributes than the model uses, three of them with effects. `rare`: attributes that few requests have.
 * `numbers`: effects of numbers. `fatigue`: people tire of the variants that they have seen. In `tireless`, people do
 * not tire. In `eager`, people who get more messages click more. In `weary`, people tire of all variants. In `revenue`,
 * the outcomes are orders of different values. `worth` is the value of a click to the learners.
 */
export const form = (name: FormName, seed: number, worth = 1): World => {
  const world = makeWorld({ ...shapes[name], name, seed, worth })
  return name === "revenue" ? withValues(world, orders, seed) : world
}
