import { hourMillis } from "../bandit/Window.ts"
import { normal } from "../simulation/Chance.ts"
import { pick, seeded, shuffled, type UniformChance } from "./Chance.ts"

// The true click rates of the demo, which the service does not know.

/** Attributes of users in requests, and the share of each value. The shares of an attribute sum to 1. */
const attributes = {
  tier: { basic: 0.56, silver: 0.32, gold: 0.12 },
  country: { de: 0.4, gb: 0.22, at: 0.15, ch: 0.13, nl: 0.1 },
  device: { mobile: 0.62, desktop: 0.38 },
} as const

/** Name of an attribute of the demo's users. */
type AttributeName = keyof typeof attributes
/** Names of the attributes of the demo's users. */
const attributeNames = Object.keys(attributes) as ReadonlyArray<AttributeName>

/** One value of every attribute. */
type DemoAttributes = Readonly<Record<AttributeName, string>>

/** Standard deviations of the drawn effects, in units of the natural logarithm of the click rate. */
const spread: { readonly [name in AttributeName]: { readonly all: number; readonly variant: number } } = {
  tier: { all: 0.15, variant: 0.35 },
  country: { all: 0.1, variant: 0.1 },
  device: { all: 0.1, variant: 0.3 },
}

/** Effects of the variants themselves on this scale, evenly spaced. The assignment to variants is drawn. */
const widest = 0.2

const baseRate = 0.06

/** Maximum click rate. */
const highestRate = 0.9

/** Messages and clicks by hour of the day (UTC), relative to an average of 1 over the messages. */
const messagesByHour = [2, 1, 1, 1, 1, 2, 4, 6, 7, 7, 6, 6, 7, 6, 6, 6, 6, 7, 8, 9, 9, 8, 6, 4]
const clicksByHour = [6, 5, 5, 5, 5, 6, 8, 9, 9, 9, 9, 10, 10, 9, 9, 9, 10, 11, 12, 13, 13, 12, 10, 8]

const messagesTotal = messagesByHour.reduce((sum, weight) => sum + weight, 0)
const clickAverage = clicksByHour.reduce((sum, weight, hour) => sum + weight * messagesByHour[hour]!, 0) / messagesTotal

const hourOf = (time: number): number => Math.floor(time / hourMillis) % 24

/** Number of messages at `time` (Unix milliseconds), relative to the day's average. */
export const messagesAt = (time: number): number => messagesByHour[hourOf(time)]! * 24 / messagesTotal

/** Click rate of a message at this time, relative to the average message. */
export const clicksAt = (time: number): number => clicksByHour[hourOf(time)]! / clickAverage

/** All combinations of values, with their shares of the audience. */
export const cells: ReadonlyArray<{ readonly cell: DemoAttributes; readonly share: number }> = attributeNames.reduce<
  ReadonlyArray<{ readonly cell: DemoAttributes; readonly share: number }>
>(
  (all, name) =>
    all.flatMap(({ cell, share }) =>
      Object.entries(attributes[name]).map(([value, part]) => ({
        cell: { ...cell, [name]: value },
        share: share * part,
      }))
    ),
  [{ cell: {} as DemoAttributes, share: 1 }],
)

/** Draws the values of one user. */
export const drawCell = (chance: UniformChance): DemoAttributes => {
  const cell: Partial<Record<AttributeName, string>> = {}
  for (const name of attributeNames) {
    const values = Object.entries(attributes[name])
    cell[name] = values[pick(chance, values.map(([, share]) => share))]![0]
  }
  return cell as DemoAttributes
}

/** Click rates. */
export interface Rates {
  /** Returns the probability of a click on a delivered message decided at `time`, in the order of `variants`. */
  readonly at: (cell: DemoAttributes, time: number) => ReadonlyArray<number>
  /** Probability of a click on an average message, in the order of `variants`. */
  readonly average: ReadonlyArray<number>
}

/**
 * Draws rates for a number of variants. The log rate is a sum: base, variant, each attribute, variant and attribute
 * together, hour of the day. Equal seeds return equal rates.
 */
export const draw = (seed: number, variants: number): Rates => {
  const chance = seeded(seed)
  const own = shuffled(
    chance,
    Array.from({ length: variants }, (_, i) => variants === 1 ? 0 : widest * (2 * i / (variants - 1) - 1)),
  )
  const effects = new Map<string, ReadonlyArray<number>>()
  for (const name of attributeNames) {
    for (const value of Object.keys(attributes[name])) {
      const all = spread[name].all * normal(chance)
      effects.set(`${name}=${value}`, own.map(() => all + spread[name].variant * normal(chance)))
    }
  }
  const key = (cell: DemoAttributes) => attributeNames.map((name) => cell[name]).join("\0")
  const byCell = new Map(
    cells.map(({ cell }) => [
      key(cell),
      own.map((effect, variant) =>
        baseRate *
        Math.exp(attributeNames.reduce((sum, name) => sum + effects.get(`${name}=${cell[name]}`)![variant]!, effect))
      ),
    ]),
  )
  const at = (cell: DemoAttributes, time: number) =>
    byCell.get(key(cell))!.map((rate) => Math.min(highestRate, rate * clicksAt(time)))
  const hours = messagesByHour.map((weight, hour) => ({ time: hour * hourMillis, share: weight / messagesTotal }))
  const average = own.map((_, variant) =>
    cells.reduce(
      (sum, { cell, share }) =>
        sum + share * hours.reduce((inner, hour) => inner + hour.share * at(cell, hour.time)[variant]!, 0),
      0,
    )
  )
  return { at, average }
}
