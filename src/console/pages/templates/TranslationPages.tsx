import { Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { noteNothing } from "../../../accounts/Audit.ts"
import type { Fault } from "../../../domain/Errors.ts"
import { localeFault } from "../../../domain/Locale.ts"
import type { Template } from "../../../domain/Template.ts"
import { t } from "../../../languages/Language.ts"
import { TemplateImports } from "../../../templates/TemplateImports.ts"
import { Templates } from "../../../templates/Templates.ts"
import {
  exportStrings,
  type LocaleProgress,
  localesOfTemplate,
  progressOf,
  translationFormats,
} from "../../../templates/Translations.ts"
import { assets } from "../../Assets.ts"
import { Card } from "../../components/Card.tsx"
import { Empty } from "../../components/Empty.tsx"
import { Form, Submit } from "../../components/Form.tsx"
import { ErrorSummary } from "../../components/Note.tsx"
import { Table } from "../../components/Table.tsx"
import { checked, formFields, lines } from "../../FormReaders.ts"
import { pages } from "../../Pages.ts"
import { download } from "../../RawRoutes.tsx"
import type { Fields, Visit } from "../../Routes.tsx"
import { view } from "../../View.tsx"
import { DifferenceView } from "../history/ChangeList.tsx"
import { localeName } from "./LocalesCard.tsx"
import { templatePath, variantPath } from "./Paths.ts"

// The translations of a template: missing texts, and files for translators.

const readFields = formFields({ text: lines, edit: checked, preview: checked })

const get = ({ org, params }: Pick<Visit, "org" | "params">) =>
  Templates.use((templates) => templates.get(org.slug, params["template"] ?? ""))

const at = ({ org }: Pick<Visit, "org">, { id }: Template) => `${templatePath(org.slug, id)}/strings`

/** Missing texts that a row names. */
const shownMissing = 5

const Missing = ({ progress: { missing }, template, visit }: {
  readonly progress: LocaleProgress
  readonly template: Template
  readonly visit: Visit
}) => (
  <>
    {missing.slice(0, shownMissing).map(({ copy_id, variable }, index) => (
      <>
        {index > 0 && ", "}
        <a href={variantPath(visit.org.slug, template.id, copy_id)}>
          {t`${variable} of ${copy_id}`}
        </a>
      </>
    ))}
    {missing.length > shownMissing && t`, and ${missing.length - shownMissing} more`}
  </>
)

const progressCard = (visit: Visit, template: Template) => {
  const progress = progressOf(template, localesOfTemplate(template))
  if (progress.length === 0) {
    return (
      <Card kind="flush">
        <Empty title={t`No translations yet`}>
          {t`Export the texts for a first locale below, or add a locale in the editor of a variant.`}
        </Empty>
      </Card>
    )
  }
  return (
    <Card kind="flush">
      <Table
        cards="labelled"
        caption={t`Translations by locale`}
        headings={[t`Locale`, t`Translated`, t`Missing`]}
        rows={progress.map((one) => [
          localeName(one.locale),
          t`${one.texts - one.missing.length} of ${one.texts}`,
          one.missing.length === 0 ? t`None` : <Missing progress={one} template={template} visit={visit} />,
        ])}
      />
    </Card>
  )
}

const exportCard = (visit: Visit, template: Template) => (
  <Card title={t`Export`} lead={t`The texts with words of all variants, and their translations, for translators.`}>
    <form method="get" action={`${at(visit, template)}/export`} class="stack">
      <div class="field">
        <label for="locales">{t`Locales`}</label>
        <input
          id="locales"
          name="locales"
          type="text"
          value={visit.query.get("locales") ?? localesOfTemplate(template).join(", ")}
          placeholder="de, fr"
          required
        />
      </div>
      <div class="buttons">
        <button type="submit" class="button" name="format" value="csv">{t`Export CSV`}</button>
        <button type="submit" class="button" name="format" value="xliff">{t`Export XLIFF`}</button>
      </div>
    </form>
  </Card>
)

/** Reads the locales of the form of an export, which may be faulty. */
const localesIn = (text: string) => {
  const tags = text.split(/[\s,]+/).filter((tag) => tag !== "")
  const faults = tags.flatMap((tag): ReadonlyArray<Fault> => {
    const fault = localeFault(tag)
    return fault === undefined ? [] : [{ pointer: "/locales", detail: `${JSON.stringify(tag.slice(0, 100))} ${fault}` }]
  })
  return { tags, faults }
}

/** A fault of a file with its line in front. */
const shownFault = ({ detail, pointer }: Fault): Fault => {
  const line = /^\/line\/(\d+)$/.exec(pointer)?.[1]
  return line === undefined ? { pointer, detail } : { pointer: "/text", detail: t`line ${line}: ${detail}` }
}

/** Faults shown of a file. */
const shownFaults = 100

const importCard = (visit: Visit, template: Template, text: string) => (
  <Card title={t`Import`} lead={t`CSV as exported, or XLIFF. All translations of the file are imported, or none.`}>
    <Form action={at(visit, template)}>
      <div class="field" data-upload hidden>
        <label for="file">{t`A file from this computer`}</label>
        <input type="file" id="file" accept=".csv,.xlf,.xliff" data-into="text" />
      </div>
      <div class="field">
        <label for="text">{t`Content of the file`}</label>
        <textarea id="text" name="text" class="mono source" rows={10} spellcheck={false}>
          {text.startsWith("\n") ? `\n${text}` : text}
        </textarea>
      </div>
      <div class="buttons">
        <button type="submit" name="preview" value="true" class="button primary">{t`Show changes`}</button>
        <Submit kind="plain">{t`Import`}</Submit>
      </div>
    </Form>
  </Card>
)

const show = Effect.fnUntraced(function* (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const template = yield* get(visit)
  const back = { href: templatePath(visit.org.slug, template.id), label: template.name }
  if (template.locale === null) {
    return view(
      { title: t`Translations`, back },
      <Card kind="flush">
        <Empty
          title={t`This template has one locale`}
          action={visit.can("updateTemplate") && <a class="button" href={`${back.href}/settings`}>{t`Settings`}</a>}
        >
          {t`Set where a request has the person's locale in the settings of the template. Its variants can then
            have translations.`}
        </Empty>
      </Card>,
    )
  }
  return view(
    {
      title: t`Translations`,
      back,
      lead: t`A person gets the text of the nearest locale, otherwise ${localeName(template.locale.default)}.`,
    },
    <ErrorSummary
      faults={[...localesIn(visit.query.get("locales") ?? "").faults, ...faults].slice(0, shownFaults).map(shownFault)}
      labels={{ locales: t`Locales`, text: t`File` }}
    />,
    progressCard(visit, template),
    exportCard(visit, template),
    visit.can("importStrings") && importCard(visit, template, readFields(fields).text),
    <script type="module" src={assets.templates}></script>,
  )
})

const take = Effect.fnUntraced(function* (visit: Visit, fields: Fields) {
  const template = yield* get(visit)
  const here = at(visit, template)
  const { edit, preview: dryRun, text } = readFields(fields)
  if (edit) return yield* Effect.andThen(noteNothing, show(visit, fields))
  const { changes } = yield* (yield* TemplateImports).importStrings(visit.org.slug, template.id, text, { dryRun })
  if (!dryRun) return { to: here, done: changes.length === 0 ? "strings-unchanged" : "strings-imported" }
  yield* noteNothing
  return view(
    {
      title: t`Changes of the file`,
      back: { href: here, label: t`Translations` },
      lead: changes.length === 0 ? t`The file changes nothing.` : t`Nothing has been imported yet.`,
    },
    changes.map(({ outcome: _, template_id: __, ...difference }) => (
      <Card title={template.name}>
        <DifferenceView changes={difference} />
      </Card>
    )),
    <Card>
      <Form action={here}>
        <input type="hidden" name="text" value={text} />
        <div class="buttons">
          {changes.length !== 0 && <Submit>{t`Import`}</Submit>}
          <button type="submit" name="edit" value="true" class="button plain">{t`Edit file`}</button>
        </div>
      </Form>
    </Card>,
  )
})

const exported = Effect.fnUntraced(function* (visit: Pick<Visit, "org" | "params" | "query">) {
  const template = yield* get(visit)
  const given = visit.query.get("locales") ?? ""
  const { faults, tags } = localesIn(given)
  const format = translationFormats.find((one) => one === visit.query.get("format")) ?? "csv"
  const strings = faults.length > 0 ? undefined : exportStrings(template, tags, format)
  // The page shows the faults.
  if (strings === undefined || Result.isFailure(strings)) {
    return HttpServerResponse.redirect(`${at(visit, template)}?${new URLSearchParams({ locales: given })}`)
  }
  const name = `${template.id.replaceAll(/[^A-Za-z0-9._-]/g, "_")}-strings`
  return format === "csv"
    ? download(strings.success.text, `${name}.csv`, "text/csv; charset=utf-8")
    : download(strings.success.text, `${name}.xlf`, "application/xliff+xml")
})

/** The translations of a template. */
export const layer = pages(({ action, page, route }) => {
  const path = "/console/o/:org/templates/:template/strings" as const
  return [
    page(path, "exportStrings", (visit) => show(visit)),
    action(path, "importStrings", take, show),
    route("GET", `${path}/export`, "exportStrings", exported),
  ]
})
