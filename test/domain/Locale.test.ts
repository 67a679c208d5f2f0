import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import {
  directionOf,
  fallbackChain,
  LocaleTag,
  missingTexts,
  readPersonLocale,
  readPersonLocales,
  textsFor,
  untranslated,
} from "../../src/domain/Locale.ts"

describe("readPersonLocale", () => {
  const localeOf = (text: string) => {
    const read = readPersonLocale(text)
    return "value" in read ? read.value : undefined
  }
  const read: Readonly<Record<string, string>> = {
    "de": "de",
    "DE": "de",
    "de_AT": "de-AT",
    "de-at": "de-AT",
    "at": "de-AT",
    "SE": "sv-SE",
    "EN_us": "en-US",
    "zh_TW_#Hant": "zh-TW",
    "zh-Hans_US": "zh-Hans-US",
    "de_DE.UTF-8": "de-DE",
    "en_US@currency=USD": "en-US",
    "pt-BR,pt;q=0.9,en;q=0.8": "pt-BR",
    "iw": "he",
    " fr ": "fr",
    "de-AT-u-co-phonebk": "de-AT",
    "nn_NO": "nn-NO",
    "yue": "yue",
  }
  for (const [text, locale] of Object.entries(read)) {
    it(`reads ${JSON.stringify(text)} as ${locale}`, () => assert.strictEqual(localeOf(text), locale))
  }

  it("does not read texts that name no locale", () => {
    for (const text of ["", "xx", "german", "zh-cht", "de--AT", "tlh", "*", "12", "a".repeat(100), "{{ lang }}"]) {
      assert.isUndefined(localeOf(text), text)
    }
  })
})

describe("readPersonLocales", () => {
  it("returns all entries of Accept-Language that name a locale, by weight", () => {
    const read = (text: string) => readPersonLocales(text).join(" ")
    assert.strictEqual(read("de_AT"), "de-AT")
    assert.strictEqual(read("fr-CH, fr;q=0.9, en;q=0.8, *;q=0.5"), "fr-CH fr en")
    assert.strictEqual(read("xx, en;q=0.4, de; q=0.7, it;q=0"), "de en")
    assert.strictEqual(read("*"), "")
  })
})

describe("fallbackChain", () => {
  const chain = (tag: string) => fallbackChain(tag).join(" ")

  it("leads from a region to the language", () => assert.strictEqual(chain("de-AT"), "de-AT de-Latn-AT de-Latn de"))

  it("never leads to another script", () => {
    assert.strictEqual(chain("zh-TW"), "zh-TW zh-Hant-TW zh-Hant")
    assert.strictEqual(chain("zh-Hant-TW"), "zh-Hant-TW zh-TW zh-Hant")
    assert.strictEqual(chain("zh-CN"), "zh-CN zh-Hans-CN zh-Hans zh")
    assert.strictEqual(chain("sr-Latn"), "sr-Latn")
  })

  it("joins the names of Norwegian", () => {
    assert.include(fallbackChain("nb-NO"), "no")
    assert.include(fallbackChain("no"), "nb")
    assert.include(fallbackChain("nn-NO"), "nb")
  })
})

describe("textsFor", () => {
  const variant = {
    vars: { subject: "Hello", body: "Body", sender: "Ann" },
    locales: { de: { subject: "Hallo", body: "Text" }, "de-AT": { subject: "Servus" }, "en-GB": { body: "Cheers" } },
  }

  it("takes each text from the nearest locale of the chain", () => {
    const { locale, localeOf, vars } = textsFor(variant, fallbackChain("de-AT"), "en")
    assert.strictEqual(locale, "de-AT")
    assert.deepStrictEqual(vars, { subject: "Servus", body: "Text", sender: "Ann" })
    assert.deepStrictEqual(localeOf, { subject: "de-AT", body: "de", sender: "en" })
  })

  it("returns the default texts for an unknown locale and for the default locale", () => {
    for (const tag of ["fr", "en", "en-US"]) {
      const { locale, vars } = textsFor(variant, fallbackChain(tag), "en")
      assert.strictEqual(locale, "en")
      assert.deepStrictEqual(vars, variant.vars)
    }
  })

  it("ends the chain at the default locale", () => {
    const german = { ...variant, locales: { ...variant.locales, de: { subject: "nie" } } }
    assert.strictEqual(textsFor(german, fallbackChain("de-CH"), "de").vars["subject"], "Hello")
  })
})

describe("missing translations", () => {
  const vars = { subject: "Hello", body: "<p>Body</p>", link: "https://shop.example", code: "{{ code | upcase }}" }

  it("are the texts with words that no locale of the chain has", () => {
    const locales = { de: { subject: "Hallo" }, "de-AT": { subject: "Servus" } }
    assert.deepStrictEqual(missingTexts({ vars, locales }, "de-AT", "en"), ["body"])
    assert.deepStrictEqual(missingTexts({ vars, locales }, "de", "en"), ["body"])
  })

  it("include texts whose words are in a filter", () => {
    const words = { a: "{{ n | plural: one: 'item', other: 'items' }}", b: '{{ name | default: "friend" }}' }
    const others = {
      c: '{{ url | default: "https://shop.example" }}',
      d: '{{ total | money: "EUR" }} {{ x | default: "" }}',
    }
    const locales = { de: {} }
    assert.deepStrictEqual(missingTexts({ vars: { ...words, ...others }, locales }, "de", "en"), ["a", "b"])
  })

  it("are not reported for a region of the default locale", () => {
    assert.deepStrictEqual(missingTexts({ vars, locales: { "en-GB": { subject: "Hi" } } }, "en-GB", "en"), [])
  })

  it("include locales that only other variants have", () => {
    const variants = [{ locales: { de: {}, fr: {}, "de-AT": {}, "en-GB": {} } }]
    assert.deepStrictEqual(untranslated({ de: {} }, variants, "en"), ["fr"])
  })
})

describe("LocaleTag", () => {
  const faultOf = (tag: string) => {
    const decoded = Schema.decodeUnknownResult(LocaleTag)(tag)
    return Result.isFailure(decoded) ? String(decoded.failure) : undefined
  }

  it("accepts canonical tags", () => {
    for (const tag of ["de", "de-AT", "zh-Hant", "sr-Latn-RS", "es-419"]) assert.isUndefined(faultOf(tag))
  })

  it("names the usual form of other tags", () => {
    for (const [tag, usual] of [["de_AT", "de-AT"], ["DE", "de-DE"], ["iw", "he"], ["de-AT-u-co-phonebk", "de-AT"]]) {
      assert.include(faultOf(tag!), `write "${usual}"`)
    }
    assert.include(faultOf("klingon"), "is not a locale")
  })
})

describe("directionOf", () => {
  it("returns rtl for Arabic and Hebrew scripts", () => {
    for (const tag of ["ar", "he-IL", "fa", "ur", "yi", "dv", "ckb", "az-Arab"]) {
      assert.strictEqual(directionOf(tag), "rtl")
    }
    for (const tag of ["de", "az", "ja"]) assert.strictEqual(directionOf(tag), "ltr")
  })
})
