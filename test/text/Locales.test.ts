import { assert, describe, it } from "@effect/vitest"
import { readLocale } from "../../src/text/Locales.ts"

describe("readLocale", () => {
  const localeOf = (written: string) => {
    const read = readLocale(written)
    return "value" in read ? read.value : read.wrong
  }

  it("reads the notations of browsers, Java and POSIX, and countries in capitals", () => {
    for (
      const [written, locale] of [
        ["de-DE", "de-DE"],
        ["de_DE", "de-DE"],
        ["DE_de", "de-DE"],
        ["de_DE.UTF-8", "de-DE"],
        ["de_DE@euro", "de-DE"],
        [" de ", "de"],
        ["DE", "de-DE"],
        ["US", "en-US"],
        ["CH", "de-CH"],
        ["en-UK", "en-GB"],
        ["zh_Hans_CN", "zh-Hans-CN"],
        ["iw_IL", "he-IL"],
        ["es-419", "es-419"],
        ["de-DE-u-nu-latn", "de-DE-u-nu-latn"],
      ] as const
    ) assert.strictEqual(localeOf(written), locale, written)
  })

  it("names both meanings of capitals that are a language and another country", () => {
    assert.strictEqual(localeOf("AR"), 'may mean a language or a country: write "ar" or "es-AR"')
    assert.strictEqual(localeOf("UK"), 'may mean a language or a country: write "uk" or "en-GB"')
    assert.strictEqual(localeOf("ar"), "ar")
  })

  it("refuses words and languages that do not exist", () => {
    for (const written of ["", "german", "English (US)", "C", "POSIX", "xx", "xx-YY", "??", "de--DE", "e".repeat(90)]) {
      assert.match(localeOf(written), /^is not a locale: write a language, such as "en"/, written)
    }
  })
})
