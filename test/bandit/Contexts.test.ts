import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  type AttributeScheme,
  Contexts,
  contextsOf,
  decodeContext,
  emptyScheme,
  encodeContext,
  groupNames,
  interimContexts,
  missingValue,
  otherValue,
} from "../../src/bandit/Contexts.ts"

const scheme: AttributeScheme = {
  keys: [{ name: "plan", values: ["free", "pro"] }, { name: "country", values: ["de", "fr"] }],
}
const attrs = (values: Record<string, ReadonlyArray<string>>) => new Map(Object.entries(values))
const hourOfWeek = (dayOfWeek: number, hour: number) => dayOfWeek * 24 + hour

describe("a context's id", () => {
  it("round-trips values with any characters", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(fc.string(), fc.string()), { selector: ([name]) => name }), (pairs) => {
        assert.deepStrictEqual(
          [...decodeContext(encodeContext(pairs))].sort(),
          pairs.map(([name, value]) => [name, value] as [string, string]).sort(),
        )
      }),
    )
  })

  it("does not depend on the order of the values", () => {
    assert.strictEqual(encodeContext([["plan", "pro"], ["country", "de"]]), "country=de&plan=pro")
    assert.strictEqual(encodeContext([["country", "de"], ["plan", "pro"]]), "country=de&plan=pro")
  })

  it("differs for similar values and for names of built-in properties", () => {
    const ids = [
      [["a", "b=c"]],
      [["a=b", "c"]],
      [["a", "b&c=d"]],
      [["a", "b"], ["c", "d"]],
      [["__proto__", "x"]],
      [["constructor", "x"]],
    ] as const
    assert.strictEqual(new Set(ids.map((pairs) => encodeContext(pairs))).size, ids.length)
    assert.strictEqual(decodeContext("__proto__=x").get("__proto__"), "x")
  })

  it("replaces a lone surrogate", () => {
    assert.strictEqual(decodeContext(encodeContext([["a", "\ud800"]])).get("a"), "\ufffd")
  })
})

describe("groups of a number", () => {
  const cuts = [18, 30.5]
  const contexts = new Contexts({ keys: [{ name: "age", values: groupNames(cuts), cuts }], builtIns: [] })
  const id = (value: string) => decodeContext(contexts.contextOf(attrs({ age: [value] }), 0).key).get("age")

  it("include their lower bound", () => {
    assert.deepStrictEqual(["-3", "17.9", "18", "30", "30.5", "1000"].map(id), [
      "below 18",
      "below 18",
      "18 to below 30.5",
      "18 to below 30.5",
      "30.5 and above",
      "30.5 and above",
    ])
  })

  it("exclude text", () => {
    for (const value of ["young", "", "0x10", "1e3", "Infinity"]) assert.strictEqual(id(value), otherValue)
    assert.strictEqual(decodeContext(contexts.contextOf(new Map(), 0).key).get("age"), missingValue)
  })

  it("are parsed from the name of the group or from the recorded number", () => {
    for (const value of ["18 to below 30.5", "25"]) {
      assert.strictEqual(
        contexts.parse(encodeContext([["age", value]])).key,
        encodeContext([["age", "18 to below 30.5"]]),
      )
    }
    assert.strictEqual(contexts.parse(encodeContext([["age", "below 20"]])).key, encodeContext([["age", otherValue]]))
  })
})

describe("the context of a request", () => {
  const contexts = new Contexts(scheme)

  it("holds the listed values, `other` for an unlisted value and `missing` for an absent one", () => {
    const id = (values: Record<string, ReadonlyArray<string>>) => contexts.contextOf(attrs(values), 0).key
    const builtIn = "daypart=night"
    assert.strictEqual(id({ plan: ["pro"], country: ["de"] }), `country=de&${builtIn}&plan=pro&weekend=weekday`)
    assert.strictEqual(id({ plan: ["gold"] }), `country=missing&${builtIn}&plan=other&weekend=weekday`)
    assert.strictEqual(id({ shoe: ["42"] }), `country=missing&${builtIn}&plan=missing&weekend=weekday`)
  })

  it("uses the first of several values, and treats an empty list as missing", () => {
    const pro = contexts.contextOf(attrs({ plan: ["pro", "free"] }), 0)
    assert.strictEqual(pro, contexts.contextOf(attrs({ plan: ["pro"] }), 0))
    assert.strictEqual(contexts.contextOf(attrs({ plan: [] }), 0), contexts.contextOf(attrs({}), 0))
  })

  it("changes at 0, 6, 12 and 18 o'clock and between Friday and Saturday", () => {
    const at = (day: number, hour: number) => {
      const values = decodeContext(new Contexts(emptyScheme).contextOf(new Map(), hourOfWeek(day, hour)).key)
      return `${values.get("weekend")} ${values.get("daypart")}`
    }
    assert.deepStrictEqual([0, 5, 6, 11, 12, 17, 18, 23].map((hour) => at(0, hour)), [
      "weekday night",
      "weekday night",
      "weekday morning",
      "weekday morning",
      "weekday afternoon",
      "weekday afternoon",
      "weekday evening",
      "weekday evening",
    ])
    assert.deepStrictEqual([at(4, 23), at(5, 0), at(6, 23), at(0, 0)], [
      "weekday evening",
      "weekend night",
      "weekend evening",
      "weekday night",
    ])
  })

  it("is one shared object per combination", () => {
    const combination = fc.record({
      plan: fc.constantFrom("free", "pro", "gold", undefined),
      country: fc.constantFrom("de", "fr", "xx", undefined),
      hour: fc.integer({ min: 0, max: 167 }),
    })
    fc.assert(fc.property(combination, combination, (a, b) => {
      const context = ({ country, hour, plan }: typeof a) =>
        contexts.contextOf(
          attrs({
            ...plan === undefined ? {} : { plan: [plan] },
            ...country === undefined ? {} : { country: [country] },
          }),
          hour,
        )
      assert.strictEqual(context(a) === context(b), context(a).key === context(b).key)
    }))
  })

  it("has one coefficient per attribute, equal to the coefficients of the parsed id", () => {
    const context = contexts.contextOf(attrs({ plan: ["pro"], country: ["xx"] }), hourOfWeek(6, 13))
    assert.deepStrictEqual(contexts.names, ["plan", "country", "weekend", "daypart"])
    // 1 to 4 plan, 5 to 8 country, 9 and 10 weekend, 11 to 14 daypart.
    assert.deepStrictEqual([...context.coefficients], [2, 7, 10, 13])
    assert.strictEqual(contexts.size, 15)
    assert.deepStrictEqual(contexts.parse(context.key), context)
  })

  it("requires a whole hour of the week", () => {
    for (const hour of [-1, 168, 1.5, NaN]) assert.throws(() => contexts.contextOf(new Map(), hour), RangeError)
  })

  it("omits built-in attributes that the scheme has dropped", () => {
    const without = new Contexts({ keys: scheme.keys, builtIns: ["weekend"] })
    assert.strictEqual(without.contextOf(attrs({ plan: ["pro"] }), 130).key, "country=missing&plan=pro&weekend=weekend")
    const bare = new Contexts({ keys: [], builtIns: [] })
    assert.strictEqual(bare.contextOf(attrs({ plan: ["pro"] }), 130).key, "")
    assert.strictEqual(bare.size, 1)
  })
})

describe("an id of another scheme", () => {
  const contexts = new Contexts(scheme)

  it("keeps the attributes that both schemes have", () => {
    const context = contexts.parse(encodeContext([["plan", "gold"], ["shoe", "42"], ["daypart", "evening"]]))
    assert.deepStrictEqual([...context.coefficients], [3, -1, -1, 14])
    assert.strictEqual(context.key, "daypart=evening&plan=other")
  })

  it("has no coefficient for an unknown built-in value", () => {
    assert.deepStrictEqual([...contexts.parse("daypart=teatime").coefficients], [-1, -1, -1, -1])
  })

  it("maps its coefficients by name and value", () => {
    const other = new Contexts({ keys: [{ name: "country", values: ["fr"] }], builtIns: ["daypart"] })
    const found = contexts.coefficientsOf(other)
    // country: fr, other, missing are 1 to 3 there; daypart 4 to 7.
    assert.deepStrictEqual([...found], [0, -1, -1, -1, -1, -1, 1, 2, 3, -1, -1, 4, 5, 6, 7])
  })
})

describe("very many combinations", () => {
  const keys = ["a", "b", "c", "d"].map((name) => ({
    name,
    values: Array.from({ length: 10 }, (_, i) => `${name}${i}`),
  }))
  const all = function* () {
    for (let i = 0; i < 10_000; i++) {
      yield attrs(Object.fromEntries(keys.map(({ name }, j) => [name, [`${name}${Math.floor(i / 10 ** j) % 10}`]])))
    }
  }

  it("are merged into known ones, beginning with the rarest attribute", () => {
    const contexts = new Contexts({ keys, builtIns: [] }, [
      encodeContext(keys.map(({ name, values }) => [name, values[9]!])),
    ])
    const ids = new Set<string>()
    for (const request of all()) ids.add(contexts.contextOf(request, 0).key)
    assert.isAtMost(ids.size, interimContexts + 1)
    // Values known from the start keep their own contexts.
    assert.isTrue(ids.has("a=a9&b=b9&c=c9&d=d9"))
  })

  it("keep the contexts that were known before", () => {
    const contexts = new Contexts({ keys, builtIns: [] })
    const first = contexts.contextOf(attrs({ a: ["a1"], b: ["b2"], c: ["c3"], d: ["d4"] }), 0)
    for (const request of all()) contexts.contextOf(request, 0)
    assert.strictEqual(contexts.contextOf(attrs({ a: ["a1"], b: ["b2"], c: ["c3"], d: ["d4"] }), 0), first)
  })
})

describe("contexts of a scheme", () => {
  it("are built once per scheme object", () => {
    assert.strictEqual(contextsOf(scheme), contextsOf(scheme))
    assert.notStrictEqual(contextsOf(scheme), contextsOf({ ...scheme }))
  })
})
