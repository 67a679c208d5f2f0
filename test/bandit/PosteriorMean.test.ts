import { assert, describe, it } from "@effect/vitest"
import { factor, invert, packedIndex, packedLength } from "../../src/bandit/Cholesky.ts"
import { excessOfMode } from "../../src/bandit/PosteriorMean.ts"
import { normal } from "./Samples.ts"

/** Coefficients of the outcomes of one variant: an intercept and the values of one attribute. */
const rowOf = (value: number, size: number): ReadonlyArray<number> =>
  Array.from({ length: size }, (_, i) => i === 0 || i === value ? 1 : 0)

interface Cell {
  readonly expected: number
  readonly outcomes: number
}

/**
 * Means of the coefficients by the normal law of the data around 0, the same less their excess, and by importance
 * sampling from the posterior. Cell `c` has value `c + 1`; a single cell has the intercept alone.
 */
const meansOf = (cells: ReadonlyArray<Cell>, priorSd: number) => {
  const size = cells.length === 1 ? 1 : cells.length + 1
  const rows = cells.map((_, c) => rowOf(c + 1, size))
  const prior = new Float64Array(size).fill(priorSd ** -2)
  const data = new Float64Array(packedLength(size))
  const gradient = new Float64Array(size)
  cells.forEach(({ expected, outcomes }, c) => {
    const row = rows[c]!
    for (let i = 0; i < size; i++) {
      gradient[i] = gradient[i]! + row[i]! * (outcomes - expected)
      for (let j = 0; j <= i; j++) data[packedIndex(i, j)] = data[packedIndex(i, j)]! + row[i]! * row[j]! * expected
    }
  })
  const covariance = data.slice()
  for (let i = 0; i < size; i++) covariance[packedIndex(i, i)] = covariance[packedIndex(i, i)]! + prior[i]!
  factor(covariance, size)
  invert(covariance, size)
  const line = gradient.map((_, i) =>
    gradient.reduce((sum, value, j) => sum + value * covariance[packedIndex(Math.max(i, j), Math.min(i, j))]!, 0)
  )
  const attributeOf = Int32Array.from({ length: size }, (_, i) => i === 0 ? -1 : 0)
  const excess = excessOfMode(data, prior, covariance, line, { attributeOf, size })
  const draw = normal(1)
  const sums = new Float64Array(size)
  let total = 0
  for (let n = 0; n < 50_000; n++) {
    const beta = Array.from({ length: size }, () => priorSd * draw())
    const log = cells.reduce((sum, { expected, outcomes }, c) => {
      const eta = rows[c]!.reduce((all, one, i) => all + one * beta[i]!, 0)
      return sum + outcomes * eta - expected * (Math.exp(eta) - 1)
    }, 0)
    const weight = Math.exp(log)
    total += weight
    beta.forEach((value, i) => sums[i] = sums[i]! + weight * value)
  }
  return { line, corrected: line.map((value, i) => value - excess[i]!), exact: sums.map((sum) => sum / total) }
}

describe("the corrected mean of a variant's coefficients", () => {
  it("is close to the exact mean where the normal approximation is too high", () => {
    for (const [expected, outcomes] of [[10, 10], [10, 6], [10, 3], [6, 0], [10, 16], [10, 30]] as const) {
      const { corrected: [mine], exact: [wanted], line: [before] } = meansOf([{ expected, outcomes }], 0.5)
      assert.isAbove(before!, wanted!)
      assert.isBelow(Math.abs(mine! - wanted!), 0.6 * (before! - wanted!), `${outcomes} of ${expected}`)
    }
  })

  it("is close to the exact mean for several values at once", () => {
    const { corrected, exact, line } = meansOf([{ expected: 8, outcomes: 3 }, { expected: 30, outcomes: 36 }], 0.4)
    const off = (values: Float64Array) => values.reduce((sum, value, i) => sum + Math.abs(value - exact[i]!), 0)
    assert.isBelow(off(corrected), 0.5 * off(line))
  })

  it("is unchanged without data", () => {
    assert.deepStrictEqual([...meansOf([{ expected: 0, outcomes: 0 }], 0.5).corrected], [0])
  })
})
