import { assert, describe, it } from "@effect/vitest"
import {
  betaThompson,
  epsilonGreedy,
  inSteps,
  type LearnerKind,
  peers,
  ucb1,
  uniform,
} from "../../src/simulation/Learners.ts"
import { product } from "../../src/simulation/Product.ts"
import { run } from "../../src/simulation/Run.ts"
import { spread } from "../../src/simulation/Spread.ts"
import { makeWorld } from "../../src/simulation/World.ts"
import { shortWorld } from "../../bench/simulation/Worlds.ts"

const seeds = [1, 2, 3, 4, 5, 6]
const adaptive = product({ refitHours: 3 })
const windowed = product({ window: { lookbackDays: 14, offsetDays: 0 }, refitHours: 6 })
const shares = (policy: LearnerKind, of = seeds) =>
  of.map((seed) => run(shortWorld("stat5", seed, 15, 15_000), policy, seed).share)

describe("a run", () => {
  it("captures more with the product than with an even choice or UCB1", () => {
    // The mean of six seeds alone has a standard error of 0.1.
    const many = Array.from({ length: 16 }, (_, i) => i + 1)
    const ours = shares(adaptive, many)
    assert.isAbove(spread(ours).mean, 0.5)
    const theirs = shares(ucb1, many)
    const ahead = spread(ours.map((share, i) => share - theirs[i]!))
    assert.isAbove(ahead.mean - ahead.halfWidth, 0)
    assert.isAbove(Math.min(...ours.slice(0, seeds.length)), 0)
    const window = shares(windowed)
    assert.isAbove(spread(window).mean, 0.4)
  })

  it("never exceeds the oracle, and equals the baseline for an even choice", () => {
    for (const name of ["drift", "launch", "full", "small"] as const) {
      const world = shortWorld(name, 1, name === "small" ? 56 : 6, 3_000)
      for (const policy of [...peers, product({ refitHours: 12 })]) {
        const { oracle, quarters, reward, share, uniform: even } = run(world, policy, 1)
        assert.isBelow(reward, oracle)
        assert.isAbove(even, 0)
        assert.isBelow(share, 1)
        assert.lengthOf(quarters, 4)
        if (policy === uniform) {
          assert.closeTo(reward, even, 1e-9)
          assert.closeTo(share, 0, 1e-9)
        }
      }
    }
  })

  it("divides a trial of some minutes about as beta posteriors do", () => {
    /** Mean over the templates of the larger of the two variants' shares of the traffic; the variants are equal. */
    const lead = (policy: LearnerKind) => {
      const leads = seeds.map((seed) => {
        const trial = makeWorld({
          name: "trial",
          seed,
          days: 10 / 1440,
          sends: 300,
          arms: ["a", "b"],
          attributes: [],
          delay: { medianHours: 5 / 3600, sigma: 0.7 },
          logRates: () => ({ byValues: () => Math.log(0.36), byDay: () => 0 }),
        })
        let share = 0
        run(trial, {
          name: policy.name,
          make: (setting) => {
            const inner = policy.make(setting)
            return {
              weights: (request, eligible, now) => {
                const weights = inner.weights(request, eligible, now)
                share += weights[0]! / 300
                return weights
              },
              sent: inner.sent.bind(inner),
              observe: inner.observe.bind(inner),
            }
          },
        }, seed)
        return Math.max(share, 1 - share)
      })
      return { mean: spread(leads).mean, most: Math.max(...leads) }
    }
    const ours = lead(product({ refitHours: 1 / 3600 }))
    assert.isBelow(ours.mean, lead(betaThompson()).mean + 0.1)
    assert.isBelow(ours.most, 0.9)
  })

  it("makes the same decisions for any value of a click", () => {
    const share = (worth: number) => run(shortWorld("stat5", 1, 15, 15_000, worth), adaptive, 1).share
    const once = share(1)
    for (const worth of [100, 0.02, 12.34]) assert.closeTo(share(worth), once, 1e-3)
  })

  it("is reproducible for the same policy, seed and world", () => {
    const world = () => shortWorld("full", 4, 5, 3_000)
    for (const policy of [adaptive, betaThompson()]) {
      assert.deepStrictEqual(run(world(), policy, 9), run(world(), policy, 9))
    }
    assert.notStrictEqual(run(world(), betaThompson(), 9).reward, run(world(), betaThompson(), 10).reward)
  })

  it("reports a click to learners when it arrives, in order of time", () => {
    const world = makeWorld({
      name: "told",
      seed: 1,
      days: 5,
      sends: 2_000,
      arms: ["a", "b"],
      attributes: [],
      delay: { medianHours: 10, sigma: 1 },
      logRates: () => ({ byValues: () => Math.log(0.5), byDay: () => 0 }),
    })
    let clock = 0
    let clicks = 0
    const watcher: LearnerKind = {
      name: "watcher",
      make: () => ({
        weights: (_, eligible, now) => {
          assert.isAtLeast(now, clock)
          clock = now
          return new Float64Array(eligible.arms.length).fill(1 / eligible.arms.length)
        },
        sent: (_context, _arm, now) => assert.strictEqual(now, clock),
        observe: (_context, _arm, sentAt, now) => {
          assert.isAbove(now, sentAt)
          assert.isAtLeast(now, clock)
          clock = now
          clicks++
        },
      }),
    }
    run(world, watcher, 1)
    assert.isTrue(clicks > 700 && clicks < 1_000, String(clicks))
  })

  it("in steps reports all messages and outcomes to learners once per step, in order", () => {
    const world = shortWorld("small", 3, 28, 3_000)
    /** Passes of knowledge to a learner, as the number of calls by the decision before which they came. */
    const record = (wrap: (kind: LearnerKind) => LearnerKind) => {
      const calls: Array<{ readonly text: string; readonly template: number; readonly toldAt: number }> = []
      let clock = 0
      const kind: LearnerKind = {
        name: "recorder",
        make: (setting) => {
          const inner = uniform.make(setting)
          const note = (template: number, text: string) => calls.push({ text, template, toldAt: clock })
          return {
            weights: inner.weights,
            sent: ({ template }, arm, now) => note(template, `${template} sent ${arm} ${now}`),
            observe: ({ template }, arm, sentAt, now, outcome) =>
              note(template, `${template} observed ${arm} ${sentAt} ${now} ${outcome}`),
          }
        },
      }
      const wrapped = wrap(kind)
      run(world, {
        name: kind.name,
        make: (setting) => {
          const inner = wrapped.make(setting)
          return {
            ...inner,
            weights: (request, eligible, now) => {
              clock = now
              return inner.weights(request, eligible, now)
            },
          }
        },
      }, 1)
      return calls
    }
    const atOnce = record((kind) => kind)
    const held = record((kind) => inSteps(kind, 12))
    const templates = [...new Set(held.map(({ template }) => template))]
    assert.isAbove(templates.length, 10)
    for (const template of templates) {
      const texts = (calls: typeof held) => calls.filter((call) => call.template === template).map(({ text }) => text)
      const passed = texts(held)
      assert.deepStrictEqual(passed, texts(atOnce).slice(0, passed.length))
      const times = [...new Set(held.filter((call) => call.template === template).map(({ toldAt }) => toldAt))]
      for (let i = 1; i < times.length; i++) assert.isAtLeast(times[i]! - times[i - 1]!, 12 * 3_600_000)
    }
    assert.isAbove(held.length, 0.6 * atOnce.length)
  })

  it("returns weights that sum to 1 over the eligible variants", () => {
    const world = shortWorld("launch", 2, 60, 1_500)
    for (const policy of [...peers, adaptive, windowed, betaThompson(20), epsilonGreedy(1)]) {
      const checked: LearnerKind = {
        name: policy.name,
        make: (setting) => {
          const inner = policy.make(setting)
          return {
            weights: (request, eligible, now) => {
              const weights = inner.weights(request, eligible, now)
              assert.lengthOf(weights, eligible.arms.length)
              assert.closeTo(weights.reduce((a, b) => a + b), 1, 1e-9)
              assert.isAtLeast(Math.min(...weights), 0)
              return weights
            },
            sent: inner.sent.bind(inner),
            observe: inner.observe.bind(inner),
          }
        },
      }
      run(world, checked, 2)
    }
  })
})

describe("a spread", () => {
  it("has the intervals of Student's t", () => {
    const of = (count: number) => spread(Array.from({ length: count }, (_, i) => i % 2))
    // As many zeros as ones have a standard error of sqrt(1 / 4 / (n - 1)).
    const t = (count: number) => of(count).halfWidth * Math.sqrt(4 * (count - 1))
    for (const [count, expected] of [[2, 12.706], [4, 3.182], [6, 2.571], [20, 2.093], [100, 1.984]] as const) {
      assert.closeTo(t(count), expected, 0.02 * expected)
    }
    assert.isNaN(spread([1]).halfWidth)
    assert.strictEqual(spread([1, 2, 3]).mean, 2)
  })
})
