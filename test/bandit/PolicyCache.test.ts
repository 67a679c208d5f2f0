import { assert, describe, it } from "@effect/vitest"
import { bestArmProbabilities } from "../../src/bandit/Weights.ts"
import { eligibleSet, Policy } from "../../src/bandit/Policy.ts"
import type { VerdictName } from "../../src/bandit/VerdictState.ts"
import { adaptive, day, fitRows, now, sum } from "./Samples.ts"

const rows = ["a", "b", "c"].map((variant, i) => ({
  variant,
  context: "plan=pro",
  start: now - 5 * day,
  sends: 3000,
  clicks: 90 + 15 * i,
}))
const scheme = { keys: [{ name: "plan", values: ["pro"] }], builtIns: [] }
const model = fitRows(rows, { scheme, window: adaptive })
const contextOf = (policy: Policy, plan: string) => policy.contextOf(new Map([["plan", [plan]]]), 0)

describe("a policy", () => {
  it("caches the weights for each context and set of variants", () => {
    const policy = new Policy(model)
    const set = eligibleSet(["a", "b", "c"])
    const first = policy.choice(contextOf(policy, "pro"), set)
    assert.strictEqual(policy.choice(contextOf(policy, "pro"), set), first)
    // By the key, not by the object.
    assert.strictEqual(policy.choice(contextOf(policy, "pro"), eligibleSet(["c", "b", "a", "b"])), first)
    assert.notStrictEqual(policy.choice(contextOf(policy, "basic"), set), first)
    assert.notStrictEqual(policy.choice(contextOf(policy, "pro"), eligibleSet(["a", "b"])), first)
  })

  it("clears its cache at a limit", () => {
    const policy = new Policy(model)
    const context = contextOf(policy, "pro")
    // The cheapest sets to choose from: 60,606 of them are kept.
    const set = (n: number) => eligibleSet(["a"], `set ${n}`)
    const first = policy.choice(context, set(0))
    for (let n = 1; n < 60_600; n++) policy.choice(context, set(n))
    assert.strictEqual(policy.choice(context, set(0)), first)
    for (let n = 60_600; n < 60_610; n++) policy.choice(context, set(n))
    const again = policy.choice(context, set(0))
    assert.notStrictEqual(again, first)
    assert.deepStrictEqual(again, first)
  })

  it("tempers the posterior by kappa and adds the floor", () => {
    const policy = new Policy(model, 0.1)
    const { kappa, means, sds, weights } = policy.choice(contextOf(policy, "pro"), eligibleSet(["a", "b", "c"]))
    const q = bestArmProbabilities(means, sds.map((sd) => kappa! * sd))
    weights.forEach((weight, i) => assert.closeTo(weight, 0.9 * q[i]! + 0.1 / 3, 1e-12))
  })

  it("raises the runner-up to its share while a leader is close to winning", () => {
    const certain = fitRows(rows.map((row, i) => ({ ...row, clicks: 90 + 300 * i })), { scheme, window: adaptive })
    const state = { winner: null, contenders: [], since: now, evidenceFrom: null, lookedAt: now, objective: '"click"' }
    const choiceWith = (verdict: VerdictName, window = certain.window, leaderBest = 0.8) => {
      const known = leaderBest === 0 ? {} : { leaderBest }
      const model = { ...certain, window, verdict: { ...state, verdict, ...known } }
      const policy = new Policy(model, 0.02, 0.15)
      return policy.choice(contextOf(policy, "pro"), eligibleSet(["a", "b", "c"]))
    }
    const { runnerUpFloor, weights } = choiceWith("undecided")
    assert.strictEqual(runnerUpFloor, 0.15)
    assert.closeTo(weights[1]!, 0.98 * 0.05 + 0.02 / 3, 1e-9)
    assert.closeTo(sum(weights), 1, 1e-12)
    const window = { mode: "window", lookbackDays: 14, offsetDays: 0 } as const
    const others = [
      choiceWith("winner"),
      choiceWith("no_difference"),
      choiceWith("undecided", window),
      choiceWith("undecided", undefined, 0.79),
      choiceWith("undecided", undefined, 0),
    ]
    for (const choice of others) {
      assert.isNull(choice.runnerUpFloor)
      assert.closeTo(choice.weights[1]!, 0.02 / 3, 1e-3)
    }
  })

  it("ignores kappa and floor with an epsilon, and leaves cached weights unchanged", () => {
    const policy = new Policy(model, 0.1)
    const context = contextOf(policy, "pro")
    const set = eligibleSet(["a", "b", "c"])
    const before = Array.from(policy.choice(context, set).weights)
    const greedy = policy.choice(context, set, 0)
    assert.deepStrictEqual([greedy.mode, greedy.kappa, greedy.floor, greedy.epsilon], ["epsilon", null, null, 0])
    assert.deepStrictEqual([...greedy.weights], [0, 0, 1])
    assert.deepStrictEqual(
      [...policy.choice(context, set, 1).weights].map((w) => w.toFixed(6)),
      new Array(3).fill("0.333333"),
    )
    assert.deepStrictEqual([...policy.choice(context, set).weights], before)
    assert.throws(() => policy.choice(context, set, 1.5), RangeError)
  })

  it("returns no weights for an empty set of variants", () => {
    const policy = new Policy(model)
    assert.deepStrictEqual([...policy.choice(contextOf(policy, "pro"), eligibleSet([])).weights], [])
  })

  it("traces untempered chances and the sends of each variant", () => {
    const policy = new Policy(model)
    const trace = policy.trace(contextOf(policy, "pro"), eligibleSet(["a", "b", "c", "new"]), 0.2)
    assert.deepStrictEqual(trace.candidates.map(({ id, sends }) => [id, sends]), [
      ["a", 3000],
      ["b", 3000],
      ["c", 3000],
      ["new", 0],
    ])
    assert.closeTo(sum(trace.candidates.map(({ pBest }) => pBest)), 1, 1e-9)
    assert.closeTo(sum(trace.candidates.map(({ weight }) => weight)), 1, 1e-9)
    assert.strictEqual(trace.epsilon, 0.2)
    assert.strictEqual(trace.halfLifeDays, 120)
    assert.deepStrictEqual(trace.window, {
      mode: "adaptive",
      lookbackDays: null,
      offsetDays: null,
      from: now - 180 * day,
      to: now,
    })
    for (const { interval: [low, high], rate } of trace.candidates) assert.isTrue(low < rate && rate < high)
    const windowed = new Policy(fitRows(rows, { scheme, window: { mode: "window", lookbackDays: 14, offsetDays: 3 } }))
    const { halfLifeDays, window } = windowed.trace(contextOf(windowed, "pro"), eligibleSet(["a", "b"]))
    assert.isNull(halfLifeDays)
    assert.deepStrictEqual(window, {
      mode: "window",
      lookbackDays: 14,
      offsetDays: 3,
      from: now - 17 * day,
      to: now - 3 * day,
    })
  })
})
