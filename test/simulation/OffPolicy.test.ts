import { assert, describe, it } from "@effect/vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { sample } from "../../src/bandit/Weights.ts"
import { chance } from "../../src/simulation/Chance.ts"
import { epsilonGreedy, type LearnerKind, uniform } from "../../src/simulation/Learners.ts"
import { evaluate, logged, type LoggedDecision, settled } from "../../src/simulation/OffPolicy.ts"
import { product } from "../../src/simulation/Product.ts"

const hour = 3_600_000
const start = Date.UTC(2026, 0, 5)
const rates = { a: 0.04, b: 0.1, c: 0.06 }
const ids = ["a", "b", "c"] as const
const logging = { a: 0.5, b: 0.2, c: 0.3 }

/** A log of a known policy in a known world: clicks come 2 hours after the decision. */
const logOf = (seed: number, count: number): ReadonlyArray<LoggedDecision> => {
  const { uniform } = chance(seed)
  return Array.from({ length: count }, (_, i) => {
    const at = start + i * 0.05 * hour
    const copyId = ids[sample(Object.values(logging), uniform())]!
    const outcome = uniform() < rates[copyId] ? 1 : 0
    return {
      at,
      context: encodeContext([["plan", uniform() < 0.5 ? "free" : "pro"]]),
      copyId,
      propensity: logging[copyId],
      weights: logging,
      outcome,
      outcomeAt: outcome === 1 ? at + 2 * hour : null,
    }
  })
}

/** Always the same weights. */
const fixed = (weights: ReadonlyArray<number>): LearnerKind => ({
  name: "fixed",
  make: () => ({ weights: () => Float64Array.from(weights), sent() {}, observe() {} }),
})

const trueValue = (weights: ReadonlyArray<number>) => ids.reduce((sum, id, i) => sum + weights[i]! * rates[id], 0)

describe("off-policy evaluation", () => {
  it("returns the mean outcome for the logging policy itself", () => {
    const log = logOf(1, 5_000)
    const { effectiveSample, estimates } = evaluate(log, fixed(Object.values(logging)), 1)
    const mean = logged(log)!
    assert.closeTo(effectiveSample, 5_000, 1e-6)
    assert.closeTo(estimates!.ips.value, mean.value, 1e-12)
    assert.closeTo(estimates!.snips.value, mean.value, 1e-12)
    assert.closeTo(estimates!.ips.halfWidth, mean.halfWidth, 1e-6)
    assert.closeTo(estimates!.doublyRobust.value, mean.value, mean.halfWidth)
  })

  it("estimates the value of other policies within the intervals of all three estimators", () => {
    const runs = 30
    const logs = Array.from({ length: runs }, (_, seed) => logOf(100 + seed, 6_000))
    for (const weights of [[1 / 3, 1 / 3, 1 / 3], [0.05, 0.9, 0.05], [1, 0, 0]]) {
      const truth = trueValue(weights)
      const errors = { ips: 0, snips: 0, doublyRobust: 0 }
      let inside = 0
      for (const log of logs) {
        const { estimates } = evaluate(log, fixed(weights), 1)
        for (const kind of ["ips", "snips", "doublyRobust"] as const) {
          const { halfWidth, value } = estimates![kind]
          errors[kind] += (value - truth) / runs
          if (Math.abs(value - truth) < halfWidth) inside++
        }
      }
      // 90 intervals of 95 %, three by three on the same logs.
      assert.isTrue(inside / runs / 3 > 0.88 && inside / runs / 3 <= 1, `${weights}: ${inside} of ${3 * runs}`)
      // The mean of 30 estimates is off by chance only.
      for (const error of Object.values(errors)) assert.closeTo(error, 0, 0.004)
    }
  })

  it("returns no estimate for an effective sample below 1,000", () => {
    const { effectiveSample, estimates } = evaluate(logOf(2, 3_000), fixed([0, 1, 0]), 1)
    assert.isBelow(effectiveSample, 1_000)
    assert.isNull(estimates)
    assert.isNull(logged(logOf(2, 999)))
    assert.isNull(evaluate([], uniform, 1).estimates)
  })

  it("excludes decisions whose outcomes are not due", () => {
    const log = logOf(6, 12_000)
    const end = log.at(-1)!.at
    const known = log.map((one) =>
      one.outcomeAt !== null && one.outcomeAt > end ? { ...one, outcome: 0, outcomeAt: null } : one
    )
    const { log: old, reachHours } = settled(known, end)
    assert.isTrue(reachHours >= 2 && reachHours <= 336)
    assert.isTrue(old.every(({ at }) => at <= end - reachHours * hour))
    assert.strictEqual(old.length, log.filter(({ at }) => at <= end - reachHours * hour).length)
    assert.isTrue(
      old.every((one) => one.outcome === log[Math.round((one.at - start) / (0.05 * hour))]!.outcome),
      "all have come",
    )
    // Without outcomes, the usual delays apply.
    assert.isAbove(settled(known.map((one) => ({ ...one, outcomeAt: null })), end).reachHours, 100)
  })

  it("lets a policy learn only from outcomes that had arrived", () => {
    const log = logOf(3, 1_000)
    let clock = 0
    let told = 0
    const watcher: LearnerKind = {
      name: "watcher",
      make: () => ({
        weights: (_context, eligible, now) => {
          assert.isAtLeast(now, clock)
          clock = now
          const known = log.filter(({ at, outcomeAt }) => at < now && outcomeAt !== null && outcomeAt <= now).length
          assert.strictEqual(told, known)
          return new Float64Array(eligible.arms.length).fill(1 / eligible.arms.length)
        },
        sent() {},
        observe: (_context, _arm, sentAt, now, outcome) => {
          assert.closeTo(now - sentAt, 2 * hour, 1)
          assert.strictEqual(outcome, 1)
          told++
        },
      }),
    }
    evaluate([...log].reverse(), watcher, 1)
    assert.isAbove(told, 30)
  })

  it("estimates higher values for learning policies than for the log", () => {
    const log = logOf(4, 12_000)
    const mean = logged(log)!
    for (const policy of [epsilonGreedy(), product({ refitHours: 6 })]) {
      const { estimates } = evaluate(log, policy, 1)
      assert.isAbove(estimates!.snips.value - estimates!.snips.halfWidth, mean.value)
      assert.isBelow(estimates!.snips.value - estimates!.snips.halfWidth, rates.b)
    }
  })

  it("skips decisions with unknown probabilities", () => {
    const log = logOf(5, 1_000)
    const strange: ReadonlyArray<LoggedDecision> = [
      { ...log[0]!, propensity: 0 },
      { ...log[1]!, copyId: "gone" },
      { ...log[2]!, propensity: NaN },
    ]
    assert.strictEqual(evaluate([...log, ...strange], uniform, 1).decisions, 1_000)
  })
})
