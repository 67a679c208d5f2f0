// How much effects differ, by evidence. Source: docs/model.md, "Fit".

/** Candidates for the standard deviation of effects: 0.05 to 1.6. */
export const spreads: ReadonlyArray<number> = Array.from({ length: 11 }, (_, i) => 0.05 * 2 ** (i / 2))

/** Returns the mean of `values`, weighted by likelihoods. `logs`: the log of the likelihood of each value. */
export const meanBy = (logs: ReadonlyArray<number>, values: ReadonlyArray<number>): number => {
  const highest = Math.max(...logs)
  let sum = 0
  let weighted = 0
  values.forEach((value, i) => {
    const weight = Math.exp(logs[i]! - highest)
    sum += weight
    weighted += weight * value
  })
  return weighted / sum
}

/**
 * Returns the root mean square of the spread. `logs`: log of the likelihood of each of the `spreads`. Before data:
 * `usual`, the root mean square if all spreads were candidates, and `width`, the standard deviation of the log of the
 * spread.
 */
export const spreadOf = (logs: ReadonlyArray<number>, usual: number, width: number): number => {
  const median = usual * Math.exp(-(width ** 2))
  const posterior = spreads.map((spread, i) => logs[i]! - Math.log(spread / median) ** 2 / (2 * width ** 2))
  return Math.sqrt(meanBy(posterior, spreads.map((spread) => spread ** 2)))
}
