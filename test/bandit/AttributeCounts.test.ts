import { assert, describe, it } from "@effect/vitest"
import { AttributeCounts, schemeOf } from "../../src/bandit/AttributeCounts.ts"
import { type AttributeScheme, emptyScheme, encodeContext } from "../../src/bandit/Contexts.ts"
import { day, now } from "./Samples.ts"

/** The counts of sends, each with the attributes that `of` returns for it. */
const taken = (sends: number, of: (i: number) => Record<string, string>, at = now) => {
  const attributeCounts = new AttributeCounts()
  for (let i = 0; i < sends; i++) {
    attributeCounts.add(new Map(Object.entries(of(i)).map(([name, value]) => [name, [value]])), at)
  }
  return attributeCounts
}

const names = (attributeCounts: AttributeCounts) => schemeOf(attributeCounts.totals(now)).keys.map(({ name }) => name)

describe("the learning attributes", () => {
  it("are only the built-in ones without data", () => {
    assert.deepStrictEqual(schemeOf(new AttributeCounts().totals(now)), emptyScheme)
  })

  it("are the keys present in at least a twentieth of the sends", () => {
    const attributeCounts = taken(100, (i) => ({
      always: `v${i % 2}`,
      ...i < 5 ? { enough: `v${i % 2}` } : {},
      ...i < 4 ? { rare: `v${i % 2}` } : {},
    }))
    assert.deepStrictEqual(names(attributeCounts), ["always", "enough"])
  })

  it("leave out a key with more than 200 values, or whose values are mostly unique", () => {
    // Half of the sends have one value.
    const many = (i: number, count: number) => i % 2 === 0 ? "usual" : `v${(i - 1) / 2 % (count - 1)}`
    const attributeCounts = taken(1000, (i) => ({ allowed: many(i, 200), more: many(i, 201), unique: `v${i}` }))
    assert.deepStrictEqual(names(attributeCounts), ["allowed"])
    assert.strictEqual(schemeOf(attributeCounts.totals(now)).keys[0]!.values.length, 12)
    assert.deepStrictEqual(names(taken(10, (i) => ({ nearlyUnique: `v${i % 6}` }))), [])
    assert.deepStrictEqual(names(taken(10, (i) => ({ twiceEach: `v${i % 5}` }))), ["twiceEach"])
  })

  it("leave out a key with more than 50 values that are about equally frequent, as names of people are, or that are long", () => {
    const attributeCounts = taken(600, (i) => ({
      fifty: `v${i % 50}`,
      person: `v${i % 60}`,
      sentence: i % 2 === 0 ? "usual" : `${"long ".repeat(6)}${i % 100}`,
    }))
    assert.deepStrictEqual(names(attributeCounts), ["fifty"])
  })

  it("leave out a key with a value that may be an address", () => {
    const attributeCounts = taken(100, (i) => ({ plan: "pro", contact: i < 50 ? "ann@example.com" : "none" }))
    assert.deepStrictEqual(names(attributeCounts), ["plan"])
  })

  it("are at most six, the most frequent first", () => {
    const attributeCounts = taken(100, (i) =>
      Object.fromEntries(
        ["a", "b", "c", "d", "e", "f", "g", "h"].filter((_, j) => i >= 5 * j).map((name) => [name, "x"]),
      ))
    assert.deepStrictEqual(names(attributeCounts), ["a", "b", "c", "d", "e", "f"])
  })

  it("have their 12 most frequent values, without `other` and `missing`", () => {
    const values = [
      ...["missing", "other"].flatMap((value) => new Array<string>(100).fill(value)),
      // k01 once, k02 twice ... k20 twenty times.
      ...Array.from({ length: 20 }, (_, k) => new Array<string>(k + 1).fill(`k${String(k + 1).padStart(2, "0")}`))
        .flat(),
    ]
    const attributeCounts = taken(values.length, (i) => ({ country: values[i]! }))
    assert.deepStrictEqual(
      schemeOf(attributeCounts.totals(now)).keys[0]!.values,
      Array.from({ length: 12 }, (_, k) => `k${String(k + 9).padStart(2, "0")}`),
    )
  })

  it("do not include a key by the name of a built-in one", () => {
    assert.deepStrictEqual(names(taken(10, () => ({ daypart: "x", weekend: "y", plan: "z" }))), ["plan"])
  })

  it("exclude keys with a name or value longer than 100 characters", () => {
    assert.deepStrictEqual(names(taken(10, () => ({ ["n".repeat(101)]: "x", long: "v".repeat(101), plan: "z" }))), [
      "plan",
    ])
  })

  it("are the same object if nothing has changed", () => {
    const totals = taken(10, () => ({ plan: "pro" })).totals(now)
    const first = schemeOf(totals)
    assert.strictEqual(schemeOf(totals, [], first), first)
    assert.notStrictEqual(schemeOf(totals, [], emptyScheme), emptyScheme)
  })
})

describe("an attribute with numeric values", () => {
  const scheme = (attributeCounts: AttributeCounts, current?: AttributeScheme) =>
    schemeOf(attributeCounts.totals(now), [], current)

  it("has four groups of about equal size", () => {
    assert.deepStrictEqual(scheme(taken(800, (i) => ({ age: `${20 + i % 40}` }))).keys, [{
      name: "age",
      values: ["below 30", "30 to below 40", "40 to below 50", "50 and above"],
      cuts: [30, 40, 50],
    }])
  })

  it("has fewer groups if one value is frequent", () => {
    const attributeCounts = taken(1000, (i) => ({ orders: i % 10 < 6 ? "0" : `${1 + i % 40}` }))
    assert.deepStrictEqual(scheme(attributeCounts).keys[0]!.cuts, [7, 19])
  })

  it("stays a category if it has at most 12 values or a value that is no number", () => {
    const attributeCounts = taken(390, (i) => ({ cohort: `${i % 12}`, size: i % 13 === 0 ? "xl" : `${i % 13}` }))
    for (const key of scheme(attributeCounts).keys) assert.isUndefined(key.cuts)
  })

  it("is rounded if it has many values, unless it identifies people", () => {
    const attributeCounts = taken(3000, (i) => ({ amount: (10 + i / 10).toFixed(2), customer: `${100_000 + i}` }))
    const [amount, ...others] = scheme(attributeCounts).keys
    assert.deepStrictEqual(others, [])
    assert.deepStrictEqual(amount!.cuts, [85, 160, 240])
    assert.isAtMost(attributeCounts.totals(now).keys.get("amount")!.values!.size, 200)
  })

  it("keeps its groups while their shares change little", () => {
    const first = scheme(taken(800, (i) => ({ age: `${20 + i % 40}` })))
    assert.strictEqual(scheme(taken(800, (i) => ({ age: `${22 + i % 40}` })), first), first)
    assert.deepStrictEqual(scheme(taken(800, (i) => ({ age: `${30 + i % 40}` })), first).keys[0]!.cuts, [40, 50, 60])
  })
})

describe("a scheme with more than 512 contexts", () => {
  const keys = { a: 10, b: 10, c: 6 }
  const contextsWith = (builtIns: ReadonlyArray<readonly [string, string]>) =>
    Array.from(
      { length: 600 },
      (_, i) =>
        encodeContext([
          ["a", `a${i % 10}`],
          ["b", `b${Math.floor(i / 10) % 10}`],
          ["c", `c${Math.floor(i / 100)}`],
          ...builtIns,
        ]),
    )
  const totals = taken(
    600,
    (i) => Object.fromEntries(Object.entries(keys).map(([name, count]) => [name, `${name}${i % count}`])),
  ).totals(now)

  it("drops the built-in attributes first, the daypart before the weekend", () => {
    const some = contextsWith([]).slice(0, 300)
    const dayparts = ["night", "evening"].flatMap((value) => some.map((id) => `${id}&daypart=${value}`))
    const weekends = ["weekday", "weekend"].flatMap((value) => some.map((id) => `${id}&weekend=${value}`))
    assert.deepStrictEqual(schemeOf(totals, dayparts).builtIns, ["weekend"])
    assert.deepStrictEqual(schemeOf(totals, weekends).builtIns, [])
    assert.strictEqual(schemeOf(totals, weekends).keys.length, 3)
  })

  it("drops the last of the keys next", () => {
    const scheme = schemeOf(totals, contextsWith([]))
    assert.deepStrictEqual(scheme.keys.map(({ name }) => name), ["c", "a"])
    assert.deepStrictEqual(scheme.builtIns, [])
  })

  it("counts merged values once", () => {
    const noise = Array.from({ length: 2000 }, (_, i) => encodeContext([["a", "a1"], ["gone", `g${i}`]]))
    assert.isUndefined(schemeOf(totals, noise).builtIns)
  })
})

describe("counts of attributes", () => {
  it("cover 14 days and drop older counts", () => {
    const attributeCounts = taken(10, () => ({ old: "x" }), now - 14 * day)
    attributeCounts.merge(taken(10, () => ({ fresh: "x" }), now - 13 * day).days())
    assert.deepStrictEqual(names(attributeCounts), ["fresh"])
    assert.strictEqual(attributeCounts.totals(now).sends, 10)
    assert.strictEqual(attributeCounts.days().length, 2)
    attributeCounts.prune(now)
    assert.strictEqual(attributeCounts.days().length, 1)
  })

  it("survive serialization, including keys with too many values", () => {
    const attributeCounts = taken(300, (i) => ({ plan: `p${i % 3}`, id: `u${i}` }))
    const copy = new AttributeCounts()
    copy.merge(JSON.parse(JSON.stringify(attributeCounts.days())))
    assert.deepStrictEqual(copy.days(), attributeCounts.days())
    assert.deepStrictEqual(copy.totals(now), attributeCounts.totals(now))
    assert.isUndefined(copy.totals(now).keys.get("id")!.values)
  })

  it("keep at most 200 keys", () => {
    const attributeCounts = taken(500, (i) => ({ [`k${i}`]: "x" }))
    assert.strictEqual(attributeCounts.totals(now).keys.size, 200)
    assert.strictEqual(attributeCounts.totals(now).sends, 500)
  })

  it("count a send without a value as a send without the attribute", () => {
    const attributeCounts = new AttributeCounts()
    attributeCounts.add(new Map([["plan", []]]), now)
    attributeCounts.add(new Map(), now)
    assert.strictEqual(attributeCounts.totals(now).sends, 2)
    assert.strictEqual(attributeCounts.totals(now).keys.size, 0)
  })
})
