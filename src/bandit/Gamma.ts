const coefficients = [
  676.5203681218851,
  -1259.1392167224028,
  771.32342877765313,
  -176.61502916214059,
  12.507343278686905,
  -0.13857109526572012,
  9.9843695780195716e-6,
  1.5056327351493116e-7,
]

const halfLogTwoPi = 0.9189385332046728

/**
 * Natural logarithm of the gamma function for `x` > 0, with a relative error below 1e-13; infinite at 0 and at
 * infinity, `NaN` below 0. Source: C. Lanczos, "A precision approximation of the gamma function" (SIAM, 1964), with
 * g = 7 and nine coefficients.
 */
export const lgamma = (x: number): number => {
  if (x === 0 || x === Infinity) return Infinity
  if (!(x > 0)) return NaN
  // The series loses precision near zero, where the recurrence lgamma(x) = lgamma(x + 1) - log(x) does not.
  if (x < 0.5) return lgamma(x + 1) - Math.log(x)
  const shifted = x - 1
  let series = 0.99999999999980993
  for (let i = 0; i < coefficients.length; i++) series += coefficients[i]! / (shifted + i + 1)
  const t = shifted + 7.5
  return halfLogTwoPi + (shifted + 0.5) * Math.log(t) - t + Math.log(series)
}
