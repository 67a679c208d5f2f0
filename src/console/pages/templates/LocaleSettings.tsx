import type { Fault } from "../../../domain/Errors.ts"
import type { Template } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { Field, SelectField } from "../../components/Field.tsx"
import type { Fields } from "../../Routes.tsx"

// The locale of a template as fields of a form, and back.

/** Returns the properties of a field of these settings. */
type FieldOf = (name: "locale" | "locale_name" | "locale_default", initial?: string) => {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly faults: ReadonlyArray<Fault>
}

/** The locale of the form, as the API takes it: null for one locale. */
export const localeInput = ({ locale: source, locale_default: fallback = "", locale_name: name = "" }: Fields) =>
  source === "attribute" || source === "field" ? { [source]: name.trim(), default: fallback.trim() } : null

/** The fields of the form for a stored locale. */
export const localeFields = (locale: Template["locale"]): Fields =>
  locale === null ? { locale: "one" } : {
    locale: locale.attribute === undefined ? "field" : "attribute",
    locale_name: locale.attribute ?? locale.field ?? "",
    locale_default: locale.default,
  }

/** The fields of a template's locale. */
export const LocaleSettings = ({ field }: { readonly field: FieldOf }) => (
  <>
    <SelectField
      {...field("locale", "one")}
      hint={t`With several locales, each variant has its texts in several languages, and people get the text that
        suits them. In the results, it is one variant.`}
      options={[
        ["one", t`One locale`],
        ["attribute", t`Several: an attribute has the locale`],
        ["field", t`Several: a field has the locale`],
      ]}
    />
    <fieldset class="quarters">
      <legend class="small muted">{t`Only for several locales`}</legend>
      <Field
        {...field("locale_name")}
        required={false}
        hint={t`A name such as language. Values like de, de-AT and de_AT are read.`}
      />
      <Field
        {...field("locale_default")}
        required={false}
        hint={t`The locale of your texts today, such as en. Everyone without a translation gets it.`}
      />
    </fieldset>
  </>
)
