import { assert, describe, it } from "@effect/vitest"
import { packedIndex } from "../../src/bandit/Cholesky.ts"
import { delayCurve, maturity } from "../../src/bandit/Maturity.ts"
import { delayCounts } from "./delayCounts.ts"
import { fitVariant, workspace } from "../../src/bandit/VariantFit.ts"
import { bestArmProbabilities } from "../../src/bandit/Weights.ts"

// Figures of a reference implementation.

const close = (actual: ArrayLike<number>, expected: ReadonlyArray<number>, tolerance = 1e-6) => {
  assert.strictEqual(actual.length, expected.length)
  expected.forEach((value, i) => assert.closeTo(actual[i]!, value, tolerance))
}

describe("the policy agrees with the reference implementation", () => {
  it("on the weights of three equally certain variants", () => {
    close(bestArmProbabilities([0, 0.1, 0.2], [0.1, 0.1, 0.1]), [0.047151, 0.224098, 0.728751])
  })

  it("on the weights of variants known to different degrees", () => {
    close(
      bestArmProbabilities([0, 0, 0.3, -0.2], [0.3, 0.05, 0.1, 0.5]),
      [0.151133, 0.00151, 0.695868, 0.151489],
    )
  })

  it("on the posterior of one intercept", () => {
    const work = workspace(1)
    const beta = new Float64Array(1)
    fitVariant(
      { size: 1, stride: 0, coefficients: new Int32Array(0) },
      {
        contexts: Int32Array.of(0),
        expected: Float64Array.of(20),
        clicks: Float64Array.of(30),
        from: 0,
        to: 1,
      },
      Float64Array.of(1 / 0.04),
      beta,
      work,
      20,
    )
    assert.closeTo(beta[0]!, 0.211538, 1e-6)
    assert.closeTo(Math.sqrt(work.hessian[0]!), 0.141831, 1e-6)
  })

  it("on the posterior of four contexts of two attributes", () => {
    const coefficients = Int32Array.of(1, 3, 1, 4, 2, 3, 2, 4)
    const work = workspace(5)
    const beta = new Float64Array(5)
    fitVariant(
      { size: 5, stride: 2, coefficients },
      {
        contexts: Int32Array.of(0, 1, 2, 3),
        expected: Float64Array.of(8, 8, 6, 6),
        clicks: Float64Array.of(12, 9, 4, 3),
        from: 0,
        to: 4,
      },
      new Float64Array(5).fill(1 / 0.04),
      beta,
      work,
      20,
    )
    close(beta, [-0.009647, 0.124574, -0.134221, 0.046316, -0.055964])
    const contexts = [0, 1, 2, 3].map((context) => [0, coefficients[2 * context]!, coefficients[2 * context + 1]!])
    close(contexts.map((x) => x.reduce((sum, i) => sum + beta[i]!, 0)), [0.161243, 0.058963, -0.097552, -0.199833])
    const covariance = (i: number, j: number) => work.hessian[packedIndex(Math.max(i, j), Math.min(i, j))]!
    close(
      contexts.map((x) => Math.sqrt(x.reduce((sum, i) => sum + x.reduce((rest, j) => rest + covariance(i, j), 0), 0))),
      [0.212275, 0.216649, 0.234002, 0.237646],
    )
  })

  it("on the delay curve of a few clicks seen so far", () => {
    const clicks = [
      [0, 1.5],
      [0, 30],
      [0, 100],
      [100, 5],
      [150, 2],
      [200, 20],
      [220, 0.7],
      [230, 3],
      [236, 0.3],
      [238, 1.2],
    ].map(([sentAt, delayHours]) => ({ sentAt: sentAt! * 3_600_000, delayHours: delayHours! }))
    const curve = delayCurve(delayCounts(clicks, 240 * 3_600_000))
    close(
      [1, 6, 24, 36, 72, 240].map((hours) => maturity(curve, hours)),
      [0.138886, 0.508421, 0.756953, 0.841949, 0.901087, 0.993885],
    )
  })
})
