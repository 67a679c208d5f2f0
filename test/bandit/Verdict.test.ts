import { assert, describe, it } from "@effect/vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { Evidence } from "../../src/bandit/Evidence.ts"
import { look } from "../../src/bandit/Verdict.ts"
import type { VerdictState } from "../../src/bandit/VerdictState.ts"
import { countsOf, day, fitRows, hour, now, type Row, uniform } from "./Samples.ts"

/** Sends and clicks of each variant a day, for so many days up to `now`. */
const rowsOf = (daily: Readonly<Record<string, readonly [sends: number, clicks: number]>>, days = 10, until = 0) =>
  Object.entries(daily).flatMap(([variant, [sends, clicks]]) =>
    Array.from({ length: days }, (_, d): Row => ({
      variant,
      context: "",
      start: Math.floor(now / day) * day - (d + 1 + until) * day,
      sends,
      clicks,
    }))
  )

const judge = (
  rows: ReadonlyArray<Row>,
  options: {
    before?: VerdictState
    active?: ReadonlyArray<string>
    at?: number
    objective?: string
    runnerUpFloor?: number
  } = {},
) => {
  const model = { ...fitRows(rows), fittedAt: options.at ?? now }
  const active = options.active ?? [...new Set(rows.map(({ variant }) => variant))]
  const { before, objective = "click", runnerUpFloor = 0 } = options
  return look(model, countsOf(rows), { active, objective, before, runnerUpFloor })
}

const clear = rowsOf({ a: [2000, 60], b: [2000, 100] })

describe("the verdict", () => {
  it("is a firm winner since its first evaluation if one variant is clearly better", () => {
    const { since, verdict, winner } = judge(clear)
    assert.deepStrictEqual([verdict, winner, since], ["firm_winner", "b", now])
  })

  it("is undecided before 7 days, below 100 matured sends of the leader, or with one variant", () => {
    assert.strictEqual(judge(rowsOf({ a: [2000, 60], b: [2000, 100] }, 5)).verdict, "undecided")
    assert.strictEqual(judge(rowsOf({ a: [9, 0], b: [9, 8] })).verdict, "undecided")
    assert.strictEqual(judge(clear, { active: ["b"] }).verdict, "undecided")
  })

  it("needs a higher probability of being best in the first three weeks", () => {
    // Probabilities of 96, 98 and 99 %.
    const [low, middle, high] = [35, 36, 37].map((clicks) => ({ a: [1000, 30], b: [1000, clicks] } as const))
    const verdicts = (days: number) =>
      [low, middle, high].map((daily) => {
        const rows = rowsOf(daily!).map((row) => ({ ...row, start: row.start - (days - 10) * day }))
        return judge([...rows, ...rowsOf({ a: [1, 0], b: [1, 0] }, 1)]).verdict
      })
    assert.deepStrictEqual(verdicts(10), ["undecided", "undecided", "winner"])
    assert.deepStrictEqual(verdicts(25), ["undecided", "winner", "winner"])
  })

  it("needs more evidence with a share of the runner-up", () => {
    const old = rowsOf({ a: [1000, 30], b: [1000, 36] }).map((row) => ({ ...row, start: row.start - 15 * day }))
    const rows = [...old, ...rowsOf({ a: [1, 0], b: [1, 0] }, 1)]
    assert.strictEqual(judge(rows).verdict, "winner")
    assert.strictEqual(judge(rows, { runnerUpFloor: 0.1 }).verdict, "undecided")
    assert.strictEqual(judge(clear, { runnerUpFloor: 0.1 }).verdict, "firm_winner")
  })

  it("is undecided while the evidence is weak", () => {
    assert.strictEqual(judge(rowsOf({ a: [120, 3.6], b: [120, 5] })).verdict, "undecided")
  })

  it("has the leader's probability from 7 days of data on, which decides about the share of the runner-up", () => {
    const weak = judge(rowsOf({ a: [1000, 30], b: [1000, 33] }))
    assert.strictEqual(weak.verdict, "undecided")
    assert.isAbove(weak.leaderBest!, 0.6)
    assert.isBelow(weak.leaderBest!, 0.95)
    assert.isUndefined(judge(clear.map((row) => ({ ...row, start: now - 5 * day }))).leaderBest)
    assert.strictEqual(judge(clear, { active: [] }).leaderBest, 0)
  })

  it("is no difference if little can be lost by any choice, even after a winner", () => {
    const alike = rowsOf({ a: [3_000_000, 90_000], b: [3_000_000, 90_050] })
    assert.strictEqual(judge(alike).verdict, "no_difference")
    const before = judge(clear, { at: now - day })
    assert.deepStrictEqual([judge(alike, { before }).verdict, judge(alike, { before }).winner], ["no_difference", null])
    assert.strictEqual(judge(rowsOf({ a: [3_000_000, 90_000], b: [500, 15] })).verdict, "undecided")
  })

  it("is no difference if all are within 5 %, until a firm winner, or a possible loss of 7.5 %", () => {
    const daily = (clicks: number) => rowsOf({ a: [2000, 600], b: [2000, clicks] })
    const close = judge(daily(600), { at: now - day })
    assert.strictEqual(close.verdict, "no_difference")
    assert.strictEqual(judge(daily(616)).verdict, "undecided")
    assert.strictEqual(judge(daily(616), { before: close }).verdict, "no_difference")
    assert.strictEqual(judge(daily(650), { before: close }).winner, "b")
    // A lift of 3 % is known for certain.
    assert.strictEqual(judge(rowsOf({ a: [300_000, 90_000], b: [300_000, 92_700] })).verdict, "firm_winner")
  })

  it("is open where different people prefer different variants, however equal they are over all people", () => {
    const byPlan = (gap: number) =>
      (["free", "pro"] as const).flatMap((plan, p) =>
        rowsOf({ a: [20_000, 6000 + gap * (1 - 2 * p)], b: [20_000, 6000 - gap * (1 - 2 * p)] })
          .map((row) => ({ ...row, context: encodeContext([["plan", plan]]) }))
      )
    const scheme = { keys: [{ name: "plan", values: ["free", "pro"] }] }
    const verdict = (rows: ReadonlyArray<Row>) =>
      look({ ...fitRows(rows, { scheme }), fittedAt: now }, countsOf(rows), {
        active: ["a", "b"],
        objective: "click",
        before: undefined,
      }).verdict
    assert.strictEqual(verdict(byPlan(0)), "no_difference")
    assert.strictEqual(verdict(byPlan(600)), "undecided")
  })

  it("stays while the winner is ahead, and is withdrawn if another variant leads", () => {
    const before = judge(clear, { at: now - day })
    const weaker = rowsOf({ a: [300, 11], b: [300, 12] })
    const kept = judge(weaker, { before })
    assert.deepStrictEqual([kept.verdict, kept.winner, kept.since], ["firm_winner", "b", before.since])
    const turned = judge(rowsOf({ a: [300, 12], b: [300, 9] }), { before })
    assert.deepStrictEqual([turned.verdict, turned.winner], ["undecided", null])
    // Only later sends are evidence.
    assert.strictEqual(turned.evidenceFrom, (Math.floor(now / hour) + 1) * hour)
    assert.strictEqual(judge(clear, { before: turned, at: now + 2 * hour }).verdict, "undecided")
  })

  it("is withdrawn for a new variant, or if the winner is stopped", () => {
    const before = judge(clear, { at: now - day })
    assert.strictEqual(judge(clear, { before, active: ["a", "b", "new"] }).verdict, "undecided")
    assert.strictEqual(judge(clear, { before, active: ["a", "c"] }).verdict, "undecided")
  })

  it("is evaluated at most once an hour, and restarts with another objective", () => {
    const before = judge(rowsOf({ a: [500, 15], b: [500, 15] }))
    assert.strictEqual(before.verdict, "undecided")
    assert.deepStrictEqual(judge(clear, { before, at: now + 60_000 }), before)
    assert.strictEqual(judge(clear, { before, at: now + hour }).verdict, "firm_winner")
    assert.strictEqual(judge(clear, { before, at: now + 60_000, objective: "open" }).objective, "open")
  })
})

describe("the evidence that a variant is better", () => {
  const model = fitRows([])

  /** Looks once a day while nine tenths of the traffic go to the variant that is ahead; the largest ratio of either. */
  const largest = (seed: number, lift: number, days: number, bar: number): boolean => {
    const chance = uniform(seed)
    const rows: Array<Row> = []
    const sums = { a: [1, 33], b: [1, 33] }
    for (let d = 0; d < days; d++) {
      const ahead = sums.a[0]! / sums.a[1]! > sums.b[0]! / sums.b[1]!
      for (const variant of ["a", "b"] as const) {
        const sends = (variant === "a") === ahead ? 450 : 50
        let clicks = 0
        for (let i = 0; i < sends; i++) if (chance() < 0.03 * (variant === "b" ? 1 + lift : 1)) clicks++
        rows.push({ variant, context: "", start: now - (days - d) * day, sends, clicks })
        sums[variant][0]! += clicks
        sums[variant][1]! += sends
      }
      const evidence = new Evidence(countsOf(rows), model)
      if (evidence.of("b", "a") >= bar || (lift === 0 && evidence.of("a", "b") >= bar)) return true
    }
    return false
  }

  const share = (runs: number, holds: (seed: number) => boolean) =>
    Array.from({ length: runs }, (_, seed) => holds(1000 + seed)).filter(Boolean).length / runs

  it("exceeds its error rate in at most 5 % of tests, for any number of evaluations", () => {
    assert.isAtMost(share(300, (seed) => largest(seed, 0, 30, 2 / 0.05)), 0.05)
  })

  it("finds a real lift", () => {
    assert.isAtLeast(share(40, (seed) => largest(seed, 0.5, 45, 2 / 0.05)), 0.6)
  })

  it("is 1 without data", () => {
    assert.strictEqual(new Evidence(countsOf([]), model).of("a", "b"), 1)
  })

  it("is unaffected by good days and a changing audience", () => {
    const rows = [0, 1, 2, 3, 4, 5].flatMap((d): ReadonlyArray<Row> => {
      const [share, rate] = d < 3 ? [0.9, 0.02] : [0.1, 0.08]
      const at = { context: "", start: now - (d + 1) * day }
      return [
        { ...at, variant: "a", sends: 10_000 * share, clicks: 10_000 * share * rate },
        { ...at, variant: "b", sends: 10_000 * (1 - share), clicks: 10_000 * (1 - share) * rate },
      ]
    })
    const evidence = new Evidence(countsOf(rows), model)
    assert.isBelow(evidence.of("b", "a"), 1, "though 7 % of all who got it clicked, against 2.6 %")
  })
})
