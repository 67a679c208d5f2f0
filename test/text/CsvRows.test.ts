import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import fc from "fast-check"
import { csvLine } from "../../src/text/Csv.ts"
import { csvRows } from "../../src/text/CsvRows.ts"

const rowsOf = (text: string) => Result.getOrThrow(csvRows(text)).map(({ values }) => values)
const linesOf = (text: string) => Result.getOrThrow(csvRows(text)).map(({ line }) => line)

describe("csvRows", () => {
  it("reads commas, semicolons and tabs, by their number outside of quotes in the first line", () => {
    assert.deepStrictEqual(rowsOf("a,b;c\n1,2;3"), [["a", "b;c"], ["1", "2;3"]])
    assert.deepStrictEqual(rowsOf("a;b;c,d\n1;2;3,5"), [["a", "b", "c,d"], ["1", "2", "3,5"]])
    assert.deepStrictEqual(rowsOf("a\tb\n1,5\t2;5"), [["a", "b"], ["1,5", "2;5"]])
    assert.deepStrictEqual(rowsOf('"a,b,c";d\n1;2'), [["a,b,c", "d"], ["1", "2"]])
    assert.deepStrictEqual(rowsOf("a@b.example"), [["a@b.example"]])
  })

  it("reads the separator that the first line names", () => {
    for (const separator of [";", ",", "\t", "|", "^", "-", "]", "\\"]) {
      assert.deepStrictEqual(rowsOf(`sep=${separator}\r\na${separator}b\r\n`), [["a", "b"]], separator)
    }
    assert.deepStrictEqual(linesOf("SEP=;\na;b\n\n1;2"), [2, 4])
    assert.deepStrictEqual(rowsOf("separate,b\n1,2"), [["separate", "b"], ["1", "2"]])
  })

  it("skips a byte order mark and rows without a value", () => {
    assert.deepStrictEqual(rowsOf("\ufeffa;b\r\n;;\r\n \r\n\r\n1;2\r\n;;;\r\n"), [["a", "b"], ["1", "2"]])
  })

  it("counts lines with every line end, also in quotes", () => {
    assert.deepStrictEqual(linesOf("a\rb\rc"), [1, 2, 3])
    assert.deepStrictEqual(linesOf('"a\r\nb",x\r\nc\r\n"d\re\nf"\r\ng'), [1, 3, 4, 7])
    assert.deepStrictEqual(csvRows('a\n"b\nc'), Result.fail(2))
  })

  it("returns what csvLine wrote", () => {
    const value = fc.string({ unit: fc.constantFrom("a", ",", ";", '"', "\n", "\r", " ", "\t") })
    fc.assert(
      fc.property(fc.array(fc.array(value, { minLength: 2, maxLength: 4 }), { maxLength: 5 }), (rows) => {
        const all = [["a", "b"], ...rows].filter((values) => values.some((one) => one.trim() !== ""))
        assert.deepStrictEqual(rowsOf(all.map(csvLine).join("")), all)
      }),
      { numRuns: 1_000 },
    )
  })
})
