import type { Template } from "../../../domain/Template.ts"
import type { Draft } from "../../../templates/VariantForm.ts"
import type { Sample } from "./Draft.ts"
import { sampleFields } from "./SampleFields.ts"

/** Samples that bring a template's variants to life: example values for what they use and whom they are for. */
export const samplesOf = (template: Template): Sample => ({
  fields: JSON.stringify(sampleFields(template.variants.map(({ vars }) => vars)), null, 2),
  attrs: JSON.stringify(
    Object.fromEntries(
      template.variants.flatMap(({ targeting }) =>
        targeting.flatMap(({ attribute, values }) => values[0] === undefined ? [] : [[attribute, values[0]]])
      ).reverse(),
    ),
  ),
  at: "",
})

/** The draft of a new variant, with empty variables: the variables of the other variants, or the variables that Deliver sends. */
export const blankOf = (template: Template): Draft => {
  const [like] = template.variants
  return {
    id: "",
    name: "",
    active: false,
    variables: like === undefined
      ? [
        { name: "subject", format: "text", source: "" },
        { name: "preheader", format: "text", source: "" },
        { name: "body", format: "html", source: "" },
      ]
      : Object.keys(like.vars).map((name) => ({
        name,
        format: Object.hasOwn(like.formats, name) ? like.formats[name]! : "text",
        source: "",
      })),
    ...(like === undefined || Object.keys(like.locales).length === 0
      ? {}
      : { locales: Object.keys(like.locales).map((locale) => ({ locale, texts: [] })) }),
    conditions: [],
    seasons: [],
    components: "",
    base: "",
  }
}
