import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { changed, ofFields } from "../../src/console/pages/templates/Draft.ts"
import { settingsInput, settingsOf } from "../../src/console/pages/templates/SettingsFields.tsx"
import type { Template } from "../../src/domain/Template.ts"
import { combineForms } from "../../src/templates/CombinedForm.ts"
import { ofVariant, placed, read, sourcesOf, type VariantForm } from "../../src/templates/VariantForm.ts"
import { variant } from "../results/Samples.ts"

const fields = {
  name: "Warm",
  base: "",
  components: "",
  var_0_name: "subject",
  var_0_format: "text",
  var_0_source: "Hello",
  var_1_name: "body",
  var_1_format: "html",
  var_1_source: "<p>Body</p>",
  locale_0_tag: " de ",
  locale_0_text_0: "Hallo",
  locale_0_text_1: "",
  locale_1_tag: "de-AT",
  locale_1_text_1: "<p>Servus</p>",
}

const locales = { de: { subject: "Hallo" }, "de-AT": { body: "<p>Servus</p>" } }

describe("translations in the editor", () => {
  it("are read from the form, without empty texts", () => {
    const draft = ofFields(fields)
    assert.deepStrictEqual(sourcesOf(draft).locales, locales)
    assert.deepStrictEqual(Result.getOrThrow(read(draft)).locales, locales)
  })

  it("are shown as they are stored", () => {
    const stored = variant("v", { vars: { subject: "Hello", body: "<p>Body</p>" }, locales })
    assert.deepStrictEqual(sourcesOf(ofVariant(stored)).locales, locales)
  })

  it("follow a variable that is renamed or removed", () => {
    assert.deepStrictEqual(sourcesOf(ofFields({ ...fields, var_0_name: "title" })).locales["de"], { title: "Hallo" })
    const draft = changed(ofFields(fields), "remove-locale-0")
    assert.deepStrictEqual(Object.keys(sourcesOf(draft).locales), ["de-AT"])
    assert.strictEqual(changed(draft, "add-locale").locales?.length, 2)
  })

  it("are refused at their controls", () => {
    const twice = read(ofFields({ ...fields, locale_1_tag: "de" }))
    assert.deepStrictEqual(Result.isFailure(twice) && twice.failure.map(({ pointer }) => pointer), ["/locale_1_tag"])
    const unusual = read(ofFields({ ...fields, locale_1_tag: "de_AT" }))
    assert.isTrue(Result.isFailure(unusual))
    assert.deepStrictEqual(Result.isFailure(unusual) && unusual.failure[0], {
      pointer: "/locale_1_tag",
      detail: 'is not the usual form of a locale: write "de-AT"',
    })
    assert.deepStrictEqual(
      placed(ofFields(fields), [{ pointer: "/locales/de-AT/body", detail: "x" }])[0]!.pointer,
      "/locale_1_text_1",
    )
  })

  it("of two authors are combined text by text", () => {
    const { base: _, ...form } = ofFields(fields)
    const withText = (locale: string, name: string, source: string): VariantForm => ({
      ...form,
      locales: [...form.locales!, { locale, texts: [{ name, source }] }],
    })
    const { both, form: combined } = combineForms(
      form,
      withText("fr", "subject", "Bonjour"),
      withText("it", "subject", "Ciao"),
    )
    assert.deepStrictEqual(both, [])
    assert.deepStrictEqual(sourcesOf({ ...combined, base: "" }).locales, {
      ...locales,
      fr: { subject: "Bonjour" },
      it: { subject: "Ciao" },
    })
  })
})

describe("the locale in the settings of a template", () => {
  it("is read from the form and shown in it", () => {
    for (const locale of [null, { attribute: "language", default: "en" }, { field: "user.locale", default: "de" }]) {
      const shown = settingsOf({
        locale,
        name: "T",
        objective: "click",
        holdout: null,
        tracking: null,
        tags: [],
        owner: null,
        link_domains: [],
        conversion_events: [],
        runner_up_floor: 0,
        sticky_hours: 0,
      } as unknown as Template)
      assert.deepStrictEqual(settingsInput(shown).locale, locale)
    }
  })
})
