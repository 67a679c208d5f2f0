/**
 * Returns a generator of standard normal numbers for a seed: xoshiro128++ (D. Blackman and S. Vigna, 2019) with the
 * Box-Muller transform.
 */
export const seededNormal = (seed: number): () => number => {
  // Splitmix32 fills the state, so that neighbouring seeds are unrelated.
  let s = seed | 0
  const next = () => {
    s = (s + 0x9e3779b9) | 0
    let t = Math.imul(s ^ (s >>> 16), 0x21f0aaad)
    t = Math.imul(t ^ (t >>> 15), 0x735a2d97)
    return t ^ (t >>> 15)
  }
  let [a, b, c, d] = [next(), next(), next(), next()]
  const uniform = () => {
    const sum = (a + d) | 0
    const result = (((sum << 7) | (sum >>> 25)) + a) | 0
    const t = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= t
    d = (d << 11) | (d >>> 21)
    return (result >>> 0) / 2 ** 32
  }
  let spare = Number.NaN
  return () => {
    if (!Number.isNaN(spare)) {
      const value = spare
      spare = Number.NaN
      return value
    }
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()))
    const turn = uniform()
    const sine = Math.sin(2 * Math.PI * turn)
    // A second trigonometric function would take twice as long as the root.
    const cosine = Math.sqrt(1 - sine * sine)
    spare = radius * sine
    return radius * (turn > 0.25 && turn < 0.75 ? -cosine : cosine)
  }
}
