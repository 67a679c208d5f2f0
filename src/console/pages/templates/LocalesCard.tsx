import type { VNode } from "preact"
import { directionOf, LocaleTag, missingTexts } from "../../../domain/Locale.ts"
import type { Fault } from "../../../domain/Errors.ts"
import type { Template } from "../../../domain/Template.ts"
import { type Draft, type LocaleDraft, sourcesOf } from "../../../templates/VariantForm.ts"
import { Schema } from "effect"
import { currentLanguage, t } from "../../../languages/Language.ts"
import { Card } from "../../components/Card.tsx"
import { counted } from "../../Format.ts"
import { isAtFault, Labelled, RowTitle, tied } from "./EditorParts.tsx"
import { content, rowsOf } from "./VariantRows.tsx"

// The translations of a variant in the editor, next to the texts in the default locale.

const isTag = Schema.is(LocaleTag)

/** Returns a locale with its name, such as `Austrian German (de-AT)`. */
export const localeName = (tag: string): string =>
  isTag(tag) ? `${new Intl.DisplayNames([currentLanguage().tag], { type: "language" }).of(tag)} (${tag})` : tag

/** Returns the locales of a draft, the default locale first. Empty for a template in one locale. */
export const localesIn = (locale: Template["locale"], { locales = [] }: Draft): ReadonlyArray<string> =>
  locale === null ? [] : [locale.default, ...locales.map((one) => one.locale).filter((tag) => isTag(tag))]

/** Returns the number of texts that are missing in a locale and in its fallback chain. */
const missingIn = (draft: Draft, { locale, texts }: LocaleDraft, defaultLocale: string | undefined): number => {
  const { locales, vars } = sourcesOf(draft)
  return isTag(locale)
    ? missingTexts({ vars, locales }, locale, defaultLocale).length
    : Object.keys(vars).length - texts.filter(({ source }) => source !== "").length
}

const Translation = ({ at, defaultLocale, draft, faults, isOpen, remove, row }: {
  readonly at: number
  readonly defaultLocale: string | undefined
  readonly draft: Draft
  readonly faults: ReadonlyArray<Fault>
  readonly isOpen: boolean
  readonly remove: VNode
  readonly row: LocaleDraft
}) => {
  const id = `locale_${at}`
  const dir = isTag(row.locale) ? directionOf(row.locale) : "auto"
  const shown = row.locale === "" ? t`locale ${at + 1}` : localeName(row.locale)
  const sourceOf = (name: string) => row.texts.find((text) => text.name === name)?.source ?? ""
  const missing = missingIn(draft, row, defaultLocale)
  return (
    <details class="translation" name="translation" open={isOpen}>
      <summary>
        {shown} <span class="muted small">{missing === 0 ? t`complete` : counted(missing, "missing", "missing")}</span>
      </summary>
      <RowTitle remove={remove}>{shown}</RowTitle>
      <Labelled
        id={`${id}_tag`}
        label={t`Locale`}
        hint={t`A language such as de, or with a country, de-AT.`}
        faults={faults}
      >
        <input
          type="text"
          value={row.locale}
          autocomplete="off"
          spellcheck={false}
          {...tied(faults, `${id}_tag`, `${id}_tag-hint`)}
        />
      </Labelled>
      {draft.variables.map(({ format, name, source }, i) => {
        const text = sourceOf(name.trim())
        const lines = Math.max(rowsOf(source, 2, 16), rowsOf(text, 2, 16))
        return (
          <div class="pair side-by-side">
            <div class="field">
              <span class="label">{t`${name} in the default locale`}</span>
              <pre class="original" dir="auto" tabIndex={0}>{source}</pre>
            </div>
            <Labelled id={`${id}_text_${i}`} label={`${name} (${row.locale})`} faults={faults} excerptOf={text}>
              <textarea
                class="mono"
                dir={dir}
                {...(isTag(row.locale) ? { lang: row.locale } : {})}
                rows={lines}
                spellcheck={format !== "html"}
                {...tied(faults, `${id}_text_${i}`)}
              >
                {content(text)}
              </textarea>
            </Labelled>
          </div>
        )
      })}
    </details>
  )
}

/** The texts of a variant in other locales. */
export const LocalesCard = ({ button, draft, faults, locale, remove }: {
  readonly button: (value: string, at: string, word: string, label: string, kind: string) => VNode
  readonly draft: Draft
  readonly faults: ReadonlyArray<Fault>
  readonly locale: Template["locale"]
  readonly remove: (kind: string, at: number, what: string, anchor: string) => VNode
}) => {
  const { locales = [] } = draft
  if (locale === null && locales.length === 0) return null
  const opened = locales.findIndex((row, at) =>
    row.locale === "" || draft.variables.some((_, i) => isAtFault(faults, `locale_${at}_text_${i}`)) ||
    isAtFault(faults, `locale_${at}_tag`)
  )
  return (
    <Card
      title={t`Translations`}
      lead={t`The texts above are in ${
        locale === null ? t`one locale` : localeName(locale.default)
      }. A text that is empty here falls back to them.`}
    >
      <div class="stack" id="locales">
        {locales.map((row, at) => (
          <Translation
            at={at}
            defaultLocale={locale?.default}
            draft={draft}
            faults={faults}
            isOpen={at === opened}
            remove={remove("locale", at, row.locale === "" ? t`locale ${at + 1}` : row.locale, "locales")}
            row={row}
          />
        ))}
        <div>{button("add-locale", `locale_${locales.length}_tag`, t`Add a locale`, t`Add a locale`, "")}</div>
      </div>
    </Card>
  )
}
