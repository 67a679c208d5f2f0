// How much effects differ, by evidence. Source: docs/model.md, "Fit".

/** Candidates for the standard deviation of effects: 0.05 to 1.6. */
export const spreads: ReadonlyArray<number> = Array.from({ length: 11 }, (_, i) => 0.05 * 2 ** (i / 2))

/**
 * Returns the root mean square of the spread. `logs`: log of the likelihood of each of the `spreads`. Before data:
 * `usual`, the root mean square if all spreads were candidates, and `width`, the standard deviation of the log of the
 * spread.
 */
export const spreadOf = (logs: ReadonlyArray<number>, usual: number, width: number): number => {
  const median = usual * Math.exp(-(width ** 2))
  const posterior = spreads.map((spread, i) => logs[i]! - Math.log(spread / median) ** 2 / (2 * width ** 2))
  const most = Math.max(...posterior)
  let sum = 0
  let squares = 0
  spreads.forEach((spread, i) => {
    const weight = Math.exp(posterior[i]! - most)
    sum += weight
    squares += weight * spread ** 2
  })
  return Math.sqrt(squares / sum)
}
