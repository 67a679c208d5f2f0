import { report } from "../../src/bandit/Report.ts"
import { hourMillis } from "../../src/bandit/Window.ts"
import type { Checked } from "./Honesty.ts"
import { Product } from "../../src/simulation/Product.ts"
import { run } from "../../src/simulation/Run.ts"
import { armIds, makeWorld } from "../../src/simulation/World.ts"

// Checks the effects of components, and the rates of variants with components, in results against the truth.

/** A world of 18 variants. Each variant consists of one of 3 subjects, one of 3 images and one of 2 calls to action. */
export interface ComponentSetting {
  readonly name: string
  readonly days: number
  readonly decisionsPerDay: number
  /** Standard deviation of the effects of the components of each kind, and of the variants around their sum. */
  readonly effects: number
  readonly variants: number
}

const kinds: ReadonlyArray<readonly [name: string, values: number]> = [["subject", 3], ["image", 3], ["cta", 2]]
const count = kinds.reduce((product, [, values]) => product * values, 1)

/** Returns the index of a variant's value for each kind. */
const valuesOf = (arm: number): ReadonlyArray<number> => {
  let rest = arm
  return kinds.map(([, values]) => {
    const value = rest % values
    rest = Math.floor(rest / values)
    return value
  })
}

/**
 * Runs one setting. Returns the results after the last day: the effects of components as log rates, and the rates of
 * variants.
 */
export const componentRun = (
  setting: ComponentSetting,
  seed: number,
  refitHours: number,
): { readonly effects: ReadonlyArray<Checked>; readonly rates: ReadonlyArray<Checked> } => {
  const ids = armIds(count)
  let truth: ReadonlyArray<Float64Array> = []
  const world = makeWorld({
    name: setting.name,
    seed,
    days: setting.days,
    sends: setting.days * setting.decisionsPerDay,
    arms: ids,
    attributes: [],
    composition: ids.map((id, arm) =>
      [id, valuesOf(arm).map((value, k) => [kinds[k]![0], `${value}`] as const)] as const
    ),
    delay: { medianHours: 5, sigma: 1.6 },
    logRates: ({ normal, uniform }) => {
      const base = Math.log(0.015) + uniform() * Math.log(0.05 / 0.015)
      truth = kinds.map(([, values]) => Float64Array.from({ length: values }, () => setting.effects * normal()))
      const rest = Float64Array.from({ length: count }, () => setting.variants * normal())
      return {
        byValues: (_, arm) => valuesOf(arm).reduce((sum, value, k) => sum + truth[k]![value]!, base + rest[arm]!),
        byDay: () => 0,
      }
    },
  })
  let product: Product | undefined
  run(world, { name: "product", make: (made) => product = new Product(made, { refitHours, verdicts: false }) }, seed)
  const { model } = product!.knowledge(0, world.at[world.decisions - 1]! + (1 + refitHours) * hourMillis)
  const { components, overall } = report({ model, floor: 0.01, ids, eligible: ids, groups: [], seed: 1 })
  const rates = new Float64Array(count)
  world.rates(0, rates)
  return {
    effects: components.map(({ interval, kind, lift, value }) => {
      const own = truth[kinds.findIndex(([name]) => name === kind)]!
      const mean = own.reduce((sum, effect) => sum + effect, 0) / own.length
      return {
        shown: Math.log1p(lift),
        interval: [Math.log1p(interval[0]), Math.log1p(interval[1])],
        truth: own[Number(value)]! - mean,
      }
    }),
    rates: overall.variants.map(({ interval, rate }, v) => ({ shown: rate, interval, truth: rates[v]! })),
  }
}
