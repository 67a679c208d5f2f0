import { assert, describe, it } from "@effect/vitest"
import { readAmount } from "../../src/intake/Amount.ts"

const amountOf = (value: unknown, currency?: string) => {
  const read = readAmount(value, currency)
  return "value" in read ? read.value.amount : read.wrong
}

describe("readAmount", () => {
  it("reads numbers and plain texts", () => {
    for (
      const [value, amount] of [[49.9, 49.9], [0, 0], [-0, 0], ["49.90", 49.9], [" 5 ", 5], ["+5", 5], [".50", 0.5]]
    ) {
      assert.strictEqual(amountOf(value), amount, String(value))
    }
    assert.strictEqual(amountOf("4.99e1"), 49.9)
    assert.strictEqual(amountOf("49.9000"), 49.9)
  })

  it("reads foreign separators if they allow only one number", () => {
    const written: ReadonlyArray<readonly [string, number]> = [
      ["49,90", 49.9],
      ["0,125", 0.125],
      ["1234,567", 1234.567],
      ["1,234.50", 1234.5],
      ["1.234,50", 1234.5],
      ["1 234,50", 1234.5],
      ["1\u202f234,50", 1234.5],
      ["1\u00a0234,50", 1234.5],
      ["1'234.50", 1234.5],
      ["1’234.50", 1234.5],
      ["1_000.5", 1000.5],
      ["1,234,567", 1_234_567],
      ["1.234.567", 1_234_567],
      ["12,34,567.50", 1_234_567.5],
      ["1,234.567", 1234.567],
      ["49,-", 49],
      ["٤٩٫٩٠", 49.9],
      ["١٬٢٣٤٫٥٠", 1234.5],
      ["１２３", 123],
    ]
    for (const [text, amount] of written) assert.strictEqual(amountOf(text), amount, text)
  })

  it("names both possible numbers of an ambiguous text", () => {
    for (const text of ["1,234", "1.234", "49,900", "123.456", "€1,234"]) {
      assert.match(String(amountOf(text)), /may mean 1?\d*\.\d{3} or \d{4,6}/, text)
    }
    assert.strictEqual(amountOf("1.234", "KWD"), 1.234)
    assert.strictEqual(amountOf("0.125"), 0.125)
  })

  it("reads negative amounts in all notations", () => {
    for (const text of [-50, "-50", "−50", "50-", "(50)", "-€50", "€-50", "($50.00)", "-50,00 €"]) {
      assert.strictEqual(amountOf(text), -50, String(text))
    }
    for (const text of ["--50", "(-50)", "5-0"]) assert.notStrictEqual(amountOf(text), -50, text)
  })

  it("reads the currency before or after the digits", () => {
    const written: ReadonlyArray<readonly [string, number, string | undefined]> = [
      ["€49.90", 49.9, "EUR"],
      ["49,90\u00a0€", 49.9, "EUR"],
      ["5 EUR", 5, "EUR"],
      ["EUR5", 5, "EUR"],
      ["5 euros", 5, "EUR"],
      ["USD 1,234.50", 1234.5, "USD"],
      ["US$5", 5, "USD"],
      ["R$ 1.234,56", 1234.56, "BRL"],
      ["CHF 49.–", 49, "CHF"],
      ["5 zł", 5, "PLN"],
      ["¥500", 500, undefined],
      ["$5", 5, undefined],
      ["500 kr.", 500, undefined],
    ]
    for (const [text, amount, currency] of written) {
      const read = readAmount(text)
      if ("wrong" in read) return assert.fail(`${text} ${read.wrong}`)
      assert.strictEqual(read.value.amount, amount, text)
      if (currency === undefined) assert.isAbove(read.value.currencies!.length, 1, text)
      else assert.deepStrictEqual(read.value.currencies, [currency], text)
    }
  })

  it("rejects values that are no amount or exceed one billion", () => {
    const none = [
      NaN,
      "NaN",
      "",
      " ",
      "abc",
      true,
      [],
      [5],
      {},
      "10%",
      "1.2.3",
      "1,2,3",
      "+-5",
      "1 2",
      "1,234,56",
      "12.345.67",
      "5 USD EUR",
      "100 points",
      "49.90 incl. tax",
      "1.234 567,8",
      "9".repeat(61),
      "0x10",
    ]
    for (const value of none) assert.isString(amountOf(value), String(value))
    for (const value of [1e10, -1e10, "1e10", "9".repeat(40), Infinity]) {
      assert.include(String(amountOf(value)), "beyond 1,000,000,000", String(value))
    }
  })
})
