import { mulberry32 } from "../../../src/simulation/Chance.ts"

/** Seeded chance of one simulated schedule. Equal seeds yield equal schedules on every machine. */
export interface Seeded {
  /** Uniform in [0, 1). */
  readonly uniform: () => number
  /** A whole number from `least` to `most`, both included. */
  readonly int: (least: number, most: number) => number
  /** True with this probability. */
  readonly chance: (probability: number) => boolean
  readonly pick: <A>(values: ReadonlyArray<A>) => A
}

/** Starts the stream of a seed, any whole number. */
export const seeded = (seed: number): Seeded => {
  const uniform = mulberry32(Math.imul(seed, 0x9e3779b1))
  const int = (least: number, most: number) => least + Math.floor(uniform() * (most - least + 1))
  return {
    uniform,
    int,
    chance: (probability) => uniform() < probability,
    pick: (values) => values[int(0, values.length - 1)]!,
  }
}
