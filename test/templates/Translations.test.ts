import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { Template } from "../../src/domain/Template.ts"
import { applyTranslations, atTranslation, exportStrings, writeTranslations } from "../../src/templates/Translations.ts"
import { stampOf } from "../../src/templates/TranslationUnits.ts"
import { variant } from "../results/Samples.ts"

const template = {
  id: "sale",
  locale: { attribute: "language", default: "en" },
  variants: [
    variant("warm", {
      vars: { subject: 'Hello & "bye" <b>', body: "<p>Hi {{ name }},\nall</p>", link: "https://shop.example" },
      formats: { body: "html" },
      locales: { de: { subject: "Hallo" } },
    }),
    variant("cold", { vars: { subject: "=SUM(A1) now" } }),
  ],
} as unknown as Template & { readonly locale: NonNullable<Template["locale"]> }

const localesOf = (text: string) => {
  const { variants } = Result.getOrThrow(applyTranslations(template, text))
  return Object.fromEntries(variants.map(({ id, locales }) => [id, locales]))
}

const faultsOf = (text: string) => {
  const applied = applyTranslations(template, text)
  return Result.isFailure(applied) ? applied.failure.map(({ detail, pointer }) => `${pointer} ${detail}`) : []
}

describe("strings as CSV", () => {
  const csv = writeTranslations(template, ["de", "fr"], "csv")

  it("have a row for each text with words, and a column for each locale", () => {
    assert.strictEqual(
      csv,
      `variant,variable,en,de,fr,exported\r\nwarm,subject,"Hello & ""bye"" <b>",Hallo,,de:${
        stampOf("Hallo")
      } fr:-\r\n` +
        'warm,body,"<p>Hi {{ name }},\nall</p>",,,de:- fr:-\r\ncold,subject,\'=SUM(A1) now,,,de:- fr:-\r\n',
    )
  })

  it("are read with their translations", () => {
    const filled = csv.replace('all</p>",,', 'all</p>","<p>Hallo {{ name }}</p>",<p>Salut</p>')
      .replace("now,,", "now,'=SUMME(A1),")
    assert.deepStrictEqual(localesOf(filled), {
      warm: { de: { subject: "Hallo", body: "<p>Hallo {{ name }}</p>" }, fr: { body: "<p>Salut</p>" } },
      cold: { de: { subject: "=SUMME(A1)" } },
    })
  })

  it("have the lines of faults that are found in the translated variants", () => {
    const translated = Result.getOrThrow(applyTranslations(template, csv))
    const fault = { pointer: "/templates/0/variants/0/locales/de/subject", detail: "is wrong" }
    assert.deepStrictEqual(atTranslation(translated, fault), {
      pointer: "/line/2",
      detail: "subject (de): is wrong",
    })
  })

  it("have the line ends of the text in the default locale", () => {
    const filled = csv.replace('all</p>",,', 'all</p>","<p>\r\nHallo</p>",')
    assert.strictEqual(localesOf(filled)["warm"]!["de"]!["body"], "<p>\nHallo</p>")
  })

  it("are refused with the line of each fault", () => {
    const refused: ReadonlyArray<readonly [string, RegExp]> = [
      ["", /line\/1 the file is empty/],
      ["variant,variable,de\nwarm,subject,Hallo\n", /line\/1 the header has no column en/],
      ["variant,variable,en,klingon\n", /line\/1 the column "klingon" is not a locale/],
      ["variant,variable,en,de,de\n", /line\/1 the column "de" occurs twice/],
      ["variant,variable,en,de_AT\n", /write "de-AT"/],
      ["variant,variable,en,de\nhot,subject,Hello,Hallo\n", /line\/2 the template has no variant "hot"/],
      ["variant,variable,en,de\nwarm,footer,Hello,Hallo\n", /line\/2 .* has no variable "footer"/],
      ["variant,variable,en,de\n\nwarm,subject,Hello,Hallo\n", /line\/3 the text of subject has changed/],
      ['variant,variable,en,de\nwarm,"subject,Hello,Hallo\n', /line\/2 .*quotation mark/],
      [`${csv}${csv.split("\r\n")[1]}\r\n`, /repeats the translation of line 2/],
    ]
    for (const [text, fault] of refused) assert.match(faultsOf(text).join("\n"), fault)
  })
})

describe("strings that were exported before another change", () => {
  const since = (de: Record<string, string>) =>
    ({ ...template, variants: [{ ...template.variants[0]!, locales: { de } }, template.variants[1]!] }) as Template
  const applied = (changed: Template, text: string) => applyTranslations(changed, text)
  const newer = /the translation of subject to de has changed since the strings were exported: it is now "Servus"/

  it.each(["csv", "xliff"] as const)("are refused in %s where they would overwrite a newer translation", (format) => {
    const file = writeTranslations(template, ["de"], format)
    const refused = applied(since({ subject: "Servus" }), file)
    assert.match(Result.isFailure(refused) ? refused.failure.map(({ detail }) => detail).join() : "", newer)
    const removed = applied(since({}), file)
    assert.match(Result.isFailure(removed) ? removed.failure[0]!.detail : "", /it is removed/)
    const merged = applied(since({ subject: "Servus" }), file.replace("Hallo", "Servus"))
    assert.isTrue(Result.isSuccess(merged))
    const other = applied(since({ subject: "Hallo", body: "<p>Neu</p>" }), file.replace("Hallo", "Grüezi"))
    assert.deepStrictEqual(Result.getOrThrow(other).variants[0]!.locales, {
      de: { subject: "Grüezi", body: "<p>Neu</p>" },
    })
  })

  it("are imported without a check if the file has no stamps", () => {
    const file = "variant,variable,en,de\ncold,subject,'=SUM(A1) now,Jetzt\n"
    assert.deepStrictEqual(localesOf(file), { cold: { de: { subject: "Jetzt" } } })
  })

  it("name the missing translations of each locale", () => {
    const { locales } = Result.getOrThrow(exportStrings(template, ["de", "de-AT"], "csv"))
    assert.deepStrictEqual(locales.map(({ locale, missing, texts }) => [locale, texts, missing.length]), [
      ["de", 3, 2],
      ["de-AT", 3, 2],
    ])
    assert.deepStrictEqual(locales[0]!.missing[0], { copy_id: "warm", variable: "body" })
    assert.isTrue(Result.isFailure(exportStrings({ ...template, locale: null }, [], "csv")))
  })
})

describe("strings as XLIFF", () => {
  const xliff = writeTranslations(template, ["de"], "xliff")

  it("are version 1.2 with a file for each variant and locale", () => {
    assert.include(xliff, '<file original="sale/warm" source-language="en" target-language="de" datatype="plaintext">')
    assert.include(xliff, "<source>Hello &amp; &quot;bye&quot; &lt;b&gt;</source>")
    assert.deepStrictEqual(localesOf(xliff), { warm: { de: { subject: "Hallo" } } })
  })

  it("are read with marked segments, and without suggestions of a tool", () => {
    const filled = xliff.replace(
      "all&lt;/p&gt;</source>\n",
      'all&lt;/p&gt;</source>\n<target><mrk mtype="seg">&lt;p&gt;Hallo</mrk> {{ name }}&lt;/p&gt;</target>' +
        "<alt-trans><target>Servus</target></alt-trans>\n",
    )
    assert.strictEqual(localesOf(filled)["warm"]!["de"]!["body"], "<p>Hallo {{ name }}</p>")
  })

  it.each(["new", "needs-translation"])("change nothing if a copy of the source has the state %s", (state) => {
    const copy = `<target state="${state}">Hello &amp; "bye" &lt;b&gt;</target>`
    assert.deepStrictEqual(localesOf(xliff.replace('<target state="translated">Hallo</target>', copy)), {})
  })

  it("are read with empty elements and line ends of Windows", () => {
    const empty = xliff.replace("<body>", "<header/><body>").replace("</trans-unit>", "<note/></trans-unit>")
      .replace("all&lt;/p&gt;</source>", "all&lt;/p&gt;</source><target/>").replaceAll("\n", "\r\n")
    assert.deepStrictEqual(localesOf(empty), { warm: { de: { subject: "Hallo" } } })
    assert.match(faultsOf(xliff.replace(/Hallo[^]*/, "Hallo/")).join("\n"), /the element <target> is not closed/)
  })

  it("are read in version 2.0", () => {
    const text = `<?xml version="1.0"?>
<xliff version="2.0" srcLang="en" trgLang="de-AT" xmlns="urn:oasis:names:tc:xliff:document:2.0">
 <file id="f1" original="sale/cold"><unit id="subject">
  <segment><source>=SUM(A1) </source><target>=SUMME(A1) </target></segment>
  <segment><source>now</source><target>jetzt</target></segment></unit></file></xliff>`
    assert.deepStrictEqual(localesOf(text), { cold: { "de-AT": { subject: "=SUMME(A1) jetzt" } } })
    assert.deepStrictEqual(faultsOf(text.replace("<target>jetzt</target>", "")), [
      '/line/5 the unit "subject" is translated in part: translate all of its segments, or none',
    ])
  })

  it("are refused with the line of each fault", () => {
    const refused: ReadonlyArray<readonly [string, RegExp]> = [
      ["<html></html>", /line\/1 begins with <html>/],
      ['<!DOCTYPE x [<!ENTITY a "b">]>\n<xliff version="1.2"></xliff>', /document type/],
      [
        '<xliff version="1.2">\n<file original="sale/warm" target-language="xx-"></file></xliff>',
        /line\/2 the target language/,
      ],
      [xliff.replace('target-language="de"', ""), /names no target language/],
      [xliff.replace("Hallo", "<g>Hallo</g>"), /line\/7 has the element <g>/],
      [xliff.slice(0, 500), /is not closed/],
      [xliff.replace('"1.2"', '"3.0"'), /has the version "3.0"/],
    ]
    for (const [text, fault] of refused) assert.match(faultsOf(text).join("\n"), fault)
  })
})
