/**
 * Returns the largest number of events in `runs` runs that is compatible with a probability of at most `share` for each: a
 * larger one would occur by chance in at most 1 of 1,000 cases (binomial distribution).
 */
export const mostOf = (runs: number, share: number): number => {
  let term = (1 - share) ** runs
  let below = term
  let count = 0
  while (below < 0.999) {
    term *= (runs - count) / (count + 1) * share / (1 - share)
    count++
    below += term
  }
  return count
}
