import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { factor, invert, packedIndex, packedLength, solve } from "../../src/bandit/Cholesky.ts"

/** A random positive definite matrix (B B' + I), packed. */
const positive = fc.integer({ min: 1, max: 12 }).chain((size) =>
  fc.array(fc.double({ min: -3, max: 3, noNaN: true }), { minLength: size * size, maxLength: size * size })
    .map((b) => {
      const packed = new Float64Array(packedLength(size))
      for (let i = 0; i < size; i++) {
        for (let j = 0; j <= i; j++) {
          let sum = i === j ? 1 : 0
          for (let k = 0; k < size; k++) sum += b[i * size + k]! * b[j * size + k]!
          packed[packedIndex(i, j)] = sum
        }
      }
      return { size, packed }
    })
)

const at = (packed: Float64Array, i: number, j: number) => packed[packedIndex(Math.max(i, j), Math.min(i, j))]!

const product = (packed: Float64Array, size: number, x: ArrayLike<number>) =>
  Float64Array.from({ length: size }, (_, i) => {
    let sum = 0
    for (let j = 0; j < size; j++) sum += at(packed, i, j) * x[j]!
    return sum
  })

describe("the Cholesky factor", () => {
  it("solves the equations it was made of", () => {
    fc.assert(fc.property(positive, fc.infiniteStream(fc.double({ min: -10, max: 10, noNaN: true })), (a, numbers) => {
      const x = Float64Array.from({ length: a.size }, () => numbers.next().value as number)
      const b = product(a.packed, a.size, x)
      const l = a.packed.slice()
      factor(l, a.size)
      solve(l, a.size, b)
      b.forEach((value, i) => assert.closeTo(value, x[i]!, 1e-8))
    }))
  })

  it("returns the inverse of its matrix", () => {
    fc.assert(fc.property(positive, ({ packed, size }) => {
      const inverse = packed.slice()
      factor(inverse, size)
      invert(inverse, size)
      for (let i = 0; i < size; i++) {
        const column = product(packed, size, Float64Array.from({ length: size }, (_, j) => at(inverse, i, j)))
        column.forEach((value, j) => assert.closeTo(value, i === j ? 1 : 0, 1e-8))
      }
    }))
  })

  it("exists for a matrix that rounding has made singular", () => {
    const l = Float64Array.of(1, 1, 1)
    factor(l, 2)
    assert.isTrue(l.every(Number.isFinite))
    assert.isAbove(l[2]!, 0)
  })
})
