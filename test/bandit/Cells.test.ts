import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  type AttributeScheme,
  Cells,
  cellsOf,
  decodeCell,
  emptyScheme,
  encodeCell,
  interimCells,
} from "../../src/bandit/Cells.ts"

const scheme: AttributeScheme = {
  keys: [{ name: "plan", values: ["free", "pro"] }, { name: "country", values: ["de", "fr"] }],
}
const attrs = (values: Record<string, ReadonlyArray<string>>) => new Map(Object.entries(values))
const hourOfWeek = (dayOfWeek: number, hour: number) => dayOfWeek * 24 + hour

describe("a cell's id", () => {
  it("returns its values with any characters", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(fc.string(), fc.string()), { selector: ([name]) => name }), (pairs) => {
        assert.deepStrictEqual(
          [...decodeCell(encodeCell(pairs))].sort(),
          pairs.map(([name, value]) => [name, value] as [string, string]).sort(),
        )
      }),
    )
  })

  it("does not depend on the order of the values", () => {
    assert.strictEqual(encodeCell([["plan", "pro"], ["country", "de"]]), "country=de&plan=pro")
    assert.strictEqual(encodeCell([["country", "de"], ["plan", "pro"]]), "country=de&plan=pro")
  })

  it("separates similar values, including names of built-in properties", () => {
    const ids = [
      [["a", "b=c"]],
      [["a=b", "c"]],
      [["a", "b&c=d"]],
      [["a", "b"], ["c", "d"]],
      [["__proto__", "x"]],
      [["constructor", "x"]],
    ] as const
    assert.strictEqual(new Set(ids.map((pairs) => encodeCell(pairs))).size, ids.length)
    assert.strictEqual(decodeCell("__proto__=x").get("__proto__"), "x")
  })

  it("survives a text that is no well-formed Unicode", () => {
    assert.strictEqual(decodeCell(encodeCell([["a", "\ud800"]])).get("a"), "\ufffd")
  })
})

describe("the cell of a request", () => {
  const cells = new Cells(scheme)

  it("holds the listed values, `other` for an unlisted one and `missing` for none", () => {
    const id = (values: Record<string, ReadonlyArray<string>>) => cells.cellOf(attrs(values), 0).id
    const builtIn = "daypart=night"
    assert.strictEqual(id({ plan: ["pro"], country: ["de"] }), `country=de&${builtIn}&plan=pro&weekend=weekday`)
    assert.strictEqual(id({ plan: ["gold"] }), `country=missing&${builtIn}&plan=other&weekend=weekday`)
    assert.strictEqual(id({ shoe: ["42"] }), `country=missing&${builtIn}&plan=missing&weekend=weekday`)
  })

  it("takes the first of several values, and none as missing", () => {
    const pro = cells.cellOf(attrs({ plan: ["pro", "free"] }), 0)
    assert.strictEqual(pro, cells.cellOf(attrs({ plan: ["pro"] }), 0))
    assert.strictEqual(cells.cellOf(attrs({ plan: [] }), 0), cells.cellOf(attrs({}), 0))
  })

  it("changes at 0, 6, 12 and 18 o'clock and between Friday and Saturday", () => {
    const at = (day: number, hour: number) => {
      const values = decodeCell(new Cells(emptyScheme).cellOf(new Map(), hourOfWeek(day, hour)).id)
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

  it("is one object per combination", () => {
    const combination = fc.record({
      plan: fc.constantFrom("free", "pro", "gold", undefined),
      country: fc.constantFrom("de", "fr", "xx", undefined),
      hour: fc.integer({ min: 0, max: 167 }),
    })
    fc.assert(fc.property(combination, combination, (a, b) => {
      const cell = ({ country, hour, plan }: typeof a) =>
        cells.cellOf(
          attrs({
            ...plan === undefined ? {} : { plan: [plan] },
            ...country === undefined ? {} : { country: [country] },
          }),
          hour,
        )
      assert.strictEqual(cell(a) === cell(b), cell(a).id === cell(b).id)
    }))
  })

  it("has one coefficient of each attribute, those of the parsed id", () => {
    const cell = cells.cellOf(attrs({ plan: ["pro"], country: ["xx"] }), hourOfWeek(6, 13))
    assert.deepStrictEqual(cells.names, ["plan", "country", "weekend", "daypart"])
    // 1 to 4 plan, 5 to 8 country, 9 and 10 weekend, 11 to 14 daypart.
    assert.deepStrictEqual([...cell.features], [2, 7, 10, 13])
    assert.strictEqual(cells.size, 15)
    assert.deepStrictEqual(cells.parse(cell.id), cell)
  })

  it("needs a whole hour of the week", () => {
    for (const hour of [-1, 168, 1.5, NaN]) assert.throws(() => cells.cellOf(new Map(), hour), RangeError)
  })

  it("leaves out built-in attributes that the scheme has dropped", () => {
    const without = new Cells({ keys: scheme.keys, builtIns: ["weekend"] })
    assert.strictEqual(without.cellOf(attrs({ plan: ["pro"] }), 130).id, "country=missing&plan=pro&weekend=weekend")
    const bare = new Cells({ keys: [], builtIns: [] })
    assert.strictEqual(bare.cellOf(attrs({ plan: ["pro"] }), 130).id, "")
    assert.strictEqual(bare.size, 1)
  })
})

describe("an id of another scheme", () => {
  const cells = new Cells(scheme)

  it("is read as far as the schemes agree", () => {
    const cell = cells.parse(encodeCell([["plan", "gold"], ["shoe", "42"], ["daypart", "evening"]]))
    assert.deepStrictEqual([...cell.features], [3, -1, -1, 14])
    assert.strictEqual(cell.id, "daypart=evening&plan=other")
  })

  it("has no built-in value where it names one that does not exist", () => {
    assert.deepStrictEqual([...cells.parse("daypart=teatime").features], [-1, -1, -1, -1])
  })

  it("has its coefficients found by name and value", () => {
    const other = new Cells({ keys: [{ name: "country", values: ["fr"] }], builtIns: ["daypart"] })
    const found = cells.coefficientsOf(other)
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

  it("are folded into known ones, the rarest attribute first", () => {
    const cells = new Cells({ keys, builtIns: [] }, [encodeCell(keys.map(({ name, values }) => [name, values[9]!]))])
    const ids = new Set<string>()
    for (const request of all()) ids.add(cells.cellOf(request, 0).id)
    assert.isAtMost(ids.size, interimCells + 1)
    // Values known from the start keep their own cells.
    assert.isTrue(ids.has("a=a9&b=b9&c=c9&d=d9"))
  })

  it("find their known cell again after others were folded", () => {
    const cells = new Cells({ keys, builtIns: [] })
    const first = cells.cellOf(attrs({ a: ["a1"], b: ["b2"], c: ["c3"], d: ["d4"] }), 0)
    for (const request of all()) cells.cellOf(request, 0)
    assert.strictEqual(cells.cellOf(attrs({ a: ["a1"], b: ["b2"], c: ["c3"], d: ["d4"] }), 0), first)
  })
})

describe("a scheme made ready", () => {
  it("is made once for the same object", () => {
    assert.strictEqual(cellsOf(scheme), cellsOf(scheme))
    assert.notStrictEqual(cellsOf(scheme), cellsOf({ ...scheme }))
  })
})
