import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { lgamma } from "../../src/bandit/Gamma.ts"
import { Phi, phi } from "../../src/bandit/Normal.ts"

const relative = (actual: number, expected: number, tolerance: number) =>
  assert.isAtMost(Math.abs(actual / expected - 1), tolerance, `${actual} against ${expected}`)

describe("Phi", () => {
  it("agrees with tables to fourteen digits, and to eight digits in the far lower tail", () => {
    // Computed with SciPy.
    for (
      const [z, expected] of [
        [0, 0.5],
        [1, 0.841344746068543],
        [-1, 0.158655253931457],
        [1.96, 0.975002104851780],
        [-3, 1.349898031630095e-3],
        [-5, 2.866515718791933e-7],
        [-8, 6.22096057427174e-16],
        [-20, 2.7536241186061556e-89],
        [-37, 5.7255712225239266e-300],
      ] as const
    ) relative(Phi(z), expected, z < -3 ? 1e-8 : 1e-13)
  })

  it("is symmetric and never decreases", () => {
    const point = fc.double({ min: -40, max: 40, noNaN: true })
    fc.assert(fc.property(point, point, (a, b) => {
      assert.closeTo(Phi(a) + Phi(-a), 1, 1e-14)
      assert.isAtMost(Phi(Math.min(a, b)), Phi(Math.max(a, b)) + 1e-15)
    }))
  })

  it("is 0 and 1 at the infinities, where the density is 0", () => {
    assert.deepStrictEqual([Phi(-Infinity), Phi(Infinity), phi(Infinity), phi(-Infinity)], [0, 1, 0, 0])
  })

  it("has the density as its derivative", () => {
    fc.assert(fc.property(fc.double({ min: -6, max: 6, noNaN: true }), (z) => {
      assert.closeTo((Phi(z + 1e-5) - Phi(z - 1e-5)) / 2e-5, phi(z), 1e-9)
    }))
  })
})

describe("lgamma", () => {
  it("returns the logarithms of factorials and of the gamma function at half-integers", () => {
    let factorial = 0
    for (let n = 1; n <= 150; n++) {
      assert.closeTo(lgamma(n), factorial, 1e-12 * Math.max(1, factorial))
      factorial += Math.log(n)
    }
    assert.closeTo(lgamma(0.5), Math.log(Math.PI) / 2, 1e-13)
    assert.closeTo(lgamma(1.5), Math.log(Math.PI) / 2 - Math.LN2, 1e-13)
  })

  it("satisfies its recurrence for very small to very large arguments", () => {
    fc.assert(fc.property(fc.double({ min: 1e-6, max: 1e6, noNaN: true }), (x) => {
      const next = lgamma(x + 1)
      assert.closeTo(next, lgamma(x) + Math.log(x), 1e-11 * Math.max(1, Math.abs(next)))
    }))
  })

  it("is infinite at zero and NaN below", () => {
    assert.strictEqual(lgamma(0), Infinity)
    assert.strictEqual(lgamma(Infinity), Infinity)
    assert.isNaN(lgamma(-0.5))
    assert.isNaN(lgamma(NaN))
  })
})
