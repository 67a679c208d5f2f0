import { Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { noteNothing } from "../../../accounts/Audit.ts"
import { lookedUp } from "../../../api/http/Requests.ts"
import type { Fault } from "../../../domain/Errors.ts"
import { localeFault } from "../../../domain/Locale.ts"
import type { Template } from "../../../domain/Template.ts"
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
  Templates.use((templates) => templates.get(org.slug, lookedUp(params["template"] ?? "")))

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
          {variable} of {copy_id}
        </a>
      </>
    ))}
    {missing.length > shownMissing && `, and ${missing.length - shownMissing} more`}
  </>
)

const progressCard = (visit: Visit, template: Template) => {
  const progress = progressOf(template, localesOfTemplate(template))
  if (progress.length === 0) {
    return (
      <Card kind="flush">
        <Empty title="No translations yet">
          Export the texts for a first locale below, or add a locale in the editor of a variant.
        </Empty>
      </Card>
    )
  }
  return (
    <Card kind="flush">
      <Table
        cards="labelled"
        caption="Translations by locale"
        headings={["Locale", "Translated", "Missing"]}
        rows={progress.map((one) => [
          localeName(one.locale),
          `${one.texts - one.missing.length} of ${one.texts}`,
          one.missing.length === 0 ? "None" : <Missing progress={one} template={template} visit={visit} />,
        ])}
      />
    </Card>
  )
}

const exportCard = (visit: Visit, template: Template) => (
  <Card title="Export" lead="The texts with words of all variants, and their translations, for translators.">
    <form method="get" action={`${at(visit, template)}/export`} class="stack">
      <div class="field">
        <label for="locales">Locales</label>
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
        <button type="submit" class="button" name="format" value="csv">Export CSV</button>
        <button type="submit" class="button" name="format" value="xliff">Export XLIFF</button>
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
  return line === undefined ? { pointer, detail } : { pointer: "/text", detail: `line ${line}: ${detail}` }
}

/** Faults shown of a file. */
const shownFaults = 100

const importCard = (visit: Visit, template: Template, text: string) => (
  <Card title="Import" lead="CSV as exported, or XLIFF. All translations of the file are imported, or none.">
    <Form action={at(visit, template)}>
      <div class="field" data-upload hidden>
        <label for="file">A file from this computer</label>
        <input type="file" id="file" accept=".csv,.xlf,.xliff" data-into="text" />
      </div>
      <div class="field">
        <label for="text">Content of the file</label>
        <textarea id="text" name="text" class="mono source" rows={10} spellcheck={false}>
          {text.startsWith("\n") ? `\n${text}` : text}
        </textarea>
      </div>
      <div class="buttons">
        <button type="submit" name="preview" value="true" class="button primary">Show changes</button>
        <Submit kind="plain">Import</Submit>
      </div>
    </Form>
  </Card>
)

const show = Effect.fnUntraced(function* (visit: Visit, fields: Fields = {}, faults: ReadonlyArray<Fault> = []) {
  const template = yield* get(visit)
  const back = { href: templatePath(visit.org.slug, template.id), label: template.name }
  if (template.locale === null) {
    return view(
      { title: "Translations", back },
      <Card kind="flush">
        <Empty
          title="This template has one locale"
          action={visit.can("updateTemplate") && <a class="button" href={`${back.href}/settings`}>Settings</a>}
        >
          Set where a request has the person's locale in the settings of the template. Its variants can then have
          translations.
        </Empty>
      </Card>,
    )
  }
  return view(
    {
      title: "Translations",
      back,
      lead: `A person gets the text of the nearest locale, otherwise ${localeName(template.locale.default)}.`,
    },
    <ErrorSummary
      faults={[...localesIn(visit.query.get("locales") ?? "").faults, ...faults].slice(0, shownFaults).map(shownFault)}
      labels={{ locales: "Locales", text: "File" }}
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
      title: "Changes of the file",
      back: { href: here, label: "Translations" },
      lead: changes.length === 0 ? "The file changes nothing." : "Nothing has been imported yet.",
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
          {changes.length !== 0 && <Submit>Import</Submit>}
          <button type="submit" name="edit" value="true" class="button plain">Edit file</button>
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
