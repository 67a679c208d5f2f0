import { assert, describe, it } from "@effect/vitest"
import { changeOf, type DayLevel, levelsOf, type RecentDays, recentDays } from "../../src/bandit/ChangePoint.ts"
import { organizationPriors } from "../../src/bandit/Priors.ts"
import { bucketWeight } from "../../src/bandit/Window.ts"
import { countsOf, day, fitRows, hour, now, promptCurve, type Row } from "./Samples.ts"

const first = Math.floor(now / day) * day - 28 * day

/** Outcomes of 28 days: variant `a` has 40 expected a day, `b` 5, times the factors of the day. */
const days = (a: (day: number) => number, b: (day: number) => number = () => 1, perDay = 5): RecentDays => ({
  first,
  variants: ([["a", 40, a], ["b", perDay, b]] as const).map(([id, expected, factor]) => ({
    id,
    expected: new Float64Array(28).fill(expected),
    outcomes: Float64Array.from({ length: 28 }, (_, d) => Math.round(expected * factor(d))),
  })),
})

const fallAt = (at: number, to = 0.6) => (d: number) => d < at ? 1 : to

describe("a change of the leading variant", () => {
  it("is found within days, at its day", () => {
    assert.deepStrictEqual(changeOf(days(fallAt(24)), undefined), { at: first + 24 * day, variant: "a" })
    assert.deepStrictEqual(changeOf(days(fallAt(20)), undefined), { at: first + 20 * day, variant: "a" })
  })

  it("is not found where nothing changes, the rate rises, a fall is small, or the variant gets little traffic", () => {
    const swinging = (d: number) => 1 + 0.1 * (d % 2 === 0 ? 1 : -1)
    assert.isUndefined(changeOf(days(swinging), undefined))
    assert.isUndefined(changeOf(days(fallAt(20, 1.5)), undefined))
    assert.isUndefined(changeOf(days(fallAt(20, 0.95)), undefined))
    assert.isUndefined(changeOf(days(swinging, fallAt(20, 0.2)), undefined))
  })

  it("is not found on days that swing by themselves", () => {
    const swinging = (d: number) => [1.5, 0.6, 0.5, 1.4, 1.6, 0.4, 1][d % 7]!
    assert.isUndefined(changeOf(days((d) => swinging(d) * (d < 25 ? 1 : 0.75)), undefined))
  })

  it("is not what moves all variants of the template, or the organization's other templates", () => {
    assert.isUndefined(changeOf(days(fallAt(22), fallAt(22), 40), undefined))
    const neighbours = (factor: (d: number) => number) =>
      new Map(Array.from({ length: 28 }, (_, d): [number, DayLevel] => {
        const start = first + d * day
        return [start, [start, 100, 100 * factor(d)]]
      }))
    assert.isUndefined(changeOf(days(fallAt(22)), undefined, neighbours(fallAt(22))))
    assert.isDefined(changeOf(days(fallAt(22)), undefined, neighbours(() => 1)))
  })

  it("stays as long as the variant does worse than the others, and is given up once they have fallen as far", () => {
    const known = { at: first + 20 * day, variant: "a" }
    assert.deepStrictEqual(changeOf(days(fallAt(20)), known), known)
    assert.isUndefined(changeOf(days(fallAt(20), fallAt(20), 40), known))
    assert.isUndefined(changeOf(days(() => 1), known))
    // Too little is left of what was before to say anything else.
    const old = { at: first + 3 * day, variant: "a" }
    assert.deepStrictEqual(changeOf(days(() => 1), old), old)
  })

  it("is followed by another only by what came after it", () => {
    const known = { at: first + 10 * day, variant: "a" }
    assert.deepStrictEqual(changeOf(days(fallAt(10)), known), known)
    const twice = changeOf(days((d) => d < 10 ? 1 : d < 23 ? 0.6 : 0.25), known)
    assert.deepStrictEqual(twice, { at: first + 23 * day, variant: "a" })
  })

  it("cannot be found without data", () => {
    assert.isUndefined(changeOf({ first, variants: [] }, undefined))
  })
})

describe("the recent days", () => {
  const rows = Array.from({ length: 30 }, (_, d): ReadonlyArray<Row> =>
    ["a", "b"].map((variant) => ({
      variant,
      cell: "",
      start: first + (d - 1) * day + 5 * hour,
      sends: 1000,
      clicks: variant === "a" ? 40 : 20,
    }))).flat()
  const model = fitRows(rows, { rounds: 20 })

  it("are the last 28 that have ended, with the outcomes that the model expects", () => {
    const recent = recentDays(countsOf(rows), model, promptCurve, now)
    assert.strictEqual(recent.first, first)
    const [a, b] = recent.variants
    assert.deepStrictEqual([...a!.outcomes], new Array(28).fill(40))
    assert.deepStrictEqual([...b!.outcomes], new Array(28).fill(20))
    for (const expected of a!.expected) assert.closeTo(expected, 40, 1)
    for (const expected of b!.expected) assert.closeTo(expected, 20, 1)
  })

  it("begin with the first send, and are none on the first day", () => {
    const short = rows.slice(-6)
    assert.strictEqual(recentDays(countsOf(short), fitRows(short), promptCurve, now).variants[0]!.outcomes.length, 2)
    const today = rows.slice(-2)
    assert.deepStrictEqual(levelsOf(recentDays(countsOf(today), fitRows(today), promptCurve, now)), [])
  })

  it("of a template are what its neighbours compare theirs with", () => {
    const levels = levelsOf(recentDays(countsOf(rows), model, promptCurve, now))
    const taught = { squares: 0, determined: 0, a0: -3, days: levels }
    const { days: pooled } = organizationPriors(new Map([["t1", taught], ["t2", taught], ["own", taught]]), "own")
    const [, expected, outcomes] = pooled!.get(first)!
    assert.strictEqual(outcomes, 120)
    assert.closeTo(expected, 120, 4)
    assert.strictEqual(pooled!.size, 28)
  })
})

describe("sends before a change", () => {
  it("count for 3 % of what they would", () => {
    const weight = (start: number, changedAt?: number) =>
      bucketWeight(
        { mode: "adaptive", halfLifeDays: 20, ...(changedAt === undefined ? {} : { changedAt }) },
        { start, end: start + day },
        now,
      )
    const at = first + 20 * day
    assert.closeTo(weight(at - day, at), 0.03 * weight(at - day), 1e-12)
    assert.strictEqual(weight(at, at), weight(at))
  })

  it("no longer keep a fallen leader from losing its traffic", () => {
    const rows = ["a", "b"].flatMap((variant) =>
      Array.from({ length: 28 }, (_, d): Row => {
        const sends = variant === "a" ? 1000 : 100
        const rate = variant === "b" ? 0.03 : d < 20 ? 0.04 : 0.02
        return { variant, cell: "", start: first + d * day, sends, clicks: Math.round(sends * rate) }
      })
    )
    const effect = (model: ReturnType<typeof fitRows>) => model.variants[0]!.beta[0]! - model.variants[1]!.beta[0]!
    const before = fitRows(rows, { rounds: 20 })
    assert.isAbove(effect(before), 0)
    const change = changeOf(recentDays(countsOf(rows), before, promptCurve, now), undefined)
    assert.deepStrictEqual(change, { at: first + 20 * day, variant: "a" })
    const window = { mode: "adaptive", halfLifeDays: 120, changedAt: change!.at } as const
    assert.isBelow(effect(fitRows(rows, { rounds: 20, window })), 0)
  })
})
