/** A seeded source of random numbers. Equal seeds produce equal streams on every machine. */
export interface Chance {
  /** A uniform number in [0, 1). */
  readonly uniform: () => number
  /** A standard normal number. */
  readonly normal: () => number
  /** A gamma number with this shape > 0 and scale 1. */
  readonly gamma: (shape: number) => number
}

/** Derives a number from a seed and a name, so that streams for different purposes are independent. */
export const seedOf = (seed: number, name: string): number => {
  let hash = 0x811c9dc5 ^ seed
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) ^ seed
  return (hash ^ (hash >>> 13)) | 0
}

/** Numbers in [0, 1) from a seed, any whole number (mulberry32). Close seeds begin with close numbers. */
export const mulberry32 = (seed: number): () => number => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Draws from the standard normal distribution (Box and Muller), given numbers in [0, 1). */
export const normal = (uniform: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())

/** Returns the stream of a seed (a whole number): uniform numbers of mulberry32, gammas by Marsaglia and Tsang. */
export const chance = (seed: number): Chance => {
  const uniform = mulberry32(seed)
  const gamma = (shape: number): number => {
    if (shape < 1) return gamma(shape + 1) * (1 - uniform()) ** (1 / shape)
    const d = shape - 1 / 3
    const c = 1 / Math.sqrt(9 * d)
    while (true) {
      const x = normal(uniform)
      const v = (1 + c * x) ** 3
      if (v > 0 && Math.log(1 - uniform()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v
    }
  }
  return { uniform, normal: () => normal(uniform), gamma }
}
