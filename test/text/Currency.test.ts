import { assert, describe, it } from "@effect/vitest"
import { readCurrency } from "../../src/text/Currency.ts"

describe("readCurrency", () => {
  it("reads codes in any case, and the signs and words of one currency", () => {
    const written = {
      EUR: ["EUR", "eur", "Eur", " EUR ", "€", "euro", "euros", "EURO"],
      USD: ["usd", "US$"],
      PLN: ["zł"],
    }
    for (const [code, texts] of Object.entries(written)) {
      for (const text of texts) {
        assert.deepStrictEqual(readCurrency(text), { value: { code, isUnknown: false } }, text)
      }
    }
  })

  it("reads codes of ISO 4217 that the runtime does not list", () => {
    for (const code of ["SLE", "VED", "XCG", "ZWG", "CLF"]) {
      assert.deepStrictEqual(readCurrency(code), { value: { code, isUnknown: false } })
    }
  })

  it("lists the possible currencies of a shared sign", () => {
    for (const sign of ["$", "£", "¥", "kr", "Rs."]) {
      const read = readCurrency(sign)
      assert.isTrue("wrong" in read && read.wrong.startsWith("may mean "), sign)
    }
  })

  it("reports three letters that are no known code", () => {
    assert.deepStrictEqual(readCurrency("PTS"), { value: { code: "PTS", isUnknown: true } })
    assert.deepStrictEqual(readCurrency("dem"), { value: { code: "DEM", isUnknown: true } })
  })

  it("rejects everything else", () => {
    for (const value of ["XXX", "XTS", "XAU", "978", 978, "", " ", "E", "EURUSD", "credits", true, null, {}, ["EUR"]]) {
      assert.isTrue("wrong" in readCurrency(value), String(value))
    }
  })
})
