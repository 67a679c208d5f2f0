import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as fc from "fast-check"
import * as Attributes from "../../src/domain/Attributes.ts"
import { type Condition, type ConditionValue, decimalOf, Operator } from "../../src/domain/Targeting.ts"
import { Targeting as TargetingSchema } from "../../src/domain/Targeting.ts"
import * as Targeting from "../../src/templates/Targeting.ts"

const attributes = (input: unknown) => Result.getOrThrow(Attributes.parse(input))

const condition = (op: Operator, ...values: ReadonlyArray<ConditionValue>): Condition => ({
  attribute: "a",
  op,
  values,
})

/** Whether one condition on `a` holds for the value given. */
const holds = (one: Condition, value: unknown) => Targeting.compile([one]).holds(attributes({ a: value }))

const absent = [undefined, null, [], [null]] as const

describe("Targeting.compile", () => {
  const table: ReadonlyArray<readonly [Condition, holding: ReadonlyArray<unknown>, failing: ReadonlyArray<unknown>]> = [
    [
      condition("is", "Gold"),
      [
        "gold",
        "GOLD",
        ["silver", "gold"],
        " gold",
        "gold\u00a0",
        "\tgold\n",
        "go\u00adld",
        "\ufeffgold",
        "go\u200bld",
        "\u200fgold\u200e",
      ],
      ["golden", "", ["silver", "tin"], "go ld", "ｇｏｌｄ"],
    ],
    [
      condition("is", "caf\u00e9 cr\u00e8me"),
      ["cafe\u0301 cre\u0300me", "CAFE\u0301\u202fCRE\u0300ME", "café  crème"],
      ["cafe creme"],
    ],
    [condition("is", " Pro\u200b "), ["pro", "PRO "], ["pro+"]],
    [condition("is", ""), ["", ["x", ""], " ", "\u200b"], ["x"]],
    [condition("is", 18), [18, "18"], ["18.0", 19, "eighteen"]],
    [condition("is", true), [true, "TRUE"], [false, 1]],
    [condition("is", "straße"), ["Straße"], ["STRASSE"]],
    [condition("is_not", "gold"), ["silver", "", ["silver", "tin"]], ["Gold", ["silver", "gold"]]],
    [condition("in", "gold", "Silver", 3), ["GOLD", "silver", 3, ["tin", "silver"]], ["tin", "", ["tin", "iron"]]],
    [condition("not_in", "gold", "silver"), ["tin", "", ["tin", "iron"]], ["Gold", "silver", ["tin", "gold"]]],
    [condition("exists"), ["x", "", 0, false, ["x", "y"]], []],
    [condition("not_exists"), [], ["x", "", 0, false, ["x", "y"]]],
    [condition("starts_with", "De"), ["de", "DE-AT", ["fr", "deutsch"], " de"], ["d", "ade", "", ["fr", "ade"]]],
    [condition("starts_with", " Dr "), ["Dr Drake", "dr"], ["drake"]],
    [condition("starts_with", ""), ["", "x"], []],
    [condition("contains", "Kite"), ["kite", "a KITE!", ["x", "skites"]], ["kit", "", ["kit", "e"]]],
    [condition("contains", ""), ["", "x"], []],
    [condition("contains", "gold "), ["gold", "Gold member", "old\u00a0gold "], ["goldmine", "marigolds"]],
    [condition("contains", " "), ["a b", "a\u00a0b"], ["ab", " ab "]],
    [condition("gt", 18), [18.01, "19", "1e3", ["x", 19]], [18, "18", 17, "x", "", true, "0x20", "1,9", [1, "x"]]],
    [condition("gte", "18"), [18, "18.0", "+18", ["17", 18]], [17.999, "x", "", "1 9", "infinity", [1, 2]]],
    [condition("gte", " 18 "), [" 19", "19\u00a0"], [17]],
    [condition("lt", -1.5), [-2, "-1.51", [5, -3]], [-1.5, 0, "x", "", "-infinity"]],
    [condition("lte", 0), [0, "-0", "-.5", "0.", ["x", "0"]], [0.001, "", "x", "null", [1, "x"]]],
  ]

  for (const [one, holding, failing] of table) {
    it(`matches exactly the expected values for ${Targeting.describe(one)}`, () => {
      for (const value of holding) assert.isTrue(holds(one, value), JSON.stringify(value))
      for (const value of failing) assert.isFalse(holds(one, value), JSON.stringify(value))
    })
  }

  it("is tested with every operator", () => {
    assert.sameMembers([...new Set(table.map(([{ op }]) => op))], [...Operator.literals])
  })

  it("fails positive conditions and satisfies negative ones for an absent attribute", () => {
    const negative = new Set<Operator>(["is_not", "not_in", "not_exists"])
    for (const op of Operator.literals) {
      const one = op === "exists" || op === "not_exists" ? condition(op) : condition(op, 1)
      const { holds } = Targeting.compile([one])
      assert.strictEqual(holds(Attributes.empty), negative.has(op), op)
      for (const value of absent) {
        if (value === undefined) continue
        assert.strictEqual(
          holds(attributes({ a: value, other: 1 })),
          negative.has(op),
          `${op} ${JSON.stringify(value)}`,
        )
      }
    }
  })

  it("compares names of attributes exactly", () => {
    const { holds } = Targeting.compile([{ attribute: "Tier", op: "is", values: ["gold"] }])
    assert.isTrue(holds(attributes({ Tier: "gold" })))
    assert.isFalse(holds(attributes({ tier: "gold" })))
  })

  it("accepts the names of object members as attributes", () => {
    for (const attribute of ["__proto__", "constructor", "toString"]) {
      const { holds } = Targeting.compile([{ attribute, op: "exists", values: [] }])
      assert.isFalse(holds(attributes({})))
      assert.isTrue(holds(attributes(JSON.parse(`{"${attribute}": "x"}`))))
    }
  })

  it("matches everyone without conditions", () => {
    assert.isTrue(Targeting.compile([]).holds(Attributes.empty))
    assert.isUndefined(Targeting.compile([]).whyNot(Attributes.empty))
  })

  it("requires every condition, and names the first that fails", () => {
    const conditions: ReadonlyArray<Condition> = [
      { attribute: "tier", op: "in", values: ["gold", "silver"] },
      { attribute: "country", op: "is_not", values: ["fr"] },
      { attribute: "age", op: "gte", values: [18] },
    ]
    const audience = Targeting.compile(conditions)
    assert.isTrue(audience.holds(attributes({ tier: "Gold", country: "DE", age: 30 })))
    assert.isUndefined(audience.failing(attributes({ tier: "Gold", country: "DE", age: 30 })))
    assert.strictEqual(audience.failing(attributes({ tier: "Gold", country: "FR", age: 3 })), conditions[1])
    assert.strictEqual(audience.failing(attributes({ tier: "tin", country: "FR", age: 3 })), conditions[0])
    assert.strictEqual(audience.failing(attributes({ tier: "gold" })), conditions[2])
    assert.strictEqual(audience.whyNot(attributes({ tier: "gold" })), "targeting: requires age >= 18")
  })

  it("accepts several conditions for one attribute", () => {
    const { holds } = Targeting.compile([condition("gte", 18), condition("lt", 30)])
    assert.deepStrictEqual([17, 18, 29.9, 30].map((a) => holds(attributes({ a }))), [false, true, true, false])
    // Each condition may be met by another element.
    assert.isTrue(holds(attributes({ a: [10, 40] })))
  })

  const text = fc.string({ maxLength: 3, unit: fc.constantFrom("a", "B", "ß", "1", " ") })

  it("treats is_not and not_in as the complements of is and in", () => {
    fc.assert(fc.property(fc.array(text), fc.array(text, { minLength: 1 }), (a, values) => {
      assert.notStrictEqual(holds(condition("is", values[0]!), a), holds(condition("is_not", values[0]!), a))
      assert.notStrictEqual(holds(condition("in", ...values), a), holds(condition("not_in", ...values), a))
      assert.notStrictEqual(holds(condition("exists"), a), holds(condition("not_exists"), a))
    }))
  })

  it("satisfies a positive condition if any element of an array does", () => {
    const positive = fc.constantFrom<Operator>("is", "in", "starts_with", "contains", "gt", "gte", "lt", "lte")
    fc.assert(
      fc.property(positive, fc.integer({ min: 0, max: 3 }), fc.array(fc.oneof(text, fc.nat(3))), (op, value, a) => {
        const one = condition(op, value)
        assert.strictEqual(holds(one, a), a.some((element) => holds(one, element)))
      }),
    )
  })

  it("parses the numbers of a long text or list once for all conditions", () => {
    let reads = 0
    const counting = (values: ReadonlyArray<string>) => {
      const all = [...values]
      const map: typeof all.map = (read, self) => {
        reads++
        return Array.prototype.map.call(values, read as () => never, self) as never
      }
      return Object.assign(all, { map })
    }
    const given = new Map([["a", counting([`1${"0".repeat(300)}`])], ["b", counting(["x", "7", "9"])]])
    const variants = Array.from({ length: 40 }, (_, bound) =>
      Targeting.compile([
        { attribute: "a", op: "gt", values: [bound] },
        { attribute: "b", op: "gte", values: [bound] },
      ]))
    const eligible = variants.flatMap(({ holds }, bound) => holds(given) ? [bound] : [])
    assert.deepStrictEqual(eligible, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert.strictEqual(reads, 2)
  })

  it("compares numbers numerically", () => {
    const number = fc.double({ noNaN: true, noDefaultInfinity: true })
    fc.assert(fc.property(number, number, (value, bound) => {
      assert.strictEqual(holds(condition("gt", bound), value), value > bound)
      assert.strictEqual(holds(condition("gte", bound), value), value >= bound)
      assert.strictEqual(holds(condition("lt", bound), value), value < bound)
      assert.strictEqual(holds(condition("lte", bound), value), value <= bound)
    }))
  })
})

describe("decimalOf", () => {
  it.each(
    [["0", 0], ["-1.50", -1.5], ["+2", 2], [".5", 0.5], ["5.", 5], ["1e3", 1000], ["1E+21", 1e21], ["007", 7], [
      `${"0".repeat(399)}7`,
      7,
    ]] as const,
  )(
    "reads %j as %d",
    (text, number) => assert.strictEqual(decimalOf(text), number),
  )

  it.each([
    "",
    " ",
    " 5",
    "5 ",
    "abc",
    "0x10",
    "0b1",
    "1,5",
    "1_000",
    "1e",
    ".",
    "-",
    "+.",
    "infinity",
    "NaN",
    "1e999",
    "1".repeat(401),
    "١",
  ])(
    "does not take %j for a number",
    (text) => assert.isNaN(decimalOf(text)),
  )

  it("reads every finite number that JavaScript writes", () => {
    fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      assert.strictEqual(decimalOf(String(number).toLowerCase()), number + 0)
    }))
  })
})

describe("Targeting.describe", () => {
  it.each([
    [condition("is", "gold"), 'a is "gold"'],
    [condition("is_not", ""), 'a is not ""'],
    [condition("in", "a", 1, true), 'a in "a", 1, true'],
    [condition("not_in", 1, 2, 3, 4, 5, 6, 7), "a not in 1, 2, 3, 4, 5 and 2 more"],
    [condition("exists"), "a exists"],
    [condition("not_exists"), "a does not exist"],
    [condition("starts_with", "x"), 'a starts with "x"'],
    [condition("contains", "x"), 'a contains "x"'],
    [condition("gt", 1), "a > 1"],
    [condition("gte", 1), "a >= 1"],
    [condition("lt", 1), "a < 1"],
    [condition("lte", "1"), 'a <= "1"'],
  ])("puts %j as people read it", (one, words) => assert.strictEqual(Targeting.describe(one), words))
})

describe("the schema of targeting", () => {
  const decode = Schema.decodeUnknownResult(TargetingSchema)
  const accepts = (input: unknown) => Result.isSuccess(decode([input]))

  it.each([
    { attribute: "a", op: "exists" },
    { attribute: "a", op: "in", values: Array(1_000).fill("x") },
    { attribute: "a", op: "gt", values: ["1.5"] },
    { attribute: "a", op: "gt", values: [-3] },
    { attribute: "__proto__", op: "is", values: [""] },
  ])("takes $op", (input) => assert.isTrue(accepts(input)))

  it.each([
    { attribute: "", op: "exists" },
    { attribute: "a\u0000", op: "exists" },
    { attribute: "a", op: "exists", values: ["x"] },
    { attribute: "a", op: "is", values: [] },
    { attribute: "a", op: "is", values: ["x", "y"] },
    { attribute: "a", op: "is", values: ["\u0000"] },
    { attribute: "a", op: "is", values: ["\ud800"] },
    { attribute: "a", op: "is", values: [Infinity] },
    { attribute: "a", op: "in", values: [] },
    { attribute: "a", op: "in", values: Array(1_001).fill("x") },
    { attribute: "a", op: "equals", values: ["x"] },
    // No attribute could ever be compared with these.
    { attribute: "a", op: "gt", values: [true] },
    { attribute: "a", op: "gt", values: ["0x10"] },
    { attribute: "a", op: "gt", values: ["5 6"] },
    { attribute: "a", op: "gt", values: ["1e999"] },
  ])("refuses %j", (input) => assert.isFalse(accepts(input)))
})
