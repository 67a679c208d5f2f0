import { assert, describe, it } from "@effect/vitest"
import { readNumber } from "../../src/text/DecimalText.ts"

describe("readNumber", () => {
  const valueOf = (text: string) => {
    const read = readNumber(text)
    return "value" in read ? read.value : read.wrong
  }

  it("reads digits with a point, even if they could be grouped", () => {
    for (const text of ["0", "12", "-5", "1.234", "0.5", ".5", "007", "1.10", "9".repeat(400), "1e3", "1.5E-7"]) {
      assert.strictEqual(valueOf(text), text)
    }
    assert.strictEqual(valueOf("+5"), "5")
  })

  it("reads every usual notation that has one meaning", () => {
    for (
      const [text, value] of [
        [" 12 ", "12"],
        ["\u00a012\u200b", "12"],
        ["−5", "-5"],
        ["1,5", "1.5"],
        ["-0,99", "-0.99"],
        ["0,234", "0.234"],
        ["1234,567", "1234.567"],
        ["1,234.50", "1234.50"],
        ["1.234,50", "1234.50"],
        ["1 234,50", "1234.50"],
        ["1\u00a0234,50", "1234.50"],
        ["1\u202f234,50", "1234.50"],
        ["1'234.50", "1234.50"],
        ["1’234.50", "1234.50"],
        ["1,234,567", "1234567"],
        ["1.234.567", "1234567"],
        ["12,34,567.50", "1234567.50"],
        ["1 234", "1234"],
        ["49,-", "49"],
        ["٣", "3"],
        ["١٬٢٣٤٫٥٠", "1234.50"],
        ["１２", "12"],
      ] as const
    ) assert.strictEqual(valueOf(text), value, text)
  })

  it("names both meanings of a text with two", () => {
    assert.strictEqual(valueOf("1,234"), "may mean 1.234 or 1234: use a number")
    assert.strictEqual(valueOf("-12,345"), "may mean 12.345 or 12345: use a number")
  })

  it("refuses currencies, units, dates, words and all else that is not a number", () => {
    const texts = ["", " ", "€ 12", "12 EUR", "$12.00", "12%", "½", "10²", "0x1F", "Infinity", "NaN", "null", "gold"]
    const others = ["2026-03-14", "12:30", "192.168.1.1", "1.2.3", "1,23,4", "1,234,5", "1 2", "--5", "5-", "(5)", "–5"]
    for (const text of [...texts, ...others, "1e1000", "1,", "-", `1,${"234".repeat(30)}`]) {
      assert.strictEqual(valueOf(text), "is not a number: use a number, or a text such as 1234.50", text)
    }
  })
})
