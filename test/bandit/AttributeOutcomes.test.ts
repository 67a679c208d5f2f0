import { assert, describe, it } from "@effect/vitest"
import {
  AttributeOutcomes,
  type AttributeOutcomesRow,
  countedPeriods,
  periodDays,
} from "../../src/bandit/AttributeOutcomes.ts"
import { day, now } from "./Samples.ts"

type Added = readonly [values: Record<string, string>, variant: string, amounts: ReadonlyArray<number>]

const counted = (added: ReadonlyArray<Added>, at = now) => {
  const outcomes = new AttributeOutcomes()
  for (const [values, variant, amounts] of added) outcomes.add(Object.entries(values), variant, at, amounts)
  return outcomes
}

const rowOf = (outcomes: AttributeOutcomes, name: string): AttributeOutcomesRow =>
  outcomes.rows().find((row) => row.name === name)!

/** The counts in a form that the order of keys in objects does not change. */
const canonical = (outcomes: AttributeOutcomes) =>
  outcomes.rows().map(({ counts, ...row }) => ({
    ...row,
    counts: counts === null ? null : Object.entries(counts).map(([variant, values]) => [
      variant,
      Object.entries(values).sort(([a], [b]) => a < b ? -1 : 1),
    ]).sort(),
  }))

describe("outcomes by attribute", () => {
  it("are summed by variant and value of each attribute", () => {
    const outcomes = counted([
      [{ plan: "pro", tier: "gold" }, "a", [1, 1]],
      [{ plan: "pro" }, "a", [1, 0]],
      [{ plan: "free" }, "b", [1, 1]],
    ])
    assert.deepStrictEqual(rowOf(outcomes, "plan").counts, { a: { pro: [2, 1] }, b: { free: [1, 1] } })
    assert.deepStrictEqual(rowOf(outcomes, "tier").counts, { a: { gold: [1, 1] } })
  })

  it("are kept by periods of four weeks, and forgotten after four of them", () => {
    const outcomes = counted([[{ plan: "pro" }, "a", [1, 0]]])
    outcomes.add([["plan", "pro"]], "a", now - periodDays * day, [2, 1])
    assert.deepStrictEqual(outcomes.rows().map(({ counts }) => counts), [{ a: { pro: [2, 1] } }, {
      a: { pro: [1, 0] },
    }])
    outcomes.prune(now + (countedPeriods - 1) * periodDays * day)
    assert.deepStrictEqual(outcomes.rows().map(({ counts }) => counts), [{ a: { pro: [1, 0] } }])
  })

  it("leave out an attribute with more than 200 values, also after they were stored", () => {
    const values = (count: number) => Array.from({ length: count }, (_, i): Added => [{ name: `v${i}` }, "a", [1, 0]])
    assert.isNotNull(rowOf(counted(values(200)), "name").counts)
    assert.isNull(rowOf(counted(values(201)), "name").counts)
    const merged = counted(values(3))
    merged.merge(JSON.parse(JSON.stringify(counted(values(201)).rows())))
    assert.isNull(rowOf(merged, "name").counts)
  })

  it("leave out an attribute with more than 10,000 combinations of a value and a variant", () => {
    const added = (variants: number) =>
      Array.from({ length: variants * 100 }, (_, i): Added => [{ city: `c${i % 100}` }, `v${Math.floor(i / 100)}`, [1]])
    assert.isNotNull(rowOf(counted(added(100)), "city").counts)
    assert.isNull(rowOf(counted(added(101)), "city").counts)
  })

  it("round numbers with more than 200 values, and drop them if a value is no number", () => {
    const amounts = Array.from({ length: 300 }, (_, i): Added => [{ amount: `${i + 100}` }, "a", [1, 0]])
    const row = rowOf(counted([...amounts, [{ amount: "missing" }, "a", [1, 0]]]), "amount")
    assert.isTrue(row.isRounded)
    assert.deepStrictEqual(row.counts!["a"]!["110"], [10, 0])
    assert.deepStrictEqual(row.counts!["a"]!["missing"], [1, 0])
    assert.isNull(rowOf(counted([...amounts, [{ amount: "unknown" }, "a", [1, 0]]]), "amount").counts)
  })

  it("are limited to the first 50 attributes by name", () => {
    const outcomes = counted(Array.from({ length: 60 }, (_, i): Added => [{ [`k${99 - i}`]: "v" }, "a", [1]]))
    assert.deepStrictEqual(outcomes.rows().map(({ name }) => name), Array.from({ length: 50 }, (_, i) => `k${40 + i}`))
  })

  it("are independent of the order of additions and of storing in between", () => {
    const added: Array<Added> = Array.from({ length: 900 }, (_, i) => [
      {
        amount: `${100 + i % 300}`,
        mixed: i === 0 ? "none" : `${i % 290}`,
        plan: `p${i % 3}`,
        ...(i < 70 ? { [`x${i}`]: "v" } : {}),
      },
      `v${i % 7}`,
      [1, i % 2],
    ])
    const expected = canonical(counted(added))
    assert.deepStrictEqual(canonical(counted(added.toReversed())), expected)
    const stored = new AttributeOutcomes()
    for (const part of [added.slice(500), added.slice(0, 200), added.slice(200, 500)]) {
      stored.merge(JSON.parse(JSON.stringify(counted(part).rows())))
    }
    assert.deepStrictEqual(canonical(stored), expected)
  })
})
