import { mulberry32, normal } from "../simulation/Chance.ts"

/** Numbers in [0, 1), the same for the same seed. */
export type UniformChance = () => number

/** Chance that follows from `seed`, any whole number, and from nothing else. */
export const seeded = (seed: number): UniformChance =>
  // Neighbouring seeds begin far apart.
  mulberry32(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b))

/** A draw of the log-normal distribution with this median, in the median's unit. */
export const logNormal = (chance: UniformChance, median: number, sigma: number): number =>
  median * Math.exp(sigma * normal(chance))

/** A draw of the Poisson distribution; 0 for a mean of 0. Takes as long as the mean is large: for means up to thousands. */
export const poisson = (chance: UniformChance, mean: number): number => {
  const wait = () => -Math.log(1 - chance())
  let count = 0
  // Waiting times are added rather than multiplied, which would reach zero.
  for (let waited = wait(); waited < mean; waited += wait()) count++
  return count
}

/** The place of one of `shares`, which sum to 1, each as likely as its share. */
export const pick = (chance: UniformChance, shares: ReadonlyArray<number>): number => {
  let rest = chance()
  for (let i = 0; i < shares.length; i++) {
    rest -= shares[i]!
    if (rest < 0) return i
  }
  return shares.length - 1
}

/** `items` in random order, every order equally likely. */
export const shuffled = <A>(chance: UniformChance, items: ReadonlyArray<A>): ReadonlyArray<A> => {
  const order = [...items]
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(chance() * (i + 1))
    ;[order[i], order[j]] = [order[j]!, order[i]!]
  }
  return order
}
