import { mulberry32, normal } from "../simulation/Chance.ts"

/** Numbers in [0, 1) from a seed. */
export type UniformChance = () => number

/** Random numbers that depend only on `seed`, any whole number. */
export const seeded = (seed: number): UniformChance =>
  // Spreads neighbouring seeds, whose first numbers would be close.
  mulberry32(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b))

/** Draws from the log-normal distribution with this median, in the median's unit. */
export const logNormal = (chance: UniformChance, median: number, sigma: number): number =>
  median * Math.exp(sigma * normal(chance))

/**
 * Draws from the Poisson distribution. 0 for a mean of 0. The time is proportional to the mean, which may be up to
 * thousands.
 */
export const poisson = (chance: UniformChance, mean: number): number => {
  const wait = () => -Math.log(1 - chance())
  let count = 0
  // Sums waiting times, because a product would underflow to zero.
  for (let waited = wait(); waited < mean; waited += wait()) count++
  return count
}

/** Draws the index of one of `shares`, which sum to 1, with these probabilities. */
export const pick = (chance: UniformChance, shares: ReadonlyArray<number>): number => {
  let rest = chance()
  for (let i = 0; i < shares.length; i++) {
    rest -= shares[i]!
    if (rest < 0) return i
  }
  return shares.length - 1
}

/** Returns `items` in random order. Every order is equally likely. */
export const shuffled = <A>(chance: UniformChance, items: ReadonlyArray<A>): ReadonlyArray<A> => {
  const order = [...items]
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(chance() * (i + 1))
    ;[order[i], order[j]] = [order[j]!, order[i]!]
  }
  return order
}
