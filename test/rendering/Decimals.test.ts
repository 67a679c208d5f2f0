import { assert, describe, it } from "@effect/vitest"
import { BigDecimal } from "effect"
import fc from "fast-check"
import { readFileSync } from "node:fs"
import * as Decimals from "../../src/rendering/Decimals.ts"
import { textOf } from "./variants.ts"

describe("calculations", () => {
  const reference = readFileSync(new URL("decimals.csv", import.meta.url), "utf8").trim().split("\n")
    .map((line) => line.split(",") as [name: string, value: string, argument: string, result: string])

  it("have the results of Python's decimal numbers, for texts", () => {
    assert.isAbove(reference.length, 800)
    for (const [name, value, argument, result] of reference) {
      const source = name === "sum" ? "{{ v | split: ' ' | sum }}" : `{{ v | ${name}${argument && ": a"} }}`
      assert.strictEqual(textOf(source, { v: value, a: argument }), result, `${value} ${name} ${argument}`)
    }
  })

  it("have the results of Python's decimal numbers, for numbers", () => {
    const short = reference.filter(([name, ...numbers]) =>
      name !== "sum" && numbers.slice(0, 2).every((number) => number.length <= 15)
    )
    assert.isAbove(short.length, 300)
    for (const [name, value, argument, result] of short) {
      const fields = { v: Number(value), a: Number(argument) }
      assert.strictEqual(
        textOf(`{{ v | ${name}${argument && ": a"} }}`, fields),
        result,
        `${value} ${name} ${argument}`,
      )
    }
  })

  it("have one result, whether integers or BigDecimal calculate it", () => {
    const number = fc.oneof(
      fc.integer({ min: -10_000_000, max: 10_000_000 }).map((cents) => cents / 100),
      fc.integer(),
      fc.maxSafeInteger(),
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e20, max: 1e20 }),
      fc.constantFrom(0.1, 1.005, -2.5, 0.000001, 1e-7, 4_503_599_627_370_496, 900_719_925_474_099.1),
    )
    const { dividedBy, minus, modulo, plus, times } = Decimals
    fc.assert(
      fc.property(number, number, (left, right) => {
        const first = BigDecimal.fromNumberUnsafe(left)
        const second = BigDecimal.fromNumberUnsafe(right)
        for (const calculate of right === 0 ? [plus, minus, times] : [plus, minus, times, dividedBy, modulo]) {
          const fast = Decimals.toValue(calculate(left, right))
          assert.strictEqual(`${fast}`, `${Decimals.toValue(calculate(first, second))}`)
        }
        assert.strictEqual(
          Math.sign(Decimals.compare(left, right)),
          Math.sign(Decimals.compare(first, second)),
        )
        for (const places of [-2, 0, 1, 2, 5]) {
          const fast = Decimals.toValue(Decimals.round(left, places))
          assert.strictEqual(`${fast}`, `${Decimals.toValue(Decimals.round(first, places))}`)
        }
      }),
      { numRuns: 5_000 },
    )
  })
})

describe("a written number", () => {
  it("has all of its digits and no exponent", () => {
    for (
      const [value, text] of [
        [0, "0"],
        [-0, "0"],
        [1e21, "1000000000000000000000"],
        [-1.5e-7, "-0.00000015"],
        [0.000001, "0.000001"],
        [123456789.125, "123456789.125"],
      ] as const
    ) assert.strictEqual(Decimals.write(value), text)
    assert.strictEqual(Decimals.write(Decimals.read("-12345678901234567890.5000")!), "-12345678901234567890.5")
    assert.strictEqual(Decimals.write(Decimals.read("120000000000000000000000")!), "120000000000000000000000")
  })
})
