import { assert, describe, it } from "@effect/vitest"
import { AttributeCounts, schemeOf } from "../../src/bandit/AttributeCounts.ts"
import { attributeEvidence } from "../../src/bandit/AttributeEvidence.ts"
import type { AttributeOutcomesRow, OutcomesByVariant } from "../../src/bandit/AttributeOutcomes.ts"
import type { AttributeScheme } from "../../src/bandit/Contexts.ts"
import { now } from "./Samples.ts"

const row = (name: string, counts: OutcomesByVariant | null, start = 0): AttributeOutcomesRow => ({
  start,
  name,
  isRounded: false,
  counts,
})
const valueOf = (amounts: ReadonlyArray<number>) => amounts[1]!
const evidence = (...rows: ReadonlyArray<AttributeOutcomesRow>) => attributeEvidence(rows, (value) => value, valueOf)

const alike = { a: { x: [1000, 50], y: [1000, 50] }, b: { x: [1000, 50], y: [1000, 50] } }
const different = { a: { x: [1000, 80], y: [1000, 30] }, b: { x: [1000, 30], y: [1000, 80] } }

describe("the evidence of an attribute", () => {
  it("is high if the best variant depends on the value, and negative otherwise", () => {
    assert.isAbove(evidence(row("k", different)).logOdds, 10)
    assert.isBelow(evidence(row("k", alike)).logOdds, 0)
    assert.strictEqual(evidence().logOdds, 0)
    assert.strictEqual(evidence(row("k", null)).logOdds, 0)
  })

  it("compares decisions within one period only", () => {
    // More of `x` in a period with a higher rate.
    const busy = { a: { x: [900, 90], y: [100, 10] }, b: { x: [900, 90], y: [100, 10] } }
    const quiet = { a: { x: [100, 2], y: [900, 18] }, b: { x: [100, 2], y: [900, 18] } }
    assert.isBelow(evidence(row("k", busy), row("k", quiet, 1)).logOdds, 0)
  })

  it("is 0 with a single variant or without valued outcomes", () => {
    assert.strictEqual(evidence(row("k", { a: different.a })).logOdds, 0)
    assert.strictEqual(attributeEvidence([row("k", different)], (value) => value, () => 0).logOdds, 0)
  })

  it("is reported for each value or for its group", () => {
    const counts = {
      a: { x: [1000, 90], y: [1000, 50], z: [4000, 200] },
      b: { x: [1000, 10], y: [1000, 50], z: [4000, 200] },
    }
    const { ofValue } = evidence(row("k", counts))
    assert.isAbove(ofValue.get("x")!, 5)
    assert.isBelow(ofValue.get("y")!, 3)
    const grouped = attributeEvidence([row("k", counts)], () => "all", valueOf)
    assert.isBelow(grouped.logOdds, 0)
  })
})

describe("selection of attributes and values by evidence", () => {
  /** Eight attributes in every send: `a` to `h`. */
  const names = ["a", "b", "c", "d", "e", "f", "g", "h"]
  const census = new AttributeCounts()
  for (let i = 0; i < 200; i++) census.add(new Map(names.map((name) => [name, [i % 2 === 0 ? "x" : "y"]])), now)
  const totals = census.totals(now)
  const chosen = (rows: ReadonlyArray<AttributeOutcomesRow>, current?: AttributeScheme) =>
    schemeOf(totals, [], current, { rows, valueOf })
  const namesOf = ({ keys }: AttributeScheme) => keys.map(({ name }) => name).join("")

  it("selects by frequency if there are no outcomes", () => {
    assert.strictEqual(namesOf(schemeOf(totals)), "abcdef")
    assert.deepStrictEqual(chosen([]), schemeOf(totals))
  })

  it("selects the attributes with the most evidence, and sorts them by frequency", () => {
    const scheme = chosen([row("h", different)], schemeOf(totals))
    assert.strictEqual(namesOf(scheme), "abcdeh")
    assert.strictEqual(chosen([row("h", different)], scheme), scheme)
  })

  it("keeps the selection if another attribute has little more evidence", () => {
    const slight = { a: { x: [1000, 63], y: [1000, 40] }, b: { x: [1000, 40], y: [1000, 63] } }
    const { logOdds } = evidence(row("h", slight))
    assert.isTrue(logOdds > 0.5 && logOdds < 3, `${logOdds}`)
    assert.strictEqual(namesOf(chosen([row("h", slight)], schemeOf(totals))), "abcdef")
    // An attribute without evidence is replaced sooner.
    const rows = [row("h", slight), ...names.slice(0, 6).map((name) => row(name, alike))]
    assert.strictEqual(namesOf(chosen(rows)), "abcdgh")
  })

  it("keeps the attributes of a pair in use", () => {
    const current: AttributeScheme = { ...schemeOf(totals), pairs: [["e", "f"]] }
    const rows = [row("g", different), row("h", different)]
    const scheme = chosen(rows, current)
    assert.strictEqual(namesOf(scheme), "abefgh")
    assert.deepStrictEqual(scheme.pairs, [["e", "f"]])
  })

  it("keeps rare values with evidence before frequent ones", () => {
    const countries = new AttributeCounts()
    for (let i = 0; i < 2000; i++) countries.add(new Map([["country", [i % 50 === 0 ? "rare" : `c${i % 15}`]]]), now)
    const of = (rows: ReadonlyArray<AttributeOutcomesRow>) =>
      schemeOf(countries.totals(now), [], undefined, { rows, valueOf }).keys[0]!.values
    assert.notInclude(of([]), "rare")
    const values = of([row("country", {
      a: { rare: [1000, 100], c1: [9000, 450] },
      b: { rare: [1000, 10], c1: [9000, 450] },
    })])
    assert.include(values, "rare")
    assert.lengthOf(values, 12)
  })

  it("counts the groups of a number instead of its values", () => {
    const ages = new AttributeCounts()
    for (let i = 0; i < 2000; i++) {
      ages.add(
        new Map([...names.slice(0, 6), "zage"].map((name) => [name, [name === "zage" ? `${20 + i % 40}` : "x"]])),
        now,
      )
    }
    // Each age by itself has too few outcomes for evidence.
    const rates = (sign: number) =>
      Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`${20 + i}`, [100, 5 + sign * (i < 20 ? 2 : -2)]]))
    const scheme = schemeOf(ages.totals(now), [], schemeOf(ages.totals(now)), {
      rows: [row("zage", { a: rates(1), b: rates(-1) })],
      valueOf,
    })
    assert.strictEqual(namesOf(scheme), "abcdezage")
    assert.deepStrictEqual(scheme.keys[5]!.cuts, [30, 40, 50])
  })
})
